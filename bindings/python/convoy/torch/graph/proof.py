"""Whether a captured network computes what PyTorch does.

Both round, and how far that may carry results apart depends on the network. So results are close
enough if they are within 1e-4 of PyTorch's, by the norm of each tensor. Where that fails, as it
does for gradients that are nothing but rounding and in networks that enlarge it, the same network
in float64 decides: from its results Convoy's may be a few times as far as PyTorch's are, or as
those of the same network with all that it is given off by several times of what rounding does. How
far that carries a result is chance, of a single number above all, so it is tried a few times.
Where a network has thresholds that may still fail by chance, so it is tried with a few batches.

A step in float64 takes as long as several of a training. So what is compared stops before each one:
comparisons are generators, and who runs them decides when they go on.
"""

from __future__ import annotations

import math
from typing import Any, Callable, Generator, List, NamedTuple, Optional, Sequence, Tuple, TypeVar

import torch

CLOSE = 1e-4
_AS_FAR = 4.0  # times as far from float64's results
_FLOOR = 1e-5
_SHAKEN_TIMES = 6
_SMALLEST, _LARGEST, _MOST_QUICKLY = 1e-8, 1e18, 100_000_000  # norms, elements

Tensors = Sequence[Optional[torch.Tensor]]
_Found = TypeVar("_Found")

#: Stops before each step in float64, and returns what it has found.
Stops = Generator[None, None, _Found]


def at_once(stops: Stops[_Found]) -> _Found:
    """What it finds, without a stop."""
    while True:
        try:
            next(stops)
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]


def distance(a: torch.Tensor, b: torch.Tensor) -> float:
    """Of a from b, relative to b; NaN and infinities only equal themselves."""
    a, b = a.detach().double(), b.detach().double()
    odd = ~torch.isfinite(b)
    if bool(odd.any()):
        same = (a == b) | (torch.isnan(a) & torch.isnan(b))
        if not bool(same[odd].all()):
            return math.inf
        a, b = a.masked_fill(odd, 0), b.masked_fill(odd, 0)
    far = float((a - b).norm())
    return 0.0 if far == 0 else far / max(float(b.norm()), 1e-300)


def _quick_distance(a: torch.Tensor, b: torch.Tensor) -> float:
    """0 where norms in float32, which take an eighth of the time, show that they are close. Those
    are a hundredth off at most where squares neither overflow nor vanish, else they show nothing.
    """
    if a.dtype is b.dtype is torch.float32 and b.numel() <= _MOST_QUICKLY:
        norm = float(torch.linalg.vector_norm(b.detach()))
        far = float(torch.linalg.vector_norm(a.detach() - b.detach()))
        if _SMALLEST < norm < _LARGEST and far <= 0.9 * CLOSE * norm:
            return 0.0
    return distance(a, b)


def _norm(tensor: torch.Tensor) -> float:
    return float(tensor.detach().double().norm())


class Difference(NamedTuple):
    """The worst of what is compared."""

    name: str
    far: float

    def __str__(self) -> str:
        return f"{self.name} differs from PyTorch's by {self.far:.2g} of its norm"


def _far(names: Sequence[str], found: Tensors, wanted: Tensors) -> List[Difference]:
    """Those that are not close."""
    differences = []
    for name, a, b in zip(names, found, wanted):
        if (a is None) != (b is None):
            # PyTorch gives no gradient where none comes, or zeros: both mean that nothing depends.
            there = a if b is None else b
            assert there is not None
            if bool((there != 0).any()):
                differences.append(Difference(name, math.inf))
        elif a is not None and b is not None:
            far = math.inf if a.shape != b.shape else _quick_distance(a, b)
            if not far <= CLOSE:
                differences.append(Difference(name, far))
    return differences


class _Judged:
    """A result that is not close, beside those of PyTorch and of float64. `largest`: the norm of
    the largest one."""

    def __init__(
        self, far: Difference, largest: float, found: Any, wanted: Any, exact: Any
    ) -> None:
        self.difference, self._exact = far, exact
        self._far = self._reach = math.inf
        if exact is not None:
            self._far, self._reach = distance(found, exact), distance(wanted, exact)
        self._is_nothing = self._reach >= 1 and _norm(found) <= CLOSE * largest

    def is_near(self, shaken: Optional[torch.Tensor]) -> bool:
        """Whether rounding carries as far, this result off taken into account."""
        if self._exact is None or shaken is None:
            return False
        if self._is_nothing:  # it is zero but for rounding, of which PyTorch's has no digit either
            return True
        self._reach = max(self._reach, distance(shaken, self._exact))
        return self._far <= _AS_FAR * self._reach + _FLOOR


def difference(
    names: Sequence[str],
    found: Tensors,
    wanted: Tensors,
    in_float64: Callable[[Optional[int]], Tensors],
) -> Stops[Optional[Difference]]:
    """What rounding does not explain, None if it explains all. in_float64(None) is what float64
    has, in_float64(0) and so on what it has with all operands slightly off."""
    far = _far(names, found, wanted)
    if not far or any(math.isinf(each.far) for each in far):
        return max(far, key=lambda each: each.far, default=None)
    yield
    exact = in_float64(None)
    rows = dict(zip(names, zip(found, wanted, exact)))
    largest = max(_norm(each) for each in wanted if each is not None)
    there = [_Judged(each, largest, *rows[each.name]) for each in far]
    for which in range(_SHAKEN_TIMES):
        yield
        shaken = dict(zip(names, in_float64(which)))
        there = [each for each in there if not each.is_near(shaken[each.difference.name])]
        if not there:
            return None
    return there[0].difference
