"""Lets PyTorch's idle threads sleep while Convoy's CPU engine has the cores.

PyTorch's packages bring GNU's OpenMP, whose threads look for their next loop 300,000 times before
they sleep: milliseconds in which a convolution shares the cores with them. They look 100 times only
while the process has more of them than there are processors (GOMP_SPINCOUNT in its manual).
"""

from __future__ import annotations

import ctypes
import os
import threading
from typing import Optional

import torch


def _gnu_openmp() -> Optional[ctypes.CDLL]:
    """What PyTorch's extension module is linked with, where that is GNU's OpenMP."""
    linked = ctypes.CDLL(torch._C.__file__)  # a symbol is looked for in its dependencies too
    return linked if hasattr(linked, "GOMP_parallel") else None


class IdleThreads:
    """Threads of OpenMP, one more than there are processors, asleep until close(). Each thread that
    opens parallel loops has OpenMP's threads of its own, so one is made that opens a single one."""

    def __init__(self) -> None:
        self._made, self._end = threading.Event(), threading.Event()
        self._opener: Optional[threading.Thread] = None
        openmp = _gnu_openmp()
        if openmp is not None:
            self._opener = threading.Thread(target=self._hold, args=(openmp,), daemon=True)
            self._opener.start()
            self._made.wait()

    def _hold(self, openmp: ctypes.CDLL) -> None:
        harmless = ctypes.cast(ctypes.CDLL(None).getppid, ctypes.c_void_p)
        openmp.GOMP_parallel(harmless, None, len(os.sched_getaffinity(0)) + 1, 0)
        self._made.set()
        self._end.wait()

    def close(self) -> None:
        """They end, and PyTorch's threads wait as before."""
        self._end.set()
        if self._opener is not None:
            self._opener.join()
