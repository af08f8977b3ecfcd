"""Which device a process opens, and with how many threads.

torchrun and the like start several processes on a machine and number them in LOCAL_RANK: each takes
a device of its own, and its share of the cores.
"""

from __future__ import annotations

import os
from typing import Any, Callable, Dict, List, Optional

import torch

from .._context import Context
from .._devices import devices
from .._lib import DeviceType
from . import _team



def _kind(device: Any) -> str:
    return device.id.partition(":")[0]


def _every_gpu(there: List[Any]) -> List[Any]:
    """A card that is seen through several runtimes counts once, through the first."""
    gpus = [device for device in there if device.type == DeviceType.GPU and not device.simulator]
    first: Dict[str, str] = {}
    for device in gpus:
        first.setdefault(device.name, _kind(device))
    return [device for device in gpus if _kind(device) == first[device.name]]


def _candidates(wanted: str) -> Optional[Callable[[List[Any]], List[Any]]]:
    """Picks from all devices those that may be meant; None where the name leaves no choice."""
    if wanted == "auto":
        return _every_gpu
    if wanted in ("ocl", "hip", "cuda"):
        return lambda there: [device for device in there
                              if _kind(device) == wanted and not device.simulator]
    return None


def _number(name: str) -> Optional[int]:
    text = os.environ.get(name, "")
    return int(text) if text.isdigit() else None


def device_of_process(asked: Optional[str] = None) -> str:
    """The device to open: what is asked for, here or by CONVOY_DEVICE. Where that leaves a choice
    and LOCAL_RANK is set, the processes share the devices out."""
    wanted = asked or os.environ.get("CONVOY_DEVICE") or "auto"
    rank, open_to = _number("LOCAL_RANK"), _candidates(wanted.strip().lower())
    if rank is None or open_to is None:
        return wanted
    ids = [device.id for device in open_to(devices(wanted))]
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


def threads_and_team() -> Dict[str, Any]:
    """Options of every context."""
    threads = threads_of_process()
    return {"threads": threads, "team": team_of_process(threads)}


def open_device(asked: Optional[str], **options: Any) -> Context:
    return Context(device_of_process(asked), **threads_and_team(), **options)


def computes_on_processor(asked: Optional[str]) -> bool:
    """Whether the processor is what is asked for."""
    wanted = asked or os.environ.get("CONVOY_DEVICE") or ""
    return wanted.strip().lower().partition(":")[0] == "cpu"
