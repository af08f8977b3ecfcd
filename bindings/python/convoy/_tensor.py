"""Tensors: handles to immutable arrays that live where the context computes."""

from __future__ import annotations

import copy
import ctypes
from typing import TYPE_CHECKING, Any, Callable, Dict, Optional, Tuple

import numpy as np

from ._arrays import FLOAT32, as_input, as_output, dtype_of, number_of, pointer
from ._conv import Shape, extents
from ._dlpack import Borrowed, borrow, device_of, give_back
from ._errors import ShapeError, argument_error, check
from ._keywords import keywords
from ._lib import Status
from ._load import library
from ._single import Owned
from ._values import shape_of, shown

if TYPE_CHECKING:
    from ._context import Context


class Tensor:
    """Values of 1 to 5 extents, made by Context.tensor(): float32, or int32 and uint8 for programs
    to read.

    Operations with tensors return before they are computed and are carried out in the order of
    their calls; read() waits. A tensor may be input and output of one call. It keeps its context
    from being collected; after Context.close() it can only be dropped.
    """

    _lease: Optional[_Lease] = None  # of one over another library's array

    @keywords()
    def __init__(self, context: Context, shape: Shape, dtype: Any = np.float32) -> None:
        self._context = context
        self._shape = shape_of(shape, "shape")
        self._dtype = dtype_of(dtype, "dtype")
        self._owned = self._make()

    def _make(self) -> Owned:
        """Zeros on the device."""
        made = ctypes.c_void_p()
        with self._context._handle as handle:
            array = number_of(self._dtype), self.ndim, extents(self._shape)
            check(library.convoy_tensor_new_typed(handle, *array, ctypes.byref(made)))
        return Owned(made.value, library.convoy_tensor_free)

    def __copy__(self) -> Tensor:
        """Another tensor of the context with the values of now, which it waits for."""
        values = self.read()
        other = type(self).__new__(type(self))
        vars(other).update(vars(self), _owned=self._make())
        other.write(values)
        return other

    def __deepcopy__(self, memo: Dict[int, Any]) -> Tensor:
        """Likewise; what a subclass has added is copied deeply."""
        other = memo[id(self)] = copy.copy(self)
        for name in vars(self).keys() - {"_context", "_shape", "_dtype", "_owned"}:
            setattr(other, name, copy.deepcopy(getattr(self, name), memo))
        return other

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise TypeError(
            f"a {type(self).__name__} cannot be pickled: it lives where its context computes; "
            "pickle its values, tensor.numpy()"
        )

    @property
    def shape(self) -> Tuple[int, ...]:
        return self._shape

    @property
    def dtype(self) -> np.dtype:
        return self._dtype

    @property
    def ndim(self) -> int:
        return len(self._shape)

    @property
    def size(self) -> int:
        """Number of elements."""
        size = 1
        for extent in self._shape:
            size *= extent
        return size

    @keywords()
    def write(self, values: Any) -> None:
        """Copies an array of the tensor's shape and dtype in; it may change afterwards."""
        array = as_input(values, "values", self._shape, self._dtype)
        with self._context._handle:
            check(library.convoy_tensor_write(self._owned.pointer, pointer(array), array.size))

    @keywords()
    def read(self, out: Any = None) -> np.ndarray:
        """Waits for the values and copies them to `out`, or to a new array, which it returns."""
        if out is None:
            array = np.empty(self._shape, self._dtype)
        else:
            array = as_output(out, "out", self._shape, self._dtype)
        with self._context._handle:
            check(library.convoy_tensor_read(self._owned.pointer, pointer(array), array.size))
        return array

    def numpy(self) -> np.ndarray:
        """A new array with the values; waits for them."""
        return self.read()

    def __array__(self, dtype: Any = None, copy: Optional[bool] = None) -> np.ndarray:
        if copy is False:
            raise ValueError("a tensor's values can only be copied out")
        array = self.read()
        return array if dtype is None else array.astype(dtype, copy=False)

    @keywords()
    def assign(self, tensor: Tensor) -> None:
        """Gets the values of another tensor of the context, of as many elements, under its own
        extents. Nothing is moved: they share one array until one of them gets others."""
        source = tensor_pointer(tensor, self._context, "tensor")
        with self._context._handle:
            check(library.convoy_tensor_copy(source, self._owned.pointer))

    @keywords()
    def reshape(self, shape: Shape) -> Tensor:
        """A new tensor of other extents with these values, likewise."""
        other = Tensor(self._context, shape, self._dtype)
        other.assign(self)
        return other

    def commit(self) -> None:
        """Has the host get the values, in the background. Once they have come, which
        :meth:`Context.sync` waits for, losing the device cannot lose them."""
        with self._context._handle:
            check(library.convoy_commit(self._owned.pointer))

    def __repr__(self) -> str:
        dtype = "" if self._dtype == FLOAT32 else f", dtype={self._dtype}"
        return f"convoy.Tensor(shape={self._shape}{dtype})"


def _borrowed(context: Context, array: Any, stream: int) -> Borrowed:
    here, there = context.device.id, device_of(array)
    if ":" in here and here != there:
        raise argument_error(f"the array is on {there}, the context computes on {here}")
    return borrow(array, stream)


class _Lease:
    """The array under a wrapped tensor, given back when it gets another one, and at its end."""

    def __init__(self, lent: Borrowed) -> None:
        self._lent: Optional[Borrowed] = lent

    def replace(self, lent: Optional[Borrowed]) -> None:
        before, self._lent = self._lent, lent
        if before is not None:
            give_back(before.managed)

    def free(self, pointer: Any) -> None:
        library.convoy_tensor_free(pointer)
        self.replace(None)


def over_memory(context: Context, array: Any, stream: int) -> Tensor:
    """A tensor whose values are another library's array, which it holds: see Context.wrap."""
    lent = _borrowed(context, array, stream)
    lease = _Lease(lent)
    try:
        tensor = over_address(context, lent.shape, lent.dtype, lent.address, lease.free)
    except BaseException:
        lease.replace(None)
        raise
    tensor._lease = lease
    return tensor


def over_address(
    context: Context,
    shape: Shape,
    dtype: Any,
    address: int,
    free: Callable[[Any], None] = library.convoy_tensor_free,
) -> Tensor:
    """A tensor over memory that somebody else keeps until it has gone, or was moved."""
    tensor = Tensor.__new__(Tensor)
    tensor._context, tensor._shape = context, tuple(shape)
    tensor._dtype = dtype_of(dtype, "dtype")
    made = ctypes.c_void_p()
    what = number_of(tensor._dtype), tensor.ndim, extents(tensor._shape)
    size = tensor.size * tensor._dtype.itemsize
    with context._handle as handle:
        check(library.convoy_tensor_wrap(handle, *what, address, size, ctypes.byref(made)))
    tensor._owned = Owned(made.value, free)
    return tensor


def move(context: Context, tensor: Tensor, array: Any, stream: int) -> None:
    """Context.rewrap()."""
    pointer = tensor_pointer(tensor, context, "tensor")
    lease = tensor._lease
    if lease is None:
        raise argument_error("tensor is one of Convoy's own, not one that wrap() made")
    lent = _borrowed(context, array, stream)
    try:
        if (lent.shape, lent.dtype) != (tensor.shape, tensor.dtype):
            raise ShapeError(
                Status.ERR_SHAPE,
                f"array is {lent.dtype} of {lent.shape}, the tensor {tensor.dtype} of "
                f"{tensor.shape}",
            )
        places = (ctypes.c_void_p * 1)(pointer), (ctypes.c_void_p * 1)(lent.address)
        with context._handle:
            check(library.convoy_tensors_rewrap(1, *places))
    except BaseException:
        give_back(lent.managed)
        raise
    lease.replace(lent)


def tensor_pointer(tensor: Any, context: Context, name: str) -> Optional[int]:
    """What C takes for a tensor of `context`."""
    if not isinstance(tensor, Tensor):
        array = hasattr(tensor, "shape")  # whose elements would be no help
        what = f"a {type(tensor).__name__}" if array else shown(tensor)
        raise argument_error(f"{name} is {what}: tensors go with tensors only")
    if tensor._context is not context:
        raise argument_error(f"{name} belongs to another context")
    return tensor._owned.pointer
