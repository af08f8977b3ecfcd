"""Gradients that are still what a captured network has computed.

PyTorch has them from the device, and for a step there they need not be sent back. Whether anybody
has changed one meanwhile PyTorch's versions do not tell, since `gradient.data` has versions of its
own; so until it is used it has a class that notices, as tensors have that are away. The first use
of one counts as a change of all: which others it reaches, as parts of one memory, nobody knows.
"""

from __future__ import annotations

from typing import Any, Iterable, Iterator, List, Optional

import torch

from ..._tensor import Tensor as DeviceTensor
from .away import HARMLESS, as_they_are, bring_home


_uses: List[int] = [0]  # of gradients that were watched


class Untouched(torch.Tensor):
    @classmethod
    def __torch_function__(
        cls, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        kwargs = kwargs or {}
        if func not in HARMLESS:
            _uses[0] += 1
            found = list(_watched_in((args, kwargs)))
            for each in found:
                each.__class__ = torch.Tensor
            if found:
                return func(*args, **kwargs)
            bring_home()  # the function has them where nobody looks, and what else it has
        with as_they_are():
            return func(*args, **kwargs)


def _watched_in(arguments: Any) -> Iterator[torch.Tensor]:
    if type(arguments) is Untouched:
        yield arguments
    elif isinstance(arguments, dict):
        yield from _watched_in(list(arguments.values()))
    elif isinstance(arguments, (list, tuple)):
        for each in arguments:
            yield from _watched_in(each)


class Left:
    """What a network's backward pass leaves of a parameter's gradient where it computes. `tensor`:
    that has its values, under whatever extents; None if PyTorch's are made of something else."""

    def __init__(self, parameter: torch.Tensor, tensor: Optional[DeviceTensor]) -> None:
        self.parameter, self.tensor = parameter, tensor
        self.place = 0  # of PyTorch's, where the device's values were copied last
        self._seen = -1  # uses of gradients before this one was watched

    def is_in(self, gradient: torch.Tensor) -> bool:
        """Whether PyTorch's gradient still has the values that were left."""
        if type(gradient) is not Untouched or self._seen != _uses[0]:
            return False
        is_same = gradient.data_ptr() == self.place and gradient._version == 0
        return is_same and self.tensor is not None

    def watch(self) -> None:
        """At the end of a backward pass. Watched is a gradient that PyTorch has taken over, but not
        where hooks may have changed it already."""
        gradient = self.parameter.grad
        if type(gradient) is not torch.Tensor or gradient.data_ptr() != self.place:
            return
        if not _has_hooks(self.parameter):
            gradient.__class__, self._seen = Untouched, _uses[0]


def watch(lefts: Iterable[Left]) -> None:
    with as_they_are():
        for left in lefts:
            left.watch()


def _has_hooks(parameter: Any) -> bool:
    hooks = parameter._backward_hooks, getattr(parameter, "_post_accumulate_grad_hooks", None)
    return any(hooks)
