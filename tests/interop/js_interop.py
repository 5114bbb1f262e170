#!/usr/bin/env python3
"""Runs `grapevine host` against js-libp2p, each dialling the other.

Usage: js_interop.py GRAPEVINE
Exits with 77 and "skipped: …" when Node or the npm packages are not there.
"""

import hashlib
import json
import os
import queue
import shutil
import subprocess
import sys
import threading

HERE = os.path.dirname(os.path.abspath(__file__))
DEADLINE_S = 60
MIB16 = 16 * 1024 * 1024


def skip(reason):
    print(f"skipped: {reason}")
    sys.exit(77)


class Peer:
    """A peer process: commands out, results and events in."""

    def __init__(self, name, command):
        self.name = name
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
        )
        self.events = queue.Queue()
        self.results = {}
        self.changed = threading.Condition()
        self.tags = 0
        threading.Thread(target=self.read, daemon=True).start()
        self.id = self.event("ready")["peer"]

    def read(self):
        for line in self.process.stdout:
            message = json.loads(line)
            if message["ev"] != "result":
                self.events.put(message)
                continue
            with self.changed:
                self.results[message.get("tag")] = message
                self.changed.notify_all()

    def event(self, kind, **fields):
        """The next event of this kind; others before it are dropped."""
        while True:
            try:
                message = self.events.get(timeout=DEADLINE_S)
            except queue.Empty:
                raise AssertionError(f"{self.name}: no event {kind} {fields}") from None
            if message["ev"] == kind and all(message.get(k) == v for k, v in fields.items()):
                return message

    def ask(self, *words, ok=True):
        self.tags += 1
        tag = str(self.tags)
        self.process.stdin.write(f"@{tag} " + " ".join(map(str, words)) + "\n")
        with self.changed:
            done = self.changed.wait_for(lambda: tag in self.results, DEADLINE_S)
        assert done, f"{self.name}: no answer to {words}"
        result = self.results.pop(tag)
        assert result["ok"] is ok, f"{self.name}: {words}: {result}"
        return result

    def until(self, what, condition):
        for _ in range(DEADLINE_S * 10):
            if condition():
                return
            threading.Event().wait(0.1)
        raise AssertionError(f"{self.name}: never {what}")

    def quit(self):
        self.process.stdin.write("quit\n")
        self.process.stdin.close()
        assert self.process.wait(DEADLINE_S) == 0, f"{self.name} ended badly"


def check_identify(asker, other, agent):
    info = asker.ask("id", other.id)
    assert agent in info["agent"], info
    assert "/ipfs/ping/1.0.0" in info["protocols"], info
    assert "/meshsub/1.1.0" in info["protocols"], info
    assert info["observedAddr"].startswith("/ip4/127.0.0.1/tcp/"), info


def check_gossip(sender, receiver, topic, data):
    expected = hashlib.sha256(data).hexdigest()
    sender.until(
        "sees the subscriber",
        lambda: receiver.id in sender.ask("topicpeers", topic)["peers"],
    )
    sender.ask("pub", topic, data.hex())
    message = receiver.event("message", topic=topic, hash=expected)
    assert message["from"] == sender.id, message
    assert message["size"] == len(data), message


def check_pair(dialer, listener, agents):
    address = listener.ask("listen")["addrs"][0]
    assert dialer.ask("dial", address)["peer"] == listener.id
    assert dialer.event("connected", peer=listener.id)["dir"] == "outbound"
    assert listener.event("connected", peer=dialer.id)["dir"] == "inbound"
    for one, other in ((dialer, listener), (listener, dialer)):
        check_identify(one, other, agents[other.name])
        rtts = one.ask("ping", other.id, 20)["rtt_ms"]
        assert len(rtts) == 20 and all(rtt < 5000 for rtt in rtts), rtts
        one.ask("unknown", other.id)
        one.ask("perf", other.id, MIB16, MIB16)
        one.ask("perf", other.id, 0, 1)
    for peer in (dialer, listener):
        peer.ask("sub", "interop")
    check_gossip(dialer, listener, "interop", b"from the dialer")
    check_gossip(listener, dialer, "interop", os.urandom(20_000))
    dialer.ask("close", listener.id)
    listener.event("disconnected", peer=dialer.id)


def check_wrong_peer(dialer, listener):
    """The wrong expectation fails cleanly and leaves the good connection alone."""
    address = listener.ask("listen")["addrs"][0]
    wrong = address.split("/p2p/")[0] + "/p2p/" + dialer.id[:-4] + "AAAA"
    dialer.ask("dial", wrong, ok=False)


def main():
    grapevine = sys.argv[1]
    node = os.environ.get("NODE") or shutil.which("node")
    if not node:
        skip("no node")
    if not os.path.isdir(os.path.join(HERE, "node_modules", "libp2p")):
        skip("no npm packages; `npm ci` in tests/interop brings them")
    agents = {"grapevine": "grapevine/", "js": "js-libp2p"}
    for ours_dials in (True, False):
        ours = Peer("grapevine", [grapevine, "host", "--perf"])
        theirs = Peer("js", [node, os.path.join(HERE, "peer.mjs")])
        dialer, listener = (ours, theirs) if ours_dials else (theirs, ours)
        print(f"{dialer.name} dials {listener.name}", flush=True)
        check_pair(dialer, listener, agents)
        check_wrong_peer(dialer, listener)
        ours.quit()
        theirs.quit()
    print("passed")


if __name__ == "__main__":
    main()
