"""While a network is captured its module computes with copies of its tensors: no other thread may
be in it, or come to it, meanwhile."""

from __future__ import annotations

import threading
from collections import Counter
from typing import Any, Optional

_PATIENCE = 120.0  # seconds; after them a capture is waited for by nobody


class Turns:
    """`with turns:` around each call of an outermost module; begin_alone() inside of one."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._inside: Counter[int] = Counter()  # threads, and how deep
        self._alone: Optional[int] = None  # the thread that captures

    def __enter__(self) -> None:
        me = threading.get_ident()
        with self._changed:
            if self._alone is not None and self._alone != me:
                self._changed.wait_for(lambda: self._alone is None, _PATIENCE)
            self._inside[me] += 1

    def __exit__(self, *_: Any) -> None:
        me = threading.get_ident()
        with self._changed:
            self._inside[me] -= 1
            if not self._inside[me]:
                del self._inside[me]

    def begin_alone(self) -> bool:
        """Whether no other thread is inside: then none comes in before end_alone()."""
        with self._changed:
            if len(self._inside) > 1 or self._alone is not None:
                return False
            self._alone = threading.get_ident()
            return True

    def is_alone_elsewhere(self) -> bool:
        """Whether another thread captures."""
        return self._alone not in (None, threading.get_ident())

    def end_alone(self) -> None:
        with self._changed:
            self._alone = None
            self._changed.notify_all()
