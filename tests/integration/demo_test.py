"""The demo in small: a swarm of real processes that loses a peer and learns all the same."""

import json

import program
from program import ProgramTest, run

FIELDS = {"peers", "rounds", "killed", "survivors_finished", "loss_first", "loss_last", "loss_alone", "eval_loss",
          "tokens_total", "bytes_sent", "bytes_received", "seconds", "peers_detail"}


class Demo(ProgramTest):
    def test_a_swarm_learns_and_survives(self):
        result = run("demo", "--json", "--peers", 3, "--rounds", 4, "--kill", 1, "--data", self.data, "--home", self.home)
        self.assertEqual(result.returncode, 0, result.stderr)
        outcome = json.loads(result.stdout.splitlines()[-1])
        self.assertLessEqual(FIELDS, outcome.keys())
        self.assertEqual((outcome["peers"], outcome["rounds"], outcome["killed"]), (3, 4, 1))
        self.assertEqual(outcome["survivors_finished"], 2)
        self.assertLess(outcome["loss_last"], 0.75 * outcome["loss_first"])
        self.assertEqual(len(outcome["peers_detail"]), 2)
        for peer in outcome["peers_detail"]:
            self.assertEqual((peer["rounds"], peer["participants_last"]), (4, 2))
        self.assertGreater(outcome["bytes_sent"], 0)
        self.assertIn("Killing peer-3", result.stderr)

    def test_a_used_home_is_not_touched(self):
        self.home.mkdir()
        (self.home / "precious").write_text("x")
        result = run("demo", "--home", self.home, "--data", self.data)
        self.assertEqual(result.returncode, 2)
        self.assertEqual([path.name for path in self.home.iterdir()], ["precious"])


if __name__ == "__main__":
    program.main()
