"""Resampling of maps to other extents, nearest and linear, and its gradient."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any, Dict, List, Sequence, Tuple

import torch

from .emitter import Emitter
from .errors import Unsupported
from .table import operator
from .values import Value

# PyTorch's operators, each with its mode here and how many axes it resamples.
OPERATORS: Dict[str, Tuple[str, int]] = {
    "upsample_linear1d": ("linear", 1),
    "upsample_bilinear2d": ("linear", 2),
    "upsample_trilinear3d": ("linear", 3),
}
for _rank in (1, 2, 3):
    OPERATORS[f"upsample_nearest{_rank}d"] = ("nearest", _rank)
    OPERATORS[f"_upsample_nearest_exact{_rank}d"] = ("nearest_exact", _rank)

OVERLOADS = ("vec", "default")


def _scales(a: SimpleNamespace, rank: int) -> List[float]:
    """0 where positions follow from the extents."""
    if hasattr(a, "scale_factors"):
        given = list(a.scale_factors or [None] * rank)
    elif rank == 1:
        given = [a.scales]
    else:
        given = [getattr(a, name) for name in ("scales_d", "scales_h", "scales_w")[3 - rank :]]
    return [scale or 0.0 for scale in given]


def _how(a: SimpleNamespace, mode: str, small: Sequence[int], large: Sequence[int]) -> Any:
    """As Context.resample takes it. A scale that is the extents' ratio says nothing more."""
    if getattr(a, "align_corners", False):
        return {"mode": "linear_aligned"}
    scales = _scales(a, len(small))
    if all(scale in (0.0, other / one) for scale, one, other in zip(scales, small, large)):
        return {"mode": mode}
    if not all(scales):
        raise Unsupported(f"resampling of {list(small)} to {list(large)} by {scales}")
    return {"mode": mode, "scale": scales}


def _check(value: Value) -> None:
    if value.dtype is not torch.float32:
        raise Unsupported(f"resampling of {value.dtype}")


def _forward(mode: str, rank: int) -> Any:
    def emit(e: Emitter, a: SimpleNamespace) -> Value:
        x = a.self if hasattr(a, "self") else a.input
        _check(x)
        small = x.shape[2:]
        large = a.output_size or [
            math.floor(n * scale) for n, scale in zip(small, _scales(a, rank))
        ]
        how = _how(a, mode, small, large)
        y = e.context.resample(e.shaped(x, x.shape), list(large), **how)
        return e.result(y, y.shape)

    return emit


def _backward(mode: str, rank: int) -> Any:
    def emit(e: Emitter, a: SimpleNamespace) -> Value:
        dy = a.grad_output
        _check(dy)
        how = _how(a, mode, a.input_size[2:], dy.shape[2:])
        dx = e.context.resample_backward(e.shaped(dy, dy.shape), list(a.input_size), **how)
        return e.result(dx, dx.shape)

    return emit


for _name, (_mode, _rank) in OPERATORS.items():
    for _overload in OVERLOADS:
        operator(f"{_name}.{_overload}")(_forward(_mode, _rank))
        operator(f"{_name}_backward.{_overload}")(_backward(_mode, _rank))
