"""Batch norm, layer norm and group norm, and their gradients, from statistics and programs.

Convoy has loops of its own for the named programs of batch norm (src/program/named.c): the texts
here are theirs.
"""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any, List, Optional, Sequence, Tuple

import torch

from .emitter import Emitter, reshaped
from .errors import Unsupported
from .programs import literal
from .table import operator
from .values import Value

_STATISTICS = "mean = mean over {axes} of x; variance = variance over {axes} of x"


def _check(*values: Any) -> None:
    for value in values:
        if value is not None and value.dtype is not torch.float32:
            raise Unsupported(f"a norm of {value.dtype}")


class _Channels:
    """Which axes of a map are summed over, and how a number per channel lies beside the map."""

    def __init__(self, x: Value) -> None:
        self.shape = x.shape
        if len(x.shape) < 2:
            raise Unsupported("a batch norm without channels")
        self.over = [axis for axis in range(len(x.shape)) if axis != 1]
        self.count = math.prod(x.shape[axis] for axis in self.over)

    def beside(self, value: Value) -> Value:
        """[c] as [1][c][1][1]."""
        view = [1] * len(self.shape)
        view[1] = self.shape[1]
        if not value.is_dense():
            raise Unsupported("parameters of a norm that do not lie in order")
        return reshaped(value, view)


def _per_channel(e: Emitter, text: str, values: Sequence[Value]) -> List[Value]:
    return e.elementwise_several(text, values, values[0].shape)


def _normalise(
    e: Emitter, x: Value, at: _Channels, mean: Value, scale: Value, shift: Optional[Value]
) -> Value:
    text = "y = (x - mean) * scale" + ("" if shift is None else " + shift")
    numbers = [mean, scale] + ([] if shift is None else [shift])
    return e.elementwise(text, [x, *map(at.beside, numbers)], x.shape)


def _scale(e: Emitter, variance: Value, weight: Optional[Value], epsilon: float) -> List[Value]:
    """One over the deviation, and that times gamma."""
    text = f"deviation = rsqrt(variance + {literal(epsilon)})"
    if weight is None:
        (deviation,) = _per_channel(e, text, [variance])
        return [deviation, deviation]
    return _per_channel(e, text + "; scale = gamma * deviation", [variance, weight])


def _train(e: Emitter, a: SimpleNamespace) -> Tuple[Value, Value, Value, Value]:
    """The result, mean, one over the deviation, and the variance."""
    _check(a.input, a.weight, a.bias)
    at = _Channels(a.input)
    mean, variance = e.reduce(_STATISTICS, [a.input], at.over)
    deviation, scale = _scale(e, variance, a.weight, a.eps)
    return _normalise(e, a.input, at, mean, scale, a.bias), mean, deviation, variance


def _evaluate(e: Emitter, a: SimpleNamespace) -> Value:
    _check(a.input, a.weight, a.bias, a.running_mean, a.running_var)
    at = _Channels(a.input)
    _, scale = _scale(e, a.running_var, a.weight, a.eps)
    return _normalise(e, a.input, at, a.running_mean, scale, a.bias)


def _running(e: Emitter, a: SimpleNamespace, mean: Value, variance: Value) -> List[Value]:
    """The running statistics afterwards: of the variance the unbiased estimate."""
    _check(a.running_mean, a.running_var)
    count = _Channels(a.input).count
    unbiased = literal(count / (count - 1) if count > 1 else math.nan)
    m, rest = literal(a.momentum), literal(1 - a.momentum)
    text = (
        f"new_mean = running_mean * {rest} + mean * {m}; "
        f"new_variance = running_variance * {rest} + variance * {unbiased} * {m}"
    )
    values = [a.running_mean, mean, a.running_var, variance]
    return _per_channel(e, text, values)


@operator("_native_batch_norm_legit_functional.default")
def _batch_norm_functional(e: Emitter, a: SimpleNamespace) -> Any:
    """The results are followed by the running statistics afterwards."""
    if not a.training:
        return (*_frozen(e, a), a.running_mean, a.running_var)
    y, mean, deviation, variance = _train(e, a)
    return (y, mean, deviation, *_running(e, a, mean, variance))


@operator("_batch_norm_with_update_functional.default")
def _batch_norm_with_update(e: Emitter, a: SimpleNamespace) -> Any:
    """Likewise; the fourth is a reserve of other backends."""
    y, mean, deviation, variance = _train(e, a)
    return (y, mean, deviation, None, *_running(e, a, mean, variance))


def _frozen(e: Emitter, a: SimpleNamespace) -> Any:
    """With the running statistics: mean and deviation are not given out."""
    return _evaluate(e, a), None, None


@operator("native_batch_norm.default", "_native_batch_norm_legit.default")
def _batch_norm(e: Emitter, a: SimpleNamespace) -> Any:
    """Writes the running statistics where there are any."""
    if not a.training:
        return _frozen(e, a)
    y, mean, deviation, variance = _train(e, a)
    if a.running_mean is not None:
        for old, new in zip((a.running_mean, a.running_var), _running(e, a, mean, variance)):
            e.write(old, new)
    return y, mean, deviation


@operator("_native_batch_norm_legit.no_stats")
def _instance_norm(e: Emitter, a: SimpleNamespace) -> Any:
    return _train(e, a)[:3]


@operator("_native_batch_norm_legit_no_training.default", "_batch_norm_no_update.default")
def _batch_norm_frozen(e: Emitter, a: SimpleNamespace) -> Any:
    return (*_frozen(e, a), None)


_SUMS = "a = sum over {axes} of dy; b = sum over {axes} of dy * ((x - mean) * deviation)"
_DATA = "dx = (dy - a - (x - mean) * deviation * b) * scale"


def _gradient_numbers(e: Emitter, a: SimpleNamespace) -> Tuple[Value, Value]:
    """Mean, and one over the deviation, that normalised forward."""
    if a.train:
        return a.save_mean, a.save_invstd
    _check(a.running_mean, a.running_var)
    deviation, _ = _scale(e, a.running_var, None, a.eps)
    return a.running_mean, deviation


def _scale_again(e: Emitter, deviation: Value, weight: Optional[Value]) -> Value:
    if weight is None:
        return deviation
    return _per_channel(e, "scale = gamma * deviation", [weight, deviation])[0]


@operator("native_batch_norm_backward.default")
def _batch_norm_backward(e: Emitter, a: SimpleNamespace) -> Any:
    _check(a.grad_out, a.input, a.weight)
    at = _Channels(a.input)
    mean, deviation = _gradient_numbers(e, a)
    beside = [at.beside(mean), at.beside(deviation)]
    dy, x = a.grad_out, a.input
    total = against = None
    if a.train or a.output_mask[1] or a.output_mask[2]:
        total, against = e.reduce(_SUMS, [dy, x, *beside], at.over)
    dx = None
    if a.output_mask[0]:
        scale = at.beside(_scale_again(e, deviation, a.weight))
        dx = _data(e, at, dy, x, beside, (total, against), scale, a.train)
    return dx, against if a.output_mask[1] else None, total if a.output_mask[2] else None


def _data(
    e: Emitter,
    at: _Channels,
    dy: Value,
    x: Value,
    beside: Sequence[Value],
    sums: Any,
    scale: Value,
    train: bool,
) -> Value:
    if not train:
        return e.elementwise("dx = dy * scale", [dy, scale], x.shape)
    part = literal(1 / at.count)
    means = _per_channel(e, f"a = total * {part}; b = against * {part}", sums)
    a, b = map(at.beside, means)
    mean, deviation = beside
    return e.elementwise(_DATA, [dy, a, x, mean, deviation, b, scale], x.shape)


# ------------------------------------------------------------------------------------ layer norm


def _rows(x: Value, normalized: Sequence[int]) -> Tuple[int, int]:
    """A layer norm's map as rows: how many, and how long."""
    length = math.prod(normalized)
    return x.size // length, length


def _flat(e: Emitter, value: Value, shape: Sequence[int]) -> Value:
    return reshaped(e.dense(value), shape)


@operator("native_layer_norm.default")
def _layer_norm(e: Emitter, a: SimpleNamespace) -> Any:
    _check(a.input, a.weight, a.bias)
    rows, length = _rows(a.input, a.normalized_shape)
    x = _flat(e, a.input, (rows, length))
    mean, variance = e.reduce(_STATISTICS, [x], [1], keep=True)
    deviation = e.elementwise(
        f"deviation = rsqrt(variance + {literal(a.eps)})", [variance], variance.shape
    )
    y = _affine_rows(e, x, mean, deviation, a.weight, a.bias)
    kept = a.input.shape[: len(a.input.shape) - len(a.normalized_shape)]
    kept = (*kept, *(1 for _ in a.normalized_shape))
    return reshaped(y, a.input.shape), reshaped(mean, kept), reshaped(deviation, kept)


def _affine_rows(
    e: Emitter, x: Value, mean: Value, deviation: Value, weight: Any, bias: Any
) -> Value:
    text, values = "y = (x - mean) * deviation", [x, mean, deviation]
    if weight is not None:
        text, values = text + " * gamma", [*values, _flat(e, weight, (1, x.shape[1]))]
    if bias is not None:
        text, values = text + " + beta", [*values, _flat(e, bias, (1, x.shape[1]))]
    return e.elementwise(text, values, x.shape)


@operator("native_layer_norm_backward.default")
def _layer_norm_backward(e: Emitter, a: SimpleNamespace) -> Any:
    _check(a.grad_out, a.input, a.weight)
    shape = rows, length = _rows(a.input, a.normalized_shape)
    dy, x = _flat(e, a.grad_out, shape), _flat(e, a.input, shape)
    mean, deviation = _flat(e, a.mean, (rows, 1)), _flat(e, a.rstd, (rows, 1))
    gamma = [] if a.weight is None else [_flat(e, a.weight, (1, length))]
    g = "dy * gamma" if gamma else "dy"
    dx = dw = db = None
    if a.output_mask[0]:
        dx = reshaped(_row_data(e, g, gamma, dy, x, mean, deviation), a.input.shape)
    if a.output_mask[1]:
        text = "s = sum over {axes} of dy * ((x - mean) * deviation)"
        dw = reshaped(e.reduce(text, [dy, x, mean, deviation], [0])[0], a.normalized_shape)
    if a.output_mask[2]:
        db = reshaped(e.reduce("s = sum over {axes} of dy", [dy], [0])[0], a.normalized_shape)
    return dx, dw, db


def _row_data(
    e: Emitter, g: str, gamma: List[Value], dy: Value, x: Value, mean: Value, deviation: Value
) -> Value:
    """g is the gradient of the normalised row."""
    names = ["gamma"] if gamma else []
    order = ["dy", *names, "x", "mean", "deviation"]
    text = (
        f"input {', '.join(order)}; a = mean over {{axes}} of {g}; "
        f"b = mean over {{axes}} of {g} * ((x - mean) * deviation)"
    )
    a, b = e.reduce(text, [dy, *gamma, x, mean, deviation], [1], keep=True)
    text = f"input {', '.join([*order, 'a', 'b'])}; "
    text += f"dx = ({g} - a - (x - mean) * deviation * b) * deviation"
    return e.elementwise(text, [dy, *gamma, x, mean, deviation, a, b], x.shape)


# ------------------------------------------------------------------------------------ group norm


@operator("native_group_norm.default")
def _group_norm(e: Emitter, a: SimpleNamespace) -> Any:
    _check(a.input, a.weight, a.bias)
    shape = (a.N, a.group, a.C // a.group, a.HxW)
    x = _flat(e, a.input, shape)
    mean, variance = e.reduce(_STATISTICS, [x], [2, 3], keep=True)
    deviation = e.elementwise(
        f"deviation = rsqrt(variance + {literal(a.eps)})", [variance], variance.shape
    )
    text, values = "y = (x - mean) * deviation", [x, mean, deviation]
    for name, sign, value in (("gamma", "*", a.weight), ("beta", "+", a.bias)):
        if value is not None:
            text, values = f"{text} {sign} {name}", [*values, _flat(e, value, (1, *shape[1:3], 1))]
    y = e.elementwise(text, values, shape)
    kept = (a.N, a.group)
    return reshaped(y, a.input.shape), reshaped(mean, kept), reshaped(deviation, kept)


@operator("native_group_norm_backward.default")
def _group_norm_backward(e: Emitter, a: SimpleNamespace) -> Any:
    _check(a.grad_out, a.input, a.weight)
    shape = (a.N, a.group, a.C // a.group, a.HxW)
    dy, x = _flat(e, a.grad_out, shape), _flat(e, a.input, shape)
    mean, deviation = (_flat(e, each, (a.N, a.group, 1, 1)) for each in (a.mean, a.rstd))
    gamma = [] if a.weight is None else [_flat(e, a.weight, (1, *shape[1:3], 1))]
    dx = dw = db = None
    if a.output_mask[0]:
        dx = reshaped(_group_data(e, gamma, dy, x, mean, deviation), a.input.shape)
    if a.output_mask[1]:
        text = "s = sum over {axes} of dy * ((x - mean) * deviation)"
        dw = reshaped(e.reduce(text, [dy, x, mean, deviation], [0, 3])[0], (a.C,))
    if a.output_mask[2]:
        db = reshaped(e.reduce("s = sum over {axes} of dy", [dy], [0, 3])[0], (a.C,))
    return dx, dw, db


def _group_data(
    e: Emitter, gamma: List[Value], dy: Value, x: Value, mean: Value, deviation: Value
) -> Value:
    g, order = ("dy * gamma", ["dy", "gamma"]) if gamma else ("dy", ["dy"])
    order = [*order, "x", "mean", "deviation"]
    text = (
        f"input {', '.join(order)}; a = mean over {{axes}} of {g}; "
        f"b = mean over {{axes}} of {g} * ((x - mean) * deviation)"
    )
    a, b = e.reduce(text, [dy, *gamma, x, mean, deviation], [2, 3], keep=True)
    text = f"input {', '.join([*order, 'a', 'b'])}; "
    text += f"dx = ({g} - a - (x - mean) * deviation * b) * deviation"
    return e.elementwise(text, [dy, *gamma, x, mean, deviation, a, b], x.shape)
