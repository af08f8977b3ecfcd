"""PyTorch's tensors, parameters and buffers above all, where Convoy computes.

Before each run all that it reads is written anew; what has the values already, which the library
sees by comparing them (convoy_tensors_write), is not sent. So it does not matter how a parameter
was changed, by an optimizer, by loading or through `parameter.data`.
"""

from __future__ import annotations

import ctypes
import threading
import weakref
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Sequence

import torch

from ..._context import Context
from ..._errors import check
from ..._load import library
from ..._tensor import Tensor as DeviceTensor

#: By PyTorch's type: what a tensor of Convoy's has.
DTYPES = {torch.float32: "float32", torch.uint8: "uint8", torch.bool: "uint8"}


def new_tensor(context: Context, like: torch.Tensor) -> DeviceTensor:
    """For the values of a tensor of PyTorch's, under its own extents where there may be so many."""
    shape = tuple(like.shape) if 0 < like.dim() <= 5 else (like.numel(),)
    return DeviceTensor(context, shape, DTYPES[like.dtype])


class _Entry(NamedTuple):
    of: Any  # weak reference to PyTorch's tensor
    tensor: DeviceTensor


class Mirror:
    """One tensor of Convoy's for each of PyTorch's, whichever networks they are in."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._entries: Dict[int, _Entry] = {}  # by id
        self._lock = threading.RLock()  # a tensor may be collected inside these functions

    def tensor(self, of: torch.Tensor) -> DeviceTensor:
        key = id(of)
        with self._lock:
            entry = self._entries.get(key)
            if entry is None or entry.of() is not of:
                gone = weakref.ref(of, lambda ref: self._drop(key, ref))
                entry = self._entries[key] = _Entry(gone, new_tensor(self._context, of))
            return entry.tensor

    def _drop(self, key: int, of: Any) -> None:
        with self._lock:
            entry = self._entries.get(key)
            if entry is not None and entry.of is of:
                del self._entries[key]


class Some:
    """Tensors of which some are written, mostly those that were written before. `batch` makes a
    Batch or the like of them."""

    def __init__(
        self, batch: Callable[[Sequence[DeviceTensor]], Any], tensors: Sequence[DeviceTensor]
    ) -> None:
        self._batch, self._tensors = batch, list(tensors)
        self._which: Optional[List[int]] = None
        self._writes: Any = None

    def write(self, which: List[int], values: Sequence[torch.Tensor]) -> None:
        """As Batch.write()."""
        if which != self._which:
            self._which, self._writes = which, self._batch([self._tensors[at] for at in which])
        self._writes.write(values)


class Batch:
    """Tensors of Convoy's that are written together, or read together."""

    def __init__(self, context: Context, tensors: Sequence[DeviceTensor]) -> None:
        self._context, self._tensors = context, list(tensors)
        count = len(self._tensors)
        self._count = count
        self._pointers = (ctypes.c_void_p * count)(*(each._owned.pointer for each in tensors))
        self._counts = (ctypes.c_int64 * count)(*(each.size for each in tensors))
        self._places = (ctypes.c_void_p * count)()

    def write(self, values: Sequence[torch.Tensor]) -> None:
        """Dense tensors of the same types, which have to stay as they are while the engine is
        running."""
        self._call(library.convoy_tensors_lend, values)

    def read(self, places: Sequence[torch.Tensor]) -> None:
        """Waits for the values."""
        self._call(library.convoy_tensors_read, places)

    def _call(self, function: Any, tensors: Sequence[torch.Tensor]) -> None:
        if not self._count:
            return
        self._places[:] = [each.data_ptr() for each in tensors]
        with self._context._handle:
            check(function(self._count, self._pointers, self._places, self._counts))
