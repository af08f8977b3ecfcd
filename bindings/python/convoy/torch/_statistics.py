"""What ran where, and why something did not run through Convoy."""

from __future__ import annotations

import threading
from collections import Counter
from typing import Dict, List, NamedTuple, Sequence, Tuple

from .._records import Health

PYTORCH = "pytorch"

FORKED = "in a forked child"
MEASURED = "measured to be faster"

Key = Tuple[str, str, str]  # where, direction, reason


class Statistics:
    """Counts of operations. Threads of a program may compute at the same time."""

    def __init__(self) -> None:
        self._counts: Counter[Key] = Counter()
        self._networks: Counter[Key] = Counter()
        self._lock = threading.Lock()

    def count(self, where: str, direction: str, reason: str = "") -> None:
        with self._lock:
            self._counts[where, direction, reason] += 1

    def count_network(self, name: str, how: str, reason: str) -> None:
        """A call of a module: how is "graph", or "pytorch" and the reason why."""
        with self._lock:
            self._networks[name, how, reason] += 1

    def networks(self) -> Dict[Key, int]:
        """How often each (module, how, reason) occurred."""
        with self._lock:
            return dict(self._networks)

    def after_fork(self) -> None:
        """Another thread of the parent may have held the lock."""
        self._lock = threading.Lock()

    def counts(self) -> Dict[Key, int]:
        """How often each (where, direction, reason) occurred; where is "pytorch" or a device."""
        with self._lock:
            return dict(self._counts)


class State(NamedTuple):
    """How the device is: its counters, and the line that describes its context."""

    health: Health
    description: str


def table(
    counts: Dict[Key, int],
    networks: Dict[Key, int],
    captured: Sequence[str],
    states: Sequence[State],
) -> str:
    """The counts for people: a line that sums up, then one line per row, of operations and of
    networks; what there is to say of `captured` ones, and of the devices."""
    through = sum(count for (where, _, _), count in counts.items() if where != PYTORCH)
    lines = [f"{through} of {sum(counts.values())} convolution operations through Convoy"]
    rows = sorted(counts.items(), key=lambda row: (row[0][0] == PYTORCH, -row[1], row[0]))
    lines += [_row(*key, count) for key, count in rows]
    lines += [*_network_lines(networks), *captured]
    for state in states:
        if state.health.faults:
            lines.append(
                f"  {state.health.faults} faults of the device; {state.health.failovers} "
                "operations computed elsewhere because of them"
            )
        if state.health.fallback_seconds:
            lines.append(f"  computing on {state.description}")
    return "\n".join(lines)


def _row(where: str, direction: str, reason: str, count: int) -> str:
    return f"  {count:>9}  {where:8}  {direction:16}  {reason}".rstrip()


def _network_lines(networks: Dict[Key, int]) -> List[str]:
    if not networks:
        return []
    graphs = sum(count for (_, how, _), count in networks.items() if how != PYTORCH)
    lines = [f"{graphs} of {sum(networks.values())} calls of networks as graphs"]
    rows = sorted(networks.items(), key=lambda row: (row[0][1] == PYTORCH, -row[1], row[0]))
    return lines + [_row(how, name, reason, count) for (name, how, reason), count in rows]
