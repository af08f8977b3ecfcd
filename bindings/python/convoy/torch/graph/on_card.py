"""Captured networks on tensors that are on a card already: graphs read and write PyTorch's memory
in PyTorch's stream. Nothing is copied, and nothing waits but a network's proof, so that steps can
be recorded in CUDA graphs. Parameters, optimizers and losses stay PyTorch's.
"""

from __future__ import annotations

import ctypes
from contextlib import contextmanager
from typing import Any, Callable, Dict, Iterator, List, Optional, Sequence

import torch

from ..._context import Context
from ..._errors import ConvoyError, check
from ..._load import library
from ..._tensor import Tensor as DeviceTensor
from ..._tensor import over_address
from .._card import ALIGNMENT, Card
from .._cards import TF32
from .engine import Engine
from .mirror import DTYPES
from .surroundings import UNDER_AUTOCAST, autocast
from .values import Value


_under_autocast = autocast("cuda")


class Wrapped:
    """Tensors over PyTorch's memory, which is named before each run."""

    def __init__(self, context: Context, tensors: Sequence[DeviceTensor]) -> None:
        self._context, self._count = context, len(tensors)
        self._pointers = (ctypes.c_void_p * self._count)(*(t._owned.pointer for t in tensors))
        self._tensors = list(tensors)
        self._places = (ctypes.c_void_p * self._count)()
        self._moved: List[torch.Tensor] = []

    def write(self, values: Sequence[torch.Tensor]) -> None:
        """Dense tensors of the same types, which have to stay as they are until a run that reads
        them is enqueued. Views may begin anywhere, and kernels load vectors."""
        self._moved = []
        for at, each in enumerate(values):
            address = each.data_ptr()
            if address % ALIGNMENT:
                self._moved.append(each.clone())
                address = self._moved[-1].data_ptr()
            self._places[at] = address
        if self._count:
            with self._context._handle:
                check(library.convoy_tensors_rewrap(self._count, self._pointers, self._places))

    expect = write

    def read(self, places: Sequence[torch.Tensor]) -> None:
        """They are written in place."""


class CardEngine(Engine):
    """Of card `index`."""

    where = "on the card"
    in_place = True

    def __init__(self, platform: Any, index: int, options: Callable[[], Dict[str, Any]]) -> None:
        self._platform, self._index = platform, index
        self._card: Optional[Card] = None

        def opened() -> Context:
            self._card = Card(platform, index, options())
            return self._card.context

        super().__init__(opened)

    # ------------------------------------------------------------------------- PyTorch's side

    def has(self, tensor: torch.Tensor) -> bool:
        return bool(self._platform.index(tensor) == self._index)

    def reason(self) -> Optional[str]:
        if self._platform.allows_tf32():
            return TF32
        return UNDER_AUTOCAST if _under_autocast() else None

    @property
    def recording(self) -> bool:
        return bool(self._platform.recording())

    @property
    def device(self) -> torch.device:
        return self._platform.torch_device(self._index)  # type: ignore[no-any-return]

    def empty(self, shape: Sequence[int]) -> torch.Tensor:
        return self._platform.empty(shape, self._index)  # type: ignore[no-any-return]

    def settle(self) -> None:
        self._platform.synchronize(self._index)

    # --------------------------------------------------------------------------------- tensors

    def placeholder(self, like: torch.Tensor, held: bool) -> DeviceTensor:
        shape = tuple(like.shape) if 0 < like.dim() <= 5 else (like.numel(),)
        at = like if like.data_ptr() % ALIGNMENT == 0 else self.empty((like.numel(),))
        return over_address(self.context, shape, DTYPES[like.dtype], at.data_ptr())

    def claim(self, values: Sequence[Value]) -> None:
        """They are made in memory of PyTorch's, which each run gets another."""
        arrays = {id(each.array): each.array for each in values if each.array.tensor is not None}
        for array in arrays.values():
            assert array.tensor is not None
            array.replace(self.home(array.tensor), home=array.home)

    def home(self, made: DeviceTensor) -> DeviceTensor:
        found = self.placeholder(self.empty(made.shape), False)
        found.assign(made)
        return found

    def upload(self, count: int) -> DeviceTensor:
        return self.placeholder(self.empty((count,)), False)

    def send(self, values: torch.Tensor, tensor: DeviceTensor) -> Any:
        """They stay where they are, unless kernels cannot read them there."""
        values = values.to(torch.float32)
        if values.data_ptr() % ALIGNMENT:
            values = values.clone()
        self.batch([tensor]).write([values])
        return values

    def batch(self, tensors: Sequence[DeviceTensor]) -> Any:
        return Wrapped(self.context, tensors)

    @contextmanager
    def running(self) -> Iterator[None]:
        """In the stream that the calling thread has now. What befalls the card is PyTorch's to hear
        of as an error like its own."""
        assert self._card is not None
        try:
            with self.context._handle as handle:
                check(library.convoy_set_stream(handle, self._platform.stream(self._index)))
            yield
        except ConvoyError as error:
            raise self._card.translated(error) from error


class Engines:
    """Where a network runs that is called with certain tensors. `card(index)` makes the engine of a
    card; None: PyTorch has none, or Convoy may not use them."""

    def __init__(
        self, here: Engine, platform: Any, card: Optional[Callable[[int], CardEngine]]
    ) -> None:
        self._here, self._platform, self._card = here, platform, card
        self._cards: Dict[int, CardEngine] = {}

    def of(self, tensor: torch.Tensor) -> Engine:
        index = None if self._card is None else self._platform.index(tensor)
        if index is None or self._card is None:
            return self._here
        if index not in self._cards:
            self._cards[index] = self._card(index)
        return self._cards[index]

    @property
    def here(self) -> Engine:
        """Of the host's tensors."""
        return self._here

    def contexts(self) -> List[Context]:
        """Those that are open."""
        return [each.context for each in (self._here, *self._cards.values()) if each.is_open]
