"""PyTorch's convolutions through Convoy.

    import convoy.torch
    convoy.torch.enable()

From then on every float32 convolution of PyTorch on the CPU, forward and backward, of modules,
functions and compiled graphs alike, goes through Convoy, and so to the device that CONVOY_DEVICE
or `device` names. Models, optimizers, checkpoints and hooks see nothing of it. What Convoy does not
take (other dtypes, empty batches, ...) PyTorch computes as ever; report() tells how often and why.
"""

# Before all else: importing it may call Convoy's entry point, which enables what this package has.
import torch as _torch  # noqa: F401

from ._switch import (
    ROUTES,
    assume,
    counts,
    decline,
    disable,
    enable,
    enabled,
    optimizer,
    report,
)

__all__ = [
    *("ROUTES", "assume", "counts", "decline", "disable", "enable", "enabled", "optimizer"),
    "report",
]
