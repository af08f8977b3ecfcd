"""A captured network's forward and backward passes: whose values are where.

A graph has the values of one forward pass at a time. Where another one comes before the backward
pass, it runs in another instance, captured anew. These are not many: of the oldest pass the values
go then, and its backward pass has it computed once more.
"""

from __future__ import annotations

import weakref
from typing import Any, List, Optional, Sequence, Set

import torch

from .away import as_they_are, bring_home, is_away
from .engine import Engine
from .instance import Instance, Source
from .joint import Node, cut
from .steps import HostCall, Kept
from .trace import Traced

_SEEDS = 1 << 62
_INSTANCES = 8


class Call:
    """A forward pass whose backward pass may come."""

    def __init__(
        self,
        instance: Instance,
        number: Optional[int],
        kept: Kept,
        given: Optional[Sequence[torch.Tensor]],
    ) -> None:
        self.instance = instance
        self.given = given  # what backward reads where it is
        self.number = number  # of its random numbers
        self.kept = kept  # values on the host


class Pair:
    """Forward, and backward where there are gradients. To be used with the engine's lock held."""

    def __init__(
        self,
        engine: Engine,
        traced: Traced,
        sources: Sequence[Source],
        outputs: int,
        differentiable: Sequence[int],
    ) -> None:
        """outputs: how many of forward's results are the network's; before them are new values of
        what is written, in order. differentiable: which of the network's have gradients."""
        written = [at for at, source in enumerate(sources) if source.written]
        self._joint = joint = cut(traced, outputs, differentiable, written)
        self._engine, self._constants, self._sources = engine, traced.constants, sources
        self.counters = joint.counters  # sources to which the host adds one
        # Sources that backward reads, but for statistics that forward has written since; and those
        # that it reads for each of its tangents, or needs to be computed anew.
        self.read_by_backward = self._unwritten(set(joint.crossing))
        self.read_by = [self._unwritten(each) for each in joint.read_by]
        self._needed_by = [self._unwritten(each) for each in joint.needed_by]
        self.left_because: Optional[str] = None  # what was asked for that only PyTorch has
        self.without: List[int] = []  # sources that PyTorch gives no gradient
        self._instances = [self._new_instance()]  # that which ran last comes last

    def _unwritten(self, nodes: Set[Node]) -> List[int]:
        given = enumerate(self._joint.given)
        return [at for at, node in given if node in nodes and not self._sources[at].written]

    def needed(self, tangents: Sequence[Optional[torch.Tensor]]) -> Set[int]:
        """Sources without which there are no gradients of these."""
        there = [by for by, each in zip(self._needed_by, tangents) if each is not None]
        return {at for by in there for at in by}

    def _new_instance(self) -> Instance:
        return Instance(self._engine, self._joint, self._constants, self._sources)

    @property
    def lock(self) -> Any:
        return self._engine.lock

    @property
    def host_calls(self) -> List[HostCall]:
        """Operators that the host carries out in each step."""
        return self._instances[0].host_calls

    # ----------------------------------------------------------------------------------- forward

    def forward(self, given: Sequence[torch.Tensor], call: Optional[Call] = None) -> Any:
        """The network's results, the new values of what is written, by source, and the call for
        backward. `call`: that of a forward pass to be repeated."""
        instance = self._take()
        if any(is_away(given[at]) for at in instance.on_host):
            bring_home()
        with as_they_are():
            order = [each.is_contiguous() for each in given]
        dense = [
            each if is_dense else each.detach().contiguous() for each, is_dense in zip(given, order)
        ]
        kept: Kept = {at: dense[at].detach().reshape(-1) for at in instance.on_host}
        kept.update(instance.random_of(call.kept) if call else {})
        number = call.number if call else _draw() if instance.draws else None
        values, news = instance.forward(dense, kept, number)
        made = Call(instance, number, kept, dense if self._engine.in_place else None)
        instance.owner = weakref.ref(made)
        return values, news, made

    def _take(self) -> Instance:
        """One whose values nobody wants any more, if there is one."""
        free = next((each for each in self._instances if each.owner() is None), None)
        if free is None and len(self._instances) < _INSTANCES:
            free = self._new_instance()
            self._instances.append(free)
        found = free or self._instances[0]
        found.owner = lambda: None
        self._instances.remove(found)
        self._instances.append(found)
        return found

    def drawn(self, call: Call) -> Optional[List[torch.Tensor]]:
        """The random numbers of a forward pass, in the order in which its operators drew them; None
        if there are none."""
        return call.instance.drawn(call.kept) if self._joint.draws else None

    # ---------------------------------------------------------------------------------- backward

    def has_values(self, call: Call) -> bool:
        """Whether those of its forward pass are still there for backward."""
        return call.instance.owner() is call

    def backward(
        self, call: Call, tangents: Sequence[Optional[torch.Tensor]]
    ) -> List[Optional[torch.Tensor]]:
        """Gradients of what is given. None of a tangent means that nothing depends on that result;
        what depends on such ones only gets none, as in PyTorch."""
        instance = call.instance
        filled = [
            instance.zeros(at) if each is None else each.contiguous()
            for at, each in enumerate(tangents)
        ]
        found = instance.backward(filled, dict(call.kept), call.given)
        instance.owner = lambda: None
        call.given = None
        for at in self.without:
            found[at] = None
        there = sum(1 << at for at, each in enumerate(tangents) if each is not None)
        return [
            each if reached & there else None for each, reached in zip(found, self._joint.reached)
        ]


def _draw() -> int:
    """PyTorch's generator gives each run one number, on which its random numbers depend."""
    return int(torch.randint(_SEEDS, ()))
