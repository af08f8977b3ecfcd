"""Lets torchvision be imported where its compiled operators do not fit the PyTorch there is, as on
a machine with PyTorch for CPUs and torchvision for CUDA. What a training needs of them is non-
maximum suppression, here in Python. For tests only."""

import importlib.util

import torch


def _suppress(boxes, scores, threshold):
    """Indices of the boxes that no better one overlaps by more than the threshold, best first."""
    order, kept = scores.argsort(descending=True), []
    areas = (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])
    while order.numel():
        best, rest = order[0], order[1:]
        kept.append(best)
        corner = torch.maximum(boxes[best, :2], boxes[rest, :2])
        size = (torch.minimum(boxes[best, 2:], boxes[rest, 2:]) - corner).clamp(min=0)
        shared = size[:, 0] * size[:, 1]
        order = rest[shared <= threshold * (areas[best] + areas[rest] - shared)]
    return torch.stack(kept) if kept else order


def _provide():
    if not importlib.util.find_spec("torchvision"):
        raise ModuleNotFoundError("No module named 'torchvision'", name="torchvision")
    try:
        import torchvision  # noqa: F401
    except (ImportError, RuntimeError):
        library = torch.library.Library("torchvision", "DEF")
        for name in ("nms", "qnms"):  # the two that importing torchvision cannot do without
            library.define(f"{name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
        library.impl("nms", _suppress, "CPU")
        import torchvision.extension

        torchvision.extension._has_ops = lambda: True
        return library


_library = _provide()  # its registrations go with it
