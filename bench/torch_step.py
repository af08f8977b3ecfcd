"""Step time of a YOLOv8n training step with PyTorch's convolutions through Convoy, against plain
PyTorch: both in one process, taking turns, from the same weights.

    PYTHONPATH=bindings/python python3 bench/torch_step.py [--size 640] [--batch 4] [--turns 7]
        [--device cpu] [--route measured] [--maps] [--cuda]

Needs ultralytics. A step is forward, backward and the optimizer's, with Ultralytics' loss. With
--maps it is the network's alone: forward, and backward from given gradients of its three maps; the
optimizer's update comes between steps and is not timed. Two batches take turns, so that no step
finds its input where the one before has left it. Prints medians, their ratio, and the share of
the convolutions (time in the two operators) of each. The first turns are not counted: they compile,
measure and warm up, and with --route graph they capture and prove.

--cuda adds PyTorch's own step on a GPU of CUDA, in float32 without TF32: there the convolutions'
share is the time of their kernels, with Convoy it includes all that is moved between host and
device.
"""

import argparse
import copy
import itertools
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
    from sessions import current, use
except ImportError as missing:
    sys.exit(f"{missing}: this needs convoy (PYTHONPATH=bindings/python), PyTorch, torchvision and "
             "ultralytics; scripts/setup.sh test installs the last three into .venv")

WARM_UP = 2  # turns


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--size", type=int, default=640)
    parser.add_argument("--batch", type=int, default=4)
    parser.add_argument("--turns", type=int, default=7)
    parser.add_argument("--boxes", type=int, default=8, help="per image")
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--route", default="measured", choices=convoy.torch.ROUTES)
    parser.add_argument("--maps", action="store_true", help="the network's own step")
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


class Training:
    """What the steps of one of those that take turns need, from a copy of the model."""

    def __init__(self, model, batches, maps, device="cpu"):
        self.model = copy.deepcopy(model).to(device)
        self.maps, self.is_on_card = maps, device != "cpu"
        self._optimizer = torch.optim.SGD(self.model.parameters(), 1e-4, momentum=0.9)
        batches = [{name: values.to(device) for name, values in each.items()} for each in batches]
        shapes = [each.shape for each in self._maps(batches[0])] if maps else []
        self._gradients = [[torch.randn(shape, device=device) / shape.numel() for shape in shapes]
                           for _ in batches]
        self._given = itertools.cycle(zip(batches, self._gradients))

    def step(self):
        """Seconds."""
        batch, gradients = next(self._given)
        start = time.perf_counter()
        self._optimizer.zero_grad()
        if self.maps:
            torch.autograd.backward(self._maps(batch), gradients)
        else:
            self.model(batch)[0].sum().backward()
            self._optimizer.step()
        self._wait()
        seconds = time.perf_counter() - start
        if self.maps:
            self._optimizer.step()
            self._wait()
        return seconds

    def _maps(self, batch):
        """Newer versions give two tensors of all maps, by name."""
        found = self.model(batch["img"])
        return [found["boxes"], found["scores"]] if isinstance(found, dict) else found

    def _wait(self):
        if self.is_on_card:
            torch.cuda.synchronize()


def convolutions(training):
    """Milliseconds of a step in the two operators, as PyTorch's profiler sees them: of their
    kernels where those run on a GPU of CUDA."""
    with torch.profiler.profile() as profile:
        training.step()
    names = ("aten::convolution", "aten::convolution_backward")
    rows = [row for row in profile.key_averages() if row.key in names]
    time = "device_time_total" if training.is_on_card else "cpu_time_total"
    return sum(getattr(row, time) for row in rows) / 1e3


def turns_of(options):
    """name -> (what its turns go through, the training)."""
    torch.manual_seed(0)
    torch.set_num_threads(options.threads)
    torch.backends.cudnn.benchmark, torch.backends.cudnn.allow_tf32 = True, False
    model = DetectionModel("yolov8n.yaml", verbose=False).train()
    model.args = DEFAULT_CFG
    batches = [batch_of(options), batch_of(options)]
    here = Training(model, batches, options.maps)
    cuda = Training(model, batches, options.maps, "cuda") if options.cuda else None
    convoy.torch.enable(options.device, options.route)
    turns = {"plain": (None, here), "convoy": (current(), here)}
    return {**turns, "cuda": (None, cuda)} if cuda else turns


def steps_of(name, route):
    """Of a turn: how many steps are not counted, and how many are. Those of graphs are short, and
    those on a GPU beside them."""
    if route != "graph":
        return 1, 1
    return (1, 2) if name == "plain" else (2, 6)


def measure(turns, options):
    """Seconds of a step in each turn, by name."""
    times = {name: [] for name in turns}
    for number in range(WARM_UP + options.turns):
        for name, (session, training) in turns.items():
            use(session)
            beginning, counted = steps_of(name, options.route)
            for _ in range(beginning):
                training.step()
            seconds = [training.step() for _ in range(counted)]
            if number >= WARM_UP:
                times[name].append(statistics.median(seconds))
    return times


def compare(times, name, with_name):
    ratios = [a / b for a, b in zip(times[name], times[with_name])]
    middle = statistics.median(ratios)
    print(f"{name} / {with_name}: {middle:.3f}, {min(ratios):.3f} to {max(ratios):.3f}")


def main():
    options = parse()
    turns = turns_of(options)
    times = measure(turns, options)
    for name, (session, training) in turns.items():
        use(session)
        inside = convolutions(training)
        whole = statistics.median(times[name]) * 1e3
        print(f"{name:8} {whole:9.1f} ms, in convolutions {inside:9.1f} ms")
    compare(times, "plain", "convoy")
    if options.cuda:
        compare(times, "convoy", "cuda")
    use(turns["convoy"][0])
    print(convoy.torch.report())


main()
