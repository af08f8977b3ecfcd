"""Whole training steps on a card: PyTorch's, replayed as a CUDA graph, and Convoy's captured ones
as `convoy bench --net` times them, in turns. float32, TF32 off, cuDNN's benchmark mode on.

    PYTHONPATH=bindings/python python3 bench/compare_steps.py --tool build/release/convoy
        --device ocl:0 [--rounds 3] [NET:BATCH...]

Prints one line for each network: medians of the rounds' medians in milliseconds, their ratio, what
a step of Convoy's takes on average when many follow one another, the peak of memory that either
takes in MiB, and the seconds of Convoy's first step. Both sides' steps end with SGD and its
momentum.
"""

import argparse
import statistics

import torch

import bench_lines
import step_nets
from compare_cuda_step import milliseconds, recorded

NETS = ["yolov8n:4", "yolov8n:16", "yolov8n:32", "resnet50:8", "resnet50:32", "resnet18:32",
        "mobilenet_v2:32", "eegnet:32"]
REPLAYS = 15


def theirs(net):
    """A function that times replays, and the peak of memory in bytes."""
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    model, x, step = step_nets.make(net, updates=True)
    for _ in range(4):
        step()
    peak = torch.cuda.max_memory_allocated()
    graph = recorded(step)

    def time():
        return statistics.median(milliseconds(graph.replay) for _ in range(REPLAYS))

    time.keeps = graph, model, x  # what is replayed must not go
    return time, peak


def compare(net, options):
    time, peak = theirs(net)
    lines, times = [], []
    for _ in range(options.rounds):
        times.append(time())
        lines.append(bench_lines.of_step(options.tool, options.device, net))
    other = statistics.median(times)
    own, mean = (statistics.median(line[of] for line in lines) for of in ("median_ms", "mean_ms"))
    memory = max(line["memory_bytes"] for line in lines)
    first, then = (lines[i]["first_ms"] / 1e3 for i in (0, -1))
    print(f"{net:16} PyTorch {other:8.3f} ms   Convoy {own:8.3f} ms   ratio {other / own:.3f}   "
          f"mean {mean:.3f} ms   MiB {peak / 2**20:.0f} and {memory / 2**20:.0f}   "
          f"first {first:.1f} s, then {then:.1f} s", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("nets", nargs="*", default=NETS, metavar="NET:BATCH")
    parser.add_argument("--tool", default="build/release/convoy")
    parser.add_argument("--device", default="ocl:0")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    torch.backends.cudnn.benchmark = True
    torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = False
    for net in options.nets:
        compare(net, options)


if __name__ == "__main__":
    main()
