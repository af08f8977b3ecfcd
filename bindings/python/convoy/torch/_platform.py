"""What PyTorch says of the cards that it computes on: CUDA's and, under the same names, ROCm's.

It is an object, so that tests can have PyTorch compute on something else.
"""

from __future__ import annotations

import time
from typing import Any, Callable, Dict, Optional, Sequence

import torch

from . import _native

Tensor = torch.Tensor

#: Chips whose vendor's convolutions hang or err: they are not asked.
_BAD_VENDORS = {"gfx1010": "MIOpen hangs or errs there"}

_SLEEP = 400_000  # clocks of the card for each call that is timed: the host is ahead meanwhile


class Cards:
    """Those of PyTorch. `key` is the dispatch key under which operators on them are registered."""

    key = "CUDA"

    def __init__(self) -> None:
        self._is_hip = torch.version.hip is not None
        #: The stream that the calling thread has on a card.
        self.stream: Callable[[int], int] = torch._C._cuda_getCurrentRawStream
        #: Whether what goes there is recorded in a CUDA graph.
        self.recording: Callable[[], bool] = torch.cuda.is_current_stream_capturing

    @staticmethod
    def there() -> bool:
        """Whether this PyTorch knows of any; asks no driver."""
        return torch.version.cuda is not None or torch.version.hip is not None

    def memory(self, size: int, index: int) -> Tensor:
        """So many bytes, to be used in the calling thread's stream. While that is recorded they
        come from the graph's own pool."""
        return torch.empty(size, dtype=torch.uint8, device=torch.device("cuda", index))

    def index(self, tensor: Tensor) -> Optional[int]:
        """Of the card that a tensor is on; None: it is on none."""
        return tensor.get_device() if tensor.is_cuda else None

    def empty(self, shape: Sequence[int], index: int) -> Tensor:
        """Of float32. While the stream is recorded its memory is the graph's, too."""
        return torch.empty(tuple(shape), device=torch.device("cuda", index))

    def torch_device(self, index: int) -> torch.device:
        return torch.device("cuda", index)

    def synchronize(self, index: int) -> None:
        torch.cuda.synchronize(index)

    def device(self, index: int) -> str:
        """As Convoy calls it."""
        return f"{'hip' if self._is_hip else 'cuda'}:{index}"

    def name(self, index: int) -> str:
        return torch.cuda.get_device_name(index)

    def allows_tf32(self) -> bool:
        """ROCm's convolutions know nothing of it."""
        return not self._is_hip and _native.allows_tf32()

    def versions(self) -> str:
        """What measured times of PyTorch's own convolutions depend on."""
        vendor = "MIOpen" if self._is_hip else "cuDNN"
        benchmark, repeatable, enabled, _ = _native.flags()
        settings = f"benchmark {benchmark:d}, repeatable {repeatable:d}, enabled {enabled:d}"
        return f"{vendor} {torch.backends.cudnn.version()}, {settings}"

    def bad_vendor(self, name: str) -> str:
        """Why the vendor's convolutions are not asked on a card of that name; "" if they are."""
        known: Dict[str, str] = _BAD_VENDORS if self._is_hip else {}
        return next((why for chip, why in known.items() if chip in name), "")

    def seconds(self, action: Callable[[], Any], times: int, index: int) -> float:
        """What one call of `action` takes the card: not the host, which is ahead."""
        with torch.cuda.device(index):
            begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            torch.cuda._sleep(_SLEEP * times)
            begin.record()
            for _ in range(times):
                action()
            end.record()
            end.synchronize()
            return begin.elapsed_time(end) / 1e3 / times
