"""Ultralytics' detectors with their loss as one network: loss, what is shown of it, and gradients
are those of Ultralytics' own code, and another loss stays the one it is."""

import copy
from contextlib import contextmanager

import pytest

torch = pytest.importorskip("torch", reason="no PyTorch")
pytest.importorskip("ultralytics", reason="no ultralytics")

import torchvision_ops  # noqa: F401
from ultralytics.cfg import get_cfg
from ultralytics.nn.tasks import DetectionModel
from ultralytics.utils import loss as losses

import convoy.torch
from convoy.torch._plainly import plainly

SIZE, IMAGES = 96, 2

#: Batches until another loss has not stood its proof, which takes three calls for each of three
#: batches, and the layers alone run as graphs.
TILL_PARTS = 14


#: A small detector: maps of three strides, and Ultralytics' last layer on them.
LAYERS = {
    "nc": 7,
    "depth_multiple": 1.0,
    "width_multiple": 1.0,
    "backbone": [[-1, 1, "Conv", [width, 3, 2]] for width in (16, 24, 32, 32, 48)],
    "head": [[[2, 3, 4], 1, "Detect", ["nc"]]],
}


def detector():
    torch.manual_seed(0)
    model = DetectionModel(copy.deepcopy(LAYERS), verbose=False)
    model.args = get_cfg()
    return model.train()


def batch_of(objects, seed, size=SIZE, images=IMAGES):
    numbers = torch.Generator().manual_seed(seed)

    def random(*shape):
        return torch.rand(*shape, generator=numbers)

    return {
        "img": random(images, 3, *((size, size) if isinstance(size, int) else size)),
        "batch_idx": (random(objects) * images).floor().sort()[0],
        "cls": (random(objects, 1) * 7).floor(),
        "bboxes": torch.cat((random(objects, 2) / 2 + 0.25, random(objects, 2) / 3 + 0.15), 1),
    }


def step(model, batch):
    """Losses, flat, and gradients."""
    model.zero_grad()
    total, shown = model(batch)
    total.sum().backward()
    parts = list(shown.values()) if isinstance(shown, dict) else list(shown)
    found = [total.sum().detach(), *parts]
    return torch.stack(found), [each.grad for each in model.parameters()]


def assert_same(model, batch, far=2e-3):
    """Beside a copy's step by Ultralytics and PyTorch alone. The batch norms' statistics are not
    looked at, which both have changed."""
    plain = copy.deepcopy(model)
    found, gradients = step(model, batch)
    with plainly():
        wanted, right = step(plain, batch)
    torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-5)
    largest = max(float(each.norm()) for each in right if each is not None)
    for a, b in zip(gradients, right):
        assert (a is None) == (b is None)
        if a is not None:
            assert float((a - b).norm()) <= far * float(b.norm()) + 1e-6 * largest


@contextmanager
def graphs(device, **more):
    with convoy.torch.enabled(device, route="graph", **more):
        yield


def captured():
    """How many calls ran as graphs, by what the report says; and its lines."""
    report = convoy.torch.report()
    lines = [line.split() for line in report.splitlines() if " graph " in line]
    return sum(int(line[0]) for line in lines if line[1] == "graph"), report


def assert_captured(least):
    count, report = captured()
    assert count >= least, report


def test_loss_and_gradients(device):
    """Also of batches with other numbers of objects, and with none."""
    model = detector()
    with graphs(device):
        for seed, objects in enumerate((9, 9, 4, 0, 20, 1)):
            assert_same(model, batch_of(objects, seed))
        count, report = captured()
        assert count == 5, report
        assert "BboxLoss" not in report, report  # the loss is not computed outside of the graph


def test_images_that_are_not_square():
    model = detector()
    with graphs("cpu"):
        for seed in range(3):
            assert_same(model, batch_of(6, seed, (64, 128)))
        assert_captured(2)


def test_gains_that_change_in_each_step():
    model = detector()
    with graphs("cpu"):
        for seed in range(5):
            model.args.box, model.args.dfl = 7.5 / (1 + seed), 1.5 + seed
            assert_same(model, batch_of(6, seed))
        assert_captured(4)


def test_a_criterion_that_changes_in_each_step():
    """Its loss is left alone after a while; the layers are captured then."""
    model = detector()
    with graphs("cpu"):
        for seed in range(10):
            step(model, batch_of(6, seed))
            model.criterion.step = float(seed)
        assert_same(model, batch_of(6, 11))
        assert_captured(3)


def test_an_assigner_with_targets_of_its_own():
    """It keeps them, and the loss is the one that they give."""
    model = detector()
    model.criterion = model.init_criterion()
    assigner = model.criterion.assigner
    original = assigner.get_targets

    def halved(*args):
        labels, corners, scores = original(*args)
        return labels, corners, scores * 0.5

    assigner.get_targets = halved
    with graphs("cpu"):
        for seed in range(TILL_PARTS):
            assert_same(model, batch_of(6, seed))
            assert assigner.get_targets is halved
        count, report = captured()
        assert "it gives something else" in report, report
        assert count >= 2, report


def _square_loss(self, *args, **kwargs):
    boxes, sides = losses.BboxLoss.forward(self, *args, **kwargs)
    return boxes * boxes, sides


@pytest.mark.parametrize("when", ["before", "in the middle"])
def test_another_loss_of_boxes_stays_what_it_is(when):
    """As people do who try one: it is compared and not captured, and neither is one that comes
    later in its place. The layers are."""

    class Squared(losses.BboxLoss):
        forward = _square_loss

    model = detector()
    with graphs("cpu"):
        if when == "in the middle":
            for seed in range(3):
                assert_same(model, batch_of(6, seed))
        model.criterion = model.init_criterion()
        model.criterion.bbox_loss = Squared(16)
        for seed in range(TILL_PARTS):
            assert_same(model, batch_of(6, seed))
        count, report = captured()
        assert "it gives something else" in report, report
        assert count >= 2, report


def test_a_criterion_of_ones_own_is_not_asked_for():
    class Own(losses.v8DetectionLoss):
        def __call__(self, predictions, batch):
            total, shown = super().__call__(predictions, batch)
            return 3 * total, shown

    model = detector()
    model.criterion = Own(model)
    with graphs("cpu"):
        for seed in range(3):
            assert_same(model, batch_of(6, seed))
        assert_captured(2)  # layers


def test_more_objects_than_there_is_room_for(monkeypatch):
    from convoy.torch.graph import detection_loss

    monkeypatch.setattr(detection_loss, "_ROWS", 3)
    model = detector()
    with graphs("cpu"):
        for seed, objects in enumerate((5, 5, 5, 7, 7, 7)):
            assert_same(model, batch_of(objects, seed))
        assert_captured(3)


def test_a_batch_that_proves_nothing():
    """Without objects nothing can be said of the boxes' loss: another batch has to come."""
    model = detector()
    with graphs("cpu"):
        for seed, objects in enumerate((0, 0, 6, 6)):
            assert_same(model, batch_of(objects, seed))
        count, report = captured()
        assert "proves nothing" in report, report
        assert count >= 2, report


def test_every_step_compared(monkeypatch):
    """With CONVOY_CHECK the layers alone are captured: who is assigned what may differ by a digit
    of a score, and all else with it."""
    monkeypatch.setenv("CONVOY_CHECK", "1")
    model = detector()
    with graphs("cpu"):
        for seed in range(3):
            assert_same(model, batch_of(6, seed))
        assert_captured(2)


def test_evaluation_has_its_loss_as_ever():
    model = detector()
    with graphs("cpu"):
        for seed in range(3):
            step(model, batch_of(6, seed))
        model.eval()
        batch = batch_of(6, 7)
        with torch.no_grad():
            predictions = model(batch["img"])
            found, _ = model.loss(batch, predictions)
            with plainly():
                wanted, _ = model.loss(batch, predictions)
        torch.testing.assert_close(found, wanted)
