#!/usr/bin/env python3
"""Compares Convoy's CPU engine with PyTorch's CPU convolution, layer by layer, in one process.

    PYTHONPATH=bindings/python CONVOY_LIBRARY=build/release/libconvoy.so \\
        bench/compare_torch.py                            # four tables with figures to reach
        bench/compare_torch.py --tables yolov8n_b4 --only 1x1 --passes forward
        bench/compare_torch.py --channels-last            # PyTorch gets NHWC tensors
        bench/compare_torch.py --isa avx2                 # both restricted to AVX2

Each sample times PyTorch, then Convoy, on the same arrays; the ratio of a layer is the median over
samples of (PyTorch's time / Convoy's time), so that a slow moment of the machine hits both. Totals
weigh each layer with its `count`. Results are compared before they are timed. Two modes: isolated,
one convolution after another; alternating, with an operation of PyTorch's between any two (not
timed), as in a training step.

Both libraries use the same number of threads and existing memory: outputs of Convoy are allocated
once, and the script starts itself again with an allocator that keeps freed memory
(MALLOC_MMAP_THRESHOLD_, MALLOC_TRIM_THRESHOLD_), without which PyTorch pays page faults on each
fresh output. Both compute on the threads of one OpenMP runtime, if PyTorch brings the one that
Convoy is linked with; with two, OMP_WAIT_POLICY=passive keeps either from the other's cores.

Where other work shares the processors, --processor-time --threads 1 compares the processor time of
both instead: what others take is not in it, though what they do to caches and memory is.

The figures to reach stand in FIGURES; in a subset (--only, --passes) only that of single layers
holds. Exit status: 0; 1 if a figure is missed, with a list; 2 for wrong results.
"""

from __future__ import annotations

import argparse
import csv
import os
import pathlib
import re
import statistics
import sys
import time
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Tuple

ENVIRONMENT = {
    "MALLOC_MMAP_THRESHOLD_": str(1 << 32),
    "MALLOC_TRIM_THRESHOLD_": str(1 << 36),
}
PASSES = ("forward", "backward_data", "backward_weights")
MODES = ("isolated", "alternating")

# What a table's total must reach: against NCHW tensors, against NHWC tensors, and NCHW with AVX2.
FIGURES = {
    "yolov8n_b4": (1.6, 1.2, 1.3),
    "resnet50_b8": (1.3, 1.1, 1.1),
    "mobilenetv2_dw_b8": (3.0, 1.5, 2.5),
    "eeg": (3.0, 2.0, 2.5),
}
LEAST = 0.9  # of each layer and pass of these tables


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
    mode: str
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


class Clock(NamedTuple):
    """Times calls. `between`, if there is one, runs before each call and is not timed."""

    now: Callable[[], float]
    between: Optional[Callable[[], Any]]

    def seconds(self, call: Callable[..., Any], repeats: int, *arguments: Any) -> float:
        total = 0.0
        for _ in range(repeats):
            if self.between:
                self.between()
            start = self.now()
            call(*arguments)
            total += self.now() - start
        return total / repeats


def clock_of(torch: Any, mode: str, options: Any) -> Clock:
    now = time.process_time if options.processor_time else time.perf_counter
    if mode == "isolated":
        return Clock(now, None)
    other = torch.randn(1 << 20)  # large enough for PyTorch to use its threads
    return Clock(now, lambda: torch.relu(other))


def error_of(torch: Any, ours: Any, theirs: Any) -> float:
    """Largest difference relative to the largest value; NaN if there is one."""
    theirs = theirs.contiguous()
    return float((torch.from_numpy(ours) - theirs).abs().max() / theirs.abs().max())


def ratio_of(pairs: List[Tuple[float, float]]) -> float:
    return statistics.median(theirs / ours for theirs, ours in pairs)


def measure(modules: Any, context: Any, layer: Layer, direction: str, options: Any) -> List[Result]:
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
        print(f"{layer.name} {direction}: {run.algorithm} differs from PyTorch by {error:.2g}")
        sys.exit(2)
    flops = convoy.flops(direction, layer.x, layer.w, **layer.geometry())
    results = []
    for mode in options.modes:
        clock = clock_of(torch, mode, options)
        repeats = 1 + int(options.sample_seconds / max(clock.seconds(theirs, 1), 1e-6))
        pairs = [
            (clock.seconds(theirs, repeats), clock.seconds(ours, repeats, None))
            for _ in range(options.samples)
        ]
        torch_seconds = statistics.median(t for t, _ in pairs)
        convoy_seconds = statistics.median(c for _, c in pairs)
        results.append(
            Result(
                layer,
                direction,
                mode,
                run.algorithm,
                torch_seconds,
                convoy_seconds,
                ratio_of(pairs),
                flops,
            )
        )
    return results


def show(result: Result) -> None:
    print(
        f"{result.layer.name:24} x{result.layer.count:<2} {result.direction:16} "
        f"{result.mode:11} {result.algorithm:17} "
        f"{result.torch_seconds * 1e3:9.3f} {result.convoy_seconds * 1e3:9.3f} "
        f"{result.ratio:6.2f} {result.flops / result.torch_seconds * 1e-9:8.1f} "
        f"{result.flops / result.convoy_seconds * 1e-9:8.1f}",
        flush=True,
    )


def total_ratio(results: List[Result]) -> float:
    """Time of the whole table by PyTorch over ours, from paired ratios rather than raw times."""
    ours = sum(r.layer.count * r.convoy_seconds for r in results)
    theirs = sum(r.layer.count * r.convoy_seconds * r.ratio for r in results)
    return theirs / ours


def show_totals(mode: str, results: List[Result]) -> None:
    for name in [p for p in PASSES if any(r.direction == p for r in results)] + ["all"]:
        some = [r for r in results if name in ("all", r.direction)]
        ours = sum(r.layer.count * r.convoy_seconds for r in some)
        flops = sum(r.layer.count * r.flops for r in some)
        ratio = total_ratio(some)
        print(
            f"total {name:16} {mode:11} torch {ours * ratio * 1e3:9.2f} ms  "
            f"convoy {ours * 1e3:9.2f} ms  ratio {ratio:5.2f}  {flops / ours * 1e-9:6.1f} GFLOP/s"
        )


def figures_of(table: str, options: Any) -> Tuple[Optional[float], Optional[float]]:
    """What the total and each single layer must reach; None: nothing is asked."""
    if options.require:
        return tuple(options.require)
    if table not in FIGURES:
        return None, None
    nchw, nhwc, avx2 = FIGURES[table]
    total = nhwc if options.channels_last else avx2 if options.isa == "avx2" else nchw
    return (None if options.only or options.passes != PASSES else total), LEAST


def misses(
    mode: str, results: List[Result], total: Optional[float], least: Optional[float]
) -> List[str]:
    found = [
        f"{r.layer.name} {r.direction} {mode}: {r.ratio:.2f} < {least}"
        for r in results
        if least is not None and not r.ratio >= least
    ]
    if total is not None and not total_ratio(results) >= total:
        found.append(f"total {mode}: {total_ratio(results):.2f} < {total}")
    return found


def words_of(known: Tuple[str, ...]) -> Callable[[str], Tuple[str, ...]]:
    """A parser of comma-separated words out of those known."""

    def parse(text: str) -> Tuple[str, ...]:
        words = tuple(text.split(","))
        for word in words:
            if word not in known:
                raise argparse.ArgumentTypeError(f"{word!r} is none of {', '.join(known)}")
        return words

    return parse


def parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--tables", nargs="+", default=list(FIGURES), metavar="NAME", help="of bench/shapes"
    )
    parser.add_argument(
        "--shapes", nargs="+", default=[], metavar="FILE", help="CSV tables instead"
    )
    parser.add_argument("--passes", type=words_of(PASSES), default=PASSES, help="comma-separated")
    parser.add_argument("--modes", type=words_of(MODES), default=MODES, help="comma-separated")
    parser.add_argument("--only", default="", metavar="REGEX", help="layers whose name it matches")
    parser.add_argument("--threads", type=int, default=2, help="of both libraries (default 2)")
    parser.add_argument("--samples", type=int, default=9, help="pairs per layer (default 9)")
    parser.add_argument("--sample-seconds", type=float, default=0.01, help="least time of a sample")
    parser.add_argument("--processor-time", action="store_true", help="instead of elapsed time")
    parser.add_argument("--channels-last", action="store_true", help="give PyTorch NHWC tensors")
    parser.add_argument("--isa", choices=("avx2",), help="restrict both libraries")
    parser.add_argument("--algorithm", help="row of Convoy's table; default: its choice")
    parser.add_argument(
        "--require", nargs=2, type=float, metavar=("TOTAL", "LEAST"), help="instead of FIGURES"
    )
    return parser.parse_args()


def environment(options: Any) -> Dict[str, str]:
    if not options.isa:
        return ENVIRONMENT
    isa = {"CONVOY_CPU_ISA": options.isa, "ONEDNN_MAX_CPU_ISA": options.isa.upper()}
    return {**ENVIRONMENT, **isa}


def compare(modules: Any, context: Any, path: str, options: Any) -> List[str]:
    """One table; returns what it misses."""
    print(f"\n{path}\n{'layer':44} {'mode':11} {'algorithm':17}", end="")
    print("  torch ms convoy ms  ratio torch GF  ours")
    results: List[Result] = []
    for layer in read_layers(path):
        if not re.search(options.only, layer.name):
            continue
        for direction in options.passes:
            for result in measure(modules, context, layer, direction, options):
                show(result)
                results.append(result)
    missed = []
    for mode in options.modes if results else ():
        some = [r for r in results if r.mode == mode]
        show_totals(mode, some)
        missed += misses(mode, some, *figures_of(pathlib.Path(path).stem, options))
    return [f"{path}: {line}" for line in missed]


def main() -> int:
    options = parse_options()
    if any(os.environ.get(key) != value for key, value in environment(options).items()):
        os.environ.update(environment(options))
        os.execv(sys.executable, [sys.executable] + sys.argv)
    import torch

    import convoy

    torch.set_num_threads(options.threads)
    shapes = pathlib.Path(__file__).parent / "shapes"
    paths = options.shapes or [str(shapes / f"{name}.csv") for name in options.tables]
    missed: List[str] = []
    with convoy.open(
        device="cpu", threads=options.threads, algorithm=options.algorithm, tune=False
    ) as context:
        device = context.device
        print(f"{device.name}, {device.platform}, {device.compute_units} threads, {device.driver}")
        print(f"PyTorch {torch.__version__}, {'NHWC' if options.channels_last else 'NCHW'}")
        for path in paths:
            missed += compare((torch, convoy), context, path, options)
    for line in missed:
        print("MISS", line)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
