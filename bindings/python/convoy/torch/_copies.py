"""Copies of PyTorch's tensors on a device, so that backward finds there what forward has sent.

A copy is used again only for the same tensor object with the same memory and the same version,
which PyTorch counts up whenever a tensor is written. Forward always sends anew: `parameter.data` is
the one door through which memory changes without a new version, and between two forward passes
programs do use it. Copies go with their tensors, and the oldest when they are too many bytes.
"""

from __future__ import annotations

import threading
import weakref
from typing import Any, Dict, NamedTuple, Tuple

import torch

from .._context import Context
from .._tensor import Tensor as DeviceTensor


class _Copy(NamedTuple):
    of: Any  # weak reference to PyTorch's tensor
    state: Tuple[Any, ...]
    tensor: DeviceTensor
    bytes: int


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
        if kept is not None and kept.of() is tensor and kept.state == _state(tensor):
            return kept.tensor
        return self.send(tensor, True)

    def forget(self, tensor: torch.Tensor) -> None:
        """Drops the copy of a tensor, if there is one."""
        self._drop(id(tensor))

    def _remember(self, tensor: torch.Tensor, copy: DeviceTensor, size: int) -> None:
        key = id(tensor)
        of = weakref.ref(tensor, lambda gone: self._drop(key, gone))
        with self._lock:
            self._drop(key)
            self._kept[key] = _Copy(of, _state(tensor), copy, size)
            self._bytes += size
            while self._bytes > self._limit:
                self._drop(next(iter(self._kept)))

    def _drop(self, key: int, of: Any = None) -> None:
        """Drops the copy of a key, if it is still that of `of`."""
        with self._lock:
            kept = self._kept.get(key)
            if kept is not None and (of is None or kept.of is of):
                del self._kept[key]
                self._bytes -= kept.bytes
