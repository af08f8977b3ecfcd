"""A network's forward and backward pass as graphs of Convoy's, and what one step does with them.

This is the only file that knows that forward and backward are captured apart: what forward has made
and backward reads are tensors that stay where Convoy computes.
"""

from __future__ import annotations

import weakref
from typing import Any, Dict, List, NamedTuple, Optional, Sequence

import torch

from ..._graph import Graph
from ..._tensor import Tensor as DeviceTensor
from .constants import values_in
from .emitter import Emitter
from .engine import Engine
from .errors import Declined
from .joint import Joint, Node, cut
from .lower import Environment, Lowering
from .mirror import DTYPES, Batch, new_tensor
from .outputs import Outputs
from .steps import HostCall, Kept
from .trace import Traced
from .values import Array, Missing, Value, constant, meta_of

_SEEDS = 1 << 62


class Source(NamedTuple):
    """A tensor that is given to the network. Held are parameters and buffers, the same in each
    step; those that are written, forward gives new values."""

    tensor: torch.Tensor
    held: bool
    written: bool


class Call:
    """A forward pass whose backward pass may come."""

    def __init__(self, number: Optional[int], kept: Kept) -> None:
        self.number = number  # of its random numbers
        self.kept = kept  # values on the host
        self.put_aside: Optional[List[DeviceTensor]] = None  # values that backward reads


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
        self._engine, self._sources = engine, sources
        self._context, self._mirror = engine.context, engine.mirror
        written = [at for at, source in enumerate(sources) if source.written]
        self._joint = joint = cut(traced, outputs, differentiable, written)
        self.counters = joint.counters  # sources to which the host adds one
        self._given = self._place(joint)
        self._tangents = self._place_tangents(joint)
        environment: Environment = {
            **self._given,
            **{node: constant(traced.constants[str(node.target)]) for node in joint.attributes},
        }
        # Sources that backward reads, but for statistics that forward has written since.
        self.read_by_backward = [
            at
            for at, node in enumerate(joint.given)
            if node in joint.crossing and not sources[at].written
        ]
        self.is_differentiated_twice = False  # PyTorch was asked for gradients of gradients
        self.without: List[int] = []  # sources that PyTorch gives no gradient
        self._owner: Any = lambda: None  # weak reference to the call whose values are in place
        self._make_forward(environment)
        self._make_backward(environment)
        self._make_batches()

    @property
    def lock(self) -> Any:
        return self._engine.lock

    @property
    def host_calls(self) -> List[HostCall]:
        """Operators that the host carries out in each step."""
        return [*self._forward.host_calls, *self._backward.host_calls]

    @property
    def graphs(self) -> List[Graph]:
        return [*self._forward.graphs, *self._backward.graphs]

    # ------------------------------------------------------------------------------ placeholders

    def _place(self, joint: Joint) -> Environment:
        """What nobody reads stays on the host, and so does what no device has a type for."""
        found: Environment = {}
        for at, (node, source) in enumerate(zip(joint.given, self._sources)):
            tensor = source.tensor
            meta = meta_of(tensor.shape, tensor.dtype)
            if tensor.dtype not in DTYPES or not (node.users or source.written):
                found[node] = Value(Array(tensor.numel(), number=at), meta)
                continue
            made = self._mirror.tensor(tensor) if source.held else new_tensor(self._context, tensor)
            found[node] = Value(Array(tensor.numel(), tensor=made), meta)
        return found

    def _place_tangents(self, joint: Joint) -> Environment:
        found: Environment = {}
        for node in joint.tangents:
            like = _like(node)
            if like.dtype is not torch.float32:
                raise Declined(f"gradients of {like.dtype}")
            tensor = new_tensor(self._context, torch.empty(like.shape))
            found[node] = Value(Array(tensor.size, tensor=tensor), meta_of(like.shape))
        return found

    # ------------------------------------------------------------------------------------ making

    def _make_forward(self, environment: Environment) -> None:
        joint = self._joint
        lowering = Lowering(self._context, environment, len(self._sources))
        in_place = [joint.given[at] for at, node in self._joint.news.items() if node is None]
        nodes = [each for each in self._joint.news.values() if each is not None]
        wanted = {*nodes, *in_place, *joint.crossing, *joint.draws}
        wanted |= {each for each in joint.results if isinstance(each, Node)}
        self._forward = lowering.lower(joint.forward, wanted, self._hold)
        self._numbers, self.reasons = lowering.numbers, lowering.reasons
        values = [_value(environment, each) for each in joint.results]
        news = [
            _value(environment, node or joint.given[at]) for at, node in self._joint.news.items()
        ]
        self._results = Outputs(self._context, [*values, *news])
        drawn = [_drawn(environment[each]) for each in joint.draws]
        self._drawn = Outputs(self._context, drawn) if drawn else None

    def _hold(self, emitter: Emitter, environment: Environment) -> None:
        """What is written becomes the value of the tensor that it was read from."""
        for at, node in self._joint.news.items():
            source = self._joint.given[at]
            value = environment[node or source]
            held = self._mirror.tensor(self._sources[at].tensor)
            if node is None and value.array.tensor is held:
                raise Declined("it writes a buffer, and PyTorch 1 does not trace how")
            if value.array.number is None and value.array.tensor is not held:
                dense = emitter.dense(value)
                held.assign(emitter.tensor(dense.array))
                dense.array.replace(held)
                environment[node or source] = dense

    def _make_backward(self, environment: Environment) -> None:
        joint = self._joint
        crossing = {node: environment[node] for node in joint.crossing}
        self._saved = self._own(crossing)
        inside: Environment = {**crossing, **self._tangents}
        for node in joint.zeros:
            like = _like(node)
            inside[node] = constant(torch.zeros((), dtype=like.dtype).expand(like.shape))
        gradients = [each for each in joint.gradients if isinstance(each, Node)]
        lowering = Lowering(self._context, inside, self._numbers)
        self._backward = lowering.lower(joint.backward, set(gradients))
        self.reasons.update(lowering.reasons)
        self._gradients = Outputs(self._context, [_value(inside, each) for each in gradients])
        self._release = self._context.capture(self._give_up) if self._saved else None

    def _own(self, crossing: Environment) -> List[DeviceTensor]:
        """Tensors that the next forward pass will overwrite: not parameters, nor constants."""
        held = {
            id(value.array.tensor)
            for source, value in zip(self._sources, self._given.values())
            if source.held
        }
        found: Dict[int, DeviceTensor] = {}
        for value in values_in(list(crossing.values())):
            tensor = value.array.tensor
            if tensor is not None and value.array.constant is None and id(tensor) not in held:
                found[id(tensor)] = tensor
        return list(found.values())

    def _give_up(self) -> None:
        """Zeros that nobody has made: the memory of what backward has read can be used again."""
        zeros: Dict[Any, DeviceTensor] = {}
        for tensor in self._saved:
            key = tensor.size, tensor.dtype
            if key not in zeros:
                zeros[key] = DeviceTensor(self._context, (tensor.size,), tensor.dtype)
            tensor.assign(zeros[key])

    def _make_batches(self) -> None:
        there = {
            at: value.array.tensor
            for at, value in enumerate(self._given.values())
            if value.array.tensor is not None and value.array.number is None
        }
        self._sent = list(there)
        self._on_host = [
            at for at, node in enumerate(self._joint.given) if node.users and at not in there
        ]
        self._writes = Batch(self._context, list(there.values()))
        tangents = [each.array.tensor for each in self._tangents.values()]
        self._tangent_writes = Batch(self._context, tangents)

    # ----------------------------------------------------------------------------------- running

    def forward(self, given: Sequence[torch.Tensor], call: Optional[Call] = None) -> Any:
        """The network's results, the new values of what is written, by source, and the call for
        backward. `call`: that of a forward pass to be repeated."""
        self._make_room()
        dense = [each if each.is_contiguous() else each.detach().contiguous() for each in given]
        kept: Kept = {at: dense[at].detach().reshape(-1) for at in self._on_host}
        number = call.number if call else self._draw()
        self._writes.write([dense[at] for at in self._sent])
        self._forward.run(kept, number)
        values = self._results.read(kept)
        made = Call(number, kept)
        self._owner = weakref.ref(made)
        outputs = len(values) - len(self._joint.news)
        return values[:outputs], dict(zip(self._joint.news, values[outputs:])), made

    def _draw(self) -> Optional[int]:
        """PyTorch's generator gives each run one number, on which its random numbers depend."""
        return int(torch.randint(_SEEDS, ())) if self._forward.draws else None

    def drawn(self, call: Call) -> Optional[List[torch.Tensor]]:
        """The random numbers of the last forward pass, in the order in which its operators drew
        them; None if there are none."""
        return None if self._drawn is None else self._drawn.read(call.kept)

    def _make_room(self) -> None:
        """A call whose backward pass may come keeps its values elsewhere."""
        owner = self._owner()
        if owner is not None:
            owner.put_aside = [each.reshape(each.shape) for each in self._saved]
        self._owner = lambda: None

    def has_values(self, call: Call) -> bool:
        """Whether those of its forward pass are still there for backward."""
        return call.put_aside is not None or self._owner() is call

    def backward(
        self, call: Call, tangents: Sequence[Optional[torch.Tensor]]
    ) -> List[Optional[torch.Tensor]]:
        """Gradients of what is given. None of a tangent means that nothing depends on that result;
        what depends on such ones only gets none, as in PyTorch."""
        self._put_in_place(call)
        filled = [
            torch.zeros(value.shape) if each is None else each.contiguous()
            for each, value in zip(tangents, self._tangents.values())
        ]
        self._tangent_writes.write(filled)
        kept = dict(call.kept)
        self._backward.run(kept, call.number)
        values = iter(self._gradients.read(kept))
        self._owner = lambda: None
        if self._release is not None:
            self._release.run()
        there = sum(1 << at for at, each in enumerate(tangents) if each is not None)
        found = [next(values) if isinstance(each, Node) else None for each in self._joint.gradients]
        for at in self.without:
            found[at] = None
        return [
            each if reached & there else None for each, reached in zip(found, self._joint.reached)
        ]

    def _put_in_place(self, call: Call) -> None:
        if self._owner() is call:
            return
        assert call.put_aside is not None
        self._make_room()
        for tensor, values in zip(self._saved, call.put_aside):
            tensor.assign(values)
        call.put_aside = None


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
