"""Values on their way to PyTorch: results of the network, gradients, buffers it has written."""

from __future__ import annotations

from typing import Any, Dict, List, Optional, Sequence

import torch

from .engine import Engine
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
    """Values that are read together, into new tensors of PyTorch's. `rarely`: they are fetched when
    they are read, and a run does without them."""

    def __init__(self, engine: Engine, values: Sequence[Value], rarely: bool = False) -> None:
        self._engine, self._values = engine, list(values)
        self._empty: Any = torch.empty if rarely else engine.empty
        self._placed: Any = engine.placed if rarely else lambda made: made
        self._shapes = [each.shape if _is_whole(each) else None for each in values]
        self._there = [
            (at, (each.array.count,) if self._shapes[at] is None else each.shape)
            for at, each in enumerate(values)
            if _is_there(each)
        ]
        tensors: Any = [self._values[at].array.tensor for at, _ in self._there]
        self._batch = Batch(engine.context, tensors) if rarely else engine.batch(tensors)
        self._expected: Optional[List[torch.Tensor]] = None

    def begin(self) -> None:
        """Before the run that makes them."""
        self._expected = [self._empty(shape) for _, shape in self._there]
        self._batch.expect(self._expected)

    def read(self, kept: Kept) -> List[torch.Tensor]:
        """Waits for them, where they are fetched. `kept`: what the host has of the same run."""
        made = self._expected or [self._empty(shape) for _, shape in self._there]
        self._expected = None
        self._batch.read(made)
        places = {at: self._placed(each) for (at, _), each in zip(self._there, made)}
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
        found = host_tensor(value, elements).to(value.dtype, copy=True).contiguous()
        return self._engine.placed(found)
