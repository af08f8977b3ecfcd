"""Memory of the host for large results, into which a device in another process copies them itself.

PyTorch's own memory no other process reaches, so what is read there comes by two copies, into pages
that are new each time. This memory is used again: a block comes back when the last tensor in it has
gone, and no more of it is kept than was ever in use at once.
"""

from __future__ import annotations

import collections
import math
import weakref
from typing import Deque, List, Optional, Tuple

import numpy as np
import torch

from ..._context import Context
from ..._lib import DeviceType

LEAST = 1 << 18  # elements; fewer are copied sooner than a block is found
#: Elements that are lent at once, and blocks there are at most: each is a file that two processes
#: map. What a program keeps beyond that, as all results of an evaluation, is PyTorch's memory.
MOST = 1 << 27
MOST_BLOCKS = 64


class HostMemory:
    """To be used with the engine's lock held; tensors may go on any thread."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._is_copied_to = context.device.type != DeviceType.CPU_ENGINE
        self._free: List[np.ndarray] = []  # that which came back last comes last
        self._back: Deque[np.ndarray] = collections.deque()  # their tensors have gone
        self._lent: List[int] = []  # elements of blocks in use
        self._lent_at_most = 0

    def empty(self, shape: Tuple[int, ...]) -> torch.Tensor:
        """A dense tensor of float32, its values undefined."""
        count = math.prod(shape)
        if count < LEAST or not self._is_copied_to:
            return torch.empty(shape)
        block = self._take(count)
        if block is None:
            return torch.empty(shape)
        lent = block[:count]
        weakref.finalize(lent, self._back.append, block).atexit = False
        return torch.from_numpy(lent).view(shape)

    def _take(self, count: int) -> Optional[np.ndarray]:
        self._collect()
        if sum(self._lent) + count > MOST:
            return None
        block = self._used_before(count)
        if block is None and len(self._lent) + len(self._free) < MOST_BLOCKS:
            block = self._context.shared_zeros((count,))
        if block is not None:
            self._lent.append(block.size)
            self._lent_at_most = max(self._lent_at_most, sum(self._lent))
        return block

    def _used_before(self, count: int) -> Optional[np.ndarray]:
        """The smallest that is large enough, unless most of it would be left over."""
        fitting = [at for at, each in enumerate(self._free) if count <= each.size <= 2 * count]
        at = min(fitting, key=lambda at: self._free[at].size, default=None)
        return None if at is None else self._free.pop(at)

    def _collect(self) -> None:
        """Blocks that came back. As many elements stay as were ever in use at once: with other
        shapes, old blocks go."""
        while self._back:
            block = self._back.popleft()
            self._lent.remove(block.size)
            self._free.append(block)
        while sum(each.size for each in self._free) > self._lent_at_most:
            self._free.pop(0)
