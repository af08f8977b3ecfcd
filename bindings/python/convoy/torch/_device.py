"""Which device a process opens, and with how many threads.

torchrun and the like start several processes on a machine and number them in LOCAL_RANK: each takes
a device of its own, and its share of the cores.
"""

from __future__ import annotations

import os
from typing import Any, Dict, Optional

import torch

from .._context import Context
from .._devices import devices
from .._lib import DeviceType
from . import _team

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
    rank, open_to = _number("LOCAL_RANK"), _CANDIDATES.get(wanted.strip().lower())
    if rank is None or open_to is None:
        return wanted
    ids = [device.id for device in devices(wanted) if open_to(device)]
    return ids[rank % len(ids)] if ids else wanted


def threads_of_process() -> int:
    """As many as PyTorch has, unless CONVOY_THREADS says how many. torchrun and the like give each
    of their processes one: then this process's share of the cores."""
    given = _number("CONVOY_THREADS")
    together = _number("LOCAL_WORLD_SIZE") or 1
    threads = torch.get_num_threads()
    if threads == 1 and together > 1:
        threads = max(1, len(os.sched_getaffinity(0)) // together)
    return given or threads


def team_of_process(threads: int) -> Optional[int]:
    """PyTorch's own threads, if there are as many as the engine would have and CONVOY_TEAM does not
    say whose it shall take."""
    if os.environ.get("CONVOY_TEAM") or torch.get_num_threads() < threads:
        return None
    return _team.address()


def open_device(asked: Optional[str], **options: Any) -> Context:
    threads = threads_of_process()
    settings: Dict[str, Any] = {"threads": threads, "team": team_of_process(threads), **options}
    return Context(device_of_process(asked), **settings)
