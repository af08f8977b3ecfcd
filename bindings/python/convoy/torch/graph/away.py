"""Tensors of PyTorch's whose newest values are where Convoy computes, and only there.

A class of its own says so of such a tensor, whose __torch_function__ PyTorch calls before Python
does anything with it. The first use that reads or writes values has all of them come home, by one
read, and is carried out then. At home a tensor has the class that it had, and costs nothing.
"""

from __future__ import annotations

import os
import weakref
from typing import Any, Callable, Dict, Iterable, List, Sequence

import torch

from ..._context import Context
from .mirror import Batch, Mirrored

_PROPERTIES = """shape dtype device layout ndim grad requires_grad is_leaf grad_fn _version is_cpu
    is_cuda is_sparse is_quantized is_meta retains_grad output_nr""".split()
_METHODS = """dim ndimension size numel nelement stride storage_offset is_contiguous element_size
    is_floating_point is_signed is_inference get_device __hash__""".split()

_GRADIENT: Any = torch.Tensor.grad

#: What neither reads nor writes values. Giving up a gradient does not, either. is_complex is what
#: torch.distributed asks before it hands a tensor's memory to C++.
HARMLESS = frozenset(
    [getattr(torch.Tensor, name).__get__ for name in _PROPERTIES]
    + [getattr(torch.Tensor, name) for name in _METHODS]
    + [_GRADIENT.__set__, _GRADIENT.__delete__]
)

#: For a with statement: on this thread tensors count as what they are, wherever their values are.
#: Only for what is harmless.
as_they_are: Any = getattr(
    torch._C, "DisableTorchFunctionSubclass", getattr(torch._C, "DisableTorchFunction", None)
)


def noticing(first: Callable[[], None]) -> Any:
    """A __torch_function__, which PyTorch calls instead of what is done with a tensor: `first` is
    called before anything that is not harmless."""

    def used(cls: Any, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func in HARMLESS:
            with as_they_are():
                return func(*args, **kwargs or {})
        first()
        return func(*args, **kwargs or {})

    return classmethod(used)


_used = noticing(lambda: bring_home())


class AwayParameter(torch.nn.Parameter):
    __torch_function__ = _used

    def __deepcopy__(self, memo: Any) -> Any:
        """PyTorch asks for the class before it asks for the values."""
        bring_home()
        return torch.nn.Parameter.__deepcopy__(self, memo)


class AwayTensor(torch.Tensor):
    """Of an optimizer's state."""

    __torch_function__ = _used


_HOME: Dict[Any, Any] = {AwayParameter: torch.nn.Parameter, AwayTensor: torch.Tensor}
_AWAY = {home: away for away, home in _HOME.items()}


def is_away(tensor: Any) -> bool:
    return type(tensor) in _HOME


def is_plain(tensor: Any) -> bool:
    """Whether it is exactly a tensor or a parameter, at home or away."""
    return type(tensor) in _AWAY or type(tensor) in _HOME


class Away:
    """Those of one engine, whose lock it takes. Until they come home it keeps them alive."""

    def __init__(self, lock: Any, contexts: Sequence[Context]) -> None:
        self._lock, self._contexts = lock, contexts
        self._entries: Dict[int, Mirrored] = {}  # by id of PyTorch's
        self._ended = False
        _all.add(self)

    @property
    def is_ended(self) -> bool:
        """Whether nothing may leave any more."""
        return self._ended

    def leave(self, there: Iterable[Mirrored]) -> None:
        """The newest values of their tensors are there now. To be called with the lock held."""
        for each in there:
            if not is_away(each.of):
                self._entries[id(each.of)] = each
                each.of.__class__ = _AWAY[type(each.of)]

    def bring_home(self) -> None:
        if not self._entries:
            return
        with self._lock:
            there = list(self._entries.values())
            self._read(there)
            for each in there:
                each.of.__class__ = _HOME[type(each.of)]
            self._entries.clear()

    def _read(self, there: List[Mirrored]) -> None:
        with as_they_are():
            Batch(self._contexts[0], there).read([each.of for each in there])

    def end(self) -> None:
        """All come home, for good: where they are is about to be closed."""
        with self._lock:
            self._ended = True
            self.bring_home()


_all: weakref.WeakSet[Away] = weakref.WeakSet()


def bring_home() -> None:
    """Tensors of all engines get their newest values. Waits for them."""
    for each in list(_all):
        each.bring_home()


# A child has its parent's memory, and no device.
os.register_at_fork(before=bring_home)
