#!/usr/bin/env python3
"""`grapevine host`: every command of its language, between processes of its own."""

import hashlib
import json
import os
import signal
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import program
from host_shell import HostShell

BINARY = program.BINARY


class HostTest(unittest.TestCase):
    def start(self, *arguments):
        shell = HostShell("grapevine", [BINARY, "host", *arguments])
        self.addCleanup(shell.kill)
        return shell

    def pair(self):
        """Two hosts, the first has dialled the second."""
        one, other = self.start(), self.start("--perf")
        self.address = other.ask("listen")["addrs"][0]
        self.assertEqual(one.ask("dial", self.address)["peer"], other.id)
        self.assertEqual(one.event("connected", peer=other.id)["dir"], "outbound")
        self.assertEqual(other.event("connected", peer=one.id)["dir"], "inbound")
        return one, other

    def test_identify_ping_and_peers(self):
        one, other = self.pair()
        info = one.ask("id", other.id)
        self.assertTrue(info["agent"].startswith("grapevine/"))
        self.assertIn("/perf/1.0.0", info["protocols"])
        self.assertNotIn("/perf/1.0.0", other.ask("id", one.id)["protocols"])
        self.assertEqual(info["listenAddrs"], [self.address.split("/p2p/")[0]])
        self.assertEqual(len(one.ask("ping", other.id, 5)["rtt_ms"]), 5)
        self.assertEqual(one.ask("peers")["peers"], [other.id])
        one.ask("unknown", other.id)

    def test_close_is_seen_on_both_sides(self):
        one, other = self.pair()
        one.ask("close", other.id)
        one.event("disconnected", peer=other.id)
        self.assertTrue(other.event("disconnected", peer=one.id)["reason"])
        self.assertEqual(other.ask("peers")["peers"], [])

    def test_gossip_carries_any_bytes(self):
        one, other = self.pair()
        for host in (one, other):
            host.ask("sub", "talk")
        one.until("sees the subscriber", lambda: other.id in one.ask("topicpeers", "talk")["peers"])
        seen = []
        for data in (b"", b"\x00\xff", os.urandom(30_000)):
            told = one.ask("pub", "talk", data.hex()) if data else one.ask("pub", "talk")
            self.assertEqual(told["hash"], hashlib.sha256(data).hexdigest())
            message = other.event("message", topic="talk", hash=told["hash"])
            self.assertEqual((message["from"], message["size"], message["via"]), (one.id, len(data), one.id))
            self.assertEqual(message["seqno"], told["seqno"])
            seen.append(int(told["seqno"], 16))
        self.assertEqual(seen, sorted(set(seen)))

    def test_bulk_streams_and_handshakes(self):
        one, other = self.pair()
        mib = 1024 * 1024
        self.assertGreater(one.ask("perf", other.id, 4 * mib, 4 * mib)["download_s"], 0)
        self.assertGreater(one.ask("perfpar", other.id, 4, mib, mib)["upload_s"], 0)
        rates = one.ask("streams", other.id, 200)
        self.assertGreater(rates["sequential_per_s"], 0)
        self.assertGreater(rates["parallel64_per_s"], 0)
        self.assertGreater(one.ask("handshakes", self.address, 5)["per_s"], 0)
        other.until("forgot the newcomers", lambda: other.ask("peers")["peers"] == [one.id])

    def test_mistakes_are_answered_and_end_nothing(self):
        one, other = self.pair()
        for words in (["nonsense"], ["dial"], ["dial", "/ip4/1.2.3.4"], ["dial", "somewhere"], ["ping", "nobody"],
                      ["ping", other.id, "many"], ["pub", "talk", "xyz"], ["perfpar", other.id, 0, 1, 1],
                      ["ping", "12D3KooWJ2GstGcgRZzrQMPkVLNWpZcEwYHJkrQm2gtpQqNAD5ED"]):
            self.assertTrue(one.ask(*words, ok=False)["error"], words)
        self.assertIn("perf", one.ask("perf", other.id, 1, 1)["cmd"])
        self.assertTrue(other.ask("perf", one.id, 1, 1, ok=False)["error"])  # not offered there

    def test_commands_run_at_once_and_quit_ends_what_runs(self):
        one, other = self.pair()
        one.process.stdin.write(f"@slow handshakes {self.address} 100000\n")
        one.ask("ping", other.id, 1)
        one.quit()
        other.event("disconnected", peer=one.id)
        other.quit()

    def test_a_script_gets_all_its_answers(self):
        done = subprocess.run([BINARY, "host"], input="listen\npeers\n", capture_output=True, text=True,
                              timeout=program.PATIENCE_S, check=True)
        lines = [json.loads(line) for line in done.stdout.splitlines()]
        self.assertEqual(lines[0]["ev"], "ready")
        self.assertEqual({line["cmd"] for line in lines[1:]}, {"listen", "peers"})

    def test_it_serves_until_a_signal(self):
        with subprocess.Popen([BINARY, "host", "--listen", "/ip4/127.0.0.1/tcp/0"], stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, text=True) as serving:
            ready = json.loads(serving.stdout.readline())
            self.assertTrue(ready["addrs"][0].endswith(ready["peer"]))
            self.assertEqual(self.start().ask("dial", ready["addrs"][0])["peer"], ready["peer"])
            serving.send_signal(signal.SIGTERM)
            self.assertEqual(serving.wait(program.PATIENCE_S), 128 + signal.SIGTERM)


if __name__ == "__main__":
    program.main()
