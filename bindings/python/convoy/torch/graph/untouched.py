"""Gradients that are still what a captured network has computed.

PyTorch has them from the device, and for a step there they need not be sent back. Whether anybody
has changed one meanwhile PyTorch's versions do not tell, since `gradient.data` has versions of its
own; so until it is used it has a class that notices, as tensors have that are away.
"""

from __future__ import annotations

import weakref
from typing import Any, Dict, Iterable, Optional

import torch

from ..._tensor import Tensor as DeviceTensor
from .away import as_they_are, noticing


_all: Dict[int, Any] = {}  # by id: weak references


def _give_up() -> None:
    """All count as changed."""
    while _all:
        gradient = _all.popitem()[1]()
        if gradient is not None:
            gradient.__class__ = torch.Tensor


class Untouched(torch.Tensor):
    __torch_function__ = noticing(_give_up)


class Left:
    """What a network's backward pass leaves of a parameter's gradient where it computes. `tensor`:
    that has its values, under whatever extents; None if PyTorch's are made of something else."""

    def __init__(self, parameter: torch.Tensor, tensor: Optional[DeviceTensor]) -> None:
        self.parameter, self.tensor = parameter, tensor
        self.place = 0  # of PyTorch's, where the device's values were copied last

    def is_in(self, gradient: torch.Tensor) -> bool:
        """Whether PyTorch's gradient still has the values that were left."""
        is_same = type(gradient) is Untouched and gradient.data_ptr() == self.place
        return is_same and gradient._version == 0 and self.tensor is not None


def watch(lefts: Iterable[Left]) -> None:
    """At the end of a backward pass. Watched are gradients that PyTorch has taken over, but not
    where hooks may have changed them already."""
    for key in [key for key, gradient in _all.items() if gradient() is None]:
        del _all[key]
    with as_they_are():
        for left in lefts:
            gradient = left.parameter.grad
            if type(gradient) is not torch.Tensor or gradient.data_ptr() != left.place:
                continue
            if not _has_hooks(left.parameter):
                _all[id(gradient)] = weakref.ref(gradient)
                gradient.__class__ = Untouched


def _has_hooks(parameter: Any) -> bool:
    hooks = parameter._backward_hooks, getattr(parameter, "_post_accumulate_grad_hooks", None)
    return any(hooks)
