"""Values on their way to PyTorch: results of the network, gradients, buffers it has written."""

from __future__ import annotations

from typing import Any, Dict, List, Optional, Sequence, Tuple

import torch

from .engine import Engine
from .mirror import Batch
from .steps import Kept
from .values import Value, host_tensor


def _is_there(value: Value) -> bool:
    """Whether it lies where Convoy computes."""
    return value.array.constant is None and value.array.number is None


def is_whole(value: Value) -> bool:
    """Whether PyTorch's tensor is filled as it is."""
    return _is_there(value) and value.dtype is torch.float32 and value.is_dense()


class Outputs:
    """Values that are read together, into new tensors of PyTorch's. `rarely`: they are fetched when
    they are read, and a run does without them."""

    def __init__(self, engine: Engine, values: Sequence[Value], rarely: bool = False) -> None:
        self._engine, self._values = engine, list(values)
        self._empty: Any = torch.empty if rarely else engine.empty
        self._placed: Any = engine.placed if rarely else lambda made: made
        self._rarely = rarely
        self._whole = [is_whole(each) for each in values]
        #: By array where it is read into: which of the values comes first, and with which extents.
        self._there: Dict[int, Tuple[int, Sequence[int]]] = {}
        for at, each in enumerate(values):
            if _is_there(each):
                shape = each.shape if self._whole[at] else (each.array.count,)
                self._there.setdefault(id(each.array), (at, shape))
        tensors: Any = [self._values[at].array.tensor for at, _ in self._there.values()]
        self._batch = Batch(engine.context, tensors) if rarely else engine.batch(tensors)
        self._shapes = [tuple(shape) for _, shape in self._there.values()]
        #: Whether what is read is what is returned, as gradients are.
        self._is_all = all(self._whole) and len(self._there) == len(self._values)
        self._expected: Optional[List[torch.Tensor]] = None

    def begin(self) -> None:
        """Before the run that makes them, where that has to know the places: else they are found
        while it runs."""
        if self._engine.in_place:
            self._expected = self._new()
            self._batch.expect(self._expected)

    def _new(self) -> List[torch.Tensor]:
        return list(map(self._empty, self._shapes))

    def read(self, kept: Kept) -> List[torch.Tensor]:
        """Waits for them, where they are fetched. `kept`: what the host has of the same run."""
        made = self._new() if self._expected is None else self._expected
        self._expected = None
        self._batch.read(made)
        if self._is_all and not self._rarely:
            return made
        places = {key: self._placed(each) for key, each in zip(self._there, made)}
        return [self._tensor(at, places, kept) for at in range(len(self._values))]

    def _tensor(self, at: int, places: Dict[int, torch.Tensor], kept: Kept) -> torch.Tensor:
        """Each its own memory: what is written to one is not to be seen in another."""
        value = self._values[at]
        array = value.array
        if id(array) in places:
            place, is_first = places[id(array)], self._there[id(array)][0] == at
            if is_first and self._whole[at]:
                return place
            return host_tensor(value, place).to(value.dtype, copy=not is_first).contiguous()
        elements = array.constant if array.number is None else kept[array.number]
        assert elements is not None
        found = host_tensor(value, elements).to(value.dtype, copy=True).contiguous()
        return self._engine.placed(found)
