"""A C context together with the calls that are inside it.

ctypes lets other threads run during a call, and closing a context in use would pull it away under
them: close() waits until the last call has left.
"""

from __future__ import annotations

import os
import threading
import weakref
from typing import Any, Dict, Optional

from ._errors import argument_error
from ._load import library


class Handle:
    """`with handle as pointer:` around every call that takes the context."""

    def __init__(self, pointer: int) -> None:
        self._pointer: Optional[int] = pointer
        self._inside: Dict[int, int] = {}  # thread: depth; callbacks may call again
        self._lock = threading.RLock()  # a signal handler may interrupt() on top of a call
        self._changed = threading.Condition(self._lock)
        _handles.add(self)

    def __enter__(self) -> int:
        with self._lock:
            if self._pointer is None:
                raise argument_error("the context is closed")
            me = threading.get_ident()
            self._inside[me] = self._inside.get(me, 0) + 1
            return self._pointer

    def __exit__(self, *_: Any) -> None:
        with self._lock:
            me = threading.get_ident()
            self._inside[me] -= 1
            if not self._inside[me]:
                del self._inside[me]
                self._changed.notify_all()

    @property
    def closed(self) -> bool:
        return self._pointer is None

    def close(self) -> None:
        """Closes the context; later calls do nothing. Not inside a callback of the context."""
        with self._changed:
            if threading.get_ident() in self._inside:
                raise argument_error("a context cannot be closed inside a call of its own")
            pointer, self._pointer = self._pointer, None
            self._changed.wait_for(lambda: not self._inside)
        if pointer is not None:
            library.convoy_close(pointer)

    def after_fork(self) -> None:
        """Forgets the parent's other threads: they do not exist in the child."""
        me = threading.get_ident()
        self._inside = {me: self._inside[me]} if me in self._inside else {}
        self._lock = threading.RLock()
        self._changed = threading.Condition(self._lock)


_handles: weakref.WeakSet[Handle] = weakref.WeakSet()


def _after_fork() -> None:
    for handle in list(_handles):
        handle.after_fork()


os.register_at_fork(after_in_child=_after_fork)
