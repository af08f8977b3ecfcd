"""Nearest upsampling by whole factors: each element comes several times, and its gradient is the
sum of what these get."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, List, Sequence, Tuple

import torch

from .boxes import Axis
from .emitter import Emitter, reshaped
from .errors import Unsupported
from .table import operator
from .values import Value


def _factors(small: Sequence[int], large: Sequence[int], scales: Sequence[Any]) -> List[int]:
    """One for each spatial axis. PyTorch divides places by the scale that it is given."""
    found = []
    for one, other, scale in zip(small, large, scales):
        factor = other // one
        if one * factor != other or scale not in (None, 0.0, float(factor)):
            raise Unsupported(f"nearest resampling of {one} to {other} by {scale}")
        found.append(factor)
    return found


def _scales(a: SimpleNamespace, rank: int) -> List[Any]:
    if hasattr(a, "scale_factors"):
        return list(a.scale_factors or [None] * rank)
    if rank == 1:
        return [a.scales]
    names = ("scales_d", "scales_h", "scales_w")[3 - rank :]
    return [getattr(a, name) for name in names]


def _spread(shape: Sequence[int], factors: Sequence[int]) -> Tuple[List[int], List[int]]:
    """The extents with an axis of the factor behind each spatial one, and which these are."""
    extents, places = list(shape[:2]), []
    for extent, factor in zip(shape[2:], factors):
        extents += [extent, factor]
        places.append(len(extents) - 1)
    return extents, places


def _check(value: Value) -> None:
    if value.dtype is not torch.float32:
        raise Unsupported(f"resampling of {value.dtype}")


def _nearest(rank: int) -> Any:
    def emit(e: Emitter, a: SimpleNamespace) -> Value:
        x = a.self if hasattr(a, "self") else a.input
        _check(x)
        scales = _scales(a, rank)
        large = a.output_size or [int(n * scale) for n, scale in zip(x.shape[2:], scales)]
        factors = _factors(x.shape[2:], large, scales)
        axes = [Axis(n, n, stride) for n, stride in zip(x.shape, x.meta.stride())]
        spread = axes[:2]
        for axis, factor in zip(axes[2:], factors):
            spread += [axis, Axis(factor, factor, 0)]
        y = e.box(x, spread, x.offset)
        return reshaped(y, (*x.shape[:2], *large))

    return emit


def _nearest_backward(rank: int) -> Any:
    def emit(e: Emitter, a: SimpleNamespace) -> Value:
        _check(a.grad_output)
        factors = _factors(a.input_size[2:], a.grad_output.shape[2:], _scales(a, rank))
        extents, places = _spread(a.input_size, factors)
        dy = reshaped(e.dense(a.grad_output), extents)
        return e.reduce("s = sum over {axes} of x", [dy], places)[0]

    return emit


for _rank in (1, 2, 3):
    for _overload in ("vec", "default"):
        operator(f"upsample_nearest{_rank}d.{_overload}")(_nearest(_rank))
        operator(f"upsample_nearest{_rank}d_backward.{_overload}")(_nearest_backward(_rank))
