"""Random numbers of others than Convoy: PyTorch's, numpy's and Python's. Calls of a module that the
program has not made take nothing from them."""

from __future__ import annotations

import random
from contextlib import contextmanager
from typing import Any, Iterator, List, Sequence

import numpy
import torch


def _outside() -> Any:
    of_numpy: Any = numpy.random.get_state()
    return random.getstate(), of_numpy[1].tobytes(), of_numpy[2]


class Watched:
    """Whether numbers that are not PyTorch's were drawn since this was made."""

    def __init__(self) -> None:
        self._before = _outside()

    def drawn(self) -> bool:
        return bool(_outside() != self._before)


def _cards(tensors: Sequence[torch.Tensor]) -> List[int]:
    return sorted({each.get_device() for each in tensors if each.is_cuda})


@contextmanager
def untouched(tensors: Sequence[torch.Tensor]) -> Iterator[None]:
    """Afterwards all three go on as if nothing had been drawn, also on the cards that these tensors
    are on."""
    of_python, of_numpy = random.getstate(), numpy.random.get_state()
    try:
        with torch.random.fork_rng(devices=_cards(tensors)):
            yield
    finally:
        random.setstate(of_python)
        numpy.random.set_state(of_numpy)
