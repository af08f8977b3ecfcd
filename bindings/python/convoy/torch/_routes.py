"""Which way an operation goes: "convoy", always the context's device; or "measured", per problem
the fastest of the device with its transfers, the CPU engine, and PyTorch itself.

Measured is what comes a second time: programs whose shapes never repeat pay nothing. A measurement
that was disturbed serves for now, is not kept, and is repeated later.
"""

from __future__ import annotations

import threading
import time
from typing import Callable, Dict, List, Optional, Sequence, Tuple, Union

import torch

from .. import _log, _waiting
from .._conv import Layout
from .._devices import version
from .._lib import LogLevel
from .._records import Device
from ._kept import Kept, Problem
from ._operation import Operation, Tensor, describe, memory_format
from ._race import Race, race
from ._ways import Way

Key = Tuple[str, Layout, torch.memory_format]
Turns = Callable[[Sequence[Way], Operation, Sequence[Tensor]], Race]

_MOST = 4096  # problems remembered; those beyond are not measured
_LATER = 60.0  # seconds until what was disturbed is measured again, the next time twice as many
_LATEST = 3600.0


class Fixed:
    """Everything by one way."""

    def __init__(self, way: Way) -> None:
        self.ways = [way]

    def settled(self, op: Operation) -> Optional[Way]:
        return self.ways[0]

    def choose(self, op: Operation) -> Tuple[Way, Optional[Tensor]]:
        return self.ways[0], None


class _Again:
    """When a problem is measured again."""

    def __init__(self, wait: float) -> None:
        self.wait, self.at = wait, time.monotonic() + wait


class Measured:
    """The fastest way of each problem, from the file or measured now: by a race, unless `turns` is
    another one. `versions` is what else a measurement depends on."""

    def __init__(
        self, ways: Sequence[Way], turns: Optional[Turns] = None, versions: str = ""
    ) -> None:
        self.ways, self._turns = list(ways), turns
        self._kept = Kept(place_of([way.device for way in self.ways], versions))
        self._chosen: Dict[Key, Optional[Way]] = {}
        self._again: Dict[Key, _Again] = {}  # of those whose measurement was disturbed
        self._lock = threading.Lock()

    def settled(self, op: Operation) -> Optional[Way]:
        """The way, if it is known for good."""
        way = self._settled(_key(op))
        known = way and self._kept.way(_problem(op, _key(op)))
        return way if way is not None and known == way.name else None

    def choose(self, op: Operation) -> Tuple[Way, Optional[Tensor]]:
        """The way, and the result if it has just been computed."""
        key = _key(op)
        way = self._settled(key)
        if way is not None:
            return way, None
        with self._lock:
            way = self._settled(key)  # by another thread meanwhile
            return (way, None) if way is not None else self._first_or_second(op, key)

    def _settled(self, key: Key) -> Optional[Way]:
        again = self._again.get(key)
        return None if again and time.monotonic() >= again.at else self._chosen.get(key)

    def _first_or_second(self, op: Operation, key: Key) -> Tuple[Way, Optional[Tensor]]:
        known = self._kept.way(_problem(op, key))
        result: Optional[Tensor] = None
        way = next((way for way in self.ways if way.name == known), None)
        if way is None and key in self._chosen:
            way, result = self._measure(op, key)
        if len(self._chosen) < _MOST or key in self._chosen:
            self._chosen[key] = way
        return way or self.ways[0], result

    def _measure(self, op: Operation, key: Key) -> Tuple[Way, Tensor]:
        with _log.shown_meanwhile(f"measuring, {len(self._kept)} convolutions done"):
            run = (self._turns or race)(self.ways, op, self._sent_anew(op))
        if run.disturbance:
            self._postpone(op, key, run)
        else:
            self._again.pop(key, None)
            self._kept.add(_problem(op, key), run.winner, str(run))
        return next(way for way in self.ways if way.name == run.winner), run.results[run.winner]

    def _postpone(self, op: Operation, key: Key, run: Race) -> None:
        level = LogLevel.INFO if self._again else LogLevel.WARNING  # one stands for all
        before = self._again.get(key)
        again = _Again(min(2 * before.wait, _LATEST) if before else _LATER)
        self._again[key] = again
        _log.log(
            level,
            f"the machine was too busy to measure {describe(op)} ({run.disturbance}): "
            f"{run.winner} for now, in {again.wait:.0f} s it is measured again{_waiting.advice()}",
        )

    def _sent_anew(self, op: Operation) -> List[Tensor]:
        """The operands that a device has to be sent for this operation in every step: all but those
        that operations before it, if it carries them out, have sent already."""

        def on_device(direction: str, *operands: Optional[Tensor]) -> bool:
            key = direction, op.at, memory_format(*operands)
            return self._chosen.get(key) is self.ways[0]

        if op.direction == "forward":
            return [op.x, op.w]
        anew = [] if on_device("forward", op.x, op.w) else [op.x, op.w]
        if op.direction == "backward_data" or not on_device("backward_data", op.x, op.w, op.dy):
            anew.append(op.dy)
        return anew


Routes = Union[Fixed, Measured]


def _problem(op: Operation, key: Key) -> Problem:
    contiguous = key[2] is torch.contiguous_format
    return describe(op), "contiguous" if contiguous else "channels_last"


def _threads() -> str:
    return f"{torch.get_num_threads()} threads"


def _key(op: Operation) -> Key:
    return op.direction, op.at, memory_format(op.x, op.w, op.dy)


def place_of(devices: Sequence[Optional[Device]], versions: str = "") -> str:
    """Where a measurement holds: devices, threads, versions."""
    there = [each for each in devices if each is not None]
    parts = [f"{each.id} {each.name}, {each.driver}, {each.compute_units}" for each in there]
    parts.append(f"PyTorch {torch.__version__}, {versions or _threads()}")
    parts.append(f"Convoy {version()}")
    return " ".join("; ".join(parts).split())
