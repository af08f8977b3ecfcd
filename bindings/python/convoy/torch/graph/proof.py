"""Whether a captured network computes what PyTorch does.

Both round, and how far that may carry results apart depends on the network. So results are close
enough if they are within 1e-4 of PyTorch's, by the norm of each tensor. Where that fails, as it
does for gradients that are nothing but rounding and in networks that enlarge it, the same network
in float64 decides: from its results Convoy's may be a few times as far as PyTorch's are, or as
those of the same network with all that it is given off by several times of what rounding does.
Where a network has thresholds that may still fail by chance, so it is tried with a few batches.
"""

from __future__ import annotations

import math
from typing import Callable, List, NamedTuple, Optional, Sequence, Tuple

import torch

CLOSE = 1e-4
_AS_FAR = 4.0  # times as far from float64's results
_FLOOR = 1e-5

Tensors = Sequence[Optional[torch.Tensor]]


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
            far = math.inf if a.shape != b.shape else distance(a, b)
            if not far <= CLOSE:
                differences.append(Difference(name, far))
    return differences


def difference(
    names: Sequence[str],
    found: Tensors,
    wanted: Tensors,
    in_float64: Callable[[], Tuple[Tensors, Tensors]],
) -> Optional[Difference]:
    """What rounding does not explain, None if it explains all. `in_float64` gives what float64 has,
    and has with all operands slightly off."""
    far = _far(names, found, wanted)
    if not far or any(math.isinf(each.far) for each in far):
        return max(far, key=lambda each: each.far, default=None)
    exact, shaken = in_float64()
    there = dict(zip(names, zip(found, wanted, exact, shaken)))
    for each in far:
        a, b, c, d = there[each.name]
        assert a is not None and b is not None
        if c is None or d is None:
            return each
        if not distance(a, c) <= _AS_FAR * max(distance(b, c), distance(d, c)) + _FLOOR:
            return each
    return None
