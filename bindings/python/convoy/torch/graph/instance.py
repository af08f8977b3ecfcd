"""A network's forward and backward pass as one graph of Convoy's in stages, and its runs.

This is the only file that knows how both are captured. They are planned together: what forward
leaves for backward stays where Convoy computes, or is computed again, and goes when backward has
been, or when forward runs again.
"""

from __future__ import annotations

from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Set

import torch

from ..._tensor import Tensor as DeviceTensor
from .away import is_away
from .emitter import Emitter
from .engine import Engine
from .errors import Declined
from .joint import Joint, Node
from .lower import Environment, Lowering
from .mirror import DTYPES, Some
from .outputs import Outputs, is_whole
from .steps import HostCall, Kept
from .untouched import Left, watch
from .values import Array, Missing, Value, constant, meta_of


class Source(NamedTuple):
    """A tensor that is given to the network. Held are parameters and buffers, the same in each
    step; those that are written, forward gives new values; those that are fixed have the same
    values in each step."""

    tensor: torch.Tensor
    held: bool
    written: bool
    fixed: bool


class Instance:
    """To be used with the engine's lock held."""

    def __init__(
        self,
        engine: Engine,
        joint: Joint,
        constants: Dict[str, torch.Tensor],
        sources: Sequence[Source],
    ) -> None:
        self._engine, self._context = engine, engine.context
        self._joint, self._constants, self._sources = joint, constants, sources
        self._inputs = self._make_inputs()
        self._tangents = [self._make_tangent(node) for node in joint.tangents]
        self._tangent_homes: List[Optional[int]] = []  # numbers under which they are kept
        self._graph = self._context.capture(self._capture)
        self._results = Outputs(engine, self._result_values)
        self._gradients = Outputs(engine, self._gradient_values)
        self._drawn = Outputs(engine, self._drawn_values, rarely=True)
        self._left = self._make_left()
        self._writes = Some(engine.batch, list(self._inputs.values()))
        self._tangent_writes = engine.batch(self._tangents)
        self._home_writes = engine.batch(list(self._homes.values()))
        self.on_host = self._read_on_host()
        self.host_calls: List[HostCall] = [*self._forward.host_calls, *self._backward.host_calls]
        self.owner: Any = lambda: None  # weak reference to the call whose backward pass may come

    # ------------------------------------------------------------------------------ placeholders

    def _make_inputs(self) -> Dict[int, DeviceTensor]:
        """By source. What nobody reads stays on the host, and so does what no device has a type
        for."""
        found: Dict[int, DeviceTensor] = {}
        for at, (node, source) in enumerate(zip(self._joint.given, self._sources)):
            read = (node.users or source.written) and not source.fixed
            if source.tensor.dtype in DTYPES and read:
                found[at] = self._engine.placeholder(source.tensor, source.held)
        return found

    def _make_tangent(self, node: Node) -> DeviceTensor:
        like = _like(node)
        if like.dtype is not torch.float32:
            raise Declined(f"gradients of {like.dtype}")
        return self._engine.placeholder(self._engine.empty(like.shape), False)

    def _given(self) -> Environment:
        """What is written has a handle of its own here, unless it is PyTorch's memory: the tensor
        itself will stand for what is written."""
        found: Environment = {}
        for at, (node, source) in enumerate(zip(self._joint.given, self._sources)):
            if source.fixed:
                found[node] = constant(source.tensor.detach().to("cpu", copy=True))
                continue
            tensor = self._inputs.get(at)
            if tensor is not None and source.written and not self._engine.in_place:
                tensor = tensor.reshape(tensor.shape)
            number = at if tensor is None else None
            home = at if self._engine.in_place else None
            array = Array(source.tensor.numel(), tensor=tensor, number=number, home=home)
            found[node] = Value(array, meta_of(source.tensor.shape, source.tensor.dtype))
        for node in self._joint.attributes:
            found[node] = constant(self._constants[str(node.target)])
        return found

    def _make_left(self) -> Dict[int, Left]:
        """By source."""
        gradients = self._joint.gradients
        there = [at for at, each in enumerate(gradients) if isinstance(each, Node)]
        return {
            at: Left(self._sources[at].tensor, value.array.tensor if is_whole(value) else None)
            for at, value in zip(there, self._gradient_values)
            if self._sources[at].held and not self._engine.in_place
        }

    def _given_backward(self, lowering: Lowering) -> Environment:
        found: Environment = {}
        for node, tensor in zip(self._joint.tangents, self._tangents):
            home = lowering.number() if self._engine.in_place else None
            array = Array(tensor.size, tensor=tensor, home=home)
            found[node] = Value(array, meta_of(_like(node).shape))
            self._tangent_homes.append(home)
        for node in self._joint.zeros:
            like = _like(node)
            found[node] = constant(torch.zeros((), dtype=like.dtype).expand(like.shape))
        return found

    # --------------------------------------------------------------------------------- capturing

    def _capture(self) -> None:
        self._context.seed(0)  # random numbers are numbered by run, and alike in all instances
        joint, environment = self._joint, self._given()
        lowering = Lowering(self._engine, environment, len(self._sources))
        nodes = [node or joint.given[at] for at, node in joint.news.items()]
        before = {node: environment[node].array.tensor for node in nodes if node in environment}
        wanted: Set[Any] = {*nodes, *joint.crossing, *joint.draws, *joint.results}

        def hold(emitter: Emitter) -> None:
            self._hold(emitter, environment, before)

        self._forward = lowering.lower(joint.forward, wanted, hold)
        self._result_values = [_value(environment, each) for each in [*joint.results, *nodes]]
        self._engine.claim(self._result_values)
        self._drawn_values = [_drawn(environment[each]) for each in joint.draws]
        lowering.let_go(set(joint.crossing))
        environment.update(self._given_backward(lowering))
        before.clear()
        gradients = [each for each in joint.gradients if isinstance(each, Node)]
        self._backward = lowering.lower(joint.backward, set(gradients))
        self._gradient_values = [_value(environment, each) for each in gradients]
        self._engine.claim(self._gradient_values)
        self.reasons = lowering.reasons
        lowering.let_go(set())
        self._homes = lowering.homes
        for value in [*self._result_values, *self._drawn_values, *self._gradient_values]:
            value.array.end_capture()

    def _hold(self, emitter: Emitter, environment: Environment, before: Dict[Any, Any]) -> None:
        """What is written becomes the value of the tensor that it was read from, unless that is
        PyTorch's memory, which PyTorch writes."""
        for at, node in self._joint.news.items():
            source = self._joint.given[at]
            value = environment[node or source]
            if node is None and value.array.tensor is before[source]:
                raise Declined("it writes a buffer, and PyTorch 1 does not trace how")
            if value.array.number is None:
                dense = emitter.dense(value)
                made = emitter.tensor(dense.array)
                if not self._engine.in_place:
                    self._inputs[at].assign(made)
                    dense = Value(Array(dense.size, tensor=self._inputs[at]), dense.meta)
                environment[node or source] = dense

    # ----------------------------------------------------------------------------------- running

    def forward(self, given: Sequence[torch.Tensor], kept: Kept, number: Optional[int]) -> Any:
        """The network's results, and the new values of what is written, by source."""
        self._make_homes(kept)
        self._results.begin()
        with self._engine.running():
            self._write_inputs(given)
            self._forward.run(self._graph, kept, number)
        values = self._results.read(kept)
        outputs = len(self._joint.results)
        return values[:outputs], dict(zip(self._joint.news, values[outputs:]))

    def _write_inputs(self, given: Sequence[torch.Tensor]) -> None:
        """But for those whose newest values are there already, and not here."""
        inputs = [given[at] for at in self._inputs]
        here = [at for at, each in enumerate(inputs) if not is_away(each)]
        self._writes.write(here, [inputs[at] for at in here])

    def _make_homes(self, kept: Kept) -> None:
        """For both passes: what backward's operators read may be made in forward."""
        made = {number: self._engine.empty((each.size,)) for number, each in self._homes.items()}
        self._home_writes.write(list(made.values()))
        kept.update(made)

    def backward(
        self, tangents: Sequence[torch.Tensor], kept: Kept, given: Optional[Sequence[torch.Tensor]]
    ) -> List[Any]:
        """Gradients of what is given, None for what has none. `given`: where what forward was given
        is now, if the engine reads it there."""
        for home, each in zip(self._tangent_homes, tangents):
            if home is not None:
                kept[home] = each.reshape(-1)
        self._gradients.begin()
        with self._engine.running():
            if given is not None:
                self._write_inputs(given)
            self._tangent_writes.write(tangents)
            self._backward.run(self._graph, kept, None)
        values = iter(self._gradients.read(kept))
        found = [next(values) if isinstance(each, Node) else None for each in self._joint.gradients]
        for at, left in self._left.items():
            left.place = found[at].data_ptr()  # type: ignore[union-attr]
        self._engine.left.update((id(left.parameter), left) for left in self._left.values())
        return found

    @property
    def is_watched(self) -> bool:
        """Whether it matters what becomes of gradients."""
        return bool(self._engine.stepped)

    def watch_gradients(self) -> None:
        """At the end of PyTorch's backward pass, which has made parameters' gradients of these."""
        stepped = self._engine.stepped
        watch(left for left in self._left.values() if id(left.parameter) in stepped)

    def drawn(self, kept: Kept) -> List[torch.Tensor]:
        """The random numbers of the last forward pass, in the order in which they were drawn."""
        return self._drawn.read(kept)

    @property
    def draws(self) -> bool:
        return self._forward.draws

    def random_of(self, kept: Kept) -> Kept:
        """Of what was kept of a forward pass the random numbers that PyTorch had drawn."""
        return {number: kept[number] for number in self._forward.random_numbers}

    def _read_on_host(self) -> List[int]:
        """Sources that operators of PyTorch's read."""
        nodes = self._joint.given
        homes = self._forward.homes | self._backward.homes
        left = [at for at in range(len(nodes)) if at not in self._inputs or at in homes]
        return [at for at in left if nodes[at].users and not self._sources[at].fixed]

    def zeros(self, at: int) -> torch.Tensor:
        """A tangent of nothing."""
        return self._engine.empty(_like(self._joint.tangents[at]).shape).zero_()


def _like(node: Node) -> Any:
    """What a placeholder's tensor looks like."""
    return node.meta.get("val", node.meta.get("tensor_meta"))


def _drawn(value: Any) -> Value:
    """Of a dropout its mask."""
    return value[1] if isinstance(value, tuple) else value


def _value(environment: Environment, result: Any) -> Value:
    value = environment[result] if isinstance(result, Node) else None
    if isinstance(value, Missing):
        raise Declined(f"it returns {value.what}")
    if not isinstance(value, Value):
        raise Declined(f"it returns {result!r}, which is no tensor")
    return value
