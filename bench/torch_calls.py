"""What one convolution costs a PyTorch program, tiny or large, with convoy.torch and without: both
in one process, taking turns.

    PYTHONPATH=bindings/python python3 bench/torch_calls.py [--threads 2] [--rounds 7]
        [--device cpu]

A line is a shape and a route of enable(): medians of forward alone and of forward with backward,
and PyTorch's time divided by Convoy's (median over the rounds). The last column is what the route
took for forward, backward_data, backward_weights and backward_bias.
"""

import argparse
import os
import statistics
import tempfile
import time

os.environ.setdefault("CONVOY_ROUTE_FILE", os.path.join(tempfile.mkdtemp(), "routes.txt"))

import torch

import convoy.torch

# x | module
SHAPES = {
    "n1c8h8w8 k8r3s3": ((1, 8, 8, 8), lambda: torch.nn.Conv2d(8, 8, 3, padding=1)),
    "n1c16h32w32 k16r3s3": ((1, 16, 32, 32), lambda: torch.nn.Conv2d(16, 16, 3, padding=1)),
    "n32c1w256 k8s31": ((32, 1, 256), lambda: torch.nn.Conv1d(1, 8, 31, padding=15)),
    "n4c3h640w640 k16r3s3 stride2": ((4, 3, 640, 640), lambda: torch.nn.Conv2d(3, 16, 3, 2, 1)),
    "n4c64h80w80 k64r3s3": ((4, 64, 80, 80), lambda: torch.nn.Conv2d(64, 64, 3, padding=1)),
    "n4c128h40w40 k128r1s1": ((4, 128, 40, 40), lambda: torch.nn.Conv2d(128, 128, 1)),
    "n8c96h56w56 k96r3s3 groups96": (
        (8, 96, 56, 56),
        lambda: torch.nn.Conv2d(96, 96, 3, padding=1, groups=96),
    ),
}
SECONDS = 0.05  # that one sample takes at least
DIRECTIONS = "forward", "backward_data", "backward_weights", "backward_bias"
LETTERS = {"pytorch": "P", "cpu": "C"}  # others: D, the device


def forward(model, x, dy):
    with torch.no_grad():
        model(x)


def forward_backward(model, x, dy):
    model(x).backward(dy)


FUNCTIONS = forward, forward_backward


def sample(function, *operands):
    """Seconds of one call."""
    calls, start = 0, time.perf_counter()
    while calls == 0 or time.perf_counter() - start < SECONDS:
        function(*operands)
        calls += 1
    return (time.perf_counter() - start) / calls


def letter(direction):
    """Where most of its operations went."""
    rows = convoy.torch.counts().items()
    _, place = max((count, place) for (place, each, _), count in rows if each == direction)
    return LETTERS.get(place, "D")


def measure(module, x, route, options):
    """(name, function) -> seconds of a call, one for each round; the first round warms up."""
    operands = module, x, torch.ones_like(module(x))
    times = {(name, function): [] for name in ("plain", "convoy") for function in FUNCTIONS}
    for number in range(options.rounds + 1):
        for name in ("plain", "convoy"):
            convoy.torch.disable()
            if name == "convoy":
                convoy.torch.enable(options.device, route)
            for _ in range(3):  # the second time measures
                forward_backward(*operands)
            for function in FUNCTIONS:
                seconds = sample(function, *operands)
                if number:
                    times[name, function].append(seconds)
    return times


def cells(plain, ours):
    """Medians in microseconds, and the median of the ratios."""
    medians = [f"{statistics.median(times) * 1e6:.0f}" for times in (plain, ours)]
    ratio = statistics.median(theirs / mine for theirs, mine in zip(plain, ours))
    return [*medians, f"{ratio:.2f}"]


def line(shape, route, options):
    size, make = SHAPES[shape]
    times = measure(make(), torch.randn(size, requires_grad=True), route, options)
    row = [shape, route]
    for function in FUNCTIONS:
        row += cells(times["plain", function], times["convoy", function])
    print("|", " | ".join([*row, "".join(map(letter, DIRECTIONS))]), "|", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--device", default="cpu")
    options = parser.parse_args()
    torch.manual_seed(0)
    torch.set_num_threads(options.threads)
    print("| shape | route | forward: plain us | Convoy us | ratio |"
          " with backward: plain us | Convoy us | ratio | taken |")  # fmt: skip
    print("|---|---|---|---|---|---|---|---|---|")
    for shape in SHAPES:
        for route in convoy.torch.ROUTES:
            line(shape, route, options)


main()
