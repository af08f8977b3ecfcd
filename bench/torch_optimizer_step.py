"""Training steps of captured networks with PyTorch's optimizer on the host and with the same one
where the networks run (convoy.torch.optimizer): in one process, taking turns.

    PYTHONPATH=bindings/python python3 bench/torch_optimizer_step.py [--device cpu]
        [--kind sgd] [--turns 4] [--steps 6] [NET:BATCH ...]

A net is a model of torchvision's by name. A step is forward, a loss, all gradients and the
optimizer's step. A turn captures and proves anew, so the first steps of each turn are not counted,
nor is the first turn. Prints medians, how much of them is the call of step(), and the ratios of
turns beside each other.
"""

import argparse
import statistics
import sys
import time
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1] / "bindings/python/tests"))
try:
    import torch
    import torchvision_ops  # noqa: F401  where torchvision's operators do not fit PyTorch
    import torchvision

    import convoy.torch
except ImportError as missing:
    sys.exit(f"{missing}: this needs convoy (PYTHONPATH=bindings/python), PyTorch and torchvision; "
             "scripts/setup.sh test installs the last two into .venv")

KINDS = {
    "sgd": lambda parameters: torch.optim.SGD(parameters, 1e-3, momentum=0.9, weight_decay=1e-4),
    "adamw": lambda parameters: torch.optim.AdamW(parameters, 1e-4),
}


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("nets", nargs="*", default=["resnet50:32"], metavar="NET:BATCH")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--kind", choices=KINDS, default="sgd")
    parser.add_argument("--size", type=int, default=224, help="of an image, in pixels")
    parser.add_argument("--turns", type=int, default=4)
    parser.add_argument("--steps", type=int, default=6, help="counted, of a turn")
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    return parser.parse_args()


class Training:
    """Two batches that take turns, as no batch comes twice in a training."""

    def __init__(self, net, attached, options):
        name, batch = net.split(":")
        torch.manual_seed(0)
        self.model = torchvision.models.get_model(name, weights=None).train()
        self.optimizer = KINDS[options.kind](self.model.parameters())
        if attached:
            convoy.torch.optimizer(self.optimizer)
        shape = int(batch), 3, options.size, options.size
        self.inputs = [torch.randn(shape) for _ in range(2)]
        self.labels = torch.randint(1000, shape[:1])
        self.done = 0

    def step(self):
        """Seconds of the step, and of the optimizer's part of it."""
        start = time.perf_counter()
        self.done += 1
        self.optimizer.zero_grad()
        result = self.model(self.inputs[self.done % 2])
        torch.nn.functional.cross_entropy(result, self.labels).backward()
        update = time.perf_counter()
        self.optimizer.step()
        end = time.perf_counter()
        return end - start, end - update


def measure(trainings, options):
    """By name, of each turn the median seconds of a step and of the optimizer's part."""
    times = {name: [] for name in trainings}
    for number in range(1 + options.turns):
        for name, training in trainings.items():
            convoy.torch.enable(options.device, "graph")
            for _ in range(options.steps):
                training.step()
            seconds = zip(*(training.step() for _ in range(options.steps)))
            if number > 0:
                times[name].append([statistics.median(each) for each in seconds])
            convoy.torch.disable()
    return times


def main():
    options = parse()
    torch.set_num_threads(options.threads)
    for net in options.nets:
        trainings = {name: Training(net, name == "device", options) for name in ("host", "device")}
        times = measure(trainings, options)
        line = f"{net:14} {options.kind:6}"
        for name, turns in times.items():
            whole, update = (1e3 * statistics.median(each) for each in zip(*turns))
            line += f" {name} {whole:8.1f} ms, of which step() {update:6.1f} "
        ratios = [host[0] / device[0] for host, device in zip(times["host"], times["device"])]
        median = statistics.median(ratios)
        print(f"{line} ratio {median:.2f} ({min(ratios):.2f} to {max(ratios):.2f})", flush=True)


main()
