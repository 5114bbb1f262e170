#!/usr/bin/env python3
"""Runs `grapevine host` against js-libp2p, each dialling the other.

Usage: js_interop.py GRAPEVINE
Exits with 77 and "skipped: …" when Node or the npm packages are not there.
"""

import hashlib
import os
import shutil
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
from host_shell import HostShell

MIB16 = 16 * 1024 * 1024


def skip(reason):
    print(f"skipped: {reason}")
    sys.exit(77)


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
    """Whoever answers with another key than the address names is refused."""
    address = listener.ask("listen")["addrs"][0]
    somebody_else = "12D3KooWJ2GstGcgRZzrQMPkVLNWpZcEwYHJkrQm2gtpQqNAD5ED"
    dialer.ask("dial", address.split("/p2p/")[0] + "/p2p/" + somebody_else, ok=False)
    dialer.ask("dial", address)
    dialer.ask("ping", listener.id, 1)


def main():
    grapevine = sys.argv[1]
    node = os.environ.get("NODE") or shutil.which("node")
    if not node:
        skip("no node")
    if not os.path.isdir(os.path.join(HERE, "node_modules", "libp2p")):
        skip("no npm packages; `npm ci` in tests/interop brings them")
    agents = {"grapevine": "grapevine/", "js": "js-libp2p"}
    for ours_dials in (True, False):
        ours = HostShell("grapevine", [grapevine, "host", "--perf"])
        theirs = HostShell("js", [node, os.path.join(HERE, "peer.mjs")])
        dialer, listener = (ours, theirs) if ours_dials else (theirs, ours)
        print(f"{dialer.name} dials {listener.name}", flush=True)
        check_pair(dialer, listener, agents)
        check_wrong_peer(dialer, listener)
        ours.quit()
        theirs.quit()
    print("passed")


if __name__ == "__main__":
    main()
