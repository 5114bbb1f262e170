"""A link that is cut in the middle of a pull: everything between two peers passes a relay, which tears its connections
down once so many bytes went through. The pull goes on, and both take part in the rounds after it."""

import signal
import socket
import struct
import threading

import program
from program import Peer, ProgramTest, ledger

# Four megabytes of parameters and as many of momentum, in shards of several chunks.
MODEL = {"vocab_size": 256, "hidden_size": 128, "intermediate_size": 512, "layers": 4, "heads": 4, "kv_heads": 2,
         "context": 32}
RUN = {"name": "cut", "model": MODEL, "shards": 2, "inner_steps": 40, "deadline_s_max": 20}
CUT_BYTES = 2_500_000  # more than all the talk before a pull, less than a pull


class Relay:
    """TCP from a port of its own to another one of this machine, and back."""

    def __init__(self, target):
        self.target = target
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.lock = threading.Lock()
        self.sockets = []
        self.cuts = 0
        self.left = None  # bytes until the next cut
        self._start(self._accept)

    def cut_after(self, count):
        with self.lock:
            self.left = count

    def close(self):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        with self.lock:
            self._tear_down()

    def _start(self, work, *arguments):
        threading.Thread(target=work, args=arguments, daemon=True).start()

    def _accept(self):
        while True:
            try:
                near, _ = self.listener.accept()
            except OSError:
                return  # closed
            try:
                far = socket.create_connection(("127.0.0.1", self.target))
            except OSError:
                near.close()
                continue
            with self.lock:
                self.sockets += [near, far]
            self._start(self._pump, near, far)
            self._start(self._pump, far, near)

    def _pump(self, source, sink):
        try:
            while piece := source.recv(64 * 1024):
                if self._cuts(len(piece)):
                    return
                sink.sendall(piece)
            sink.shutdown(socket.SHUT_WR)
        except OSError:
            pass  # torn down

    def _cuts(self, count):
        with self.lock:
            if self.left is None:
                return False
            self.left -= count
            if self.left > 0:
                return False
            self.left = None
            self.cuts += 1
            self._tear_down()
            return True

    def _tear_down(self):
        for one in self.sockets:
            try:
                one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # close with a reset
                one.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass  # the other side was faster
            one.close()
        self.sockets = []


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return probe.getsockname()[1]


class CutLink(ProgramTest):
    def setUp(self):
        super().setUp()
        port = free_port()
        self.relay = Relay(port)
        self.addCleanup(self.relay.close)
        self.first = Peer(*self.new_run("--listen", f"/ip4/127.0.0.1/tcp/{port}", "--announce",
                                        f"/ip4/127.0.0.1/tcp/{self.relay.port}", **RUN))
        self.addCleanup(self.first.__exit__)

    def newcomer(self):
        """One that nobody can dial: the relay is the only way."""
        peer = Peer(*self.join(self.first.join_address(), "--announce", f"/ip4/127.0.0.1/tcp/{free_port()}",
                               home=self.folder / "second"))
        self.addCleanup(peer.__exit__)
        return peer

    def wait_for_both(self):
        since = self.first.status()["round"]["current"]
        for peer, home in ((self.first, self.home), (self.second, self.folder / "second")):
            peer.wait_until("a round of both", lambda _, home=home: any(
                number > since and participants == 2 for number, participants, _, _ in ledger(home)))

    def test_the_link_is_cut(self):
        with self.subTest("while a newcomer pulls the model"):
            self.first.wait_for(r"Round 2: loss")  # there is momentum to pull too
            self.relay.cut_after(CUT_BYTES)
            self.second = self.newcomer()
            self.second.wait_for(r"Training on")
            self.assertEqual(self.relay.cuts, 1)
            self.wait_for_both()
        for cut in range(2, 4):
            with self.subTest("while gradients are pulled", cut=cut):
                self.relay.cut_after(CUT_BYTES)
                self.second.wait_until(f"cut {cut}", lambda _: self.relay.cuts == cut)
                self.wait_for_both()
        for peer in (self.second, self.first):
            self.assertEqual(peer.end(signal.SIGTERM), 128 + signal.SIGTERM)


if __name__ == "__main__":
    program.main()
