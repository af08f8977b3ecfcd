"""A step of an optimizer as one captured graph, and its runs."""

from __future__ import annotations

from functools import partial
from typing import Any, Dict, Hashable, List, NamedTuple, Optional, Sequence, Tuple

import torch

from ..._tensor import Tensor as DeviceTensor
from .away import is_away
from .engine import Engine
from .mirror import Batch, Mirrored, Some, new_tensor
from .rules import Lists, Rule


class Move(NamedTuple):
    """One parameter's step. `states` are PyTorch's tensors, in the order of the rule's names."""

    parameter: torch.Tensor
    gradient: torch.Tensor
    left: Optional[DeviceTensor]  # the device's with the same values
    states: Tuple[torch.Tensor, ...]


class Bucket(NamedTuple):
    """Parameters that step together: of one group, and with as many steps behind them."""

    options: Any
    rate: float
    done: float
    moves: List[Move]


class _Places(NamedTuple):
    """Of one bucket, where the device has what PyTorch has as parameters and state."""

    parameters: List[Mirrored]
    states: Tuple[List[Mirrored], ...]

    @property
    def all(self) -> List[Mirrored]:
        return [*self.parameters, *(each for state in self.states for each in state)]


def _tensors(bucket: Bucket) -> List[torch.Tensor]:
    """PyTorch's, in the order of _Places.all."""
    states = zip(*(move.states for move in bucket.moves))
    return [*(m.parameter for m in bucket.moves), *(each for state in states for each in state)]


class _Captured:
    """The graph. It does not keep the engine alive. It has the rates of its buckets, and how many
    steps are done, as tensors of one number, and tensors for gradients, which may be given the
    memory where those were computed."""

    def __init__(
        self, engine: Engine, rule: Rule, buckets: Sequence[Bucket], places: Sequence[_Places]
    ) -> None:
        context = engine.context
        self._lists = [
            Lists(
                place.parameters,
                [new_tensor(context, move.parameter) for move in bucket.moves],
                place.states,
                DeviceTensor(context, (1,)),
                DeviceTensor(context, (1,)),
            )
            for bucket, place in zip(buckets, places)
        ]
        options = [bucket.options for bucket in buckets]
        self._gradients = [each for lists in self._lists for each in lists.gradients]
        numbers = [number for lists in self._lists for number in (lists.rate, lists.done)]
        self._writes = Some(partial(Batch, context), [*numbers, *self._gradients])

        def capture() -> None:
            for given, lists in zip(options, self._lists):
                rule.update(context, given, lists)

        self._graph = context.capture(capture)

    def write(self, buckets: Sequence[Bucket]) -> List[torch.Tensor]:
        """Rates, numbers of steps and gradients, but for those that are as they were computed:
        returns what has to stay as it is while the engine is running."""
        numbers = [number for bucket in buckets for number in (bucket.rate, bucket.done)]
        given = list(torch.tensor(numbers, dtype=torch.float32).split(1))
        which = list(range(len(given)))
        moves = [move for bucket in buckets for move in bucket.moves]
        for at, (move, tensor) in enumerate(zip(moves, self._gradients), len(given)):
            if move.left is not None:
                tensor.assign(move.left)
            else:
                given.append(move.gradient.detach().contiguous())
                which.append(at)
        self._writes.write(which, given)
        return given

    def run(self) -> None:
        self._graph.run()


MOST = 4  # steps, of other parameters or options, that stay captured


class Updates:
    """Of one optimizer on one engine, which it does not keep alive. To be used with its lock
    held."""

    def __init__(self, rule: Rule) -> None:
        self._rule = rule
        self._captured: Dict[Hashable, _Captured] = {}  # that which ran last comes last
        self.captures = 0

    def run(self, engine: Engine, buckets: Sequence[Bucket]) -> None:
        """Afterwards the newest values of parameters and states are the device's alone."""
        places = [_places(engine, bucket) for bucket in buckets]
        captured = self._for(engine, buckets, places)
        tensors = [each for bucket in buckets for each in _tensors(bucket)]
        there = [each for place in places for each in place.all]
        here = [at for at, each in enumerate(tensors) if not is_away(each)]
        with engine.running():
            if here:
                engine.batch([there[at] for at in here]).write([tensors[at] for at in here])
            given = captured.write(buckets)
            captured.run()
        del given
        engine.away.leave(there)
        engine.stepped.update(id(move.parameter) for bucket in buckets for move in bucket.moves)

    def _for(
        self, engine: Engine, buckets: Sequence[Bucket], places: Sequence[_Places]
    ) -> _Captured:
        key = tuple((bucket.options, *map(id, place.all)) for bucket, place in zip(buckets, places))
        found = self._captured.pop(key, None)
        if found is None:
            self.captures += 1
            found = _Captured(engine, self._rule, buckets, places)
            while len(self._captured) >= MOST:
                del self._captured[next(iter(self._captured))]
        self._captured[key] = found
        return found


def _places(engine: Engine, bucket: Bucket) -> _Places:
    parameters = [engine.mirrored(move.parameter) for move in bucket.moves]
    states = zip(*(move.states for move in bucket.moves))
    return _Places(
        parameters, tuple([engine.mirrored(each) for each in state] for state in states)
    )
