"""A traced network, or a part of one, made ready: stages of a graph of Convoy's, and between them
operators that the host, which is PyTorch, carries out because Convoy has nothing for them: where
PyTorch's tensors are, so on a card as well."""

from __future__ import annotations

from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Set, Tuple, Union

import torch

from ..._graph import Graph
from ..._tensor import Tensor as DeviceTensor
from .constants import swapped, values_in
from .engine import Engine
from .values import Array, Value, host_tensor

#: What the host has computed or been given in a run, by number, as elements in order.
Kept = Dict[int, torch.Tensor]


class HostCall(NamedTuple):
    """One operator on the host; `numbers` has one for each result, None for what is no tensor."""

    name: str
    target: Any  # what is called
    args: Any
    kwargs: Any
    numbers: Tuple[Optional[int], ...]
    single: bool  # whether it has one result, not a tuple of them
    is_random: bool = False  # its results are random numbers, which no operator of the trace is


class HostStep:
    """Calls one after the other, and what of their results a device wants to read: the engine sends
    it there."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.calls: List[HostCall] = []
        self.uploads: List[Tuple[int, DeviceTensor]] = []
        self._sent: List[Any] = []
        self._constants: Dict[int, torch.Tensor] = {}  # where PyTorch computes, by array
        self._fetched: Optional[Fetched] = None

    def run(self, kept: Kept) -> None:
        if self._fetched is None:
            values = values_in([(call.args, call.kwargs) for call in self.calls])
            self._fetched = Fetched(self._engine, [each.array for each in values])
        read = self._fetched.read()

        def on_host(value: Value) -> torch.Tensor:
            return host_tensor(value, self._elements(value.array, kept, read)).to(value.dtype)

        with torch.no_grad():
            for call in self.calls:
                if call.is_random and call.numbers[0] in kept:
                    continue  # the same once more
                made = call.target(*swapped(call.args, on_host), **swapped(call.kwargs, on_host))
                for number, each in zip(call.numbers, (made,) if call.single else made):
                    if number is not None:
                        kept[number] = each.contiguous().reshape(-1)
        self._sent = [self._engine.send(kept[number], tensor) for number, tensor in self.uploads]

    def _elements(
        self, array: Array, kept: Kept, read: Dict[int, torch.Tensor]
    ) -> torch.Tensor:
        """An array's, where PyTorch computes; `read` has those that were fetched before."""
        if array.constant is not None:
            if id(array) not in self._constants:
                self._constants[id(array)] = self._engine.placed(array.constant)
            return self._constants[id(array)]
        number = array.home if array.number is None else array.number
        if number is not None:
            return kept[number]
        return read[id(array)]


class Fetched:
    """What operators on the host read of those arrays that only a device has, brought at once."""

    def __init__(self, engine: Engine, arrays: Sequence[Array]) -> None:
        self._engine = engine
        there = {id(each): each for each in arrays if _is_only_there(each)}
        self._keys = list(there)
        self._tensors: List[Any] = [each.tensor for each in there.values()]
        self._batch = engine.batch(self._tensors) if there else None

    def read(self) -> Dict[int, torch.Tensor]:
        """By id of the array."""
        if self._batch is None:
            return {}
        places = [self._engine.empty_like(each) for each in self._tensors]
        self._batch.read(places)
        return dict(zip(self._keys, places))


def _is_only_there(array: Array) -> bool:
    return array.constant is None and array.number is None and array.home is None


class Steps:
    """Carried out in order: numbers are stages of the network's graph."""

    def __init__(self) -> None:
        self.steps: List[Union[HostStep, int]] = []
        self.draws = False

    def _calls(self) -> List[HostCall]:
        return [call for each in self.steps if isinstance(each, HostStep) for call in each.calls]

    @property
    def host_calls(self) -> List[HostCall]:
        """Operators of the network."""
        return [call for call in self._calls() if not call.is_random]

    @property
    def homes(self) -> Set[int]:
        """Numbers of the memory that its operators read where it is PyTorch's."""
        values = values_in([(call.args, call.kwargs) for call in self._calls()])
        return {each.array.home for each in values if each.array.home is not None}

    @property
    def random_numbers(self) -> List[int]:
        """Under which numbers random ones are kept that PyTorch draws."""
        return [call.numbers[0] or 0 for call in self._calls() if call.is_random]

    def run(self, graph: Graph, kept: Kept, number: Optional[int]) -> None:
        """number: what random numbers of the run that begins depend on, if there are any."""
        if number is not None:
            graph.runs = number
        for step in self.steps:
            if isinstance(step, HostStep):
                step.run(kept)
            else:
                graph.run_stage(step)
