"""Whether memory stays flat while a PyTorch network trains as graphs, with inputs of changing
shapes, and while networks come and go.

    PYTHONPATH=bindings/python python3 bench/torch_memory.py [--device cpu] [--steps 2000]

The first is one network and images of twelve sizes in no order: more than graphs are kept for, so
that some are always made anew. The second is a network of its own every ten steps. Prints what this
process and its workers hold of memory at a quarter of the steps, at half and at the end, and ends
with status 1 if the end is more than 2 % and 4 MiB above the half.
"""

import argparse
import gc
import os
import sys
from pathlib import Path

import torch
from torch import nn

import convoy.torch

SIZES = [(n, size) for n in (2, 3, 4) for size in (16, 20, 24, 32)]
PAGE = os.sysconf("SC_PAGE_SIZE")


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--steps", type=int, default=2000)
    options = parser.parse_args()
    if options.steps < 4:
        parser.error(f"--steps {options.steps}: at least 4 have quarters")
    return options


def network():
    def block(c, k, stride):
        conv = nn.Conv2d(c, k, 3, stride, 1, bias=False)
        return nn.Sequential(conv, nn.BatchNorm2d(k), nn.SiLU())

    last = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, 9))
    return nn.Sequential(block(3, 16, 1), block(16, 32, 2), block(32, 32, 1), last)


def step(model, optimizer, images, size):
    x = torch.randn(images, 3, size, size)
    optimizer.zero_grad()
    nn.functional.cross_entropy(model(x), torch.arange(images)).backward()
    optimizer.step()


def sgd(model):
    return torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)


def changing_shapes(steps):
    model = network()
    optimizer = sgd(model)
    order = torch.Generator().manual_seed(5)
    for _ in range(steps):
        which = int(torch.randint(len(SIZES), (), generator=order))
        for _ in range(2):  # a shape is captured when it comes again
            step(model, optimizer, *SIZES[which])
        yield


def changing_networks(steps):
    for at in range(steps):
        if at % 10 == 0:
            model = network()
            optimizer = sgd(model)
        step(model, optimizer, *SIZES[0])
        yield


def resident(process):
    return int(Path(f"/proc/{process}/statm").read_text().split()[1]) * PAGE


def held():
    """Bytes of this process and of those it has started."""
    tasks = Path("/proc/self/task").glob("*/children")
    children = [child for task in tasks for child in task.read_text().split()]
    return sum(resident(each) for each in ["self", *children])


def watch(name, steps, training):
    looked, mib = (steps // 4, steps // 2, steps), []
    for at, _ in enumerate(training(steps), 1):
        if at in looked:
            gc.collect()
            mib.append(held() / (1 << 20))
    quarter, half, end = mib
    grown = end - half
    print(f"{name:18} MiB {quarter:.1f} {half:.1f} {end:.1f}, grown by {grown:.1f}", flush=True)
    return grown <= 4 or grown <= 0.02 * half


def main():
    options = parse()
    torch.set_num_threads(2)
    torch.manual_seed(1)
    convoy.torch.graph.network.MOST_HOST_CALLS = 0
    convoy.torch.enable(options.device, route="graph")
    good = watch("changing shapes", options.steps, changing_shapes)
    good &= watch("changing networks", options.steps, changing_networks)
    print(convoy.torch.report())
    sys.exit(0 if good else 1)


main()
