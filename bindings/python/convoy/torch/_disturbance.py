"""Whether a measurement was disturbed by what else the machine had to do.

Linux counts for each thread how long it ran and how long it was ready to and got no processor; a
virtual machine is told how much time its host took from it. What neither shows, such as other work
on the same card, shows in times of one thing that differ.
"""

from __future__ import annotations

import os
import time
from typing import Dict, Sequence, Tuple

_MOST = 0.1  # part of the time that may be lost to others
_WAKING = 1e-3  # seconds that a thread waits in small pieces, as it wakes up, on an idle machine
_TICKS = 2  # of the clock that counts what the host took: fewer say nothing
_SPREAD = 1.5  # typical time through shortest time

_TASKS = "/proc/self/task"


def _threads() -> Dict[str, Tuple[float, float]]:
    """Seconds that each thread of this process ran, and waited for a processor."""
    found = {}
    for thread in os.listdir(_TASKS):
        try:
            with open(f"{_TASKS}/{thread}/schedstat") as file:
                ran, waited, _ = file.read().split()
            found[thread] = int(ran) / 1e9, int(waited) / 1e9
        except (OSError, ValueError):  # it has just ended, or the kernel does not count
            continue
    return found


def _stolen() -> int:
    """Ticks that the host has taken, of all processors together."""
    try:
        with open("/proc/stat") as file:
            return int(file.readline().split()[8])
    except (OSError, ValueError, IndexError):
        return 0


class Observed:
    """What the process got of the machine since this was made."""

    def __init__(self) -> None:
        self._threads, self._stolen, self._begin = _threads(), _stolen(), time.perf_counter()

    def waited(self) -> float:
        """Part of the time in which threads would have run that others had their processors."""
        ran = waited = 0.0
        for thread, (ran_now, waited_now) in _threads().items():
            ran_before, waited_before = self._threads.get(thread, (0.0, 0.0))
            ran += ran_now - ran_before
            lost = waited_now - waited_before
            waited += lost if lost > _WAKING else 0.0
        return waited / (ran + waited) if waited else 0.0

    def stolen(self) -> float:
        """Part of all processors' time that the host took."""
        ticks = _stolen() - self._stolen
        every = (time.perf_counter() - self._begin) * os.sysconf("SC_CLK_TCK")
        return ticks / (every * (os.cpu_count() or 1)) if ticks >= _TICKS else 0.0

    def disturbance(self) -> str:
        """What it was, for a sentence; "" if nothing."""
        waited, stolen = self.waited(), self.stolen()
        if waited > _MOST:
            return f"this process's threads waited {100 * waited:.0f} % of their time to run"
        if stolen > _MOST:
            return f"the host took {100 * min(stolen, 1.0):.0f} % of the processors' time"
        return ""


def spread(best: Sequence[float], others: Sequence[Sequence[float]]) -> str:
    """Likewise, from times that were measured: the fastest way's typical time is so much longer
    than its shortest that another way may be as fast."""
    typical, least = sorted(best)[len(best) // 2], min(best)
    if typical > _SPREAD * least and any(typical > min(times) for times in others):
        return f"one operation took {least * 1e3:.3g} ms and {typical * 1e3:.3g} ms"
    return ""
