"""One convolution as PyTorch asks for it, and whether Convoy takes it.

An Operation is one of the directions of convoy.h with its operands; aten::convolution_backward is
up to three of them.
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple, Optional, Sequence, Tuple, Union

import torch

from .._conv import Geometry, Layout, format_problem, layout
from .._errors import ArgumentError, ShapeError

Tensor = torch.Tensor

#: In the order of the results of aten::convolution_backward.
GRADIENTS = ("backward_data", "backward_weights", "backward_bias")


class Operation(NamedTuple):
    """`geometry`: stride, padding, dilation, transposed, output_padding, groups, as PyTorch passes
    them. Operands are tensors; those that the direction does not read may be None."""

    direction: str
    at: Layout
    geometry: Tuple[Any, ...]
    x: Any = None
    w: Any = None
    bias: Any = None
    dy: Any = None


CLASSES = (torch.Tensor, torch.nn.Parameter)
CPU = torch.device("cpu")

TRACED = "being traced"
ILLEGAL = "not a convolution that Convoy knows"


def _refusal(tensor: Tensor, device: torch.device) -> Optional[str]:
    """Why Convoy does not compute with this operand; None if it does."""
    if type(tensor) not in CLASSES:
        return "a subclass of Tensor"
    if tensor.dtype is not torch.float32:
        return "not float32"
    if tensor.device != device:
        return "not on the CPU" if device.type == "cpu" else "on another device"
    if tensor.layout is not torch.strided:
        return "not dense"
    return None if tensor.numel() else "no elements"


def _per_axis(values: Sequence[int], rank: int) -> Tuple[int, ...]:
    """PyTorch passes one number for all axes, or one per axis."""
    return tuple(values) * rank if len(values) == 1 else tuple(values)


def keywords(geometry: Sequence[Any], rank: int) -> Geometry:
    """The geometry as the functions of convoy take it."""
    stride, padding, dilation, transposed, output_padding, groups = geometry
    return {
        "stride": _per_axis(stride, rank),
        "padding": _per_axis(padding, rank),
        "dilation": _per_axis(dilation, rank),
        "transposed": transposed,
        "output_padding": _per_axis(output_padding, rank),
        "groups": groups,
    }


def describe(op: Operation) -> str:
    """One line of the shape grammar (convoy.h)."""
    at = op.at
    geometry = keywords(op.geometry, len(at.x_shape) - 2)
    return format_problem(op.direction, at.x_shape, at.w_shape, **geometry)


@functools.lru_cache(maxsize=1024)
def _layout(x_shape: Tuple[int, ...], w_shape: Tuple[int, ...], *geometry: Any) -> Optional[Layout]:
    """None if Convoy knows no such convolution."""
    try:
        return layout(x_shape, w_shape, keywords(geometry, len(x_shape) - 2))
    except (ArgumentError, ShapeError):
        return None


def _fits(tensor: Optional[Tensor], shape: Sequence[int]) -> bool:
    return tensor is None or tensor.shape == shape


def admit(
    x: Tensor,
    w: Tensor,
    geometry: Sequence[Any],
    bias: Optional[Tensor] = None,
    dy: Optional[Tensor] = None,
    device: torch.device = CPU,
) -> Union[Layout, str]:
    """The layout of a call that Convoy takes, with all operands on that device; else the reason why
    PyTorch is to compute it. What is illegal goes to PyTorch too, which says what is wrong, or
    knows more (negative padding)."""
    if torch._C._get_tracing_state() is not None:
        return TRACED
    for operand in (x, w, bias, dy):
        why = None if operand is None else _refusal(operand, device)
        if why is not None:
            return why
    stride, padding, dilation, transposed, output_padding, groups = geometry
    per_axis = tuple(stride), tuple(padding), tuple(dilation)
    at = _layout(x.shape, w.shape, *per_axis, transposed, tuple(output_padding), groups)
    if at is None or not _fits(bias, at.y_shape[1:2]) or not _fits(dy, at.y_shape):
        return ILLEGAL
    return at


# Numbers of extents | the layout with channels last | its axes, the fastest first.
_CHANNELS_LAST = {
    4: (torch.channels_last, (1, 3, 2, 0)),
    5: (torch.channels_last_3d, (1, 4, 3, 2, 0)),
}


def _is_ordered(sizes: Sequence[int], strides: Sequence[int], axes: Sequence[int]) -> bool:
    """PyTorch's rule for layouts (is_channels_last_strides), which decides also where an extent of
    1 leaves the layout open: there the strides tell what the tensor was made as."""
    least = 0
    for axis in axes:
        if strides[axis] < least or (axis == 0 and least == strides[1]):
            return False
        least = strides[axis] * max(sizes[axis], 1)
    return strides[1] != 0


def memory_format(*operands: Optional[Tensor]) -> torch.memory_format:
    """What PyTorch's own kernels give results: channels last when an operand is."""
    for tensor in operands:
        if tensor is None:
            continue
        strides = tensor.stride()
        if len(strides) in _CHANNELS_LAST and strides[1] <= strides[-1]:
            format, axes = _CHANNELS_LAST[len(strides)]
            if _is_ordered(tensor.shape, strides, axes):
                return format
    return torch.contiguous_format


def in_format(result: Tensor, op: Operation) -> Tensor:
    """A new result in the layout that PyTorch gives it, gradients too by x and w alone; the strides
    are that layout's also where an extent of 1 would allow others."""
    format = memory_format(op.x, op.w)
    result = result.contiguous(memory_format=format)
    if format is torch.contiguous_format:
        return result
    strides, step = [0] * result.dim(), 1
    for axis in _CHANNELS_LAST[result.dim()][1]:
        strides[axis], step = step, step * result.shape[axis]
    if result.stride() != tuple(strides):
        result.as_strided_(result.shape, strides)
    return result
