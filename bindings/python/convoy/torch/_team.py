"""PyTorch's own threads, for the CPU engine to compute on.

PyTorch's are OpenMP's: after each parallel loop they look for the next one for milliseconds before
they sleep. A second set of threads on the same cores would share them with that looking; and were
they put to sleep at once, each of PyTorch's loops would begin by waking them. One set for both has
neither: a loop of either finds it awake after a loop of the other.
"""

from __future__ import annotations

import ctypes
import os
from typing import Optional

import torch

_forked = False


def address() -> Optional[int]:
    """The function that calls another on each of those threads, where PyTorch's runtime is GNU's or
    one that can take its place (LLVM's, Intel's). None in a forked child: there are no threads in
    it, but GNU's runtime would wait for them."""
    if _forked:
        return None
    linked = ctypes.CDLL(torch._C.__file__)  # a symbol is looked for in its dependencies too
    if not hasattr(linked, "GOMP_parallel"):
        return None
    return ctypes.cast(linked.GOMP_parallel, ctypes.c_void_p).value


def _after_fork() -> None:
    global _forked
    _forked = True


os.register_at_fork(after_in_child=_after_fork)
