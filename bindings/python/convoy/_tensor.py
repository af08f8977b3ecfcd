"""Tensors: handles to immutable arrays that live where the context computes."""

from __future__ import annotations

import ctypes
from functools import partial
from typing import TYPE_CHECKING, Any, Optional, Tuple

import numpy as np

from ._arrays import as_input, as_output, pointer
from ._conv import Shape, extents
from ._errors import argument_error, check
from ._keywords import keywords
from ._load import library
from ._release import release
from ._values import shape_of

if TYPE_CHECKING:
    from ._context import Context


class Tensor:
    """float32 values of 1 to 5 extents, made by Context.tensor().

    Operations with tensors return before they are computed and are carried out in the order of
    their calls; read() waits. A tensor may be input and output of one call. It keeps its context
    from being collected; after Context.close() it can only be dropped.
    """

    @keywords()
    def __init__(self, context: Context, shape: Shape) -> None:
        self._pointer: Optional[int] = None
        self._context = context
        self._shape = shape_of(shape, "shape")
        made = ctypes.c_void_p()
        with context._handle as handle:
            check(
                library.convoy_tensor_new(
                    handle, len(self._shape), extents(self._shape), ctypes.byref(made)
                )
            )
        self._pointer = made.value

    def __del__(self) -> None:
        if getattr(self, "_pointer", None) is not None:
            release(partial(library.convoy_tensor_free, self._pointer))

    @property
    def shape(self) -> Tuple[int, ...]:
        return self._shape

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
        """Copies `values`, an array of the tensor's shape, in; it may change afterwards."""
        array = as_input(values, "values", self._shape)
        with self._context._handle:
            check(library.convoy_tensor_write(self._pointer, pointer(array), array.size))

    @keywords()
    def read(self, out: Any = None) -> np.ndarray:
        """Waits for the values and copies them to `out`, or to a new array, which it returns."""
        if out is None:
            array = np.empty(self._shape, np.float32)
        else:
            array = as_output(out, "out", self._shape)
        with self._context._handle:
            check(library.convoy_tensor_read(self._pointer, pointer(array), array.size))
        return array

    def numpy(self) -> np.ndarray:
        """A new array with the values; waits for them."""
        return self.read()

    def __array__(self, dtype: Any = None, copy: Optional[bool] = None) -> np.ndarray:
        if copy is False:
            raise ValueError("a tensor's values can only be copied out")
        array = self.read()
        return array if dtype is None else array.astype(dtype, copy=False)

    def commit(self) -> None:
        """Has the host get the values, in the background. Once they have come, which
        :meth:`Context.sync` waits for, losing the device cannot lose them."""
        with self._context._handle:
            check(library.convoy_commit(self._pointer))

    def __repr__(self) -> str:
        return f"convoy.Tensor(shape={self._shape})"


def tensor_pointer(tensor: Any, context: Context, name: str) -> Optional[int]:
    """What C takes for a tensor of `context`."""
    if not isinstance(tensor, Tensor):
        raise argument_error(f"{name} is a {type(tensor).__name__}: tensors go with tensors only")
    if tensor._context is not context:
        raise argument_error(f"{name} belongs to another context")
    return tensor._pointer
