"""The two operators for tensors on cards.

What comes again and again takes a short way: a table says by shapes and strides what is to be done,
once the long way has settled it.
"""

from __future__ import annotations

import functools
import threading
from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Tuple

import torch

from .. import _log
from .._errors import ConvoyError
from .._lib import LogLevel
from . import _native
from ._card import ALIGNMENT, Card, Declined, Problem, operands
from ._card_race import race
from ._check import check
from ._operation import CLASSES, GRADIENTS, Operation, Tensor, admit, memory_format
from ._routes import Fixed, Measured, Routes
from ._statistics import FORKED, MEASURED, PYTORCH, State, Statistics
from ._ways import PytorchWay, Way

TF32 = "TF32 is allowed"
LEFT = "a card that Convoy cannot use"

_MOST = 4096  # calls remembered
_float32 = torch.float32
_tracing = torch._C._get_tracing_state

Results = Tuple[Optional[Tensor], ...]


class _Opened(NamedTuple):
    card: Card
    routes: Routes


class _Part(NamedTuple):
    """What is to be done for one direction: by the card, or with problem None by PyTorch."""

    direction: str
    card: Card
    problem: Optional[Problem]


def _is_dense(op: Operation) -> bool:
    """Whether its operands and its result lie in the order of their extents."""
    plain = all(tensor.is_contiguous() for tensor in operands(op))
    return plain and memory_format(op.x, op.w) is torch.contiguous_format


class Cards:
    """Of one session; `open_options` are those of their contexts, which the first operation on a
    card opens."""

    def __init__(
        self, platform: Any, route: str, statistics: Statistics, checked: bool, open_options: Any
    ) -> None:
        self._platform, self._route, self._open_options = platform, route, open_options
        self._statistics, self._checked = statistics, checked
        self._allows_tf32 = platform.allows_tf32
        self._opened: Dict[int, Optional[_Opened]] = {}
        self._opening = threading.Lock()
        self._settled: Dict[Any, List[_Part]] = {}
        self._forked = False

    def after_fork(self) -> None:
        """A card belongs to the parent, as PyTorch's part of it does."""
        self._forked = True
        self._opening = threading.Lock()

    def states(self) -> List[State]:
        """How the cards are that were used."""
        contexts = [each.card.context for each in self._opened.values() if each is not None]
        return [State(context.health(), context.description) for context in contexts]

    # --------------------------------------------------------------------------- the cards

    def _open(self, index: int) -> Optional[_Opened]:
        """None, said once: the card is PyTorch's alone."""
        try:
            card = Card(self._platform, index, self._open_options())
        except ConvoyError as error:
            name = self._platform.device(index)
            _log.log(LogLevel.WARNING, f"{name} is left to PyTorch: {error}")
            return None
        return _Opened(card, self._routes_of(card))

    def _routes_of(self, card: Card) -> Routes:
        bad = self._platform.bad_vendor(card.device.name)
        if bad:
            _log.log(LogLevel.INFO, f"{card.name} takes all convolutions that it can: {bad}")
        if bad or self._route == "convoy":
            return Fixed(card)
        turns = functools.partial(race, self._platform, card.index)
        return Measured([card, PytorchWay()], turns, self._platform.versions())

    def _card(self, index: int) -> Optional[_Opened]:
        if index not in self._opened:
            with self._opening:
                if index not in self._opened:
                    self._opened[index] = self._open(index)
        return self._opened[index]

    # ----------------------------------------------------------------------- the short way

    def _is_plain(self, index: int, *tensors: Tensor) -> bool:
        """Whether kernels can read operands as they are whose strides are those of dense arrays;
        and nothing else speaks against it."""
        if self._forked or self._allows_tf32() or _tracing() is not None:
            return False
        for tensor in tensors:
            if (
                type(tensor) not in CLASSES
                or tensor.dtype is not _float32
                or tensor.get_device() != index
                or tensor.data_ptr() % ALIGNMENT
            ):
                return False
        return True

    def _do(self, part: _Part, *tensors: Tensor) -> Optional[Tensor]:
        """The result; None: PyTorch is to compute it."""
        where, reason, result = PYTORCH, MEASURED, None
        if part.problem is not None:
            try:
                result = part.card.run(part.problem, *tensors)
                where, reason = part.card.name, ""
            except Declined as declined:
                reason = declined.reason
        self._statistics.count(where, part.direction, reason)
        return result

    def convolution(self, x: Tensor, w: Tensor, bias: Optional[Tensor], *geometry: Any) -> Tensor:
        given = (x, w) if bias is None else (x, w, bias)
        index = x.get_device()
        key = index, _shapes(given), _fixed(geometry)
        parts = self._settled.get(key)
        if parts is not None and self._is_plain(index, *given):
            result = self._do(parts[0], *given)
        else:
            result = self._forward(x, w, bias, key)
        return _native.forward(x, w, bias, *geometry) if result is None else result

    def convolution_backward(
        self, dy: Tensor, x: Tensor, w: Tensor, bias_sizes: Any, *rest: Any
    ) -> Results:
        given, mask = (x, w, dy), rest[-1]
        index = dy.get_device()
        key = index, _shapes(given), _fixed(rest[:-1]), tuple(mask)
        parts = self._settled.get(key)
        if parts is not None and self._is_plain(index, *given):
            by = {"backward_data": (dy, w), "backward_weights": (x, dy), "backward_bias": (dy,)}
            results = {part.direction: self._do(part, *by[part.direction]) for part in parts}
        else:
            results = self._gradients(dy, x, w, mask, key)
        return _completed(results, dy, x, w, bias_sizes, *rest)

    # ------------------------------------------------------------------------ the long way

    def _admit(
        self, index: int, x: Tensor, w: Tensor, geometry: Any, **more: Any
    ) -> Tuple[Any, Optional[_Opened]]:
        """The layout and the card; or why PyTorch is to compute it, and None."""
        if self._forked:
            return FORKED, None
        if self._allows_tf32():
            return TF32, None
        at = admit(x, w, geometry, **more)
        if isinstance(at, str):
            return at, None
        opened = self._card(index)
        return (LEFT, None) if opened is None else (at, opened)

    def _forward(
        self, x: Tensor, w: Tensor, bias: Optional[Tensor], key: Any
    ) -> Optional[Tensor]:
        geometry = key[2]
        at, opened = self._admit(key[0], x, w, geometry, bias=bias, device=x.device)
        if opened is None:
            self._statistics.count(PYTORCH, "forward", at)
            return None
        op = Operation("forward", at, geometry, x=x, w=w, bias=bias)
        result = self._choose(op, opened)
        self._settle(key, [op], opened)
        return result

    def _gradients(self, dy: Tensor, x: Tensor, w: Tensor, mask: Any, key: Any) -> Dict[str, Any]:
        geometry = key[2]
        wanted = [name for name, needed in zip(GRADIENTS, mask) if needed]
        at, opened = self._admit(key[0], x, w, geometry, dy=dy, device=dy.device)
        if opened is None:
            for name in wanted:
                self._statistics.count(PYTORCH, name, at)
            return dict.fromkeys(wanted)
        ops = [Operation(name, at, geometry, x=x, w=w, dy=dy) for name in wanted]
        results = {op.direction: self._choose(op, opened) for op in ops}
        self._settle(key, ops, opened)
        return results

    def _choose(self, op: Operation, opened: _Opened) -> Optional[Tensor]:
        """The result; None: PyTorch is to compute it. While a graph is recorded nothing can be
        measured."""
        where, reason = PYTORCH, MEASURED
        result: Optional[Tensor] = None
        try:
            way: Optional[Way] = opened.routes.settled(op)
            if way is None and self._platform.recording():
                way = opened.card
            if way is None:
                way, result = opened.routes.choose(op)
            if result is None and way is opened.card:
                result, _ = way.compute(op)
            if result is not None and way is opened.card:
                where, reason = way.name, ""
        except Declined as declined:
            reason = declined.reason
        if self._checked and result is not None:
            check(op, result, where)
        self._statistics.count(where, op.direction, reason)
        return result

    def _settle(self, key: Any, ops: Sequence[Operation], opened: _Opened) -> None:
        """From now on the call goes the short way, if all is known of it. Nothing that is checked
        does."""
        ways = [opened.routes.settled(op) for op in ops]
        if self._checked or None in ways or not all(_is_dense(op) for op in ops):
            return
        if len(self._settled) >= _MOST:
            self._settled.clear()
        card = opened.card
        self._settled[key] = [
            _Part(op.direction, card, card.problem(op) if way is card else None)
            for op, way in zip(ops, ways)
        ]


def _shapes(tensors: Sequence[Tensor]) -> Tuple[Any, ...]:
    return tuple([(each.shape, each.stride()) for each in tensors])


def _fixed(geometry: Sequence[Any]) -> Tuple[Any, ...]:
    """The geometry as part of a key."""
    stride, padding, dilation, transposed, output_padding, groups = geometry
    axes = tuple(stride), tuple(padding), tuple(dilation)
    return (*axes, transposed, tuple(output_padding), groups)


def _completed(results: Dict[str, Optional[Tensor]], *call: Any) -> Results:
    """All gradients that are wanted: what is missing PyTorch computes, in one call."""
    missing = [name in results and results[name] is None for name in GRADIENTS]
    if any(missing):
        computed = _native.backward(*call[:-1], missing)
        results = {**results, **{n: r for n, r, m in zip(GRADIENTS, computed, missing) if m}}
    return tuple(results.get(name) for name in GRADIENTS)
