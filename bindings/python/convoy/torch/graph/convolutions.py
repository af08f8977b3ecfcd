"""Convolution and its gradients."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, List

import torch

from ..._errors import ArgumentError, ShapeError
from ..._tensor import Tensor as DeviceTensor
from .._operation import keywords
from .emitter import Emitter
from .errors import Unsupported
from .table import operator
from .values import Value


def _geometry(a: SimpleNamespace, rank: int) -> Any:
    return keywords(
        (a.stride, a.padding, a.dilation, a.transposed, a.output_padding, a.groups), rank
    )


def _check(*values: Any) -> None:
    for value in values:
        if value is not None and value.dtype is not torch.float32:
            raise Unsupported(f"a convolution of {value.dtype}")


def _tensor(e: Emitter, value: Value) -> DeviceTensor:
    return e.shaped(value, value.shape)


@operator("convolution.default")
def _convolution(e: Emitter, a: SimpleNamespace) -> Value:
    _check(a.input, a.weight, a.bias)
    bias = None if a.bias is None else _tensor(e, a.bias)
    geometry = _geometry(a, len(a.input.shape) - 2)
    try:
        y = e.context.forward(_tensor(e, a.input), _tensor(e, a.weight), bias, **geometry)
    except (ArgumentError, ShapeError) as error:  # negative padding
        raise Unsupported(f"this convolution: {error}") from error
    return e.result(y, y.shape)


@operator("convolution_backward.default")
def _convolution_backward(e: Emitter, a: SimpleNamespace) -> Any:
    _check(a.grad_output, a.input, a.weight)
    geometry = _geometry(a, len(a.input.shape) - 2)
    dy = _tensor(e, a.grad_output)
    results: List[Any] = [None, None, None]
    try:
        if a.output_mask[0]:
            w = _tensor(e, a.weight)
            results[0] = e.context.backward_data(dy, w, a.input.shape, **geometry)
        if a.output_mask[1]:
            x = _tensor(e, a.input)
            results[1] = e.context.backward_weights(x, dy, a.weight.shape, **geometry)
    except (ArgumentError, ShapeError) as error:
        raise Unsupported(f"this convolution: {error}") from error
    if a.output_mask[2]:
        results[2] = e.context.backward_bias(dy)
    return tuple(each and e.result(each, each.shape) for each in results)
