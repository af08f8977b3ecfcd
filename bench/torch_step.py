"""Step time of a YOLOv8n training step with PyTorch's convolutions through Convoy, against plain
PyTorch: both in one process, taking turns, from the same weights and batch.

    PYTHONPATH=bindings/python python3 bench/torch_step.py [--size 640] [--batch 4] [--steps 7]
        [--device cpu] [--route measured] [--cuda]

Needs ultralytics. A step is forward, backward and the optimizer's. Prints medians, their ratio, and
the share of the convolutions (time in the two operators) of each. Each turn begins with a step that
is not counted, and so do the first turns as a whole: they compile, measure and warm up.

--cuda adds PyTorch's own step on a GPU of CUDA, in float32 without TF32: there the convolutions'
share is the time of their kernels, with Convoy it includes all that is moved between host and
device.
"""

import argparse
import copy
import statistics
import sys
import time
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1] / "bindings/python/tests"))
try:
    import torch
    import torchvision_ops  # noqa: F401  where torchvision's operators do not fit PyTorch
    from ultralytics.nn.tasks import DetectionModel
    from ultralytics.utils import DEFAULT_CFG

    import convoy.torch
except ImportError as missing:
    sys.exit(f"{missing}: this needs convoy (PYTHONPATH=bindings/python), PyTorch, torchvision and "
             "ultralytics; scripts/setup.sh test installs the last three into .venv")

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
    parser.add_argument("--cuda", action="store_true", help="PyTorch's own step on a GPU too")
    return parser.parse_args()


def batch_of(options):
    count = options.batch * options.boxes
    return {
        "img": torch.rand(options.batch, 3, options.size, options.size),
        "batch_idx": torch.arange(options.batch).repeat_interleave(options.boxes).float(),
        "cls": torch.randint(80, (count, 1)).float(),
        "bboxes": torch.cat((torch.rand(count, 2) / 2 + 0.25, torch.rand(count, 2) / 3 + 0.05), 1),
    }


def training_of(model, batch, device="cpu"):
    """What step() takes, from a copy of the model."""
    model = copy.deepcopy(model).to(device)
    optimizer = torch.optim.SGD(model.parameters(), 1e-4, momentum=0.9)
    return model, optimizer, {name: values.to(device) for name, values in batch.items()}


def step(model, optimizer, batch):
    """Seconds of a training step."""
    start = time.perf_counter()
    optimizer.zero_grad()
    loss, _ = model(batch)
    loss.sum().backward()
    optimizer.step()
    if batch["img"].is_cuda:
        torch.cuda.synchronize()
    return time.perf_counter() - start


def convolutions(*training):
    """Milliseconds of a step in the two operators, as PyTorch's profiler sees them: of their
    kernels where those run on a GPU of CUDA."""
    with torch.profiler.profile() as profile:
        step(*training)
    names = ("aten::convolution", "aten::convolution_backward")
    rows = [row for row in profile.key_averages() if row.key in names]
    time = "device_time_total" if training[-1]["img"].is_cuda else "cpu_time_total"
    return sum(getattr(row, time) for row in rows) / 1e3


def turns_of(options):
    """name -> (what begins its turn, the training)."""
    torch.manual_seed(0)
    torch.set_num_threads(options.threads)
    torch.backends.cudnn.benchmark, torch.backends.cudnn.allow_tf32 = True, False
    model = DetectionModel("yolov8n.yaml", verbose=False).train()
    model.args = DEFAULT_CFG
    batch = batch_of(options)
    here = training_of(model, batch)
    turns = {
        "plain": (convoy.torch.disable, here),
        "convoy": (lambda: convoy.torch.enable(options.device, options.route), here),
    }
    if options.cuda:
        turns["cuda"] = convoy.torch.disable, training_of(model, batch, "cuda")
    return turns


def measure(turns, steps):
    """Seconds of the steps, by name."""
    times = {name: [] for name in turns}
    for number in range(WARM_UP + steps):
        for name, (begin, training) in turns.items():
            begin()
            step(*training)
            seconds = step(*training)
            if number >= WARM_UP:
                times[name].append(seconds)
    return times


def main():
    options = parse()
    turns = turns_of(options)
    times = measure(turns, options.steps)
    for name, (begin, training) in turns.items():
        begin()
        step(*training)
        inside = convolutions(*training)
        whole = statistics.median(times[name]) * 1e3
        print(f"{name:8} {whole:9.1f} ms, in convolutions {inside:9.1f} ms")
    ratios = [plain / ours for plain, ours in zip(times["plain"], times["convoy"])]
    middle = statistics.median(ratios)
    print(f"plain / convoy: {middle:.3f}, {min(ratios):.3f} to {max(ratios):.3f}")
    print(convoy.torch.report())


main()
