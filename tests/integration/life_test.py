"""A peer's life: it trains, shows itself, stops when told, goes on where it stopped, and meets others."""

import json
import pathlib
import re
import shutil
import signal
import socket
import time

import program
from program import Peer, ProgramTest, get, run

DEPLOY = pathlib.Path(__file__).resolve().parents[2] / "deploy"
EXAMPLE = DEPLOY / "grapevine.toml"
# A step of it takes many seconds on one thread.
SLOW_RUN = {
    "model": {"vocab_size": 256, "hidden_size": 256, "intermediate_size": 1024, "layers": 4, "heads": 4, "kv_heads": 4,
              "context": 128},
    "inner": {"batch": 128, "warmup_steps": 2, "schedule_steps": 200},
}
STOP_S = 5


class Life(ProgramTest):
    def test_a_bounded_run_ends_by_itself(self):
        with Peer(*self.new_run("--json", "--rounds", 3)) as peer:
            self.assertEqual(peer.end(), 0)
            summary = json.loads(peer.output.splitlines()[-1])
        self.assertEqual(summary["rounds"], 3)
        self.assertLess(summary["loss_last"], summary["loss_first"])
        self.assertIn("Round 3 of 3: loss ", peer.output)
        self.assertTrue((self.home / "checkpoints" / "3" / "model.safetensors").exists())
        self.assertFalse((self.home / "status.addr").exists())

    def test_signals_stop_it_cleanly_and_it_resumes(self):
        with Peer(*self.new_run()) as peer:
            peer.wait_for(r"Round 2: loss")
            self.assertEqual(peer.end(signal.SIGTERM), 143)
        with Peer(*self.go_on(self.home)) as peer:
            resumed = int(peer.wait_for(r"from round (\d+)\.")[1])
            self.assertGreaterEqual(resumed, 3)
            peer.wait_for(rf"Round {resumed}: loss")
            self.assertEqual(peer.end(signal.SIGINT), 130)
            self.assertEqual(min(map(int, re.findall(r"Round (\d+)", peer.output))), resumed)  # no old ones again

    def test_a_signal_at_any_time_of_its_start_is_a_clean_end(self):
        for number, code in ((signal.SIGTERM, 143), (signal.SIGINT, 130)):
            for awaited in ("", "lock", "control.token", "ledger.db"):
                with Peer(*self.new_run()) as peer:
                    self.wait_for_start(peer, self.home / awaited if awaited else None)
                    self.assertEqual(peer.end(number), code)
                left = [path.name for path in self.home.rglob("*")]
                self.assertNotIn("status.addr", left)
                self.assertEqual([name for name in left if name.endswith(".partial")], [])
                shutil.rmtree(self.home, ignore_errors=True)

    def wait_for_start(self, peer, file):
        """Until the file is there; without one, until a signal is caught: its libraries still load."""
        until = time.monotonic() + program.PATIENCE_S
        while time.monotonic() < until:
            caught = re.search(r"SigCgt:\s+(\w+)", pathlib.Path(f"/proc/{peer.process.pid}/status").read_text())
            if file.exists() if file else int(caught[1], 16) >> (signal.SIGTERM - 1) & 1:
                return
        self.fail(f"it never came as far as {file or 'a signal handler'}")

    def test_a_second_signal_ends_it_at_once(self):
        with Peer(*self.new_run(**SLOW_RUN)) as peer:
            peer.wait_for(r"Training on")
            peer.process.send_signal(signal.SIGTERM)
            peer.wait_until("stopping", lambda status: status["state"] == "stopping")
            self.assertIsNone(peer.process.poll())  # it lets the step end
            self.assertEqual(peer.end(signal.SIGINT, STOP_S), 130)
            self.assertNotIn("The newest checkpoint", peer.output)  # said at a clean end

    def test_a_long_step_does_not_hold_up_the_end(self):
        with Peer(*self.new_run(**SLOW_RUN)) as peer:
            peer.wait_for(r"Training on")
            self.assertEqual(peer.end(signal.SIGTERM, STOP_S), 143)
            self.assertIn("The newest checkpoint", peer.output)
        self.assertTrue((self.home / "checkpoints" / "0" / "model.safetensors").exists())
        self.assertFalse((self.home / "status.addr").exists())

    def test_a_damaged_checkpoint_is_passed_over(self):
        with Peer(*self.new_run("--rounds", 3)) as peer:
            self.assertEqual(peer.end(), 0)
        newest = self.home / "checkpoints" / "3" / "model.safetensors"
        newest.write_bytes(newest.read_bytes()[:-1])
        with Peer(*self.go_on(self.home)) as peer:
            problem = peer.wait_until("a problem", lambda status: status["errors"])[0]
            self.assertEqual(problem["code"], "GV-TRAIN-003")
            self.assertIn(str(newest.parent), problem["text"])
            self.assertEqual(peer.end(), 0)
            self.assertIn("from round 3.", peer.output)

    def test_the_example_configuration_starts_a_peer(self):
        here = ["--data", self.data, "--listen", "/ip4/127.0.0.1/tcp/0", "--status", "127.0.0.1:0"]
        with Peer(*self.new_run()) as first, Peer("--config", EXAMPLE, "--bootstrap", first.join_address(), "--home",
                                                  self.folder / "second", *here) as second:
            second.wait_for(r"mixed 2 peers")
            self.assertEqual(second.status()["config"]["device"], "auto")
        config = self.folder / "own.toml"  # as its comment says: without bootstrap, new = true
        lines = EXAMPLE.read_text().splitlines()
        config.write_text("\n".join("new = true" if line.startswith("bootstrap") else line for line in lines))
        with Peer("--config", config, "--home", self.folder / "own", *here) as own:
            own.wait_for(r"Training on")
            self.assertEqual(own.end(signal.SIGTERM), 143)

    def test_the_example_manifest_begins_a_run(self):
        with Peer("--new", "--manifest", DEPLOY / "manifest.json", "--data", self.data, "--home", self.home, "--listen",
                  "/ip4/127.0.0.1/tcp/0", "--status", "127.0.0.1:0") as peer:
            peer.wait_for(r"Training on")
            self.assertEqual(peer.end(signal.SIGTERM), 143)
        described = json.loads(re.sub(r"//.*", "", (DEPLOY / "manifest.json").read_text()))
        agreed = json.loads((self.home / "manifest.json").read_text())
        for part, values in described.items():
            if isinstance(values, dict):
                self.assertLessEqual(values.items(), agreed[part].items())
            else:
                self.assertEqual(agreed[part], values)

    def test_the_address_to_join_by_stays(self):
        arguments = ["--new", "--manifest", self.manifest(), "--data", self.data, "--home", self.home, "--status",
                     "127.0.0.1:0"]
        with Peer(*arguments) as peer:
            address = peer.join_address()
            self.assertEqual(peer.end(signal.SIGTERM), 143)
        with Peer(*arguments) as peer:
            self.assertEqual(peer.join_address(), address)
            self.assertEqual(peer.end(signal.SIGTERM), 143)
        port = re.search(r"/tcp/(\d+)/", address)[1]
        with socket.create_server(("", int(port))), Peer(*arguments) as peer:
            self.assertNotEqual(peer.join_address(), address)
            self.assertEqual(peer.end(signal.SIGTERM), 143)
            self.assertEqual(peer.errors().count(f"port {port} is taken"), 1)

    def test_two_peers_train_together_and_one_goes_on(self):
        with Peer(*self.new_run()) as first:
            with Peer(*self.join(first.join_address(), home=self.folder / "second")) as second:
                second.wait_for(r"mixed 2 peers")
                first.wait_for(r"mixed 2 peers")
                self.assertEqual(first.end(signal.SIGTERM), 143)
                second.wait_for(r"mixed 2 peers(.|\n)*nobody to mix with")
                self.assertEqual(second.end(signal.SIGTERM), 143)
        manifests = [json.loads((home / "manifest.json").read_text()) for home in (self.home, self.folder / "second")]
        self.assertEqual(manifests[0], manifests[1])

    def test_whoami_names_the_peer_that_ran(self):
        with Peer(*self.new_run("--rounds", 2)) as peer:
            self.assertEqual(peer.end(), 0)
        who = run("whoami", "--home", self.home).stdout.strip()
        self.assertIn(who, peer.output)


class Pages(ProgramTest):
    def setUp(self):
        super().setUp()
        self.peer = Peer(*self.new_run("--name", "kitchen"))
        self.addCleanup(self.peer.__exit__)
        self.address = self.peer.status_address()
        self.peer.wait_for(r"Round 1: loss")

    def test_status(self):
        self.assertEqual(get(self.address, "/status")[0], 200)
        status = self.peer.status()
        self.assertEqual(status["peer"]["name"], "kitchen")
        self.assertEqual(status["run"]["name"], "tiny")
        self.assertGreaterEqual(status["round"]["current"], 1)
        self.assertGreater(status["training"]["tokens_total"], 0)
        self.assertIn("resources", status)
        self.assertEqual(status["peer"]["reachability"], "private")

    def test_the_other_pages(self):
        code, metrics = get(self.address, "/metrics")
        self.assertEqual(code, 200)
        self.assertIn("\ngrapevine_loss ", metrics)
        self.assertEqual(get(self.address, "/healthz")[0], 200)
        self.assertEqual(get(self.address, "/readyz")[0], 200)
        history = json.loads(get(self.address, "/history?since=0")[1])
        self.assertEqual(history["rounds"][0]["round"], 0)
        self.assertIn("<svg", get(self.address, "/")[1])
        self.assertEqual(get(self.address, "/nowhere")[0], 404)
        self.assertEqual(get(self.address, "/status", "POST")[0], 405)
        self.assertEqual(get(self.address, "/control/leave", "POST")[0], 401)

    def test_the_status_command(self):
        for arguments in (["--home", self.home], ["--url", f"http://{self.address}"]):
            shown = run("status", *arguments)
            self.assertEqual(shown.returncode, 0, shown.stderr)
            self.assertIn("kitchen", shown.stdout)
        as_json = run("status", "--home", self.home, "--json").stdout.splitlines()
        self.assertEqual(json.loads(as_json[-1])["schema"], "grapevine.status/1")


if __name__ == "__main__":
    program.main()
