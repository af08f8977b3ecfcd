"""Views: other extents and strides over the same elements. PyTorch itself says which."""

from __future__ import annotations

from typing import Any, Tuple

import torch

from .constants import swapped
from .emitter import Emitter, reshaped
from .errors import Unsupported
from .table import name_of
from .values import Array, Value

#: Operators whose results lie in their operand's memory.
VIEWS = frozenset(
    """alias.default as_strided.default
    detach.default diagonal.default expand.default expand_as.default lift_fresh.default
    movedim.int movedim.intlist narrow.default numpy_T.default permute.default reshape.default
    select.int slice.Tensor split.Tensor split_with_sizes.default squeeze.default squeeze.dim
    squeeze.dims swapaxes.default t.default transpose.int unbind.int unfold.default
    unsafe_chunk.default unsafe_split.Tensor unsafe_split_with_sizes.default unsqueeze.default
    view_as.default chunk.default""".split()
)

#: Operators that take the elements in order under other extents.
_IN_ORDER = frozenset(
    "view.default _unsafe_view.default reshape.default _reshape_alias.default".split()
)

#: Operators whose results have the operand's values in memory of their own.
COPIES = frozenset("clone.default contiguous.default lift_fresh_copy.default".split())


def _meta(value: Value) -> torch.Tensor:
    return value.meta


def by_elements(target: Any, args: Any) -> Tuple[Any, Any]:
    """A call that takes elements in order as a reshape, which knows no strides: those in a trace
    are the ones that PyTorch had, where a constant or a result of Convoy's may have others."""
    is_reshape = name_of(target) in _IN_ORDER
    return (torch.ops.aten.reshape.default, args[:2]) if is_reshape else (target, args)


def view(e: Emitter, name: str, target: Any, args: Any, kwargs: Any) -> Any:
    """The value, or the tuple of values, that a view of the first argument is."""
    value = args[0]
    if name == "reshape.default":
        return _in_order(e, value, args[1])
    if name == "as_strided.default" and not value.is_dense():
        raise Unsupported("as_strided of a view")
    made = target(*swapped(args, _meta), **swapped(kwargs, _meta))
    if isinstance(made, (tuple, list)):
        return tuple(Value(value.array, each) for each in made)
    return Value(value.array, made)


def _in_order(e: Emitter, value: Value, shape: Any) -> Value:
    try:
        return Value(value.array, value.meta.view(shape))
    except RuntimeError:  # its strides do not allow it
        dense = e.dense(value)
        return reshaped(dense, dense.meta.reshape(shape).shape)


def copy(value: Value) -> Value:
    """A copy may be written later on: it has an array of its own, with the same elements."""
    array = value.array
    return Value(Array(array.count, array.tensor, array.constant, array.number), value.meta)
