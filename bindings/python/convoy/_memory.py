"""Arrays in memory that a worker process can reach."""

from __future__ import annotations

import ctypes
import weakref
from functools import partial

import numpy as np

from ._conv import Shape, integer
from ._errors import check, shape_error
from ._handle import Handle
from ._load import library
from ._release import release


def _count(shape: Shape) -> int:
    count = 1
    for extent in shape:
        count *= integer(extent, "shape")
        if extent < 0:
            raise shape_error(f"shape {tuple(shape)} has a negative extent")
    return count


def shared_array(handle: Handle, shape: Shape) -> np.ndarray:
    """Zeros from convoy_host_alloc, given back when the last view of them is gone."""
    count = _count(shape)
    if count == 0:
        return np.zeros(shape, np.float32)
    memory = ctypes.c_void_p()
    with handle as context:
        size = integer(count * ctypes.sizeof(ctypes.c_float), "size in bytes")
        check(library.convoy_host_alloc(context, size, ctypes.byref(memory)))
    assert memory.value is not None
    block = (ctypes.c_float * count).from_address(memory.value)
    free = partial(library.convoy_host_free, context, memory.value)
    weakref.finalize(block, release, free).atexit = False
    return np.frombuffer(memoryview(block), np.float32).reshape(shape)
