"""Every way to start it wrong: one message that names the thing, its cause and its fix, and the exit code."""

import json
import os
import signal
import socket
import subprocess
from unittest import mock

import program
from program import BentPeer, Peer, ProgramTest, run


class BadStart(ProgramTest):
    def check(self, result, exit_code, code, *words):
        """Ended with exit_code and one message: code, words, cause, fix. Wrong usage is its own cause."""
        self.assertEqual(result.returncode, exit_code, result.stderr)
        self.assertEqual(result.stderr.count("cause: "), 0 if code == "GV-CLI-001" else 1, result.stderr)
        self.assertEqual(result.stderr.count("fix: "), 1, result.stderr)
        for word in (code, *words):
            self.assertIn(word, result.stderr)

    def up(self, *arguments):
        return run("up", "--data", self.data, "--home", self.home, "--status", "127.0.0.1:0", *arguments)

    def test_unknown_flag(self):
        self.check(self.up("--nwe"), 2, "GV-CLI-001", "--nwe", "--new")
        self.check(run("demo", "--peeers", "3"), 2, "GV-CLI-001", "--peeers", "--peers")

    def test_unknown_command(self):
        self.check(run("dmeo"), 2, "GV-CLI-001", "dmeo", "demo")

    def test_bad_value(self):
        self.check(run("demo", "--peers", "many"), 2, "GV-CLI-001", "--peers")
        self.check(run("demo", "--peers", "4", "--kill", "4"), 2, "GV-CLI-001", "--kill")
        self.check(self.up("--new", "--device", "gpu7"), 2, "GV-CLI-001", "--device gpu7")
        self.check(self.up("--new", "--name", "a\x1b[2J"), 2, "GV-CLI-001", "--name")
        result = run("up", "--new", "--data", self.data, "--home", self.home, "--status", "8080")
        self.check(result, 2, "GV-CLI-001", "--status 8080")

        for command in (["up", "--new", "--data", self.data, "--home", self.home], ["demo", "--data", self.data]):
            self.check(run(*command, "--preset", "tiny"), 2, "GV-CLI-001", "--preset tiny", "nano, micro, small")

    def test_an_address_of_another_machine(self):
        result = run("up", "--new", "--data", self.data, "--home", self.home, "--status", "192.0.2.1:8080")
        self.check(result, 4, "GV-NET-013", "192.0.2.1:8080", "127.0.0.1", "0.0.0.0")
        self.check(self.up("--new", "--listen", "/ip4/192.0.2.1/tcp/4001"), 4, "GV-NET-013", "192.0.2.1:4001")

    def test_neither_new_nor_bootstrap(self):
        self.check(self.up(), 2, "GV-CLI-001", "--new", "--bootstrap")

    def test_malformed_bootstrap(self):
        for address in ("/ip4/1.2.3", "192.168.1.7:4001", "/ip4/1.2.3.4/udp/9"):
            self.check(self.up("--bootstrap", address), 2, "GV-CLI-001", f"--bootstrap {address}")

    def test_bad_configuration(self):
        config = self.folder / "grapevine.toml"
        for text, line, *words in (("# mine\n\ndaat = 'x'\n", 3, "daat", "did you mean data?"),
                                   ("retry = true\nannounce = ['/ip4/1.2.3.4/tcp/1',\n'/ip4/1.2.3.4/tcp/2']\n[peer]\n", 4, "[peer]"),
                                   ("new = true\nrounds = 'many'\n", 2, "rounds", "many"),
                                   ("threads = -1\n", 1, "threads", "-1"),
                                   ("new = true\ndata = [\n", 2, "data", "not closed"),
                                   ("new = true\nannounce = ['/ip4/1.2.3.4/tcp/1',\n", 2, "announce", "not closed"),
                                   ("new = true\ndata = \n", 2, "data", "no value"),
                                   ("new = true\ndata = \"texts\n", 2, "data", "not closed")):
            config.write_text(text)
            result = self.up("--config", config)
            self.check(result, 2, "GV-CLI-004", f"{config}:{line}: {words[0]}: ", *words)
        config.write_text("retry = true\n")
        self.check(self.up("--new", "--config", config, "--rounds", "many"), 2, "GV-CLI-001", "--rounds", "many")
        self.check(self.up("--new", "--config", self.folder / "none.toml"), 2, "GV-CLI-001", "none.toml")
        manifest = self.folder / "run.json"
        manifest.write_text('{"iner_steps": 3}')
        self.check(self.up("--new", "--manifest", manifest), 2, "GV-CLI-004", f"{manifest}: iner_steps")
        manifest.write_text('{"model": {"heads": 3}}')
        result = self.up("--new", "--manifest", manifest)
        self.check(result, 2, "GV-CLI-004", f"{manifest}: model.heads: 3 do not share out hidden_size 128", "2 or 4")
        self.check(self.up("--new", "--manifest", self.folder / "none.json"), 2, "GV-CLI-001", "none.json")

    def test_bootstrap_refused(self):
        with socket.socket() as closed:
            closed.bind(("127.0.0.1", 0))  # bound and not listening: connections are refused
            port = closed.getsockname()[1]
            result = self.up("--bootstrap", f"/ip4/127.0.0.1/tcp/{port}")
            self.check(result, 4, f"GV-NET-001 connection refused: /ip4/127.0.0.1/tcp/{port}\n")
            self.assertEqual(result.stderr.lower().count("refused"), 1, result.stderr)

    def test_bootstrap_unreachable(self):
        # No name below .invalid ever resolves (RFC 6761).
        self.check(self.up("--bootstrap", "/dns4/nobody.invalid/tcp/4001"), 4, "GV-RUN-006", "nobody.invalid")

    def test_a_home_has_one_run(self):
        other = self.folder / "other"
        with Peer(*self.new_run(home=other)) as first:
            address = first.join_address()
            other_run = first.status()["run"]["id"]
            with Peer(*self.new_run("--rounds", 1)) as own:
                own_run = own.status()["run"]["id"]
                self.assertEqual(own.end(), 0)
            runs = (str(self.home), own_run, other_run, "--home", "--bootstrap")
            result = self.up("--bootstrap", address)
            self.check(result, 4, "GV-CLI-008", address, *runs)
            self.assertEqual(result.stdout, "")  # it takes part in nothing
            self.check(self.up("--run", other_run), 4, "GV-CLI-008", *runs)
            home = self.folder / "third"
            for _ in range(2):  # joins, and then goes on: its run is the one there
                with Peer(*self.join(address, home=home)) as third:
                    third.wait_for(r"mixed 2 peers")
                    self.assertEqual(third.status()["errors"], [])
                    self.assertEqual(third.end(signal.SIGTERM), 143)
            self.assertEqual(first.end(signal.SIGTERM), 143)
        with Peer(*self.join(address, home=home)) as third:  # nobody is there: it goes on alone
            third.wait_for(r"Training on")
            self.assertIn("GV-RUN-006 no bootstrap peer reachable: " + address.split("/p2p/")[0] +
                          " (connection refused); going on", third.errors())
            self.assertEqual(third.end(signal.SIGTERM), 143)

    def test_another_protocol_version(self):
        with BentPeer("from-the-future", self.folder / "future") as future:
            address = future.wait_for(r"at (/ip4/\S+)")[1]
            result = self.up("--bootstrap", address)
        self.check(result, 3, "GV-RUN-003", "protocol version 2", "speaks 1", "Install the version")
        self.assertFalse((self.home / "manifest.json").exists())

    def test_port_in_use(self):
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            port = taken.getsockname()[1]
            result = run("up", "--new", "--data", self.data, "--home", self.home, "--status", f"127.0.0.1:{port}")
            self.check(result, 4, "GV-CLI-003", str(port))
            result = self.up("--new", "--listen", f"/ip4/127.0.0.1/tcp/{port}")
            self.check(result, 4, "GV-CLI-003", str(port))
            self.assertNotIn("Status page", result.stdout)  # there is none

    def test_home_in_use(self):
        with Peer(*self.new_run()) as peer:
            peer.status_address()
            self.check(self.up("--new"), 4, "GV-CLI-002", str(self.home))

    def test_home_not_writable(self):
        result = run("up", "--new", "--data", self.data, "--home", self.data / "home")
        self.check(result, 4, "GV-IO-004", str(self.data))
        for command in (["up", "--new", "--data", self.data], ["host"], ["demo", "--data", self.data]):
            self.check(run(*command, "--home", "/proc/x"), 4, "GV-IO-004", "/proc/x")  # where root makes nothing either

    def test_home_is_a_file(self):
        for arguments in (["up", "--new", "--data", self.data], ["whoami"], ["status"], ["sample"], ["key", "export"]):
            self.check(run(*arguments, "--home", self.data), 4, "GV-CLI-006", str(self.data), "is a file")

    def test_home_of_nobody(self):
        for command in (["whoami"], ["status"], ["sample"], ["key", "export"]):
            self.check(run(*command, "--home", self.home), 4, "GV-CLI-006", str(self.home), "no such folder")
        self.home.mkdir()
        self.check(run("whoami", "--home", self.home), 4, "GV-CLI-006", str(self.home), "identity.key")
        self.check(run("sample", "--home", self.home), 4, "GV-CLI-006", str(self.home), "identity.key")

    def test_no_checkpoint_yet(self):
        self.assertEqual(run("key", "new", "--home", self.home).returncode, 0)
        self.check(run("sample", "--home", self.home), 4, "GV-TRAIN-007", str(self.home), "first round")
        damaged = self.home / "checkpoints" / "3"
        damaged.mkdir(parents=True)
        self.check(run("sample", "--home", self.home), 4, "GV-TRAIN-003", str(damaged.parent))

    def test_oversized_files(self):
        self.home.mkdir()
        for name, exit_code, code in (("manifest.json", 2, "GV-CLI-004"), ("identity.key", 4, "GV-KEY-004")):
            file = self.home / name
            with file.open("wb") as made:
                made.truncate(1 << 42)  # a hole: more than there is memory
            self.check(self.up("--new"), exit_code, code, str(file), "at most")

    def test_disk_full(self):
        self.home.mkdir()
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", self.home], check=False,
                                 capture_output=True)
        if mounted.returncode != 0:
            self.skipTest("no right to mount a small disk")
        self.addCleanup(subprocess.run, ["umount", self.home], check=True)
        self.check(self.up("--new"), 4, "GV-IO-003", str(self.home))

    def test_corrupt_key(self):
        self.home.mkdir()
        key = self.home / "identity.key"
        key.write_bytes(b"not a key")
        self.check(self.up("--new"), 4, "GV-KEY-004", str(key))
        self.assertEqual(key.read_bytes(), b"not a key")

    def test_data(self):
        missing = self.folder / "missing"
        self.check(run("up", "--new", "--data", missing, "--home", self.home), 4, "GV-DATA-001", str(missing))
        self.check(run("demo", "--data", missing), 4, "GV-DATA-001", str(missing))
        self.data.write_text("short")
        self.check(self.up("--new"), 4, "GV-DATA-003", str(self.data))
        with mock.patch.dict(os.environ, TMPDIR=str(self.folder)):
            result = run("demo", "--data", self.data)
        self.check(result, 4, "GV-DATA-003", f"{self.data}: 5 bytes, in 4 parts", "needs about 2064")
        self.home.mkdir()
        self.check(run("demo", "--data", self.data, "--home", self.home), 4, "GV-DATA-003")
        self.assertEqual(sorted(self.folder.rglob("*")), [self.home, self.data])  # nothing is left behind

    def test_model_too_large(self):
        model = {"hidden_size": 8192, "intermediate_size": 32768, "layers": 40, "heads": 64, "kv_heads": 64}
        self.check(run("up", *self.new_run(model=model, shards=16)), 4, "GV-TRAIN-001")

    def test_json_holds_the_error_too(self):
        result = run("up", "--json", "--new", "--data", self.folder / "missing", "--home", self.home)
        self.assertEqual(json.loads(result.stdout.splitlines()[-1])["error"]["code"], "GV-DATA-001")

    def test_status_of_nobody(self):
        self.assertEqual(run("key", "new", "--home", self.home).returncode, 0)
        self.check(run("status", "--home", self.home), 4, "GV-CLI-007", str(self.home))
        with socket.socket() as closed:
            closed.bind(("127.0.0.1", 0))  # as a peer that was killed leaves it
            (self.home / "status.addr").write_text("127.0.0.1:" + str(closed.getsockname()[1]))
            self.check(run("status", "--home", self.home), 4, "GV-CLI-007", str(self.home), "refused")
        with Peer(*self.new_run(home=self.folder / "other")) as other:
            (self.home / "status.addr").write_text(other.status_address())
            self.check(run("status", "--home", self.home), 4, "GV-CLI-007", str(self.home), "another peer")
        self.check(run("status", "--url", "http://127.0.0.1:1"), 4, "GV-NET-001", "127.0.0.1:1")
        self.check(run("status", "--url", "nonsense"), 2, "GV-CLI-001", "nonsense")


class Help(ProgramTest):
    def test_help_teaches(self):
        for command in ([], ["up"], ["demo"], ["status"], ["key"], ["explain"]):
            result = run(*command, "--help")
            self.assertEqual(result.returncode, 0)
            self.assertIn("  grapevine ", result.stdout)

    def test_version(self):
        self.assertRegex(run("--version").stdout, r"^grapevine \d+\.\d+\.\d+ \(protocol \d+\)\n$")

    def test_explain(self):
        self.assertIn("fix: ", run("explain", "GV-NET-001").stdout)
        self.assertEqual(run("explain", "gv-net-001").stdout, run("explain", "GV-NET-001").stdout)
        self.assertEqual(run("explain", "GV-NET-01").returncode, 2)
        self.assertIn("GV-CLI-003", run("explain").stdout)


class Keys(ProgramTest):
    def test_a_key_moves_to_another_home(self):
        made = run("key", "new", "--home", self.home)
        self.assertEqual(made.returncode, 0, made.stderr)
        self.assertEqual(run("whoami", "--home", self.home).stdout, made.stdout)
        secret = run("key", "export", "--home", self.home).stdout
        other = self.folder / "other"
        self.assertEqual(run("key", "import", "--home", other, stdin=secret).stdout, made.stdout)
        self.assertEqual(run("key", "new", "--home", other).returncode, 2)
        self.assertEqual(run("whoami", "--home", other).stdout, made.stdout)
        self.assertEqual((other / "identity.key").stat().st_mode & 0o777, 0o600)

    def test_nonsense_is_no_key(self):
        for text in ("nonsense", "AAAA", "!!!", "", "a" * 10_000):
            result = run("key", "import", "--home", self.home, stdin=text)
            self.assertEqual(result.returncode, 4, result.stderr)
            self.assertIn("GV-KEY-001 bad key: standard input: ", result.stderr)
        self.assertFalse((self.home / "identity.key").exists())
        self.assertEqual(run("whoami", "--home", self.home).returncode, 4)
        self.assertEqual(run("key").returncode, 2)
        self.assertEqual(run("key", "new", "--home", "/proc/x").returncode, 4)


if __name__ == "__main__":
    program.main()
