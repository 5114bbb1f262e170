"""What may be asked of a running peer: pause, resume, leave, checkpoint, by whoever has its token and nobody else."""

import json
import signal
import stat

import program
from program import Peer, ProgramTest, get, run


def token(home):
    return (home / "control.token").read_text()


def tell(peer, home, command):
    """The answer to a command that must be carried out."""
    status, text = get(peer.status_address(), f"/control/{command}", "POST", Authorization=f"Bearer {token(home)}")
    assert status == 200, text
    return json.loads(text)


def is_paused(status):
    return status["state"] == "paused" and status["pause"]


class Doors(ProgramTest):
    def test_only_the_token_commands_and_never_a_web_page(self):
        with Peer(*self.new_run()) as peer:
            address = peer.status_address()
            file = self.home / "control.token"
            self.assertEqual(stat.S_IMODE(file.stat().st_mode), 0o600)
            good = {"Authorization": f"Bearer {token(self.home)}"}
            for path, method, headers, expected in [
                ("/control/pause", "POST", {}, 401),
                ("/control/pause", "POST", {"Authorization": "Bearer " + "0" * 64}, 401),
                ("/control/pause", "POST", {"Authorization": "Bearer"}, 401),
                ("/control/pause", "GET", good, 405),
                ("/control/pause", "PUT", good, 405),
                ("/control/explode", "POST", good, 404),
                ("/control/pause", "POST", good | {"Origin": "http://evil.example"}, 403),
                ("/control/pause", "POST", good | {"Origin": "null"}, 403),
                ("/control/pause", "POST", good | {"Host": "evil.example"}, 403),
                ("/status", "POST", good, 405),
            ]:
                with self.subTest(path=path, method=method, headers=headers):
                    code, text = get(address, path, method, **headers)
                    self.assertEqual(code, expected)
                    self.assertIn("error", json.loads(text))
            self.assertIsNone(peer.status()["pause"])
            self.assertEqual(peer.end(signal.SIGTERM), 143)
            self.assertEqual(token(self.home), good["Authorization"].split()[1])  # kept for the next start

    def test_checkpoint_and_leave(self):
        with Peer(*self.new_run(inner_steps=100000)) as peer:
            peer.wait_for(r"Training on")
            answer = tell(peer, self.home, "checkpoint")
            self.assertEqual(answer["checkpoint"], str(self.home / "checkpoints" / "0"))
            self.assertTrue((self.home / "checkpoints" / "0" / "model.safetensors").exists())
            self.assertEqual(tell(peer, self.home, "leave")["done"], "leave")
            self.assertEqual(peer.end(), 0)


class Pause(ProgramTest):
    def test_a_paused_peer_is_awaited_by_nobody_and_comes_back(self):
        second_home = self.folder / "second"
        with Peer(*self.new_run()) as first, Peer(*self.join(first.join_address(), home=second_home)) as second:
            second.wait_for(r"mixed 2 peers")
            self.assertEqual(tell(second, second_home, "pause")["pause"], {"reason": "asked", "until_unix_s": None})
            second.wait_until("paused", is_paused)
            second.wait_for(r"Paused until `grapevine resume`\.")
            self.assertIn("Paused until", run("status", "--home", second_home).stdout)
            rounds = first.status()["round"]["current"]
            first.wait_until("alone", lambda status: status["round"]["current"] > rounds + 2)
            status = first.status()
            self.assertEqual([peer["state"] for peer in status["peers"]], ["paused"])
            self.assertEqual(status["round"]["mix2"]["missing"], [])
            self.assertEqual([missed for _, _, missed, _ in program.ledger(self.home)][-2:], [0, 0])

            resumed = run("resume", "--home", second_home)
            self.assertEqual(resumed.returncode, 0, resumed.stderr)
            first.wait_for(r"nobody to mix with(.|\n)*mixed 2 peers")
            for peer in (first, second):
                self.assertEqual(peer.end(signal.SIGTERM), 143)

    def test_a_pause_outlives_a_restart(self):
        with Peer(*self.new_run()) as peer:
            peer.wait_for(r"Round 1: loss")
            paused = run("pause", "--home", self.home)
            self.assertEqual(paused.returncode, 0, paused.stderr)
            self.assertIn("until `grapevine resume`", paused.stdout)
            peer.wait_until("paused", is_paused)
            self.assertEqual(peer.end(signal.SIGTERM), 143)
        with Peer(*self.go_on(self.home)) as peer:
            at = peer.wait_until("paused", is_paused) and peer.status()["round"]["current"]
            self.assertEqual(json.loads(run("resume", "--home", self.home, "--json").stdout)["pause"], None)
            peer.wait_until("training", lambda status: status["round"]["current"] > at)
            self.assertEqual(peer.end(signal.SIGTERM), 143)

    def test_the_commands_say_what_is_wrong(self):
        nobody = run("pause", "--home", self.home)
        self.assertEqual(nobody.returncode, 4)
        self.assertIn("GV-CLI-006", nobody.stderr)
        with Peer(*self.new_run("--rounds", 1)) as peer:
            self.assertEqual(peer.end(), 0)
        ended = run("resume", "--home", self.home)
        self.assertEqual(ended.returncode, 4)
        self.assertIn("GV-CLI-007", ended.stderr)


class Allowance(ProgramTest):
    def test_what_a_peer_may_take_is_checked_before_anything_starts(self):
        for option, value in [("--up-limit", "4Mb"), ("--up-limit", "1kB"), ("--down-limit", "fast"),
                              ("--monthly-quota", "4Mbit"), ("--quiet-hours", "22-07")]:
            with self.subTest(option=option, value=value):
                refused = run("up", *self.new_run(option, value))
                self.assertEqual(refused.returncode, 2)
                self.assertIn(f"{option} {value}: ", refused.stderr)

    def test_caps_are_shown_and_a_used_up_quota_is_a_pause(self):
        config = self.folder / "caps.toml"
        config.write_text('up-limit = "4Mbit"\ndown-limit = "2MB"\nmonthly-quota = "2MB"\n')
        home = self.folder / "second"
        with Peer(*self.new_run()) as first, Peer(*self.join(first.join_address(), "--config", config,
                                                             home=home)) as second:
            second.wait_until("paused", is_paused)
            status = second.status()
            self.assertEqual(status["pause"]["reason"], "monthly quota")
            self.assertEqual([error["code"] for error in status["errors"]], ["GV-RUN-010"])
            caps = status["network"]["caps"]
            self.assertEqual((caps["up_bytes_per_s"], caps["down_bytes_per_s"], caps["month_bytes_max"]),
                             (500000, 2000000, 2000000))
            self.assertEqual(caps["month_ends_unix_s"], status["pause"]["until_unix_s"])
            self.assertLess(caps["month_bytes"], 2000000)
            self.assertEqual(status["config"]["up_limit"], "4Mbit")
            second.wait_for(r"until \S+ \S+ \(monthly quota\)\.")
            for peer in (first, second):
                self.assertEqual(peer.end(signal.SIGTERM), 143)
        self.assertTrue((home / "month.traffic").exists())


if __name__ == "__main__":
    program.main()
