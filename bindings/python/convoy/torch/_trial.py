"""A choice between ways that is made on the calls that a program makes anyway: the ways take turns.

They take them in rounds, of which the first is for making ready. A round goes through all ways in
one order or in reverse, so that each way meets calls of each kind where a program makes calls of
two to six kinds by turns, of which some take longer than others.
"""

from __future__ import annotations

from typing import Dict, List, NamedTuple, Sequence

from . import _disturbance

# A way is not tried again that takes so much longer than the best, as a part of that, after one
# round; after two half of it, and so on.
_HOPELESS = 4.0

_IN_REVERSE = (False, True, True, True, False, True, False, False, False)  # rounds


class Outcome(NamedTuple):
    """`disturbance` says why it is not to be believed; "" if it is."""

    times: Dict[str, List[float]]  # seconds of calls, by way
    winner: str
    disturbance: str

    def __str__(self) -> str:
        return " ".join(f"{name}={min(times) * 1e3:.3g}ms" for name, times in self.times.items())


class Trial:
    """`names` are the ways, the last of them the one that another has to beat: it wins where the
    fastest takes more than `worth` of its time."""

    def __init__(self, names: Sequence[str], rounds: int, worth: float) -> None:
        self._names, self._rounds, self._worth = list(names), rounds, worth
        self._times: Dict[str, List[float]] = {name: [] for name in names}
        self._running = list(names)
        self._round = 0
        self._due = list(names)

    @property
    def turn(self) -> str:
        """The way of the next call."""
        return self._due[0]

    @property
    def is_over(self) -> bool:
        return self._round > self._rounds or len(self._running) == 1

    def note(self, seconds: float) -> None:
        """So long took the call whose turn it was."""
        name = self._due.pop(0)
        if self._round:
            self._times[name].append(seconds)
        if not self._due:
            self._next_round()

    def _next_round(self) -> None:
        if self._round:
            best = min(min(self._times[name]) for name in self._running)
            limit = (1 + _HOPELESS / self._round) * best
            self._running = [name for name in self._running if min(self._times[name]) <= limit]
        else:
            self._observed = _disturbance.Observed()
        self._round += 1
        self._due = self._running[:: -1 if _IN_REVERSE[self._round % len(_IN_REVERSE)] else 1]

    def outcome(self) -> Outcome:
        """Of a trial that is over."""
        best = {name: min(times) for name, times in self._times.items()}
        fastest, default = min(best, key=lambda name: best[name]), self._names[-1]
        winner = fastest if best[fastest] <= self._worth * best[default] else default
        others = [times for name, times in self._times.items() if name != winner]
        disturbed = self._observed.disturbance() or _disturbance.spread(self._times[winner], others)
        return Outcome(self._times, winner, disturbed)
