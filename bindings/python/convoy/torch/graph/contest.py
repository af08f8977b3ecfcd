"""A network's steps by each way there is: captured, by single operations, by PyTorch alone."""

from __future__ import annotations

import time
from contextlib import nullcontext
from typing import Any, Callable, Dict, List, NamedTuple, Sequence, Union

import torch

from .. import _disturbance
from .._plainly import plainly
from .._statistics import PYTORCH
from .comparison import Subject
from .network import Network
from .random_state import untouched
from .rehearsal import copies, shaken
from .state import in_place_of

GRAPH, OPERATIONS = "graph", "operations"

_ROUNDS, _SECONDS = 3, 30.0  # of long steps there are fewer...
_MOST_ROUNDS, _BRIEF = 9, 3.0  # ...and of short ones more, within so many seconds
_WORTH = 0.96  # of PyTorch's time
_HOPELESS = 2.0  # times as slow as the best: not tried again


class _Pytorch:
    """The module's own code on copies, with Convoy's operations or `plain`."""

    def __init__(self, subject: Subject, plain: bool) -> None:
        self.name = PYTORCH if plain else OPERATIONS
        self._subject, self._plain = subject, plain
        self._given = copies(subject.held, subject.arguments.tensors)

    def step(self) -> None:
        mode: Any = plainly() if self._plain else nullcontext()
        with mode:
            _backward(self._forward(), self._given)

    def _forward(self) -> List[torch.Tensor]:
        held, given = self._subject.held, self._given
        args, kwargs = self._subject.arguments.filled(given[len(held) :])
        with untouched(given), in_place_of(held, given):
            returned = self._subject.body(*args, **kwargs)
        leaves = torch.utils._pytree.tree_flatten(returned)[0]
        return [each for each in leaves if isinstance(each, torch.Tensor)]


class _Captured:
    """The captured network as it is called, with what is asked for before. All that it is given is
    sent in each step, as after an optimizer's. The engine's lock is held as then, and not during
    the whole contest: gradients of a card's tensors PyTorch computes on a thread of its own."""

    name = GRAPH

    def __init__(self, network: Network, subject: Subject) -> None:
        self._network, self._subject = network, subject
        of = subject.held, subject.arguments.tensors
        self._given = copies(*of), copies(*of, lambda each: shaken(each).to(each.dtype))

    def step(self) -> None:
        self._given = self._given[1], self._given[0]
        self._network.guard.changed()
        with self._network.pair.lock:
            results, _ = self._network.results_of(self._subject, self._given[0], False)
        _backward(results, self._given[0])


def _backward(results: Sequence[torch.Tensor], given: Sequence[torch.Tensor]) -> None:
    ends = [each for each in results if each.requires_grad]
    wanted = [each for each in given if each.requires_grad]
    if ends and wanted:
        ones = [torch.ones_like(each) for each in ends]
        torch.autograd.grad(ends, wanted, ones, allow_unused=True)


_Way = Union[_Pytorch, _Captured]


class Outcome(NamedTuple):
    """`disturbance` says why it is not to be believed; "" if it is."""

    times: Dict[str, List[float]]  # seconds of steps, by way
    disturbance: str

    @property
    def winner(self) -> str:
        """The fastest; PyTorch where that is hardly faster, since a contest is short."""
        best = {name: min(times) for name, times in self.times.items()}
        fastest = min(best, key=lambda name: best[name])
        return fastest if best[fastest] <= _WORTH * best[PYTORCH] else PYTORCH

    def __str__(self) -> str:
        return " ".join(f"{name}={min(times) * 1e3:.3g}ms" for name, times in self.times.items())


def _timed(way: _Way, settle: Callable[[], None]) -> float:
    start = time.perf_counter()
    way.step()
    settle()
    return time.perf_counter() - start


def _rounds(once: float) -> int:
    """How many, where all ways together take so many seconds."""
    usual = min(_ROUNDS, int(_SECONDS / once))
    return max(1, usual, min(_MOST_ROUNDS, int(_BRIEF / once)))


def contest(network: Network, subject: Subject, settle: Callable[[], None]) -> Outcome:
    """The ways take turns, so that what else the machine does strikes all of them; the first step
    of each is for making ready. `settle` waits for what a step has left under way."""
    running: List[_Way] = [_Captured(network, subject)]
    running += [_Pytorch(subject, False), _Pytorch(subject, True)]
    times: Dict[str, List[float]] = {way.name: [] for way in running}
    once = sum(_timed(way, settle) for way in running)
    observed = _disturbance.Observed()
    for _ in range(_rounds(once)):
        for way in running:
            times[way.name].append(_timed(way, settle))
        limit = _HOPELESS * min(min(each) for each in times.values())
        running = [way for way in running if min(times[way.name]) <= limit]
    found = Outcome(times, observed.disturbance())
    others = [each for name, each in times.items() if name != found.winner]
    return found._replace(
        disturbance=found.disturbance or _disturbance.spread(times[found.winner], others)
    )
