"""Calls of PyTorch that shall be PyTorch's own, as what Convoy is compared with."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import Iterator

_here = threading.local()


@contextmanager
def plainly() -> Iterator[None]:
    """On this thread nothing goes through Convoy."""
    before = is_plain()
    _here.plain = True
    try:
        yield
    finally:
        _here.plain = before


def is_plain() -> bool:
    return getattr(_here, "plain", False)
