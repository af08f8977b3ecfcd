"""Arrays on their way to the library: what is passed as it is, what is copied, what is refused.

Inputs: float32 in C order is passed by pointer; float32 otherwise laid out is copied once.
Outputs: float32, C order, writable, of the right shape; anything else is refused, since a result
written to a copy would be lost. Other dtypes are refused in both places: Convoy computes in
float32, and a silent conversion of every operand of every step is not what anyone wants.
"""

from __future__ import annotations

import ctypes
from typing import Any, Optional, Sequence

import numpy as np

from ._errors import argument_error, shape_error

_POINTER = ctypes.POINTER(ctypes.c_float)
_FLOAT32 = np.dtype(np.float32)


def _seen(value: Any, name: str) -> np.ndarray:
    """What numpy makes of it; what it cannot, the value's own library says why."""
    try:
        return np.asarray(value)
    except (TypeError, ValueError, RuntimeError) as error:
        kind = type(value).__name__
        raise argument_error(f"{name} is a {kind} that numpy cannot read: {error}") from error


def _float32(value: Any, name: str) -> np.ndarray:
    array = _seen(value, name)
    if array.dtype != _FLOAT32 and array.dtype.newbyteorder("=") != _FLOAT32:
        raise argument_error(
            f"{name} is {array.dtype}, Convoy computes in float32: "
            f"pass numpy.asarray({name}, numpy.float32)"
        )
    return array


def as_input(value: Any, name: str, shape: Optional[Sequence[int]] = None) -> np.ndarray:
    """`value` as a float32 array in C order, itself if it is one; of `shape` if one is given."""
    array = _float32(value, name)
    _check_shape(array, name, shape)
    return array if _passable(array) else np.require(array, _FLOAT32, ["C", "ALIGNED"])


def _passable(array: np.ndarray) -> bool:
    """Whether C can read the float32 elements where they are."""
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


def as_output(value: Any, name: str, shape: Sequence[int]) -> np.ndarray:
    """`value` as an array whose memory can be written in place."""
    if not _gives_memory(value):
        raise argument_error(
            f"{name} is a {type(value).__name__}, which shows neither __array_interface__ nor a "
            "buffer to write to"
        )
    array = _float32(value, name)
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
