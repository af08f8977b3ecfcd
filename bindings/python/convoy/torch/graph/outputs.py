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


class Outputs:
    """Values that are read together, into new tensors of PyTorch's."""

    def __init__(self, context: Context, values: Sequence[Value]) -> None:
        self._values = list(values)
        self._there = {at: each.array for at, each in enumerate(values) if _is_there(each)}
        tensors = [each.tensor for each in self._there.values()]
        self._batch = Batch(context, tensors)  # type: ignore[arg-type]

    def read(self, kept: Kept) -> List[torch.Tensor]:
        """Waits for them. `kept`: what the host has of the same run."""
        places = {at: torch.empty(each.count) for at, each in self._there.items()}
        self._batch.read(list(places.values()))
        return [self._tensor(at, places, kept) for at in range(len(self._values))]

    def _tensor(self, at: int, places: Dict[int, torch.Tensor], kept: Kept) -> torch.Tensor:
        value = self._values[at]
        array = value.array
        if at in places:
            return host_tensor(value, places[at]).to(value.dtype).contiguous()
        elements = kept[array.number] if array.constant is None else array.constant
        return host_tensor(value, elements).to(value.dtype, copy=True).contiguous()
