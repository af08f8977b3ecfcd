"""Gives C objects back, but never inside a log hook.

A log line may be written while the library holds a lock, so its hook must not call Convoy; yet the
garbage collector may run in any Python code, the hook's too, and find a tensor to free. What comes
up then waits for the next release outside.
"""

from __future__ import annotations

import collections
import threading
from contextlib import contextmanager
from typing import Any, Callable, Deque, Iterator

_waiting: Deque[Callable[[], Any]] = collections.deque()
_hook = threading.local()


@contextmanager
def inside_log_hook() -> Iterator[None]:
    _hook.active = True
    try:
        yield
    finally:
        _hook.active = False


def release(action: Callable[[], Any]) -> None:
    """Runs `action` now, or with the next release when called inside a log hook."""
    _waiting.append(action)
    while _waiting and not getattr(_hook, "active", False):
        try:
            _waiting.popleft()()
        except IndexError:  # another thread was quicker
            return
