#!/usr/bin/env python3
"""Compares Convoy's CPU engine with PyTorch's CPU convolution, layer by layer, in one process.

    PYTHONPATH=bindings/python CONVOY_LIBRARY=build/release/libconvoy.so \\
        bench/compare_torch.py --shapes bench/shapes/yolov8n_b4.csv --require 0.7 0.4

Each sample times PyTorch, then Convoy, on the same arrays; the ratio of a layer is the median over
samples of (PyTorch's time / Convoy's time), so that a slow moment of the machine hits both. Totals
weigh each layer with its `count`. Results are compared before they are timed. Both use the same
number of threads and existing memory: outputs of Convoy are allocated once, and the script starts
itself again with an allocator that keeps freed memory (MALLOC_MMAP_THRESHOLD_,
MALLOC_TRIM_THRESHOLD_), without which PyTorch pays page faults on each fresh output. OpenMP threads
wait passively (OMP_WAIT_POLICY), as the two libraries take turns on the same processors.

Exit status: 0; 1 if --require is not met, with a list of what misses; 2 for wrong results.
"""

from __future__ import annotations

import argparse
import csv
import os
import statistics
import sys
import time
from typing import Any, Callable, Dict, List, NamedTuple, Tuple

ENVIRONMENT = {
    "MALLOC_MMAP_THRESHOLD_": str(1 << 32),
    "MALLOC_TRIM_THRESHOLD_": str(1 << 36),
    "OMP_WAIT_POLICY": "passive",
}
PASSES = ("forward", "backward_data", "backward_weights")


class Layer(NamedTuple):
    name: str
    count: int
    x: Tuple[int, ...]
    w: Tuple[int, ...]
    stride: Tuple[int, int]
    padding: Tuple[int, int]
    dilation: Tuple[int, int]
    groups: int

    def geometry(self) -> Dict[str, Any]:
        return {
            "stride": self.stride,
            "padding": self.padding,
            "dilation": self.dilation,
            "groups": self.groups,
        }


class Result(NamedTuple):
    layer: Layer
    direction: str
    algorithm: str
    torch_seconds: float
    convoy_seconds: float
    ratio: float
    flops: float


def read_layers(path: str) -> List[Layer]:
    with open(path, newline="") as file:
        rows = list(csv.DictReader(file))
    layers = []
    for row in rows:
        n = {key: int(value) for key, value in row.items() if key != "name"}
        layers.append(
            Layer(
                row["name"],
                n["count"],
                (n["N"], n["C"], n["H"], n["W"]),
                (n["K"], n["C"] // n["groups"], n["R"], n["S"]),
                (n["stride_h"], n["stride_w"]),
                (n["pad_h"], n["pad_w"]),
                (n["dil_h"], n["dil_w"]),
                n["groups"],
            )
        )
    return layers


def torch_pass(torch: Any, layer: Layer, direction: str, tensors: Any) -> Callable[[], Any]:
    """A call that computes one direction and returns its output."""
    x, w, dy = tensors
    geometry = layer.geometry()
    if direction == "forward":
        return lambda: torch.nn.functional.conv2d(x, w, None, **geometry)
    mask = [direction == "backward_data", direction == "backward_weights", False]
    which = mask.index(True)
    arguments = (layer.stride, layer.padding, layer.dilation, False, (0, 0), layer.groups, mask)
    backward = torch.ops.aten.convolution_backward
    return lambda: backward(dy, x, w, None, *arguments)[which]


def convoy_pass(context: Any, layer: Layer, direction: str, arrays: Any) -> Tuple[Any, Any]:
    """The same by Convoy: the call, which takes a Run to fill or None, and its output."""
    numpy = __import__("numpy")
    x, w, dy = arrays
    geometry = layer.geometry()
    if direction == "forward":
        out = numpy.empty(dy.shape, numpy.float32)
        return lambda run: context.forward(x, w, out=out, run=run, **geometry), out
    if direction == "backward_data":
        out = numpy.empty(x.shape, numpy.float32)
        return (
            lambda run: context.backward_data(dy, w, x.shape, out=out, run=run, **geometry),
            out,
        )
    out = numpy.empty(w.shape, numpy.float32)
    return lambda run: context.backward_weights(x, dy, w.shape, out=out, run=run, **geometry), out


def seconds(call: Callable[..., Any], repeats: int, *arguments: Any) -> float:
    start = time.perf_counter()
    for _ in range(repeats):
        call(*arguments)
    return (time.perf_counter() - start) / repeats


def error_of(torch: Any, ours: Any, theirs: Any) -> float:
    """Largest difference relative to the largest value; NaN if there is one."""
    theirs = theirs.contiguous()
    return float((torch.from_numpy(ours) - theirs).abs().max() / theirs.abs().max())


def measure(modules: Any, context: Any, layer: Layer, direction: str, options: Any) -> Result:
    torch, convoy = modules
    torch.manual_seed(1)
    x, w = torch.randn(layer.x), torch.randn(layer.w)
    dy = torch.randn(torch.nn.functional.conv2d(x, w, None, **layer.geometry()).shape)
    ours, out = convoy_pass(context, layer, direction, [t.numpy() for t in (x, w, dy)])
    tensors = [x, w, dy]
    if options.channels_last:
        tensors = [t.contiguous(memory_format=torch.channels_last) for t in tensors]
    theirs = torch_pass(torch, layer, direction, tensors)
    run = convoy.Run()
    ours(run)
    error = error_of(torch, out, theirs())
    if not error <= 1e-3:
        sys.exit(f"{layer.name} {direction}: {run.algorithm} differs from PyTorch by {error:.2g}")
    repeats = 1 + int(options.sample_seconds / max(seconds(theirs, 1), 1e-6))
    pairs = [
        (seconds(theirs, repeats), seconds(ours, repeats, None)) for _ in range(options.samples)
    ]
    flops = convoy.flops(direction, layer.x, layer.w, **layer.geometry())
    return Result(
        layer,
        direction,
        run.algorithm,
        statistics.median(t for t, _ in pairs),
        statistics.median(c for _, c in pairs),
        statistics.median(t / c for t, c in pairs),
        flops,
    )


def show(result: Result) -> None:
    print(
        f"{result.layer.name:24} x{result.layer.count:<2} {result.direction:16} "
        f"{result.algorithm:12} {result.torch_seconds * 1e3:9.3f} {result.convoy_seconds * 1e3:9.3f} "
        f"{result.ratio:6.2f} {result.flops / result.torch_seconds * 1e-9:8.1f} "
        f"{result.flops / result.convoy_seconds * 1e-9:8.1f}",
        flush=True,
    )


def total_ratio(results: List[Result]) -> float:
    """Time of the whole table by PyTorch over ours, from paired ratios rather than raw times."""
    ours = sum(r.layer.count * r.convoy_seconds for r in results)
    theirs = sum(r.layer.count * r.convoy_seconds * r.ratio for r in results)
    return theirs / ours


def show_totals(results: List[Result]) -> None:
    for name in [p for p in PASSES if any(r.direction == p for r in results)] + ["all"]:
        some = [r for r in results if name in ("all", r.direction)]
        ours = sum(r.layer.count * r.convoy_seconds for r in some)
        flops = sum(r.layer.count * r.flops for r in some)
        ratio = total_ratio(some)
        print(
            f"total {name:16} torch {ours * ratio * 1e3:9.2f} ms  convoy {ours * 1e3:9.2f} ms  "
            f"ratio {ratio:5.2f}  {flops / ours * 1e-9:6.1f} GFLOP/s"
        )


def misses(results: List[Result], total: float, least: float) -> List[str]:
    found = [
        f"{r.layer.name} {r.direction}: {r.ratio:.2f} < {least}"
        for r in results
        if not r.ratio >= least
    ]
    if not total_ratio(results) >= total:
        found.append(f"total: {total_ratio(results):.2f} < {total}")
    return found


def parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--shapes", nargs="+", required=True, metavar="FILE", help="CSV tables")
    parser.add_argument("--passes", default=",".join(PASSES), help="comma-separated; default all")
    parser.add_argument("--threads", type=int, default=2, help="of both libraries (default 2)")
    parser.add_argument("--samples", type=int, default=9, help="pairs per layer (default 9)")
    parser.add_argument("--sample-seconds", type=float, default=0.01, help="least time of a sample")
    parser.add_argument("--channels-last", action="store_true", help="give PyTorch NHWC tensors")
    parser.add_argument("--algorithm", help="row of Convoy's table; default: its choice")
    parser.add_argument("--layers", default="", help="only layers whose name contains this")
    parser.add_argument(
        "--require", nargs=2, type=float, metavar=("TOTAL", "LEAST"), help="ratios that must hold"
    )
    return parser.parse_args()


def main() -> int:
    options = parse_options()
    if any(os.environ.get(key) != value for key, value in ENVIRONMENT.items()):
        os.environ.update(ENVIRONMENT)
        os.execv(sys.executable, [sys.executable] + sys.argv)
    import torch

    import convoy

    torch.set_num_threads(options.threads)
    status = 0
    with convoy.open(
        device="cpu", threads=options.threads, algorithm=options.algorithm, tune=False
    ) as context:
        device = context.device
        print(f"{device.name}, {device.platform}, {device.compute_units} threads, {device.driver}")
        print(f"PyTorch {torch.__version__}, {'NHWC' if options.channels_last else 'NCHW'}")
        for path in options.shapes:
            print(f"\n{path}\n{'layer':44} {'algorithm':12} torch ms convoy ms  ratio torch GF  ours")
            results = []
            for layer in read_layers(path):
                for direction in options.passes.split(","):
                    if options.layers not in layer.name:
                        continue
                    results.append(measure((torch, convoy), context, layer, direction, options))
                    show(results[-1])
            if results:
                show_totals(results)
            for line in misses(results, *options.require) if options.require else []:
                print("MISS", line)
                status = 1
    return status


if __name__ == "__main__":
    sys.exit(main())
