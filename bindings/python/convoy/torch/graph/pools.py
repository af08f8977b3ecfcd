"""Pooling, and its gradients. A map without images or channels in front is one of a batch."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, Dict, List, Sequence, Tuple

import torch

from .emitter import Emitter, reshaped
from .errors import Unsupported
from .programs import literal
from .table import operator
from .values import Missing, Value

_PLACES = "the places of a pooling's maxima"


def _axes(values: Sequence[int], rank: int) -> List[int]:
    return list(values) * rank if len(values) == 1 else list(values)


def _check(value: Value) -> None:
    if value.dtype is not torch.float32:
        raise Unsupported(f"pooling of {value.dtype}")


def _batched(value: Value, rank: int) -> Tuple[int, ...]:
    """The extents with batch and channels in front: without a batch the channels are images."""
    missing = rank + 2 - len(value.shape)
    if missing not in (0, 1):
        raise Unsupported(f"pooling of {len(value.shape)} axes")
    return (1,) * missing + value.shape


def _windows(a: SimpleNamespace, rank: int) -> Dict[str, Any]:
    extent = _axes(a.kernel_size, rank)
    return {
        "extent": extent,
        "stride": _axes(a.stride, rank) if a.stride else extent,
        "padding": _axes(a.padding, rank),
        "ceil_mode": a.ceil_mode,
    }


def _given_back(y: Value, value: Value) -> Value:
    """Without the batch that was put in front."""
    return y if len(y.shape) == len(value.shape) else reshaped(y, y.shape[1:])


def _max_pool(rank: int) -> Any:
    def emit(e: Emitter, a: SimpleNamespace) -> Any:
        _check(a.self)
        windows = dict(_windows(a, rank), dilation=_axes(a.dilation, rank))
        y = e.context.max_pool(e.shaped(a.self, _batched(a.self, rank)), **windows)
        return _given_back(e.result(y, y.shape), a.self), Missing(_PLACES)

    return emit


def _max_pool_backward(rank: int) -> Any:
    def emit(e: Emitter, a: SimpleNamespace) -> Value:
        _check(a.self)
        windows = dict(_windows(a, rank), dilation=_axes(a.dilation, rank))
        x = e.shaped(a.self, _batched(a.self, rank))
        dy = e.shaped(a.grad_output, _batched(a.grad_output, rank))
        dx = e.context.max_pool_backward(x, dy, **windows)
        return e.result(dx, a.self.shape)

    return emit


def _average_pool(rank: int) -> Any:
    def emit(e: Emitter, a: SimpleNamespace) -> Value:
        _check(a.self)
        windows = dict(_windows(a, rank), count_padding=a.count_include_pad)
        factor = _divisor(a, rank)
        y = e.context.average_pool(e.shaped(a.self, _batched(a.self, rank)), **windows)
        result = _given_back(e.result(y, y.shape), a.self)
        return _scaled(e, result, factor)

    return emit


def _average_pool_backward(rank: int) -> Any:
    def emit(e: Emitter, a: SimpleNamespace) -> Value:
        _check(a.grad_output)
        windows = dict(_windows(a, rank), count_padding=a.count_include_pad)
        dy = _scaled(e, a.grad_output, _divisor(a, rank))
        shape = _batched(a.self, rank)
        dx = e.context.average_pool_backward(e.shaped(dy, _batched(dy, rank)), shape, **windows)
        return e.result(dx, a.self.shape)

    return emit


def _divisor(a: SimpleNamespace, rank: int) -> float:
    """What makes sums over another divisor of means, where all windows are whole."""
    if a.divisor_override is None:
        return 1.0
    if any(a.padding) or a.ceil_mode:
        raise Unsupported("average pooling with a divisor of its own and padding")
    count = 1
    for extent in _axes(a.kernel_size, rank):
        count *= extent
    return count / a.divisor_override


def _scaled(e: Emitter, value: Value, factor: float) -> Value:
    if factor == 1.0:
        return value
    return e.elementwise(f"y = x * {literal(factor)}", [value], value.shape)


for _rank in (2, 3):
    operator(f"max_pool{_rank}d_with_indices.default")(_max_pool(_rank))
    operator(f"max_pool{_rank}d_with_indices_backward.default")(_max_pool_backward(_rank))
    operator(f"avg_pool{_rank}d.default")(_average_pool(_rank))
    operator(f"avg_pool{_rank}d_backward.default")(_average_pool_backward(_rank))
operator("avg_pool1d.default")(_average_pool(1))


# -------------------------------------------------------------------------------------- adaptive


def _adaptive(shape: Sequence[int], sizes: Sequence[int]) -> List[int]:
    """The extent of the windows, where they are all of one extent."""
    extents = []
    for extent, size in zip(shape[-len(sizes) :], sizes):
        if extent % size:
            raise Unsupported(f"adaptive pooling of {extent} to {size}")
        extents.append(extent // size)
    return extents


def _adaptive_average(rank: int) -> Any:
    def emit(e: Emitter, a: SimpleNamespace) -> Value:
        _check(a.self)
        extent = _adaptive(a.self.shape, a.output_size)
        y = e.context.average_pool(e.shaped(a.self, _batched(a.self, rank)), extent)
        return _given_back(e.result(y, y.shape), a.self)

    return emit


def _adaptive_average_backward(rank: int) -> Any:
    def emit(e: Emitter, a: SimpleNamespace) -> Value:
        _check(a.grad_output)
        extent = _adaptive(a.self.shape, a.grad_output.shape[-rank:])
        dy = e.shaped(a.grad_output, _batched(a.grad_output, rank))
        dx = e.context.average_pool_backward(dy, _batched(a.self, rank), extent)
        return e.result(dx, a.self.shape)

    return emit


for _rank in (2, 3):
    operator(f"_adaptive_avg_pool{_rank}d.default")(_adaptive_average(_rank))
    operator(f"_adaptive_avg_pool{_rank}d_backward.default")(_adaptive_average_backward(_rank))
