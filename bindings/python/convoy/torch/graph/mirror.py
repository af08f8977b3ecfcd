"""PyTorch's tensors, parameters and buffers above all, where Convoy computes.

Before each run all that it reads is written anew; what has the values already, which the library
sees by comparing them (convoy_tensors_write), is not sent. So it does not matter how a parameter
was changed, by an optimizer, by loading or through `parameter.data`.
"""

from __future__ import annotations

import ctypes
import weakref
from typing import Any, Callable, Dict, List, Optional, Sequence, Set

import torch

from ..._context import Context
from ..._errors import check
from ..._load import library
from ..._tensor import Tensor as DeviceTensor

#: By PyTorch's type: what a tensor of Convoy's has.
DTYPES = {torch.float32: "float32", torch.uint8: "uint8", torch.bool: "uint8"}


def new_tensor(context: Context, like: torch.Tensor) -> DeviceTensor:
    """For the values of a tensor of PyTorch's, under its own extents where there may be so many."""
    return DeviceTensor(context, _extents(like), DTYPES[like.dtype])


def _extents(like: torch.Tensor) -> Sequence[int]:
    return tuple(like.shape) if 0 < like.dim() <= 5 else (like.numel(),)


class Mirrored(DeviceTensor):
    """Has the values of a tensor of PyTorch's, which it keeps alive. Of that there is no weak
    reference: torch.utils.swap_tensors refuses tensors that have one."""

    def __init__(self, context: Context, of: torch.Tensor) -> None:
        super().__init__(context, _extents(of), DTYPES[of.dtype])
        self.of = of
        self._kind = of.shape, of.dtype

    @property
    def fits(self) -> bool:
        """Whether PyTorch's tensor still has the extents and the type of then."""
        return (self.of.shape, self.of.dtype) == self._kind


class Mirror:
    """One tensor of Convoy's for each of PyTorch's, whichever networks they are in, for as long as
    a network or an optimizer has it."""

    def __init__(self, context: Context) -> None:
        self._context = context
        #: By id of PyTorch's, which is nobody else's while the entry is there.
        self._entries: weakref.WeakValueDictionary[int, Mirrored] = weakref.WeakValueDictionary()

    def tensor(self, of: torch.Tensor) -> Mirrored:
        found = self._entries.get(id(of))
        if found is None or not found.fits:
            found = self._entries[id(of)] = Mirrored(self._context, of)
        return found


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
        self._held = [at for at, each in enumerate(tensors) if isinstance(each, Mirrored)]
        self._seen = [0] * count  # addresses of what was written last
        self._shared: Set[int] = set()
        self._copies: Dict[int, torch.Tensor] = {}

    def write(self, values: Sequence[torch.Tensor]) -> None:
        """Dense tensors of the same types, which have to stay as they are while the engine is
        running. Parameters that other processes have, too, do not: of those a copy is written."""
        places = [each.data_ptr() for each in values]
        if places != self._seen:
            moved = [at for at in self._held if places[at] != self._seen[at]]
            self._shared -= set(moved)
            self._shared |= {at for at in moved if values[at].is_shared()}
            self._seen = list(places)
        self._copies = {at: values[at].clone() for at in self._shared}
        for at, copy in self._copies.items():
            places[at] = copy.data_ptr()
        self._call(library.convoy_tensors_lend, places)

    def read(self, places: Sequence[torch.Tensor]) -> None:
        """Waits for the values."""
        self._call(library.convoy_tensors_read, [each.data_ptr() for each in places])

    def _call(self, function: Any, places: Sequence[int]) -> None:
        if not self._count:
            return
        self._places[:] = places
        with self._context._handle:
            check(function(self._count, self._pointers, self._places, self._counts))
