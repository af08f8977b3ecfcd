"""What capturing a network may save, before it is captured: one of PyTorch's own passes is timed
operator by operator, and the convolutions that took longest are tried by both ways.

Floors. Of operators that are neither convolutions nor products, graphs join several into one pass
through memory: they take half of PyTorch's time or less. Products take as long as PyTorch's at
best. How convolutions compare depends on the processor and on PyTorch's build, so these are timed.
A network's backward pass is taken to be spread over its operators as its forward pass is.
"""

from __future__ import annotations

import time
from collections import defaultdict
from contextlib import contextmanager
from typing import Any, Dict, Iterator, List, NamedTuple, Tuple

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from .._operation import GRADIENTS, Operation, admit
from .._plainly import plainly
from .._ways import ConvoyWay, PytorchWay, Way
from .engine import Engine

_TRIED = 4  # convolutions
_PRODUCTS, _OTHERS = 1.3, 0.5  # of PyTorch's time
_PASSES = 3  # of the forward pass's time, that a step with gradients takes

_CONVOLUTION = torch.ops.aten.convolution.default
_ARE_PRODUCTS = ("mm", "addmm", "bmm", "baddbmm")


class _Tensor(NamedTuple):
    """How a tensor lies, without its values."""

    shape: Tuple[int, ...]
    strides: Tuple[int, ...]

    def filled(self, numbers: torch.Generator) -> torch.Tensor:
        return torch.empty_strided(self.shape, self.strides).normal_(generator=numbers)


class _Convolution(NamedTuple):
    x: _Tensor
    w: _Tensor
    geometry: Tuple[Any, ...]
    directions: Tuple[str, ...]

    def operations(self) -> List[Operation]:
        """One for each direction; none if it is no convolution that Convoy takes."""
        numbers = torch.Generator().manual_seed(0)
        x, w = self.x.filled(numbers), self.w.filled(numbers)
        at = admit(x, w, self.geometry)
        if isinstance(at, str):
            return []
        dy = torch.empty(at.y_shape).normal_(generator=numbers)
        return [Operation(each, at, self.geometry, x=x, w=w, dy=dy) for each in self.directions]


def _lies(tensor: torch.Tensor) -> _Tensor:
    return _Tensor(tuple(tensor.shape), tensor.stride())


def _convolution(x: torch.Tensor, w: torch.Tensor, bias: Any, *geometry: Any) -> _Convolution:
    wanted = [name for name, each in zip(GRADIENTS, (x, w)) if each.requires_grad]
    values = tuple(tuple(each) if isinstance(each, list) else each for each in geometry)
    return _Convolution(_lies(x), _lies(w), values, ("forward", *wanted))


class _Times(TorchDispatchMode):
    """Seconds of operators."""

    def __init__(self) -> None:
        super().__init__()
        self.convolutions: Dict[_Convolution, float] = defaultdict(float)
        self.products = self.others = 0.0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        begin = time.perf_counter()
        result = func(*args, **(kwargs or {}))
        seconds = time.perf_counter() - begin
        name = func.overloadpacket.__name__
        if func is _CONVOLUTION:
            self.convolutions[_convolution(*args)] += seconds
        elif name in _ARE_PRODUCTS or "attention" in name:
            self.products += seconds
        else:
            self.others += seconds
        return result


@contextmanager
def _below_autograd() -> Iterator[None]:
    """As in the kernels of operators, where PyTorch's own may be called."""
    below = torch._C._AutoDispatchBelowAutograd()  # no context manager on PyTorch 1
    try:
        yield
    finally:
        del below


def _least(way: Way, op: Operation) -> float:
    """Seconds, of two times that it is carried out: the first one makes ready."""
    seconds = []
    for _ in range(2):
        begin = time.perf_counter()
        way.compute(op)
        seconds.append(time.perf_counter() - begin)
    return min(seconds)


class Prospect:
    """Of one network, for arguments of one kind, with gradients or without."""

    def __init__(self) -> None:
        self._times = _Times()
        self._seconds = 0.0  # of the pass

    @contextmanager
    def observing(self) -> Iterator[None]:
        """Around PyTorch's forward pass."""
        begin = time.perf_counter()
        with self._times:
            yield
        self._seconds = time.perf_counter() - begin

    @property
    def is_observed(self) -> bool:
        return self._seconds > 0

    def saving(self, engine: Engine, step: float) -> float:
        """What graphs may save of a program's time, from 0 to 1, where a step takes so many
        seconds with all that the program does besides."""
        times = self._times
        together = sum(times.convolutions.values())
        least = together * self._ratio(engine) + times.products * _PRODUCTS + times.others * _OTHERS
        passes = _PASSES if torch.is_grad_enabled() else 1
        inside = min(1.0, passes * self._seconds / max(step, 1e-9))
        total = together + times.products + times.others
        return inside * max(0.0, 1 - least / max(total, 1e-9))

    def _ratio(self, engine: Engine) -> float:
        """Convoy's time for the convolutions that take longest, over PyTorch's."""
        times = self._times.convolutions
        longest = sorted(times, key=lambda each: -times[each])[:_TRIED]
        here, there = ConvoyWay(engine.context), PytorchWay()
        ours = pytorchs = 0.0
        with plainly(), _below_autograd():
            for each in longest:
                operations = each.operations()
                if operations:
                    ratio = sum(_least(here, op) for op in operations)
                    ratio /= sum(_least(there, op) for op in operations)
                    ours, pytorchs = ours + times[each] * ratio, pytorchs + times[each]
        return ours / pytorchs if pytorchs > 0 else 1.0
