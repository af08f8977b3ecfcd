"""Calls of PyTorch that shall be PyTorch's own, as what Convoy is compared with."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import Iterator, List

_here = threading.local()
_backward: List[bool] = [False]


@contextmanager
def plainly() -> Iterator[None]:
    """On this thread nothing goes through Convoy."""
    before = is_plain()
    _here.plain = True
    try:
        yield
    finally:
        _here.plain = before


def leave_backward(left: bool) -> None:
    """Whether gradients of convolutions are PyTorch's, on all threads: those of a forward pass that
    was PyTorch's alone."""
    _backward[0] = left


def is_backward_left() -> bool:
    return _backward[0]


def is_plain() -> bool:
    return getattr(_here, "plain", False)
