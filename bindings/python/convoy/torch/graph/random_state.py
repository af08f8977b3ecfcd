"""Random numbers of others than Convoy: PyTorch's, numpy's and Python's. Calls of a module that the
program has not made take nothing from them."""

from __future__ import annotations

import random
from contextlib import contextmanager
from typing import Any, Iterator

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


@contextmanager
def untouched() -> Iterator[None]:
    """Afterwards all three go on as if nothing had been drawn."""
    of_python, of_numpy = random.getstate(), numpy.random.get_state()
    try:
        with torch.random.fork_rng(devices=[]):
            yield
    finally:
        random.setstate(of_python)
        numpy.random.set_state(of_numpy)
