"""What a module is called with: tensors, and all else that the trace depends on."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Hashable, List, NamedTuple, Tuple

import torch
from torch.utils._pytree import tree_flatten, tree_unflatten

from .away import bring_home, is_away
from .errors import Declined

_VALUES = (bool, int, float, complex, str, bytes, type(None), torch.dtype, torch.device)
_PLACE = object()


class Arguments(NamedTuple):
    """`key` is equal for calls that one trace serves."""

    tensors: List[torch.Tensor]
    key: Hashable
    leaves: List[Any]  # with a mark where a tensor is
    spec: Any

    def filled(self, tensors: List[torch.Tensor]) -> Tuple[Any, Any]:
        """args and kwargs with other tensors."""
        there = iter(tensors)
        leaves = [next(there) if each is _PLACE else each for each in self.leaves]
        return tuple(tree_unflatten(leaves, self.spec))  # type: ignore[return-value]


def _tensor_key(tensor: torch.Tensor) -> Hashable:
    if type(tensor) not in (torch.Tensor, torch.nn.Parameter):
        raise Declined(f"an argument is a {type(tensor).__name__}")
    if tensor.layout is not torch.strided:
        raise Declined("an argument is no dense tensor")
    if tensor.numel() == 0:
        raise Declined("an argument has no elements")
    if tensor.dtype in (torch.float64, torch.float16, torch.bfloat16):
        raise Declined(f"an argument is {str(tensor.dtype).rpartition('.')[2]}")
    kind = tensor.dtype, tensor.device, tensor.requires_grad
    return tuple(tensor.shape), tensor.stride(), kind


@lru_cache(maxsize=None)
def _tensors_only(count: int) -> Any:
    """The structure of so many tensors and nothing else, and its text."""
    spec = tree_flatten(((_PLACE,) * count, {}))[1]
    return spec, str(spec)


def _flat(args: Any, kwargs: Any) -> Any:
    """Leaves, structure and its text. For tensors alone they are known, which spares a small
    network some 20 us of each call."""
    if not kwargs and all(isinstance(each, torch.Tensor) for each in args):
        return [list(args), *_tensors_only(len(args))]
    leaves, spec = tree_flatten((args, kwargs))
    return leaves, spec, str(spec)


def arguments_of(args: Any, kwargs: Any) -> Arguments:
    """Raises Declined for what cannot be compared."""
    leaves, spec, text = _flat(args, kwargs)
    tensors: List[torch.Tensor] = []
    keys: List[Hashable] = []
    for at, leaf in enumerate(leaves):
        if isinstance(leaf, torch.Tensor):
            if is_away(leaf):
                bring_home()
            keys.append(_tensor_key(leaf))
            tensors.append(leaf)
            leaves[at] = _PLACE
        elif isinstance(leaf, _VALUES):
            keys.append((type(leaf), leaf))
        else:
            raise Declined(f"an argument is a {type(leaf).__name__}")
    if not tensors:
        raise Declined("no argument is a tensor")
    return Arguments(tensors, (tuple(keys), text), leaves, spec)
