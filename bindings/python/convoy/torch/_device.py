"""Which device a process opens, and with how many threads.

torchrun and the like start several processes on a machine and number them in LOCAL_RANK: each takes
a device of its own, and its share of the cores.
"""

from __future__ import annotations

import os
from typing import Any, Dict, Optional

from .._context import Context
from .._devices import devices
from .._lib import DeviceType

# What a request leaves open | the devices that may be meant.
_CANDIDATES = {
    "auto": lambda device: device.type == DeviceType.GPU and not device.simulator,
    "ocl": lambda device: device.type != DeviceType.CPU_ENGINE and not device.simulator,
}


def _number(name: str) -> Optional[int]:
    text = os.environ.get(name, "")
    return int(text) if text.isdigit() else None


def device_of_process(asked: Optional[str] = None) -> str:
    """The device to open: what is asked for, here or by CONVOY_DEVICE. Where that leaves a choice
    and LOCAL_RANK is set, the processes share the devices out."""
    wanted = asked or os.environ.get("CONVOY_DEVICE") or "auto"
    rank = _number("LOCAL_RANK")
    if rank is None or wanted not in _CANDIDATES:
        return wanted
    ids = [device.id for device in devices() if _CANDIDATES[wanted](device)]
    return ids[rank % len(ids)] if ids else wanted


def threads_of_process() -> int:
    """This process's share of the cores; 0, the library's default, when it is alone or when
    CONVOY_THREADS decides."""
    together = _number("LOCAL_WORLD_SIZE") or 1
    if together == 1 or os.environ.get("CONVOY_THREADS"):
        return 0
    return max(1, len(os.sched_getaffinity(0)) // together)


def open_device(asked: Optional[str], **options: Any) -> Context:
    settings: Dict[str, Any] = {"threads": threads_of_process(), **options}
    return Context(device_of_process(asked), **settings)
