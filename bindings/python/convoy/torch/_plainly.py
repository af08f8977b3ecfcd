"""Calls of PyTorch that shall be PyTorch's own, as what Convoy is compared with."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import Iterator

_here = threading.local()
_left = [False]  # whether leave_backward() says so
_plain = [0]  # threads that are inside of plainly()
_counting = threading.Lock()


@contextmanager
def plainly() -> Iterator[None]:
    """On this thread nothing goes through Convoy; nor do gradients, which PyTorch computes on a
    thread of its own for each card."""
    before = is_plain()
    _here.plain = True
    _count(1)
    try:
        yield
    finally:
        _count(-1)
        _here.plain = before


def _count(more: int) -> None:
    with _counting:
        _plain[0] += more


def leave_backward(left: bool) -> None:
    """Whether gradients of convolutions are PyTorch's, on all threads: those of a forward pass that
    was PyTorch's alone."""
    _left[0] = left


def is_backward_left() -> bool:
    """Whether gradients are PyTorch's own, on all threads."""
    return _left[0] or _plain[0] > 0


def is_plain() -> bool:
    return getattr(_here, "plain", False)
