"""Values on their way to the host: results of the network, gradients, buffers it has written."""

from __future__ import annotations

from typing import Dict, List, Sequence

import torch

from ..._context import Context
from .mirror import Batch
from .steps import Kept
from .values import Value, host_tensor


def _is_there(value: Value) -> bool:
    """Whether it lies where Convoy computes."""
    return value.array.constant is None and value.array.number is None


def _is_whole(value: Value) -> bool:
    """Whether PyTorch's tensor is filled as it is."""
    return _is_there(value) and value.dtype is torch.float32 and value.is_dense()


class Outputs:
    """Values that are read together, into new tensors of PyTorch's."""

    def __init__(self, context: Context, values: Sequence[Value]) -> None:
        self._values = list(values)
        self._shapes = [each.shape if _is_whole(each) else None for each in values]
        self._there = [
            (at, (each.array.count,) if self._shapes[at] is None else each.shape)
            for at, each in enumerate(values)
            if _is_there(each)
        ]
        tensors = [self._values[at].array.tensor for at, _ in self._there]
        self._batch = Batch(context, tensors)  # type: ignore[arg-type]

    def read(self, kept: Kept) -> List[torch.Tensor]:
        """Waits for them. `kept`: what the host has of the same run."""
        places = {at: torch.empty(shape) for at, shape in self._there}
        self._batch.read(list(places.values()))
        return [
            self._tensor(at, places, kept) if shape is None else places[at]
            for at, shape in enumerate(self._shapes)
        ]

    def _tensor(self, at: int, places: Dict[int, torch.Tensor], kept: Kept) -> torch.Tensor:
        value = self._values[at]
        array = value.array
        if at in places:
            return host_tensor(value, places[at]).to(value.dtype).contiguous()
        elements = array.constant if array.number is None else kept[array.number]
        assert elements is not None
        return host_tensor(value, elements).to(value.dtype, copy=True).contiguous()
