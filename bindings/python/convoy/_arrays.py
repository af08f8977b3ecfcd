"""Arrays on their way to the library: what is passed as it is, what is copied, what is refused.

Inputs: values of the type that is asked for, in C order, are passed by pointer; otherwise laid out
they are copied once. Outputs: of that type, C order, writable, of the right shape; anything else is
refused, since a result written to a copy would be lost. The type is float32, but for tensors of
another one. No other is converted: a silent conversion of every operand of every step is not what
anyone wants.
"""

from __future__ import annotations

import ctypes
from typing import Any, Optional, Sequence

import numpy as np

from ._errors import argument_error, shape_error
from ._lib import Dtype
from ._values import shown

_POINTER = ctypes.POINTER(ctypes.c_float)
FLOAT32 = np.dtype(np.float32)
_TYPES = {FLOAT32: Dtype.FLOAT32, np.dtype("int32"): Dtype.INT32, np.dtype("uint8"): Dtype.UINT8}


def seen(value: Any, name: str) -> np.ndarray:
    """What numpy makes of it; what it cannot, the value's own library says why."""
    try:
        return np.asarray(value)
    except (TypeError, ValueError, RuntimeError) as error:
        kind = type(value).__name__
        raise argument_error(f"{name} is a {kind} that numpy cannot read: {error}") from error


def dtype_of(value: Any, name: str) -> np.dtype:
    """One of the types that tensors have, given as numpy takes types."""
    try:
        dtype = np.dtype(value).newbyteorder("=")
    except Exception:  # whatever the value does when numpy looks at it
        dtype = None
    if dtype not in _TYPES:
        raise argument_error(f"{name} is {shown(value)}, not float32, int32 or uint8")
    return dtype


def dtype_like(array: np.ndarray) -> np.dtype:
    """The type of a tensor for these values; what it may not hold is refused when it is written."""
    dtype = array.dtype.newbyteorder("=")
    return dtype if dtype in _TYPES else FLOAT32


def number_of(dtype: np.dtype) -> Dtype:
    """What the library calls it."""
    return _TYPES[dtype]


def _of_type(value: Any, name: str, dtype: np.dtype) -> np.ndarray:
    array = seen(value, name)
    if array.dtype != dtype and array.dtype.newbyteorder("=") != dtype:
        wanted = "Convoy computes in float32" if dtype == FLOAT32 else f"the tensor is {dtype}"
        raise argument_error(
            f"{name} is {array.dtype}, {wanted}: pass numpy.asarray({name}, numpy.{dtype})"
        )
    return array


def as_input(
    value: Any, name: str, shape: Optional[Sequence[int]] = None, dtype: np.dtype = FLOAT32
) -> np.ndarray:
    """`value` as an array of the type in C order, itself if it is one; of `shape` if given."""
    array = _of_type(value, name, dtype)
    _check_shape(array, name, shape)
    return array if _passable(array) else np.require(array, dtype, ["C", "ALIGNED"])


def _passable(array: np.ndarray) -> bool:
    """Whether C can read the elements where they are."""
    flags = array.flags
    return flags.c_contiguous and flags.aligned and array.dtype.isnative


def _check_shape(array: np.ndarray, name: str, shape: Optional[Sequence[int]]) -> None:
    if shape is not None and array.shape != tuple(shape):
        raise shape_error(f"{name} has shape {array.shape}, it must be {tuple(shape)}")


def _gives_memory(value: Any) -> bool:
    """Whether numpy sees the object's own memory, not a copy of it."""
    if hasattr(value, "__array_interface__"):
        return True
    try:
        memoryview(value).release()
    except TypeError:
        return False
    return True


def as_output(
    value: Any, name: str, shape: Optional[Sequence[int]] = None, dtype: np.dtype = FLOAT32
) -> np.ndarray:
    """`value` as an array whose memory can be written in place."""
    if not _gives_memory(value):
        raise argument_error(
            f"{name} is a {type(value).__name__}, which shows neither __array_interface__ nor a "
            "buffer to write to"
        )
    array = _of_type(value, name, dtype)
    _check_shape(array, name, shape)
    if not _passable(array):
        raise argument_error(f"{name} must be in C order, aligned, in this machine's byte order")
    if not array.flags.writeable:
        raise argument_error(f"{name} is read-only")
    return array


def check_apart(output: np.ndarray, inputs: Sequence[Optional[np.ndarray]]) -> None:
    """Refuses an output that overlaps an input: all are contiguous, so bounds are exact."""
    for array in inputs:
        if array is not None and np.may_share_memory(output, array):
            raise argument_error("out overlaps an input")


def pointer(array: Optional[np.ndarray]) -> Any:
    """The address of the elements, holding the array alive; None stays None."""
    return None if array is None else array.ctypes.data_as(_POINTER)
