"""The grapevine binary for tests: run it to its end, or start it and follow what it says.

Waiting is always for something the program does, with a deadline that only a hang can reach."""

import json
import os
import pathlib
import re
import select
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.error
import urllib.request

import contract

PATIENCE_S = 180
BINARY = sys.argv.pop(1) if len(sys.argv) > 1 else ""
BENT_PEER = sys.argv.pop(1) if len(sys.argv) > 1 else ""  # of bent_peer.cpp

TINY_RUN = {
    "name": "tiny",
    "model": {"vocab_size": 256, "hidden_size": 32, "intermediate_size": 64, "layers": 1, "heads": 2,
              "kv_heads": 1, "context": 32},
    "inner_steps": 20,
    "deadline_s_min": 1,
    "inner": {"batch": 4, "warmup_steps": 2, "schedule_steps": 200},
}


def run(*arguments, stdin=None):
    return subprocess.run([BINARY, *map(str, arguments)], input=stdin, capture_output=True, text=True,
                          timeout=PATIENCE_S, check=False)


def get(address, path, method="GET", **headers):
    """Status and text of a page."""
    request = urllib.request.Request(f"http://{address}{path}", method=method, headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=PATIENCE_S) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


class Child:
    """A running program of ours; killed when the `with` block ends. Its log goes to a file, so that no pipe fills."""

    def __init__(self, *command):
        self.log = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen([*map(str, command)], stdout=subprocess.PIPE, stderr=self.log, text=True,
                                        start_new_session=True)
        os.set_blocking(self.process.stdout.fileno(), False)
        self.output = ""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.kill()
        self.process.stdout.close()
        self.log.close()

    def kill(self):
        self.process.kill()
        self.process.wait()

    def _read_more(self, until):
        ready, _, _ = select.select([self.process.stdout], [], [], max(0.0, until - time.monotonic()))
        more = self.process.stdout.read() if ready else None
        if not more:
            return False
        self.output += more
        return True

    def wait_for(self, pattern):
        """The match of `pattern` in what it has said, as soon as it says so."""
        until = time.monotonic() + PATIENCE_S
        while True:
            match = re.search(pattern, self.output)
            if match:
                return match
            if not self._read_more(until):
                raise AssertionError(f"no {pattern!r} in:\n{self.output}\n{self.errors()}")

    def errors(self):
        self.log.seek(0)
        return self.log.read()

    def end(self, number=None, patience_s=PATIENCE_S):
        """The exit code, after a signal if one is given."""
        if number is not None:
            self.process.send_signal(number)
        until = time.monotonic() + patience_s
        while self._read_more(until):
            pass
        return self.process.wait(max(0.1, until - time.monotonic()))


class Peer(Child):
    """A running `grapevine up`, which ends with this process however this one ends."""

    def __init__(self, *arguments):
        super().__init__(BINARY, "up", "--with-parent", os.getpid(), *arguments)

    def status_address(self):
        return self.wait_for(r"Status page: http://(\S+)/")[1]

    def join_address(self):
        return self.wait_for(r"--bootstrap (/ip4/\S+)")[1]

    def status(self):
        """Its /status, which keeps its contract whenever a test looks."""
        status = json.loads(get(self.status_address(), "/status")[1])
        broken = contract.broken_promises(status)
        if broken:
            raise AssertionError("\n".join(broken))
        return status

    def history(self):
        return json.loads(get(self.status_address(), "/history?since=0")[1])["rounds"]

    def wait_until(self, what, holds):
        """What `holds` makes of the peer's status, as soon as that is something."""
        until = time.monotonic() + PATIENCE_S
        status = {}
        while time.monotonic() < until and self.process.poll() is None:
            status = self.status()
            found = holds(status)
            if found:
                return found
            time.sleep(0.1)
        raise AssertionError(f"never {what}:\n{json.dumps(status, indent=1)}\n{self.output}\n{self.errors()}")


class BentPeer(Child):
    """A peer that breaks one promise; see bent_peer.cpp."""

    def __init__(self, how, home, *more):
        super().__init__(BENT_PEER, how, home, *more)


class Place:
    """A folder with text to train on, and the command lines of peers that live in it."""

    def furnish(self):
        self._folder = tempfile.TemporaryDirectory(prefix="grapevine-")
        self.folder = pathlib.Path(self._folder.name)
        self.data = self.folder / "text.txt"
        self.data.write_text("".join(f"{i} times {i} is {i * i}, as the vine knows.\n" for i in range(4000)))
        self.home = self.folder / "home"

    def clear(self):
        self._folder.cleanup()

    def manifest(self, **changes):
        path = self.folder / "run.json"
        path.write_text(json.dumps(TINY_RUN | changes))
        return path

    def new_run(self, *more, home=None, **changes):
        return ["--new", "--manifest", self.manifest(**changes), "--data", self.data, "--home", home or self.home,
                "--listen", "/ip4/127.0.0.1/tcp/0", "--status", "127.0.0.1:0", "--device", "cpu", "--threads", 1,
                *more]

    def go_on(self, home):
        """All it knows is what its home remembers."""
        return ["--data", self.data, "--home", home, "--listen", "/ip4/127.0.0.1/tcp/0", "--status", "127.0.0.1:0",
                "--device", "cpu", "--threads", 1]

    def join(self, address, *more, home):
        return ["--bootstrap", address, *self.go_on(home), *more]


class ProgramTest(Place, unittest.TestCase):
    """A place of its own for each test."""

    def setUp(self):
        self.furnish()
        self.addCleanup(self.clear)


def ledger(home):
    """The rounds a home has merged, as (round, participants, missing, signed entry), oldest first."""
    database = sqlite3.connect(f"file:{home / 'ledger.db'}?mode=ro", uri=True)
    try:
        return database.execute("select rounds.round, participants, missing, entry from rounds join entries "
                                "using (number) order by number").fetchall()
    finally:
        database.close()


def peer_bytes(text):
    """A peer id as the messages hold it, without the zero that begins it: base58 decoded."""
    alphabet = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
    number = 0
    for letter in text:
        number = number * 58 + alphabet.index(letter)
    return number.to_bytes((number.bit_length() + 7) // 8, "big")


def main():
    if not os.access(BINARY, os.X_OK):
        print(f"skipped: there is no program at {BINARY!r}")
        sys.exit(77)
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    unittest.main(verbosity=2)
