"""Copies of PyTorch's tensors on a device, so that backward finds there what forward has sent.

A copy is used again only for the same tensor object with the same memory and the same version,
which PyTorch counts up whenever a tensor is written. Forward always sends anew: `parameter.data` is
the one door through which memory changes without a new version, and between two forward passes
programs do use it. Copies of tensors that have gone go when the next one is sent, and the oldest
when they are too many bytes.
"""

from __future__ import annotations

import threading
from typing import Any, Dict, NamedTuple, Tuple

import torch
from torch.multiprocessing.reductions import StorageWeakRef

from .._context import Context
from .._tensor import Tensor as DeviceTensor


class _Copy(NamedTuple):
    memory: Any  # weak reference to the tensor's: one to the tensor PyTorch would not swap
    state: Tuple[Any, ...]
    tensor: DeviceTensor
    bytes: int


def storage_of(tensor: torch.Tensor) -> Any:
    """A tensor's memory."""
    untyped: Any = getattr(tensor, "untyped_storage", None)  # PyTorch 2
    return untyped() if untyped is not None else tensor.storage()


def _state(tensor: torch.Tensor) -> Tuple[Any, ...]:
    return tensor._version, tensor.data_ptr(), tensor.shape, tensor.stride()


class Copies:
    """Of the tensors that one context's device has been sent."""

    def __init__(self, context: Context, limit: int) -> None:
        self._context, self._limit = context, limit
        self._bytes = 0
        self._kept: Dict[int, _Copy] = {}  # by id of the tensor, oldest first
        self._lock = threading.RLock()  # a tensor may be collected inside these functions

    def send(self, tensor: torch.Tensor, keep: bool) -> DeviceTensor:
        """Copies `tensor` to the device, and remembers it until it changes or goes."""
        values = tensor.detach().contiguous().numpy()
        copy = self._context.tensor(values)
        if keep and not tensor.is_inference():  # those have no version
            self._remember(tensor, copy, values.nbytes)
        return copy

    def find(self, tensor: torch.Tensor) -> DeviceTensor:
        """The copy that the device has, else a new one: gradients are read more than once."""
        with self._lock:
            kept = self._kept.get(id(tensor))
        if kept is not None and not kept.memory.expired() and kept.state == _state(tensor):
            return kept.tensor
        return self.send(tensor, True)

    def forget(self, tensor: torch.Tensor) -> None:
        """Drops the copy of a tensor, if there is one."""
        with self._lock:
            self._drop(id(tensor))

    def _remember(self, tensor: torch.Tensor, copy: DeviceTensor, size: int) -> None:
        memory = StorageWeakRef(storage_of(tensor))
        with self._lock:
            self.drop_gone()
            self._drop(id(tensor))
            self._kept[id(tensor)] = _Copy(memory, _state(tensor), copy, size)
            self._bytes += size
            while self._bytes > self._limit:
                self._drop(next(iter(self._kept)))

    def drop_gone(self) -> None:
        """Drops the copies of tensors whose memory is no more."""
        with self._lock:
            for key in [key for key, kept in self._kept.items() if kept.memory.expired()]:
                self._drop(key)

    def _drop(self, key: int) -> None:
        kept = self._kept.pop(key, None)
        if kept is not None:
            self._bytes -= kept.bytes
