"""Training steps of PyTorch's networks as graphs of Convoy, against plain PyTorch and, with
--compile, against torch.compile: in one process, taking turns.

    PYTHONPATH=bindings/python python3 bench/torch_graph_step.py [--turns 4] [--steps 6]
        [--device cpu] [--compile] [NET:BATCH ...]

A step is forward, a loss, all gradients and SGD, as bench/step_nets.py has it; loss and optimizer
are PyTorch's everywhere. A turn of graphs captures and proves anew, so the first steps of each turn
are not counted, nor is the first turn. Prints medians and the ratios of turns beside each other.
"""

import argparse
import statistics
import sys
import time
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1] / "bindings/python/tests"))
try:
    import step_nets
    import torch
    import torchvision_ops  # noqa: F401  where torchvision's operators do not fit PyTorch

    import convoy.torch
except ImportError as missing:
    sys.exit(f"{missing}: this needs convoy (PYTHONPATH=bindings/python), PyTorch, torchvision and "
             "ultralytics; scripts/setup.sh test installs the last three into .venv")

NETS = ["yolov8n:4", "resnet50:8", "eegnet:32"]


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("nets", nargs="*", default=NETS, metavar="NET:BATCH")
    parser.add_argument("--turns", type=int, default=4)
    parser.add_argument("--steps", type=int, default=6, help="counted, of a turn")
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--compile", action="store_true", help="also by torch.compile")
    return parser.parse_args()


def turns_of(net, options):
    """name -> (what begins its turn, a step)."""
    plain = step_nets.make(net, "cpu", updates=True)[2]
    turns = {"plain": (convoy.torch.disable, plain)}
    if options.compile:
        compiled = step_nets.make(net, "cpu", updates=True, change=torch.compile)[2]
        turns["compiled"] = convoy.torch.disable, compiled
    turns["convoy"] = lambda: convoy.torch.enable(options.device, "graph"), plain
    return turns


def seconds_of(step):
    start = time.perf_counter()
    step()
    return time.perf_counter() - start


def measure(turns, options):
    """Median seconds of a step in each turn, by name."""
    times = {name: [] for name in turns}
    for number in range(1 + options.turns):
        for name, (begin, step) in turns.items():
            begin()
            for _ in range(options.steps):
                step()
            seconds = statistics.median(seconds_of(step) for _ in range(options.steps))
            if number > 0:
                times[name].append(seconds)
    return times


def main():
    options = parse()
    torch.set_num_threads(options.threads)
    for net in options.nets:
        times = measure(turns_of(net, options), options)
        line = f"{net:12} convoy {1e3 * statistics.median(times['convoy']):8.1f} ms"
        for name in [name for name in times if name != "convoy"]:
            ratios = [other / ours for other, ours in zip(times[name], times["convoy"])]
            line += (f"   {name} {1e3 * statistics.median(times[name]):8.1f} ms, ratio "
                     f"{statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})")
        print(line, flush=True)
        print(convoy.torch.report(), file=sys.stderr)
        convoy.torch.disable()


main()
