"""Step time of a YOLOv8n training step with PyTorch's convolutions through Convoy, against plain
PyTorch: both in one process, taking turns, from the same weights and batch.

    PYTHONPATH=bindings/python python3 bench/torch_step.py [--size 640] [--batch 4] [--steps 7]
        [--device cpu] [--route measured]

Needs ultralytics. A step is forward, backward and the optimizer's. Prints medians, their ratio, and the
share of the convolutions (time in the two operators) of each. Each turn begins with a step that is not
counted, and so do the first turns as a whole: they compile, measure and warm up.
"""

import argparse
import statistics
import sys
import time
from pathlib import Path

import torch

sys.path.append(str(Path(__file__).resolve().parents[1] / "bindings/python/tests"))
import torchvision_ops  # noqa: F401  where torchvision's operators do not fit PyTorch
from ultralytics.nn.tasks import DetectionModel
from ultralytics.utils import DEFAULT_CFG

import convoy.torch

WARM_UP = 2


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--size", type=int, default=640)
    parser.add_argument("--batch", type=int, default=4)
    parser.add_argument("--steps", type=int, default=7)
    parser.add_argument("--boxes", type=int, default=8, help="per image")
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--route", default="measured", choices=convoy.torch.ROUTES)
    return parser.parse_args()


def batch_of(options):
    count = options.batch * options.boxes
    return {
        "img": torch.rand(options.batch, 3, options.size, options.size),
        "batch_idx": torch.arange(options.batch).repeat_interleave(options.boxes).float(),
        "cls": torch.randint(80, (count, 1)).float(),
        "bboxes": torch.cat((torch.rand(count, 2) / 2 + 0.25, torch.rand(count, 2) / 3 + 0.05), 1),
    }


def step(model, optimizer, batch):
    """Seconds of a training step."""
    start = time.perf_counter()
    optimizer.zero_grad()
    loss, _ = model(batch)
    loss.sum().backward()
    optimizer.step()
    return time.perf_counter() - start


def convolutions(*training):
    """Milliseconds of a step in the two operators, as PyTorch's profiler sees them."""
    with torch.profiler.profile() as profile:
        step(*training)
    names = ("aten::convolution", "aten::convolution_backward")
    rows = [row for row in profile.key_averages() if row.key in names]
    return sum(row.cpu_time_total for row in rows) / 1e3


def main():
    options = parse()
    torch.manual_seed(0)
    torch.set_num_threads(options.threads)
    model = DetectionModel("yolov8n.yaml", verbose=False).train()
    model.args = DEFAULT_CFG
    optimizer = torch.optim.SGD(model.parameters(), 1e-4, momentum=0.9)
    training = model, optimizer, batch_of(options)
    times = {"plain": [], "convoy": []}
    turns = {
        "plain": convoy.torch.disable,
        "convoy": lambda: convoy.torch.enable(options.device, options.route),
    }
    for number in range(WARM_UP + options.steps):
        for name, turn in turns.items():
            turn()
            step(*training)
            seconds = step(*training)
            if number >= WARM_UP:
                times[name].append(seconds)
    ratios = [plain / ours for plain, ours in zip(times["plain"], times["convoy"])]
    for name, turn in turns.items():
        turn()
        inside = convolutions(*training)
        print(f"{name:8} {statistics.median(times[name]) * 1e3:9.1f} ms, in convolutions {inside:9.1f} ms")
    print(f"plain / convoy: {statistics.median(ratios):.3f}, {min(ratios):.3f} to {max(ratios):.3f}")
    print(convoy.torch.report())


main()
