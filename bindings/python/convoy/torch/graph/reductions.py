"""Sums and what is made of them."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any, List

import torch

from .emitter import Emitter, axes_of
from .errors import Unsupported
from .programs import literal
from .table import operator
from .values import Value


def _dims(a: SimpleNamespace) -> List[int]:
    return axes_of(getattr(a, "dim", None), len(a.self.shape))


def _reduced(e: Emitter, a: SimpleNamespace, text: str) -> Value:
    """One result, over the axes that the operator names. Of a single number it is the number."""
    if getattr(a, "dtype", None) not in (None, torch.float32):
        raise Unsupported(f"a sum in {a.dtype}")
    if a.self.dtype is not torch.float32:
        raise Unsupported(f"a reduction of {a.self.dtype}")
    keep = bool(getattr(a, "keepdim", False))
    if not a.self.shape:
        return reduce_number(e, a.self, text)
    return e.reduce(text, [a.self], _dims(a), keep)[0]


_EXACT = 1 << 24  # counts up to here are float32's


@operator("sum.default", "sum.dim_IntList")
def _sum(e: Emitter, a: SimpleNamespace) -> Value:
    """Of truth values a count, which is an integer for PyTorch."""
    text = "s = sum over {axes} of x"
    if a.self.dtype is not torch.bool or a.dtype is not None or a.self.size > _EXACT:
        return _reduced(e, a, text)
    dims = _dims(a) or [0]
    counted = a.self if a.self.shape else Value(a.self.array, a.self.meta.reshape(1))
    (made,) = e.reduce(text, [counted], dims, bool(getattr(a, "keepdim", False)))
    return Value(made.array, made.meta.to(torch.int64))


@operator("mean.default", "mean.dim")
def _mean(e: Emitter, a: SimpleNamespace) -> Value:
    """A sum: a mean of Convoy's is not infinite where an element is."""
    count = math.prod(a.self.shape[dim] for dim in _dims(a))
    return _reduced(e, a, f"s = sum over {{axes}} of x * {literal(1 / count)}")


def reduce_number(e: Emitter, value: Value, text: str) -> Value:
    """Of a tensor without axes."""
    one = Value(value.array, value.meta.reshape(1))
    return e.reduce(text, [one], [0])[0]


_TEXTS = {
    "amax.default": "s = maximum over {axes} of x",
    "amin.default": "s = minimum over {axes} of x",
    "max.default": "s = maximum over {axes} of x",
    "min.default": "s = minimum over {axes} of x",
}


def _reduction(text: str) -> Any:
    return lambda e, a: _reduced(e, a, text)


for _name, _text in _TEXTS.items():
    operator(_name)(_reduction(_text))


# ------------------------------------------------------------------------------------ variances


def _factor(a: SimpleNamespace) -> float:
    """What makes PyTorch's estimate of the mean square distance."""
    correction = getattr(a, "correction", None)
    if hasattr(a, "unbiased"):
        correction = 1 if a.unbiased else 0
    correction = 1 if correction is None else correction
    count = math.prod(a.self.shape[dim] for dim in _dims(a))
    left = count - correction
    return count / left if left > 0 else (math.inf if count else math.nan)


def _variance(e: Emitter, a: SimpleNamespace, root: bool) -> Value:
    value = _reduced(e, a, "s = variance over {axes} of x")
    text = f"x * {literal(_factor(a))}"
    text = f"y = sqrt({text})" if root else f"y = {text}"
    return e.elementwise(text, [value], value.shape)


@operator("var.correction", "var.dim", "var.default")
def _var(e: Emitter, a: SimpleNamespace) -> Value:
    return _variance(e, a, False)


@operator("std.correction", "std.dim", "std.default")
def _std(e: Emitter, a: SimpleNamespace) -> Value:
    return _variance(e, a, True)


@operator("var_mean.correction", "var_mean.dim", "var_mean.default")
def _var_mean(e: Emitter, a: SimpleNamespace) -> Any:
    return _variance(e, a, False), _reduced(e, a, "s = mean over {axes} of x")


#: Norms of vectors by their order: what is summed, and what is made of the sum.
_NORMS = {
    1: ("s = sum over {axes} of abs(x)", "y = x * 1"),
    2: ("s = sum over {axes} of x * x", "y = sqrt(x)"),
    math.inf: ("s = maximum over {axes} of abs(x)", "y = x * 1"),
}


@operator("linalg_vector_norm.default", "norm.ScalarOpt_dim", "norm.Scalar")
def _norm(e: Emitter, a: SimpleNamespace) -> Value:
    order = a.ord if hasattr(a, "ord") else a.p
    order = 2 if order is None else order
    if order not in _NORMS:
        raise Unsupported(f"a norm of order {order}")
    summed, ended = _NORMS[order]
    value = _reduced(e, a, summed)
    return e.elementwise(ended, [value], value.shape)


# -------------------------------------------------------------------------------------- softmax


def _check_softmax(a: SimpleNamespace) -> None:
    if getattr(a, "half_to_float", False) or a.self.dtype is not torch.float32:
        raise Unsupported("softmax of another type")
    if not a.self.shape:
        raise Unsupported("softmax of a single number")


def _exponentials(e: Emitter, a: SimpleNamespace) -> Any:
    """Maximum, and the sum of exponentials below it."""
    dims = axes_of(a.dim, len(a.self.shape))
    (most,) = e.reduce("m = maximum over {axes} of x", [a.self], dims, keep=True)
    (total,) = e.reduce("s = sum over {axes} of exp(x - m)", [a.self, most], dims, keep=True)
    return most, total


@operator("_softmax.default")
def _softmax(e: Emitter, a: SimpleNamespace) -> Value:
    _check_softmax(a)
    most, total = _exponentials(e, a)
    return e.elementwise("y = exp(x - m) / s", [a.self, most, total], a.self.shape)


@operator("_safe_softmax.default")
def _safe_softmax(e: Emitter, a: SimpleNamespace) -> Value:
    """Of attention with a mask: a row that is all masked gives zeros."""
    _check_softmax(a)
    if a.dtype not in (None, torch.float32):
        raise Unsupported(f"softmax in {a.dtype}")
    most, total = _exponentials(e, a)
    text = "y = m == -inf ? 0 : exp(x - m) / s"
    return e.elementwise("input x, m, s; " + text, [a.self, most, total], a.self.shape)


@operator("_log_softmax.default")
def _log_softmax(e: Emitter, a: SimpleNamespace) -> Value:
    _check_softmax(a)
    most, total = _exponentials(e, a)
    return e.elementwise("y = x - m - log(s)", [a.self, most, total], a.self.shape)


@operator("_softmax_backward_data.default")
def _softmax_backward(e: Emitter, a: SimpleNamespace) -> Value:
    dims = axes_of(a.dim, len(a.output.shape))
    (total,) = e.reduce("s = sum over {axes} of dy * y", [a.grad_output, a.output], dims, keep=True)
    return e.elementwise("dx = y * (dy - s)", [a.output, a.grad_output, total], a.output.shape)


@operator("_log_softmax_backward_data.default")
def _log_softmax_backward(e: Emitter, a: SimpleNamespace) -> Value:
    dims = axes_of(a.dim, len(a.output.shape))
    (total,) = e.reduce("s = sum over {axes} of dy", [a.grad_output], dims, keep=True)
    return e.elementwise("dx = dy - exp(y) * s", [a.grad_output, a.output, total], a.output.shape)
