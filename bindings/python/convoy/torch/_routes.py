"""Which way an operation goes: "convoy", always the context's device; or "measured", per problem
the fastest of the device with its transfers, the CPU engine, and PyTorch itself.

Measured is what comes a second time: programs whose shapes never repeat pay nothing.
"""

from __future__ import annotations

import sys
import threading
import time
from contextlib import contextmanager
from typing import Dict, Iterator, List, Optional, Sequence, Tuple, Union

import torch

from .._conv import Layout
from .._devices import version
from ._operation import Operation, Tensor, describe, memory_format
from ._routefile import RouteFile, default_path
from ._ways import ConvoyWay, PytorchWay

Way = Union[ConvoyWay, PytorchWay]
Key = Tuple[str, Layout, torch.memory_format]

_ROUNDS = 3
_HOPELESS = 2.0  # times as slow as the best: not tried again
_MOST = 4096  # problems remembered; those beyond are not measured


class Fixed:
    """Everything by one way."""

    def __init__(self, way: Way) -> None:
        self.ways = [way]

    def choose(self, op: Operation) -> Tuple[Way, Optional[Tensor]]:
        return self.ways[0], None


class Measured:
    """The fastest way of each problem, from the file or measured now."""

    def __init__(self, ways: Sequence[Way]) -> None:
        self.ways = list(ways)
        self._file = RouteFile(default_path(), _place(self.ways))
        self._known = self._file.read()
        self._chosen: Dict[Key, Optional[Way]] = {}
        self._lock = threading.Lock()

    def choose(self, op: Operation) -> Tuple[Way, Optional[Tensor]]:
        """The way, and the result if it has just been computed."""
        key = op.direction, op.at, memory_format(op.x, op.w, op.dy)
        way = self._chosen.get(key)
        if way is not None:
            return way, None
        with self._lock:
            return self._first_or_second(op, key)

    def _first_or_second(self, op: Operation, key: Key) -> Tuple[Way, Optional[Tensor]]:
        known = self._known.get(_text(op, key))
        result: Optional[Tensor] = None
        way = next((way for way in self.ways if way.name == known), None)
        if way is None and key in self._chosen:
            way, result = self._measure(op, key)
        if len(self._chosen) < _MOST or key in self._chosen:
            self._chosen[key] = way
        return way or self.ways[0], result

    def _measure(self, op: Operation, key: Key) -> Tuple[Way, Tensor]:
        with _progress(len(self._known)):
            times, results = _race(self.ways, op, self._sent_anew(op))
        name = min(times, key=lambda name: times[name])
        measured = " ".join(f"{name}={seconds * 1e3:.3f}ms" for name, seconds in times.items())
        self._known[_text(op, key)] = name
        self._file.add(_text(op, key), name, measured)
        return next(way for way in self.ways if way.name == name), results[name]

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


def _race(
    ways: Sequence[Way], op: Operation, sent_anew: Sequence[Tensor]
) -> Tuple[Dict[str, float], Dict[str, Tensor]]:
    """The shortest time of each way, and its result. The ways take turns, so that what else the
    machine does strikes all of them; the first time of each is for compiling and making ready."""
    running: List[Way] = list(ways)
    times: Dict[str, float] = {}
    results = {way.name: way.compute(op)[0] for way in running}
    for _ in range(_ROUNDS):
        for way in running:
            way.forget(sent_anew)
            start = time.perf_counter()
            way.compute(op)
            seconds = time.perf_counter() - start
            times[way.name] = min(seconds, times.get(way.name, seconds))
        limit = _HOPELESS * min(times.values())
        running = [way for way in running if times[way.name] <= limit]
    return times, results


def _text(op: Operation, key: Key) -> str:
    layout = "" if key[2] is torch.contiguous_format else " channels_last"
    return describe(op) + layout


def _place(ways: Sequence[Way]) -> str:
    """Where a measurement holds: devices, threads, versions."""
    devices = [way.device for way in ways if isinstance(way, ConvoyWay)]
    parts = [f"{each.id} {each.name}, {each.driver}, {each.compute_units}" for each in devices]
    parts.append(f"PyTorch {torch.__version__}, {torch.get_num_threads()} threads")
    parts.append(f"Convoy {version()}")
    return "; ".join(parts).replace("\t", " ")


@contextmanager
def _progress(done: int) -> Iterator[None]:
    """A line that a terminal shows while something is measured, and nobody else sees."""
    shown = sys.stderr.isatty()
    if shown:
        print(f"convoy: measuring, {done} convolutions done\r", end="", file=sys.stderr, flush=True)
    try:
        yield
    finally:
        if shown:
            print("\033[K", end="", file=sys.stderr, flush=True)
