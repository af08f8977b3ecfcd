"""The loss of Ultralytics' detectors (v8DetectionLoss) as a part of the network that is captured.

What it computes for every anchor is written here in operators that can be traced, so that it stays
where the layers computed: class scores, the decoded boxes, and the three losses. Which anchor is to
find which object is decided by Ultralytics' own assigner on the host, as one operator in between;
it reads the scores and boxes, and gives a few numbers for each anchor. Anchors that are to find
nothing count with a weight of zero, where Ultralytics picks the others out: their number differs
from batch to batch, and a graph's extents do not.

The whole is compared with Ultralytics' loss before it is used, as every captured network is, so
that a version that computes something else keeps its own.

Letters: b images, c classes, r bins for each side of a box, a anchors of all maps.
Complete IoU: Zheng et al., Enhancing Geometric Factors in Model Learning and Inference for Object
Detection (2020). Distribution focal loss: Li et al., Generalized Focal Loss (2020).
"""

from __future__ import annotations

import math
import threading
import weakref
from contextlib import contextmanager
from functools import lru_cache
from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple

import torch
import torch.nn.functional as F

_ROWS = 256  # objects for each image that there is room for, in the mean
_EPSILON = 1e-7


class Settings(NamedTuple):
    """All but tensors that the loss depends on."""

    classes: int
    bins: int
    strides: Tuple[float, ...]
    changes: int  # of the criterion: a changed one is compared anew


# ------------------------------------------------------------------------------------- assigning

_local = threading.local()  # criterion: that of the call under way

_library = torch.library.Library("convoy_detection", "DEF")
_library.define(
    "assign(Tensor scores, Tensor boxes, Tensor targets, int height, int width) -> Tensor"
)


def _assign(
    scores: torch.Tensor, boxes: torch.Tensor, targets: torch.Tensor, height: int, width: int
) -> torch.Tensor:
    """scores [b][c][a] from 0 to 1, boxes [b][4][a] as corners in units of each anchor's stride,
    targets of packed(). Gives [b][7][a]: the class, the weight, whether there is an object, and its
    corners in the same units; of anchors without one the unit square."""
    criterion = _local.criterion
    images, _, anchors = scores.shape
    points, scale = _anchors_of_image(height, width, tuple(criterion.stride.tolist()))
    size = torch.tensor([width, height, width, height], dtype=torch.float32)
    objects = criterion.preprocess(_rows(targets), images, scale_tensor=size)
    labels, corners = objects.split((1, 4), 2)
    there = corners.sum(2, keepdim=True).gt_(0.0)
    with _short_targets(criterion.assigner):
        chosen = criterion.assigner(
            scores.permute(0, 2, 1),
            boxes.permute(0, 2, 1) * scale,
            points * scale,
            labels,
            corners,
            there,
        )
    found = torch.empty((images, 7, anchors))
    has = chosen[3].bool()
    found[:, 0], found[:, 1], found[:, 2] = chosen[0], chosen[2].sum(-1), has
    unit = torch.tensor([0.0, 0.0, 1.0, 1.0])
    found[:, 3:] = torch.where(has.unsqueeze(-1), chosen[1] / scale, unit).permute(0, 2, 1)
    return found


@contextmanager
def _short_targets(assigner: Any) -> Iterator[None]:
    """Meanwhile the assigner gives one weight for each anchor in place of one for each class, all
    but one of which are zero: writing those takes it longer than all else that it does."""

    def get_targets(labels: Any, corners: Any, chosen: Any, there: Any) -> Any:
        image = torch.arange(len(chosen)).view(-1, 1)
        weights = (there > 0).unsqueeze(-1).to(torch.float32)
        return labels[image, chosen, 0].long().clamp_(0), corners[image, chosen], weights

    where = vars(assigner)
    before = where.get("get_targets")
    where["get_targets"] = get_targets
    try:
        yield
    finally:
        where.pop("get_targets") if before is None else where.update(get_targets=before)


def _assign_meta(
    scores: torch.Tensor, boxes: torch.Tensor, targets: torch.Tensor, height: int, width: int
) -> torch.Tensor:
    return boxes.new_empty((scores.shape[0], 7, scores.shape[2]))


#: What runs in each step, captured or not.
OPERATORS = (_assign.__code__,)

_library.impl("assign", _assign, "CPU")
_library.impl("assign", _assign_meta, "Meta")


def packed(batch: Dict[str, Any], images: int) -> Any:
    """Objects of a batch, [rows][6] of image, class, middle and size, in as many rows for every
    batch; None if there is no room. As integers, since what is rounded to try a network is not to
    change which image a row belongs to."""
    parts = batch["batch_idx"].view(-1, 1), batch["cls"].view(-1, 1), batch["bboxes"]
    rows = torch.cat(parts, 1).to(torch.float32)
    room = _ROWS * images - len(rows)
    if room < 0 or rows.shape[1] != 6:
        return None
    return F.pad(rows, (0, 0, 0, room), value=-1.0).view(torch.int32)


def _rows(targets: torch.Tensor) -> torch.Tensor:
    """Those of objects."""
    rows = targets.view(torch.float32)
    return rows[rows[:, 0] >= 0]


def unpacked(targets: torch.Tensor) -> Dict[str, torch.Tensor]:
    """What a batch has of its objects."""
    rows = _rows(targets)
    return {"batch_idx": rows[:, 0], "cls": rows[:, 1:2], "bboxes": rows[:, 2:]}


@contextmanager
def assigning(criterion: Any) -> Iterator[None]:
    """Meanwhile this criterion's assigner is the one, on this thread."""
    _local.criterion = criterion
    try:
        yield
    finally:
        del _local.criterion


# --------------------------------------------------------------------------------------- anchors


def _anchors(
    extents: Sequence[Sequence[int]], strides: Sequence[float]
) -> Tuple[torch.Tensor, torch.Tensor]:
    """The middles of all maps' cells, [2][a] as x and y in cells, and their strides, [1][a]."""
    points: List[torch.Tensor] = []
    scales: List[torch.Tensor] = []
    for (height, width), stride in zip(extents, strides):
        x = torch.arange(width, dtype=torch.float32) + 0.5
        y = torch.arange(height, dtype=torch.float32) + 0.5
        points.append(torch.stack((x.repeat(height), y.repeat_interleave(width))))
        scales.append(torch.full((1, height * width), stride))
    return torch.cat(points, 1), torch.cat(scales, 1)


@lru_cache(maxsize=16)
def _anchors_of_image(
    height: int, width: int, strides: Tuple[float, ...]
) -> Tuple[torch.Tensor, torch.Tensor]:
    """The same as [a][2] and [a][1], of maps as large as there is room for in the image."""
    extents = [(int(height / each), int(width / each)) for each in strides]
    points, scales = _anchors(extents, strides)
    return points.t().contiguous(), scales.t().contiguous()


# ---------------------------------------------------------------------------------------- losses


class Given(NamedTuple):
    """What the loss is computed from besides what the layers return."""

    targets: torch.Tensor  # packed()
    gains: torch.Tensor  # [3], of the losses of boxes, classes and distributions
    size: Sequence[int]  # height and width of the images, in pixels


def loss(predicted: Any, given: Given, at: Settings, shapes: Any) -> List[torch.Tensor]:
    """What v8DetectionLoss returns for what the layers return: the loss times the images, and the
    losses to be shown. shapes: of its results, of which older versions give the first as a sum,
    newer ones the last one by one."""
    distances, scores, extents = _parts(predicted, at)
    points, _ = _anchors(extents, at.strides)
    sides = _sides(distances, at.bins)
    boxes = torch.cat((points - sides[:, :2], points + sides[:, 2:]), 1)
    found = torch.ops.convoy_detection.assign(
        scores.detach().sigmoid(), boxes.detach(), given.targets, *given.size
    )
    labels, weights, there, corners = found.split((1, 1, 1, 4), 1)
    classes = torch.arange(at.classes, dtype=torch.float32).view(1, -1, 1)
    wanted = (labels == classes).to(torch.float32) * weights
    of_classes = (F.softplus(scores) - scores * wanted).sum()  # binary cross entropy of logits
    boxes = torch.where(there > 0, boxes, corners)  # so that no other overlap is computed
    of_boxes = ((1 - _complete_iou(boxes, corners)) * weights).sum()
    of_sides = (_side_loss(distances, _sides_of(corners, points, at.bins)) * weights).sum()
    each = torch.stack((of_boxes, of_classes, of_sides)) / weights.sum().clamp(min=1) * given.gains
    total, *shown = shapes
    total = (each if total else each.sum()) * len(scores)
    return [total, each.detach()] if len(shown) == 1 else [total, *each.detach()]


def _parts(predicted: Any, at: Settings) -> Any:
    """Bins [b][4 r][a], class scores [b][c][a], and each map's height and width."""
    if isinstance(predicted, dict):
        extents = [each.shape[2:] for each in predicted["feats"]]
        return predicted["boxes"], predicted["scores"], extents
    maps = [each.flatten(2) for each in predicted]
    parts = torch.cat(maps, 2).split((4 * at.bins, at.classes), 1)
    return *parts, [each.shape[2:] for each in predicted]


def _sides(distances: torch.Tensor, bins: int) -> torch.Tensor:
    """The mean of each side's distribution, [b][4][a]: how far left, top, right and bottom are."""
    shares = distances.unflatten(1, (4, bins)).softmax(2)
    return (shares * torch.arange(bins, dtype=torch.float32).view(1, 1, -1, 1)).sum(2)


def _sides_of(corners: torch.Tensor, points: torch.Tensor, bins: int) -> torch.Tensor:
    """How far the sides of boxes are, within what the bins can say."""
    far = torch.cat((points - corners[:, :2], corners[:, 2:] - points), 1)
    return far.clamp(0, bins - 1 - 0.01)


def _side_loss(distances: torch.Tensor, far: torch.Tensor) -> torch.Tensor:
    """[b][1][a]: cross entropy with the two bins next to the distance, the nearer one counting
    more."""
    bins = distances.shape[1] // 4
    logarithms = distances.unflatten(1, (4, bins)).log_softmax(2)
    numbers = torch.arange(bins, dtype=torch.float32).view(1, 1, -1, 1)
    shares = (1 - (far.unsqueeze(2) - numbers).abs()).clamp(min=0)
    return -(logarithms * shares).sum(2).mean(1, keepdim=True)


def _complete_iou(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Of boxes [b][4][a] as corners: [b][1][a]. Only a gets gradients."""
    left, top, right, bottom = a.split(1, 1)
    left_b, top_b, right_b, bottom_b = b.split(1, 1)
    width, height = right - left, bottom - top + _EPSILON
    width_b, height_b = right_b - left_b, bottom_b - top_b + _EPSILON
    across = (right.minimum(right_b) - left.maximum(left_b)).clamp(min=0)
    down = (bottom.minimum(bottom_b) - top.maximum(top_b)).clamp(min=0)
    shared = across * down
    overlap = shared / (width * height + width_b * height_b - shared + _EPSILON)
    around = (right.maximum(right_b) - left.minimum(left_b)).square()
    around = around + (bottom.maximum(bottom_b) - top.minimum(top_b)).square() + _EPSILON
    apart = (left_b + right_b - left - right).square() + (top_b + bottom_b - top - bottom).square()
    shapes = (width_b / height_b).atan() - (width / height).atan()
    unlike = 4 / math.pi**2 * shapes.square()
    share = unlike / (unlike - overlap + (1 + _EPSILON))
    return overlap - (apart / 4 / around + unlike * share.detach())


# -------------------------------------------------------------------------------------- criterion

_MOST_CHANGES = 4  # before the loss of a criterion that changes all the time is left alone

#: Of criterions: how often a part of it, such as the boxes' loss, was another one, and the parts.
_parts_of: "weakref.WeakKeyDictionary[Any, Any]" = weakref.WeakKeyDictionary()


def _changes(criterion: Any) -> int:
    parts = list(vars(criterion).values())
    count, before = _parts_of.get(criterion, (-1, None))
    if before is None or list(map(id, before)) != list(map(id, parts)):
        count += 1
        _parts_of[criterion] = count, parts
    return count


def settings_of(criterion: Any) -> Optional[Settings]:
    """None for a criterion that is not the one which is written here."""
    is_known = type(criterion).__name__ == "v8DetectionLoss"
    if not is_known or getattr(criterion, "reg_max", 0) < 2:
        return None
    changes = _changes(criterion)
    if changes > _MOST_CHANGES:
        return None
    return Settings(criterion.nc, criterion.reg_max, tuple(criterion.stride.tolist()), changes)


def gains_of(criterion: Any) -> torch.Tensor:
    """As they are now: a training may change them in each step."""
    hyp = criterion.hyp
    return torch.tensor([hyp.box, hyp.cls, hyp.dfl], dtype=torch.float32)
