"""What a node of a traced network has computed: an array, and how the node's result lies in it.

PyTorch's views are strides over memory, and so they are here: a value is an array that is dense
where Convoy computes, and a tensor of PyTorch's on the device "meta", without elements, whose
extents, strides and offset say which of the array's elements are the value's, in which order. A
view is PyTorch's own operator on that tensor and costs nothing; who needs the elements in order has
them copied (Emitter.dense).
"""

from __future__ import annotations

import math
from typing import Any, Dict, Optional, Sequence, Tuple

import torch

from ..._tensor import Tensor as DeviceTensor

Shape = Tuple[int, ...]


class Array:
    """Elements in one piece: those of a tensor of Convoy's, of a constant that is on the host, or
    what an operator on the host computes anew in each run, which is kept under a number then; or
    memory that nobody has written yet.

    A tensor that is made of a constant, or for the host's results, is made when it is needed. Where
    a tensor's memory is PyTorch's, that may be kept under a number too: its `home`.
    """

    __slots__ = ("count", "tensor", "constant", "number", "home", "_shapes")

    def __init__(
        self,
        count: int,
        tensor: Optional[DeviceTensor] = None,
        constant: Optional[torch.Tensor] = None,
        number: Optional[int] = None,
        home: Optional[int] = None,
    ) -> None:
        self.count, self.tensor, self.constant, self.number = count, tensor, constant, number
        self.home = home
        self._shapes: Dict[Shape, DeviceTensor] = {}

    def shaped(self, shape: Shape) -> DeviceTensor:
        """The tensor under other extents."""
        assert self.tensor is not None
        if self.tensor.shape == shape:
            return self.tensor
        if shape not in self._shapes:
            self._shapes[shape] = self.tensor.reshape(shape)
        return self._shapes[shape]

    def replace(
        self, tensor: DeviceTensor, number: Optional[int] = None, home: Optional[int] = None
    ) -> None:
        """An operator has written it in place, or it is to lie elsewhere."""
        self.tensor, self.number, self.home = tensor, number, home
        self._shapes.clear()

    def end_capture(self) -> None:
        """Other handles of the same elements are of no use outside of a capture."""
        self._shapes.clear()


class Value:
    """A node's result; `meta` is how it lies in its array."""

    __slots__ = ("array", "meta")

    def __init__(self, array: Array, meta: torch.Tensor) -> None:
        self.array, self.meta = array, meta

    @property
    def shape(self) -> Shape:
        return tuple(self.meta.shape)

    @property
    def offset(self) -> int:
        return int(self.meta.storage_offset())

    @property
    def dtype(self) -> torch.dtype:
        return self.meta.dtype

    @property
    def size(self) -> int:
        return self.meta.numel()

    def is_dense(self) -> bool:
        """Whether all of the array's elements are the value's, in order."""
        at = self.meta
        return at.storage_offset() == 0 and at.numel() == self.array.count and at.is_contiguous()

    def compact(self) -> Optional[Shape]:
        """Where it is a dense array repeated along some axes, that array's extents, 1 along those;
        else None."""
        at = self.meta
        extents = tuple(1 if s == 0 else n for n, s in zip(at.shape, at.stride()))
        if at.storage_offset() != 0 or math.prod(extents) != self.array.count:
            return None
        step = 1
        for extent, stride in zip(reversed(extents), reversed(at.stride())):
            if extent > 1 and stride != step:
                return None
            step *= extent
        return extents


class Missing:
    """A result that Convoy does not have, since nobody is expected to read it: the places of a
    pooling's maxima, which its gradient finds again."""

    def __init__(self, what: str) -> None:
        self.what = what


def meta_of(shape: Sequence[int], dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.empty(tuple(shape), dtype=dtype, device="meta")


def on_device(tensor: DeviceTensor, shape: Sequence[int], dtype: Any = torch.float32) -> Value:
    """What a tensor of Convoy's has, as a value of these extents."""
    return Value(Array(tensor.size, tensor=tensor), meta_of(shape, dtype))


def constant(values: torch.Tensor) -> Value:
    """The same in each run. What is repeated along an axis is kept once."""
    repeated = [n > 1 and s == 0 for n, s in zip(values.shape, values.stride())]
    once = values
    for axis, is_repeated in enumerate(repeated):
        if is_repeated:
            once = once.narrow(axis, 0, 1)
    once = once.contiguous()
    meta = meta_of(once.shape, once.dtype).expand(values.shape)
    return Value(Array(once.numel(), constant=once.reshape(-1)), meta)


def host_tensor(value: Value, elements: torch.Tensor) -> torch.Tensor:
    """The value as PyTorch has it on the host, over the elements of its array, which may be a part
    of a larger tensor."""
    at = value.meta
    flat = elements.reshape(-1)
    offset = flat.storage_offset() + at.storage_offset()
    return flat.as_strided(tuple(at.shape), at.stride(), offset)
