"""Resampling with filters along each axis, cubic ones and those that also smooth: a product with a
matrix of weights from the left, and one from the right. PyTorch itself says what the weights are.
"""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any, List, Sequence, Tuple

import torch

from .emitter import Emitter, reshaped
from .errors import Unsupported
from .products import product
from .table import operator
from .values import Shape, Value, constant

OPERATORS = ("upsample_bicubic2d", "_upsample_bicubic2d_aa", "_upsample_bilinear2d_aa")

_MOST = 1 << 22  # elements of a matrix


def _matrix(name: str, small: int, large: int, aligned: bool, scale: Any) -> torch.Tensor:
    """[large][small], what each element is made of."""
    if small * large > _MOST:
        raise Unsupported(f"resampling of {small} to {large} with a filter")
    filtered = getattr(torch.ops.aten, name).default
    ones = torch.eye(small, dtype=torch.float64)[None, None]
    return filtered(ones, [large, small], aligned, scale, None)[0, 0].float()


def _scales(a: SimpleNamespace) -> Sequence[Any]:
    if hasattr(a, "scale_factors"):
        return a.scale_factors or [None, None]
    return [a.scales_h, a.scales_w]


def _matrices(
    name: str, a: SimpleNamespace, small: Sequence[int], large: Sequence[int]
) -> List[torch.Tensor]:
    extents = zip(small, large, _scales(a))
    return [_matrix(name, s, l, a.align_corners, scale) for s, l, scale in extents]


def _between(e: Emitter, left: torch.Tensor, x: Value, right: torch.Tensor) -> Value:
    """left x right, for each map."""
    maps, rows, columns = math.prod(x.shape[:2]), *x.shape[2:]
    flat = reshaped(e.dense(x), (maps * rows, columns))
    wide = product(e, flat, constant(right))
    wide = reshaped(wide, (maps, rows, right.shape[1]))
    made = product(e, constant(left[None]), wide)
    return reshaped(made, (*x.shape[:2], left.shape[0], right.shape[1]))


def _check(value: Value) -> None:
    if value.dtype is not torch.float32:
        raise Unsupported(f"resampling of {value.dtype}")


def _large(a: SimpleNamespace, small: Shape) -> Tuple[int, ...]:
    if a.output_size:
        return tuple(a.output_size)
    return tuple(math.floor(n * scale) for n, scale in zip(small, a.scale_factors))


def _forward(name: str) -> Any:
    def emit(e: Emitter, a: SimpleNamespace) -> Value:
        x = a.self if hasattr(a, "self") else a.input
        _check(x)
        high, wide = _matrices(name, a, x.shape[2:], _large(a, x.shape[2:]))
        return _between(e, high, x, wide.t().contiguous())

    return emit


def _backward(name: str) -> Any:
    def emit(e: Emitter, a: SimpleNamespace) -> Value:
        _check(a.grad_output)
        high, wide = _matrices(name, a, a.input_size[2:], a.grad_output.shape[2:])
        return _between(e, high.t().contiguous(), a.grad_output, wide)

    return emit


for _name in OPERATORS:
    for _overload in ("vec", "default"):
        operator(f"{_name}.{_overload}")(_forward(_name))
        operator(f"{_name}_backward.{_overload}")(_backward(_name))
