"""Ultralytics' trainers through Convoy, without a change of their code.

    import convoy.ultralytics
    from ultralytics import YOLO
    YOLO("yolov8n.yaml").train(data=..., device="cpu")

`device` stays "cpu": that is where Ultralytics' tensors are; Convoy's device is CONVOY_DEVICE's. On
"cpu" Ultralytics sets the number of data loading processes to 0, since a CPU that computes has no
time for more; here it is what the caller asked for. Where convoy.torch.enable() or disable() was
called before, the import leaves it at that.
"""

from __future__ import annotations

from . import torch as _torch  # noqa: F401
from ._workers import keep_workers
from .torch import _switch

_switch.enable_unless_told()
keep_workers()
