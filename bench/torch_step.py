"""Step time of a YOLOv8n training step with PyTorch's convolutions through Convoy, against plain
PyTorch: both in one process, taking turns, from the same weights and batch.

    PYTHONPATH=bindings/python python3 bench/torch_step.py [--size 640] [--batch 4] [--turns 7]
        [--device cpu] [--route measured] [--maps] [--cuda]

Needs ultralytics. A step is forward, backward and the optimizer's, with Ultralytics' loss or, with
--maps, with the mean squares of the network's maps. Prints medians, their ratio, and the share of
the convolutions (time in the two operators) of each. The first turns are not counted, nor are the
first steps of a turn: they compile, measure and warm up, and with --route graph they capture and
prove anew, so that a turn needs more of them and should count more than one.

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

WARM_UP = {"graph": 1}  # turns, else 2
BEGINNING = {"graph": 8}  # steps of a turn that are not counted, else 1
COUNTED = {"graph": 8}  # and that are, else 1


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--size", type=int, default=640)
    parser.add_argument("--batch", type=int, default=4)
    parser.add_argument("--turns", type=int, default=7)
    parser.add_argument("--boxes", type=int, default=8, help="per image")
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--route", default="measured", choices=convoy.torch.ROUTES)
    parser.add_argument("--maps", action="store_true", help="mean squares of maps as the loss")
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


def ultralytics_loss(model, batch):
    return model(batch)[0].sum()


def squares_of_maps(model, batch):
    return sum((each * each).mean() for each in model(batch["img"]))


def training_of(model, loss, batch, device="cpu"):
    """What step() takes, from a copy of the model."""
    model = copy.deepcopy(model).to(device)
    optimizer = torch.optim.SGD(model.parameters(), 1e-4, momentum=0.9)
    return model, loss, optimizer, {name: values.to(device) for name, values in batch.items()}


def step(model, loss, optimizer, batch):
    """Seconds of a training step."""
    start = time.perf_counter()
    optimizer.zero_grad()
    loss(model, batch).backward()
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
    loss = squares_of_maps if options.maps else ultralytics_loss
    here = training_of(model, loss, batch)
    turns = {
        "plain": (convoy.torch.disable, here),
        "convoy": (lambda: convoy.torch.enable(options.device, options.route), here),
    }
    if options.cuda:
        turns["cuda"] = convoy.torch.disable, training_of(model, loss, batch, "cuda")
    return turns


def measure(turns, options):
    """Seconds of a step in each turn, by name."""
    times = {name: [] for name in turns}
    route, first = options.route, WARM_UP.get(options.route, 2)
    for number in range(first + options.turns):
        for name, (begin, training) in turns.items():
            begin()
            for _ in range(BEGINNING.get(route, 1)):
                step(*training)
            seconds = [step(*training) for _ in range(COUNTED.get(route, 1))]
            if number >= first:
                times[name].append(statistics.median(seconds))
    return times


def main():
    options = parse()
    turns = turns_of(options)
    times = measure(turns, options)
    for name, (begin, training) in turns.items():
        begin()
        for _ in range(BEGINNING.get(options.route, 1)):
            step(*training)
        inside = convolutions(*training)
        whole = statistics.median(times[name]) * 1e3
        print(f"{name:8} {whole:9.1f} ms, in convolutions {inside:9.1f} ms")
    ratios = [plain / ours for plain, ours in zip(times["plain"], times["convoy"])]
    middle = statistics.median(ratios)
    print(f"plain / convoy: {middle:.3f}, {min(ratios):.3f} to {max(ratios):.3f}")
    print(convoy.torch.report())


main()
