"""A C context together with the calls that are inside it.

ctypes lets other threads run during a call, and closing a context in use would pull it away under
them: close() waits until the last call has left.

Ctrl-C may strike between the bookkeeping of a call and the call itself, and what was booked then
stays. So a call is booked with the code that made it: of the calls of its own thread close()
believes those whose code is still running.
"""

from __future__ import annotations

import os
import sys
import threading
import weakref
from types import CodeType, FrameType
from typing import Any, Dict, List, Optional

from ._errors import argument_error
from ._load import library
from ._single import Single


def _is_running(codes: List[CodeType]) -> bool:
    """Whether one of these is on this thread's stack."""
    frame: Optional[FrameType] = sys._getframe(1)
    while frame is not None and frame.f_code not in codes:
        frame = frame.f_back
    return frame is not None


class Handle(Single):
    """`with handle as pointer:` around every call that takes the context."""

    def __init__(self, pointer: int) -> None:
        self._pointer: Optional[int] = pointer
        self._inside: Dict[int, List[CodeType]] = {}  # by thread; callbacks may call again
        self._lock = threading.RLock()  # a signal handler may interrupt() on top of a call
        self._changed = threading.Condition(self._lock)
        _handles.add(self)

    def __enter__(self) -> int:
        with self._lock:
            if self._pointer is None:
                raise argument_error("the context is closed")
            code = sys._getframe(1).f_code
            self._inside.setdefault(threading.get_ident(), []).append(code)
            return self._pointer

    def __exit__(self, *_: Any) -> None:
        with self._lock:
            me = threading.get_ident()
            self._inside[me].pop()
            if not self._inside[me]:
                del self._inside[me]
                self._changed.notify_all()

    @property
    def closed(self) -> bool:
        return self._pointer is None

    def close(self) -> None:
        """Closes the context; later calls do nothing. Not inside a callback of the context."""
        with self._changed:
            self._leave_what_was_interrupted()
            pointer = self._pointer
            try:
                self._pointer = None
                self._changed.wait_for(lambda: not self._inside)
            except BaseException:
                self._pointer = pointer or self._pointer
                raise
        if pointer is not None:
            library.convoy_close(pointer)

    def _leave_what_was_interrupted(self) -> None:
        me = threading.get_ident()
        if _is_running(self._inside.get(me, [])):
            raise argument_error("a context cannot be closed inside a call of its own")
        self._inside.pop(me, None)
        self._changed.notify_all()

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
