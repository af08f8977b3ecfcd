#!/usr/bin/env python3
"""Times PyTorch's cuDNN on shape tables and prints Convoy's times beside it.

    build/release/convoy bench --shapes bench/shapes/*.csv --device NAME --json now.json
    python3 bench/compare_cudnn.py now.json bench/shapes/*.csv

Both on the same machine, one after the other. cuDNN works in float32 (TF32 off) on NCHW tensors, in
its benchmark mode; calls are recorded in a CUDA graph and replayed, so that the framework's own
time does not count. A sample is at least 2 ms of back-to-back calls with one wait; the median of 20
counts.
Printed are the sums of a table, each layer times its count, and the layers below --floor.
"""

from __future__ import annotations

import argparse
import csv
import statistics
import sys
from pathlib import Path

import torch

import bench_lines

PASSES = ("forward", "backward_data", "backward_weights")


def milliseconds(call, samples: int) -> float:
    """Median time of one call on the GPU."""
    begin, end = torch.cuda.Event(True), torch.cuda.Event(True)
    stream = torch.cuda.Stream()

    def timed(work) -> float:
        begin.record()
        work()
        end.record()
        end.synchronize()
        return begin.elapsed_time(end)

    with torch.cuda.stream(stream):
        for _ in range(3):
            call()
        repeat = min(300, int(2.5 / max(timed(call), 1e-3)) + 1)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=stream):
            for _ in range(repeat):
                call()
        graph.replay()
        return statistics.median(timed(graph.replay) for _ in range(samples)) / repeat


def layer_times(row: dict[str, str], samples: int) -> dict[str, float]:
    """Milliseconds of the three passes of one line of a table."""
    size = {key: int(value) for key, value in row.items() if key != "name"}
    pair = lambda name: [size[name + "_h"], size[name + "_w"]]
    stride, padding, dilation = pair("stride"), pair("pad"), pair("dil")
    x = torch.randn(size["N"], size["C"], size["H"], size["W"], device="cuda")
    w = torch.randn(size["K"], size["C"] // size["groups"], size["R"], size["S"], device="cuda")
    forward = lambda: torch.nn.functional.conv2d(
        x, w, None, stride, padding, dilation, size["groups"]
    )
    dy = torch.randn_like(forward())
    backward = lambda mask: torch.ops.aten.convolution_backward(
        dy, x, w, None, stride, padding, dilation, False, [0, 0], size["groups"], mask
    )
    data, weights = [True, False, False], [False, True, False]
    calls = (forward, lambda: backward(data), lambda: backward(weights))
    return {name: milliseconds(call, samples) for name, call in zip(PASSES, calls)}


def convoy_times(path: Path) -> dict[tuple[str, str, str], float]:
    """Median milliseconds, operands resident, by table, layer and pass."""
    return {
        (line["table"], line["shape"], line["pass"]): line["median_ms"]
        for line in bench_lines.timed(bench_lines.read_whole(path))
    }


def compare(path: Path, ours: dict, arguments) -> None:
    """Prints a table's sums and its layers below the floor."""
    sums = {name: [0.0, 0.0] for name in PASSES}
    slow = []
    for row in csv.DictReader(path.open()):
        for name, theirs in layer_times(row, arguments.samples).items():
            mine = ours[path.stem, row["name"], name]
            sums[name][0] += mine * int(row["count"])
            sums[name][1] += theirs * int(row["count"])
            if not theirs / mine >= arguments.floor:
                slow.append(f"    {row['name']} {name}: {mine:.3f} ms, cuDNN {theirs:.3f}")
    mine, theirs = (sum(sums[name][i] for name in PASSES) for i in (0, 1))
    parts = "  ".join(f"{name} {a:.2f}/{b:.2f}" for name, (a, b) in sums.items())
    ratio = theirs / mine
    print(f"{path.stem:20} {parts}  sum {mine:.2f}/{theirs:.2f} ms  cuDNN/Convoy {ratio:.2f}")
    print("\n".join(slow), end="\n" if slow else "")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("json", type=Path, help="what convoy bench --json wrote")
    parser.add_argument("shapes", type=Path, nargs="+", help="shape tables of that run")
    parser.add_argument("--samples", type=int, default=20)
    parser.add_argument("--floor", type=float, default=0.0, help="list layers below this ratio")
    arguments = parser.parse_args()
    if not torch.cuda.is_available():
        print("compare_cudnn.py: PyTorch sees no CUDA device", file=sys.stderr)
        return 3
    torch.backends.cudnn.benchmark = True
    torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = False
    ours = convoy_times(arguments.json)
    for path in arguments.shapes:
        compare(path, ours, arguments)
    return 0


if __name__ == "__main__":
    sys.exit(main())
