"""Arrays in memory that a worker process can reach."""

from __future__ import annotations

import ctypes
import math
import weakref
from functools import partial
from typing import Tuple

import numpy as np

from ._conv import Shape
from ._errors import check, shape_error
from ._handle import Handle
from ._load import library
from ._release import release
from ._values import integer, shape_of


def _count(shape: Tuple[int, ...]) -> int:
    if min(shape, default=0) < 0:
        raise shape_error(f"shape {shape} has a negative extent")
    return math.prod(shape)


def shared_array(handle: Handle, shape: Shape) -> np.ndarray:
    """Zeros from convoy_host_alloc, given back when the last view of them is gone."""
    shape = shape_of(shape, "shape")
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
