"""Arrays of other libraries on a card, by the DLPack protocol (dmlc.github.io/dlpack, version 0.8):
PyTorch's, CuPy's, JAX's. What they export is memory, extents and a function that takes it back.
"""

from __future__ import annotations

import ctypes
from typing import Any, NamedTuple, Tuple

import numpy as np

from ._errors import argument_error

CUDA, ROCM = 2, 10  # kDLCUDA, kDLROCM
_KINDS = {CUDA: "cuda", ROCM: "hip"}
_DTYPES = {(2, 32): np.dtype("float32"), (0, 32): np.dtype("int32"), (1, 8): np.dtype("uint8")}
_NAME, _TAKEN = b"dltensor", b"used_dltensor"


class _Array(ctypes.Structure):
    """DLTensor."""

    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("dims", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


class Managed(ctypes.Structure):
    """DLManagedTensor."""

    _fields_ = [("array", _Array), ("context", ctypes.c_void_p), ("take_back", ctypes.c_void_p)]


_TakeBack = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
_python = ctypes.pythonapi
_python.PyCapsule_GetPointer.restype = ctypes.c_void_p
_python.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
_python.PyCapsule_SetName.argtypes = [ctypes.py_object, ctypes.c_char_p]


class Borrowed(NamedTuple):
    """Dense memory on a card, until `give_back` is called with its `managed`."""

    address: int
    shape: Tuple[int, ...]
    dtype: np.dtype
    managed: int


def _is_dense(array: _Array) -> bool:
    """An array without elements is, whatever its strides."""
    count = 1
    if 0 in array.shape[: array.dims]:
        return True
    for axis in reversed(range(array.dims)):
        if array.shape[axis] > 1 and array.strides and array.strides[axis] != count:
            return False
        count *= array.shape[axis]
    return True


def device_of(value: Any) -> str:
    """Convoy's name of the card that an array is on."""
    try:
        kind, index = value.__dlpack_device__()
    except AttributeError:
        raise argument_error(f"a {type(value).__name__} has no __dlpack_device__") from None
    if int(kind) not in _KINDS:
        raise argument_error(f"the array is on no card: DLPack's device {int(kind)}, {int(index)}")
    return f"{_KINDS[int(kind)]}:{int(index)}"


def _number_of(stream: int, kind: str) -> int:
    """The stream as __dlpack__ takes it: CUDA's default stream is 1 there, HIP's 0."""
    return stream if stream else 1 if kind == "cuda" else 0


def borrow(value: Any, stream: int) -> Borrowed:
    """The array's memory, ready in that stream (0: the driver's default)."""
    kind = device_of(value).split(":")[0]
    capsule = value.__dlpack__(stream=_number_of(stream, kind))
    try:
        managed = _python.PyCapsule_GetPointer(capsule, _NAME)
    except ValueError as error:
        kind_of = type(value).__name__
        raise argument_error(f"__dlpack__ of a {kind_of} gives nothing to take: {error}") from error
    array = Managed.from_address(managed).array
    dtype = _DTYPES.get((array.code, array.bits))
    if dtype is None or array.lanes != 1:
        raise argument_error(
            f"the array's type is DLPack's {array.code} of {array.bits} bits in {array.lanes} "
            "lanes, not float32, int32 or uint8"
        )
    shape = tuple(array.shape[axis] for axis in range(array.dims))
    if not _is_dense(array):
        strides = tuple(array.strides[axis] for axis in range(array.dims))
        raise argument_error(f"the array of {shape} is not dense: strides {strides}")
    _python.PyCapsule_SetName(capsule, _TAKEN)
    return Borrowed((array.data or 0) + array.byte_offset, shape, dtype, managed)


def give_back(managed: int) -> None:
    take_back = Managed.from_address(managed).take_back
    if take_back:
        _TakeBack(take_back)(managed)
