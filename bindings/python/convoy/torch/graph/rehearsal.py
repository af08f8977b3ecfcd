"""A network's step by PyTorch itself, on copies: what a captured one is compared with, and what the
network does beside computing its results."""

from __future__ import annotations

from contextlib import contextmanager, nullcontext
from functools import partial
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Optional, Sequence, Set, Tuple

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten

from .arguments import Arguments
from .errors import Declined
from .inside import Inside
from .joint import DRAWING
from .random_state import Watched, untouched
from .state import ATTRIBUTE, PARAMETER, Held, in_place_of
from .table import name_of
from .transcript import Transcript

Tensors = List[torch.Tensor]


class Rehearsal(NamedTuple):
    """`spec` and `leaves` say how the results lie in what the module returns; of leaves that are
    tensors the place in `results`. `given` are the copies computed with."""

    results: Tensors
    spec: Any
    leaves: List[Any]
    given: Tensors
    written: List[int]  # of the given tensors
    silently: Set[int]  # of those, those that get no new version, as a batch norm's statistics
    given_before: Tensors

    @property
    def differentiable(self) -> List[int]:
        return [at for at, each in enumerate(self.results) if each.requires_grad]


class Place(NamedTuple):
    """Stands for a result among the leaves of what a module returns."""

    at: int


class _Drawn(TorchDispatchMode):
    """Random numbers that were drawn elsewhere, in the order in which they are asked for."""

    def __init__(self, numbers: Sequence[torch.Tensor]) -> None:
        super().__init__()
        self._numbers = iter(numbers)

    def _next(self) -> torch.Tensor:
        numbers = next(self._numbers, None)
        if numbers is None:
            raise Declined("its random numbers are not those that were traced")
        return numbers

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name, kwargs = name_of(func), kwargs or {}
        if name not in DRAWING:
            return func(*args, **kwargs)
        if name == "native_dropout.default":
            mask = self._next().bool()
            return args[0] * mask / (1 - args[1]) if args[1] < 1 else args[0] * 0, mask
        return args[0].copy_(self._next()) if "_." in name else self._next()


def as_given(tensor: torch.Tensor) -> torch.Tensor:
    """A tensor of float32, or of another type, that a network is to be rehearsed with."""
    return tensor


def exact(tensor: torch.Tensor) -> torch.Tensor:
    """In float64."""
    return tensor.double() if tensor.dtype is torch.float32 else tensor


_SHAKEN = 2.0**-21  # several times what rounding to float32 does


def shaken(tensor: torch.Tensor, which: int) -> torch.Tensor:
    """In float64, each number slightly off, by other numbers for each `which`."""
    if tensor.dtype is not torch.float32:
        return tensor
    numbers = torch.Generator().manual_seed(tensor.numel() + (which << 32))
    noise = torch.randn(tensor.shape, generator=numbers, dtype=torch.float64)
    return tensor.double() * (1 + _SHAKEN * noise.to(tensor.device))


Changed = Callable[[torch.Tensor], torch.Tensor]


def copies(tensors: Sequence[torch.Tensor], changed: Changed = as_given) -> Tensors:
    """Of all that is given to a network, with gradients where it has them."""

    def copied(tensor: torch.Tensor) -> torch.Tensor:
        return changed(tensor.detach().clone()).requires_grad_(tensor.requires_grad)

    return [copied(each) for each in tensors]


def rehearse(
    body: Callable[..., Any],
    held: Sequence[Held],
    arguments: Arguments,
    tensors: Sequence[torch.Tensor],
    drawn: Optional[Sequence[torch.Tensor]] = None,
    changed: Changed = as_given,
    inside: Optional[Inside] = None,
    transcript: Optional[Transcript] = None,
) -> Rehearsal:
    """PyTorch's forward pass with copies of `tensors`, which are all that is given, so that these
    and the random numbers are left as they are. `inside` gets to know what it does besides, and the
    transcript what it does."""
    given = copies(tensors, changed)
    versions = [each._version for each in given]
    args, kwargs = arguments.filled(given[len(held) :])
    mode: Any = nullcontext() if drawn is None else _Drawn(drawn)
    before = [each.detach().clone() for each in given[: len(held)]]
    places = [each.data_ptr() for each in given]
    with untouched(given), in_place_of(held, given) as replaced, mode:
        outside = Watched()
        with inside or nullcontext():
            run = partial(_called, body, args, kwargs)
            returned = run() if transcript is None else transcript.written(given, run)
        if outside.drawn():
            raise Declined("it draws random numbers that are not PyTorch's")
    if replaced:
        raise Declined(f"it puts another tensor into {replaced[0]}")
    if any(each.data_ptr() != place for each, place in zip(given, places)):
        raise Declined("it moves a tensor that it was given elsewhere")
    openly = {at for at, each in enumerate(given) if each._version != versions[at]}
    silently = {at for at, each in enumerate(before) if not torch.equal(given[at], each)} - openly
    if inside is not None:
        noted = inside.statistics
        silently |= {at for at, each in enumerate(given) if _is_among(each, noted)} - openly
    written = sorted(openly | silently)
    results, leaves, spec = _flattened(returned)
    _check_apart(results, given)
    return Rehearsal(results, spec, leaves, given, written, silently, before)


def _is_among(tensor: torch.Tensor, tensors: Sequence[torch.Tensor]) -> bool:
    return any(each is tensor for each in tensors)


def _flattened(returned: Any) -> Tuple[Tensors, List[Any], Any]:
    leaves, spec = tree_flatten(returned)
    results: Tensors = []
    places: Dict[int, Place] = {}  # by id: a tensor may be returned twice
    for at, leaf in enumerate(leaves):
        if isinstance(leaf, torch.Tensor):
            if type(leaf) is not torch.Tensor or not leaf.numel():
                raise Declined("it returns no usual tensor")
            if id(leaf) not in places:
                places[id(leaf)] = Place(len(results))
                results.append(leaf)
            leaves[at] = places[id(leaf)]
        elif not isinstance(leaf, (bool, int, float, str, type(None))):
            raise Declined(f"it returns a {type(leaf).__name__}")
    if not results:
        raise Declined("it returns no tensor")
    return results, leaves, spec


def _extent(tensor: torch.Tensor) -> Tuple[int, int]:
    last = sum((n - 1) * s for n, s in zip(tensor.shape, tensor.stride()))
    return tensor.data_ptr(), tensor.data_ptr() + (last + 1) * tensor.element_size()


def _check_apart(results: Tensors, given: Tensors) -> None:
    """What is written to such a result in place would not reach what it is a view of."""
    taken = [_extent(each) for each in given if each.numel()]
    for begin, end in map(_extent, results):
        if any(begin < other_end and other < end for other, other_end in taken):
            raise Declined("it returns a part of what it was given")


def check_written(held: Sequence[Held], found: Rehearsal) -> None:
    """Buffers may be written."""
    for at in found.written:
        if at >= len(held):
            raise Declined("it writes its argument")
        each = held[at]
        if each.kind in (PARAMETER, ATTRIBUTE):
            raise Declined(f"it writes its {each.kind} {each.name}")


def _called(body: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """`self.weight *= 2` assigns what it has written in place, which PyTorch refuses where it is no
    parameter: here there are copies."""
    try:
        return body(*args, **kwargs)
    except TypeError as error:
        if "as parameter" in str(error):
            raise Declined("it assigns one of its parameters") from error
        raise


def more(found: Rehearsal, at: int) -> int:
    """What was added to a count."""
    return int(found.given[at]) - int(found.given_before[at])


def gradients(
    held: Sequence[Held], found: Rehearsal, tangents: Sequence[Optional[torch.Tensor]]
) -> List[Optional[torch.Tensor]]:
    """Of all that is given, None for what has none. A tangent that is None is left out. The module
    has the copies in place meanwhile, since its code may be a part of a backward pass."""
    wanted = [each for each in found.given if each.requires_grad]
    pairs = [
        (found.results[at], tangent)
        for at, tangent in zip(found.differentiable, tangents)
        if tangent is not None
    ]
    ends, along = [each for each, _ in pairs], [tangent for _, tangent in pairs]
    how = {"allow_unused": True, "retain_graph": True}
    with untouched(found.given), in_place_of(held, found.given):
        made: Iterator[Any] = iter(torch.autograd.grad(ends, wanted, along, **how))
    return [next(made) if each.requires_grad else None for each in found.given]


@contextmanager
def computed_again(
    body: Callable[..., Any],
    held: Sequence[Held],
    arguments: Arguments,
    drawn: Optional[Sequence[torch.Tensor]],
    written: Sequence[int],
) -> Iterator[Tensors]:
    """The results of PyTorch's forward pass, carried out once more over the very tensors, but for
    those that it writes."""
    given = [*(each.tensor for each in held), *arguments.tensors]
    given = [each.clone() if at in set(written) else each for at, each in enumerate(given)]
    args, kwargs = arguments.filled(given[len(held) :])
    mode: Any = nullcontext() if drawn is None else _Drawn(drawn)
    with untouched(given), in_place_of(held, given):
        with mode:
            results, _, _ = _flattened(body(*args, **kwargs))
        yield results


def differentiable_step(
    body: Callable[..., Any],
    held: Sequence[Held],
    arguments: Arguments,
    drawn: Optional[Sequence[torch.Tensor]],
    written: Sequence[int],
    wanted: Sequence[torch.Tensor],
    tangents: Dict[int, Optional[torch.Tensor]],
) -> List[Optional[torch.Tensor]]:
    """Gradients of what is wanted, with a graph of their own."""
    with computed_again(body, held, arguments, drawn, written) as results:
        pairs = [(results[at], each) for at, each in tangents.items() if each is not None]
        made = torch.autograd.grad(
            [each for each, _ in pairs],
            list(wanted),
            [each for _, each in pairs],
            allow_unused=True,
            create_graph=True,
        )
    return list(made)
