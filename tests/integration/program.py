"""The grapevine binary for tests: run it to its end, or start it and follow what it says.

Waiting is always for something the program does, with a deadline that only a hang can reach."""

import json
import os
import pathlib
import re
import select
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.error
import urllib.request

PATIENCE_S = 180
BINARY = sys.argv.pop(1) if len(sys.argv) > 1 else ""

TINY_RUN = {
    "name": "tiny",
    "model": {"vocab_size": 256, "hidden_size": 32, "intermediate_size": 64, "layers": 1, "heads": 2,
              "kv_heads": 1, "context": 32},
    "inner_steps": 4,
    "deadline_s_min": 1,
    "inner": {"batch": 4, "warmup_steps": 2, "schedule_steps": 200},
}


def run(*arguments, stdin=None):
    return subprocess.run([BINARY, *map(str, arguments)], input=stdin, capture_output=True, text=True,
                          timeout=PATIENCE_S, check=False)


def get(address, path, method="GET"):
    """Status and text of a page."""
    request = urllib.request.Request(f"http://{address}{path}", method=method)
    try:
        with urllib.request.urlopen(request, timeout=PATIENCE_S) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


class Peer:
    """A running `grapevine up`; killed when the `with` block ends."""

    def __init__(self, *arguments):
        self.process = subprocess.Popen([BINARY, "up", *map(str, arguments)], stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True, start_new_session=True)
        os.set_blocking(self.process.stdout.fileno(), False)
        self.output = ""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()

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
                raise AssertionError(f"no {pattern!r} in:\n{self.output}\n{self._errors()}")

    def _errors(self):
        self.process.kill()
        return self.process.communicate()[1]

    def status_address(self):
        return self.wait_for(r"Status page: http://(\S+)/")[1]

    def join_address(self):
        return self.wait_for(r"--bootstrap (/ip4/\S+)")[1]

    def end(self, number=None):
        """The exit code, after a signal if one is given."""
        if number is not None:
            self.process.send_signal(number)
        until = time.monotonic() + PATIENCE_S
        while self._read_more(until):
            pass
        return self.process.wait(PATIENCE_S)


class ProgramTest(unittest.TestCase):
    """A folder of its own for each test, with text to train on and a small run."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="grapevine-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.data = self.folder / "text.txt"
        self.data.write_text("".join(f"{i} times {i} is {i * i}, as the vine knows.\n" for i in range(4000)))
        self.home = self.folder / "home"

    def manifest(self, **changes):
        path = self.folder / "run.json"
        path.write_text(json.dumps(TINY_RUN | changes))
        return path

    def new_run(self, *more, home=None, **changes):
        return ["--new", "--manifest", self.manifest(**changes), "--data", self.data, "--home", home or self.home,
                "--listen", "/ip4/127.0.0.1/tcp/0", "--status", "127.0.0.1:0", "--device", "cpu", "--threads", 1,
                *more]

    def join(self, address, *more, home):
        return ["--bootstrap", address, "--data", self.data, "--home", home, "--listen", "/ip4/127.0.0.1/tcp/0",
                "--status", "127.0.0.1:0", "--device", "cpu", "--threads", 1, *more]


def main():
    if not os.access(BINARY, os.X_OK):
        print(f"skipped: there is no program at {BINARY!r}")
        sys.exit(77)
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    unittest.main(verbosity=2)
