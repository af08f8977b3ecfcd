"""What operators are made of: Convoy's operations on values, noted while a capture is open."""

from __future__ import annotations

import math
from typing import (
    Any,
    Callable,
    Collection,
    Dict,
    Hashable,
    List,
    Optional,
    Sequence,
    Set,
    Tuple,
)

import torch

from ..._context import Context
from ..._tensor import Tensor as DeviceTensor
from .axes import MOST, Axes, Shape, padded
from .boxes import Axis, box
from .errors import Unsupported
from .programs import literal, program
from .values import Array, Value, meta_of, on_device

#: Types whose values a device has as float32, or as they are.
_READABLE = (torch.float32, torch.bool, torch.uint8)
_EXACT = 1 << 24  # integers up to here are float32's


def _as_float(values: torch.Tensor) -> torch.Tensor:
    if not values.is_floating_point() and values.numel() and int(values.abs().max()) > _EXACT:
        raise Unsupported("integers that float32 does not have")
    if values.dtype is torch.float64 and not torch.equal(values.float().double(), values):
        raise Unsupported("a constant of float64")
    return values.to(torch.float32)


class Emitter:
    """One for each stage. `for_host(array)` is called for an array that the host computes and a
    device's operation wants to read. `shared` is the whole capture's: constants that several
    operators are made with."""

    def __init__(
        self,
        context: Context,
        for_host: Callable[[Array], None],
        shared: Optional[Dict[Hashable, Value]] = None,
        draw: Optional[Callable[[Shape, Optional[float], torch.dtype], Value]] = None,
    ) -> None:
        """draw: has PyTorch draw random numbers; None: the graph draws its own."""
        self.context = context
        self._draw = draw
        self.shared: Dict[Hashable, Value] = {} if shared is None else shared
        self.draws = False  # whether random numbers are drawn
        self._made: Set[int] = set()  # ids of tensors: one that is gone may have been internal
        self._for_host = for_host

    # ------------------------------------------------------------------------------ operands

    def tensor(self, array: Array) -> DeviceTensor:
        """The array where Convoy computes."""
        if array.tensor is None and array.constant is not None:
            array.tensor = self.context.tensor(_as_float(array.constant).reshape(-1).numpy())
        if array.tensor is None and array.number is not None:
            self._for_host(array)
        if array.tensor is None:  # memory that nobody has written
            array.tensor = DeviceTensor(self.context, (array.count,))
        return array.tensor

    def shaped(self, value: Value, shape: Sequence[int]) -> DeviceTensor:
        """All of the value's elements in order, under these extents."""
        dense = self.dense(value)
        self.tensor(dense.array)
        return dense.array.shaped(tuple(shape) or (1,))

    def dense(self, value: Value) -> Value:
        """The same elements, in an array in which they lie in order."""
        if value.is_dense():
            return value
        if value.compact() is not None:
            return self.elementwise("y = x0", [value], value.shape, value.dtype)
        return self._copied(value)

    def _copied(self, value: Value) -> Value:
        axes = [Axis(n, n, stride) for n, stride in zip(value.shape, value.meta.stride())]
        return self.box(value, axes, value.offset)

    def box(self, value: Value, axes: Sequence[Axis], offset: int, fill: float = 0.0) -> Value:
        """A copy from the value's array, of the axes' extents."""
        shape = tuple(axis.extent for axis in axes)
        whole = Axes(shape, ()).extents(shape) if len(shape) <= MOST else (math.prod(shape),)
        out = DeviceTensor(self.context, whole)
        box(self.context, self.tensor(value.array), axes, offset, out, fill)
        return self.result(out, shape, value.dtype)

    def _readable(self, value: Value) -> Value:
        host = value.array.constant is None and value.array.number is not None
        if value.dtype not in _READABLE and host:  # counts that a device has made are float32
            raise Unsupported(f"an operand of {_name(value.dtype)}")
        return value if value.compact() is not None else self.dense(value)

    # ------------------------------------------------------------------------------- results

    def result(self, tensor: Any, shape: Sequence[int], dtype: Any = None) -> Value:
        """What an operation of this capture has made, as a value of this shape."""
        self._made.add(id(tensor))
        return on_device(tensor, shape, dtype or torch.float32)

    def has_made(self, array: Array) -> bool:
        """Whether an operation of this capture makes it."""
        return array.tensor is not None and id(array.tensor) in self._made

    @property
    def is_empty(self) -> bool:
        """Whether nothing was captured."""
        return not self._made

    def write(self, value: Value, new: Value) -> None:
        """The operator has written all of the value's memory: from here on it has the new one."""
        if not value.is_dense() or value.shape != new.shape:
            raise Unsupported("writing a part of a tensor")
        array = self.dense(new).array
        value.array.replace(self.tensor(array), array.number)

    def random(
        self, shape: Shape, below: Optional[float] = None, dtype: torch.dtype = torch.float32
    ) -> Value:
        """Random numbers from 0 to 1; or whether they are below a number, as 1 and 0."""
        if self._draw is not None:
            return self._draw(shape, below, dtype)
        self.draws = True
        text = "y = random(0)" if below is None else f"y = random(0) < {literal(below)}"
        return self.filled(text, shape, dtype)

    def filled(self, text: str, shape: Shape, dtype: torch.dtype = torch.float32) -> Value:
        """What a program without inputs makes."""
        out = DeviceTensor(self.context, Axes(shape, ()).extents(shape))
        self.context.apply(program(text), out=out)
        return self.result(out, shape, dtype)

    # ------------------------------------------------------------------------------ programs

    def elementwise(
        self, text: str, operands: Sequence[Value], shape: Sequence[int], dtype: Any = None
    ) -> Value:
        """The program's only result, of this shape, to which the operands are repeated."""
        return self.elementwise_several(text, operands, shape, dtype)[0]

    def elementwise_several(
        self, text: str, operands: Sequence[Value], shape: Sequence[int], dtype: Any = None
    ) -> List[Value]:
        """All results. The program's inputs are the operands in the order in which it has them."""
        shape = tuple(shape)
        axes, tensors = self._laid_out(operands, shape, ())
        code = program(text)
        out = [DeviceTensor(self.context, axes.extents(shape)) for _ in code.results]
        self.context.apply(code, *tensors, out=out)
        return [self.result(each, shape, dtype) for each in out]

    def reduce(
        self,
        text: str,
        operands: Sequence[Value],
        dims: Collection[int],
        keep: bool = False,
    ) -> List[Value]:
        """The results of a reduction over these axes of the operands' common shape; "{axes}" in the
        text stands for them."""
        shape = tuple(torch.broadcast_shapes(*(each.shape for each in operands)))
        if not dims:
            raise Unsupported("a reduction over no axis")
        if any(
            n > 1 and all(_repeated(each, at, shape) for each in operands)
            for at, n in enumerate(shape)
        ):
            operands = [self.elementwise("y = x0", operands[:1], shape), *operands[1:]]
        axes, tensors = self._laid_out(operands, shape, dims)
        code = program(text.format(axes=axes.over(dims)))
        full = tuple(1 if axis in dims else extent for axis, extent in enumerate(shape))
        kept = full if keep else tuple(n for axis, n in enumerate(shape) if axis not in dims)
        out = [DeviceTensor(self.context, axes.extents(full)) for _ in code.results]
        self.context.apply(code, *tensors, out=out)
        return [self.result(each, kept) for each in out]

    def _laid_out(
        self, operands: Sequence[Value], shape: Shape, reduced: Collection[int]
    ) -> Tuple[Axes, List[DeviceTensor]]:
        values = [self._readable(each) for each in operands]
        compact = [padded(_compact(each), len(shape)) for each in values]
        axes = Axes(shape, compact, reduced)
        tensors = []
        for value, extents in zip(values, compact):
            self.tensor(value.array)
            tensors.append(value.array.shaped(axes.extents(extents)))
        return axes, tensors


def _compact(value: Value) -> Shape:
    extents = value.compact()
    assert extents is not None
    return extents


def _repeated(value: Value, axis: int, shape: Shape) -> bool:
    """Whether the value is the same along an axis of the common shape."""
    axis -= len(shape) - len(value.shape)
    return axis < 0 or value.shape[axis] == 1 or value.meta.stride(axis) == 0


def _name(dtype: torch.dtype) -> str:
    return str(dtype).rpartition(".")[2]


def broadcast(*values: Value) -> Shape:
    """The common shape of operands."""
    return tuple(torch.broadcast_shapes(*(each.shape for each in values)))


def axes_of(dims: Any, rank: int) -> List[int]:
    """Axes as PyTorch gives them, from 0 on; all where there are none."""
    if dims is None or dims == []:
        return list(range(rank))
    listed = [dims] if isinstance(dims, int) else list(dims)
    return sorted(dim % rank if rank else 0 for dim in listed)


def reshaped(value: Value, shape: Sequence[int]) -> Value:
    """A dense value under other extents."""
    assert value.is_dense()
    return Value(value.array, meta_of(shape, value.dtype))
