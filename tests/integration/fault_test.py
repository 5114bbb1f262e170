"""The faults of real life, against real processes: peers that are killed, freeze, or lose the one they joined by. The
others finish every round and say who was missing and why; the victim comes back under its own name."""

import re
import signal
import time
import unittest

import program
from program import BentPeer, Peer, Place, ledger, peer_bytes

RUN = {"name": "faults", "inner_steps": 400, "deadline_s_max": 10}
FREEZE_S = 20  # longer than a round waits, and than a silent peer is believed to be there
STOP_S = 5
REASON = rb"connection lost|still training at step \d+ of \d+|announced nothing before the deadline|" \
         rb"its gradient (reached no reducer in time|could not be pulled: .+)"


class Swarm(Place):
    """Three peers on loopback; the others joined by the first one's address."""

    def __init__(self):
        self.furnish()
        self.homes = [self.folder / name for name in ("first", "second", "third")]
        self.peers = [Peer(*self.new_run(home=self.homes[0], **RUN))]
        try:
            address = self.peers[0].join_address()
            for home in self.homes[1:]:
                self.peers.append(Peer(*self.join(address, home=home)))
                self.peers[-1].join_address()  # it has a name now
            self.ids = [peer.status()["peer"]["id"] for peer in self.peers]
        except BaseException:
            self.end()
            raise

    def end(self):
        for peer in self.peers:
            peer.__exit__()
        self.clear()

    def rejoin(self, index):
        self.peers[index].__exit__()
        self.peers[index] = Peer(*self.go_on(self.homes[index]))


class Faults(unittest.TestCase):
    """One swarm for all: each test begins when everybody takes part, and ends so."""

    @classmethod
    def setUpClass(cls):
        cls.swarm = Swarm()
        cls.addClassCleanup(cls.swarm.end)

    def setUp(self):
        self.wait_for_everybody()
        self.began = max(map(self.round_of, range(3)))

    def round_of(self, index):
        return self.swarm.peers[index].status()["round"]["current"]

    def wait_for_round(self, index, round_number):
        self.swarm.peers[index].wait_until(f"round {round_number}",
                                           lambda status: status["round"]["current"] >= round_number)

    def wait_for_everybody(self):
        """Until each peer has finished one more round with all the three."""
        for index, home in enumerate(self.swarm.homes):
            since = self.round_of(index)

            def together(_, home=home, since=since):
                return any(number >= since and participants == 3 for number, participants, _, _ in ledger(home))
            self.swarm.peers[index].wait_until("a round of all three", together)

    def wait_for_missing(self, index, victim, others):
        """Until the ledger of `index` has a round of the `others` that says why the victim was missing from it."""
        def named(_):
            return any(number >= self.began and (participants, missing) == (others, 1) and re.search(REASON, entry) and
                       peer_bytes(victim) in entry for number, participants, missing, entry in
                       ledger(self.swarm.homes[index]))
        self.swarm.peers[index].wait_until(f"a round without {victim}", named)

    def wait_until_missed(self, victim):
        for index in {0, 1, 2} - {victim}:
            self.wait_for_missing(index, self.swarm.ids[victim], 2)

    def check_rejoined(self, victim):
        """It takes part under its old name, and the others have lost no round meanwhile."""
        self.assertEqual(self.swarm.peers[victim].status()["peer"]["id"], self.swarm.ids[victim])
        self.wait_for_everybody()
        for index in {0, 1, 2} - {victim}:
            history = self.swarm.peers[index].history()
            numbers = [round["round"] for round in history if round["round"] >= self.began]
            self.assertEqual(numbers, list(range(self.began, numbers[-1] + 1)))

    def test_a_killed_peer(self):
        self.swarm.peers[2].kill()
        self.wait_until_missed(2)
        self.swarm.rejoin(2)
        self.swarm.peers[2].join_address()
        self.check_rejoined(2)

    def test_a_frozen_peer(self):
        frozen = self.swarm.peers[2].process
        frozen.send_signal(signal.SIGSTOP)
        try:
            time.sleep(FREEZE_S)
            self.wait_until_missed(2)
        finally:
            frozen.send_signal(signal.SIGCONT)
        self.check_rejoined(2)

    def test_a_peer_announces_and_never_serves(self):
        address = self.swarm.peers[0].join_address()
        with BentPeer("never-serves", self.swarm.folder / "bent", address) as bent:
            name = bent.wait_for(r"takes part as (\S+)")[1]
            self.swarm.peers[2].kill()
            self.swarm.rejoin(2)  # it may ask the bent one for the model
            self.began = self.round_of(0)
            for index in range(3):
                self.wait_for_missing(index, name, 3)
            self.assertIsNone(bent.process.poll())
        self.wait_for_everybody()

    def test_the_bootstrap_peer_is_killed(self):
        self.swarm.peers[0].kill()
        self.wait_until_missed(0)
        for index in (1, 2):
            self.wait_for_round(index, self.began + 3)
        self.swarm.rejoin(0)
        self.swarm.peers[0].join_address()
        self.check_rejoined(0)

    def test_a_peer_is_told_to_stop(self):
        for number in (signal.SIGTERM, signal.SIGINT):
            reached = self.round_of(1)
            self.assertEqual(self.swarm.peers[1].end(number, STOP_S), 128 + number)
            saved = max(int(folder.name) for folder in (self.swarm.homes[1] / "checkpoints").iterdir())
            self.assertGreaterEqual(saved, reached)
            for index in (0, 2):
                self.wait_for_round(index, reached + 2)
            self.swarm.rejoin(1)
            resumed = int(self.swarm.peers[1].wait_for(r"from round (\d+)\.")[1])
            self.assertGreater(resumed, saved)
            self.check_rejoined(1)


if __name__ == "__main__":
    program.main()
