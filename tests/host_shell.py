"""Drives `grapevine host`, and other implementations that speak its line language."""

import json
import queue
import subprocess
import threading

DEADLINE_S = 60


class HostShell:
    """A process that speaks the line language of `grapevine host`: commands out, results and events in."""

    def __init__(self, name, command):
        self.name = name
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
        )
        self.events = queue.Queue()
        self.results = {}
        self.changed = threading.Condition()
        self.tags = 0
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()
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

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.reader.join()
        self.process.stdout.close()
        if not self.process.stdin.closed:
            self.process.stdin.close()
