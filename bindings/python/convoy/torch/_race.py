"""Carries out one operation by several ways, turn about, and says which is the fastest."""

from __future__ import annotations

import time
from typing import Dict, List, NamedTuple, Sequence

from . import _disturbance
from ._operation import Operation, Tensor
from ._ways import Way

ROUNDS = 3
_HOPELESS = 2.0  # times as slow as the best: not tried again


class Race(NamedTuple):
    """What came of it. `disturbance` says what kept it from being believed; "" if nothing."""

    times: Dict[str, List[float]]  # seconds by name of the way
    results: Dict[str, Tensor]
    disturbance: str

    @property
    def winner(self) -> str:
        return min(self.times, key=lambda name: min(self.times[name]))

    def __str__(self) -> str:
        return " ".join(f"{name}={min(times) * 1e3:.3f}ms" for name, times in self.times.items())


def race(ways: Sequence[Way], op: Operation, sent_anew: Sequence[Tensor]) -> Race:
    """The ways take turns, so that what else the machine does strikes all of them; the first time
    of each is for compiling and making ready."""
    running: List[Way] = list(ways)
    times: Dict[str, List[float]] = {way.name: [] for way in ways}
    results = {way.name: way.compute(op)[0] for way in running}
    observed = _disturbance.Observed()
    for _ in range(ROUNDS):
        for way in running:
            way.forget(sent_anew)
            start = time.perf_counter()
            way.compute(op)
            times[way.name].append(time.perf_counter() - start)
        limit = _HOPELESS * min(min(each) for each in times.values())
        running = [way for way in running if min(times[way.name]) <= limit]
    found = Race(times, results, observed.disturbance())
    others = [each for name, each in times.items() if name != found.winner]
    return found._replace(
        disturbance=found.disturbance or _disturbance.spread(times[found.winner], others)
    )
