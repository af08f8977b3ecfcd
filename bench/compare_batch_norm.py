#!/usr/bin/env python3
"""Compares batch norm with SiLU on the CPU engine with PyTorch's, over the maps of a shape table.

    PYTHONPATH=bindings/python CONVOY_LIBRARY=build/release/libconvoy.so \\
        bench/compare_batch_norm.py                       # every map of yolov8n_b4
        bench/compare_batch_norm.py --table resnet50_b8 --samples 5

Forward is batch norm in training mode, statistics included, and SiLU; backward is the gradient of
both for the input, gamma and beta. PyTorch runs its two operations, Convoy a reduction, a program
of one number per channel and a program over the map for each pass (Program.named). Each sample
times PyTorch, then Convoy, on the same values; a map's ratio is the median over samples of
PyTorch's time over Convoy's, and totals weigh each map with its count. Results are compared before
they are timed.

Both use the same number of threads and existing memory (MALLOC_MMAP_THRESHOLD_ and
MALLOC_TRIM_THRESHOLD_, without which PyTorch pays page faults on each output). Exit status: 0; 1 if
a total is below --require; 2 for wrong results.
"""

from __future__ import annotations

import argparse
import csv
import os
import statistics
import sys
import time
from typing import Any, Callable, Dict, List, NamedTuple, Tuple

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
ENVIRONMENT = {"MALLOC_MMAP_THRESHOLD_": str(1 << 32), "MALLOC_TRIM_THRESHOLD_": str(1 << 36)}
EPSILON = 1e-3


class Passes(NamedTuple):
    forward: Callable[[], Any]
    backward: Callable[[], Any]


class Result(NamedTuple):
    count: int
    torch_seconds: float
    convoy_seconds: float
    ratio: float


def maps_of(table: str) -> Dict[Tuple[int, ...], int]:
    """The outputs of a table's convolutions, and how often each occurs."""
    maps: Dict[Tuple[int, ...], int] = {}
    with open(os.path.join(ROOT, "bench/shapes", table + ".csv"), newline="") as file:
        for row in csv.DictReader(file):
            n = {key: int(value) for key, value in row.items() if key != "name"}
            shape = (n["N"], n["K"], extent(n, "H", "R", "h"), extent(n, "W", "S", "w"))
            maps[shape] = maps.get(shape, 0) + n["count"]
    return maps


def extent(n: Dict[str, int], size: str, taps: str, axis: str) -> int:
    covered = n["dil_" + axis] * (n[taps] - 1) + 1
    return (n[size] + 2 * n["pad_" + axis] - covered) // n["stride_" + axis] + 1


def torch_passes(torch: Any, values: Dict[str, Any], out: Dict[str, Any]) -> Passes:
    x = values["x"].clone().requires_grad_()
    gamma = values["gamma"].clone().requires_grad_()
    beta = values["beta"].clone().requires_grad_()

    def forward() -> None:
        normalised = torch.nn.functional.batch_norm(x, None, None, gamma, beta, True, 0.0, EPSILON)
        out["y"] = torch.nn.functional.silu(normalised)

    def backward() -> None:
        out["dx"], out["dgamma"], out["dbeta"] = torch.autograd.grad(
            out["y"], (x, gamma, beta), values["dy"], retain_graph=True
        )

    return Passes(forward, backward)


def convoy_passes(modules: Any, context: Any, values: Dict[str, Any], t: Dict[str, Any]) -> Passes:
    """The same on tensors of `context`, which `t` gets."""
    torch, convoy = modules
    shape, channels = values["x"].shape, (values["x"].shape[1],)
    for name, value in values.items():
        t[name] = context.tensor(value.numpy())
    for name in ("mean", "variance", "deviation", "scale", "sum", "dot", "a", "b"):
        t[name] = context.tensor(channels)
    t["y"], t["dx"] = context.tensor(shape), context.tensor(shape)
    for name, number in (("epsilon", EPSILON), ("count", values["x"].numel() / channels[0])):
        t[name] = context.tensor(torch.tensor([number]).numpy())
    named = convoy.Program.named
    statistics_of, numbers = named("statistics"), named("normalise_numbers")
    normalise, sums = named("normalise_silu"), named("normalise_silu_sums")
    data, means = named("normalise_silu_backward"), convoy.Program("a = s / n; b = d / n")

    def apply(program: Any, **renamed: str) -> None:
        inputs = [t[renamed.get(name, name)] for name in program.inputs]
        context.apply(program, *inputs, out=[t[renamed.get(n, n)] for n in program.results])

    def forward() -> None:
        apply(statistics_of)
        apply(numbers)
        apply(normalise, shift="beta")

    def backward() -> None:
        apply(sums, a="sum", b="dot")
        apply(means, s="sum", d="dot", n="count")
        apply(data)

    return Passes(forward, backward)


def seconds(call: Callable[[], Any], repeats: int) -> float:
    start = time.perf_counter()
    for _ in range(repeats):
        call()
    return (time.perf_counter() - start) / repeats


def check(torch: Any, theirs: Dict[str, Any], t: Dict[str, Any]) -> None:
    pairs = (("y", "y"), ("dx", "dx"), ("dgamma", "dot"), ("dbeta", "sum"))
    for name, ours in pairs:
        wanted = theirs[name].detach()
        error = float((torch.from_numpy(t[ours].numpy()) - wanted).abs().max() / wanted.abs().max())
        if not error <= 1e-4:
            print(f"{name} differs from PyTorch's by {error:.2g} of the largest value")
            sys.exit(2)


def measure(modules: Any, context: Any, shape: Tuple[int, ...], count: int, options: Any) -> Any:
    torch, convoy = modules
    torch.manual_seed(1)
    channels = shape[1]
    values = {"x": torch.randn(shape), "dy": torch.randn(shape)}
    values["gamma"], values["beta"] = torch.rand(channels) + 0.5, torch.randn(channels)
    out: Dict[str, Any] = {}
    tensors: Dict[str, Any] = {}
    theirs = torch_passes(torch, values, out)
    ours = convoy_passes((torch, convoy), context, values, tensors)
    for passes in (theirs, ours):
        passes.forward()
        passes.backward()
    check(torch, out, tensors)
    results = []
    for their, our in zip(theirs, ours):
        repeats = 1 + int(options.sample_seconds / max(seconds(their, 1), 1e-6))
        pairs = [(seconds(their, repeats), seconds(our, repeats)) for _ in range(options.samples)]
        ratio = statistics.median(a / b for a, b in pairs)
        medians = [statistics.median(side) for side in zip(*pairs)]
        results.append(Result(count, medians[0], medians[1], ratio))
    return results


def total(results: List[Result]) -> float:
    ours = sum(r.count * r.convoy_seconds for r in results)
    return sum(r.count * r.convoy_seconds * r.ratio for r in results) / ours


def parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--table", default="yolov8n_b4", help="of bench/shapes")
    parser.add_argument("--threads", type=int, default=2, help="of both (default 2)")
    parser.add_argument("--samples", type=int, default=7, help="pairs per map (default 7)")
    parser.add_argument("--sample-seconds", type=float, default=0.02, help="least of a sample")
    parser.add_argument(
        "--require", nargs=2, type=float, metavar=("FORWARD", "BACKWARD"), default=(3.0, 1.5)
    )
    return parser.parse_args()


def main() -> int:
    options = parse_options()
    if any(os.environ.get(name) != value for name, value in ENVIRONMENT.items()):
        os.execve(sys.executable, [sys.executable, *sys.argv], {**os.environ, **ENVIRONMENT})
    import torch

    import convoy

    torch.set_num_threads(options.threads)
    totals: Tuple[List[Result], List[Result]] = ([], [])
    with convoy.Context(device="cpu", threads=options.threads) as context:
        for shape, count in maps_of(options.table).items():
            both = measure((torch, convoy), context, shape, count, options)
            line = "x".join(map(str, shape)) + f" (x{count})"
            for name, result, results in zip(Passes._fields, both, totals):
                line += f"  {name} {result.torch_seconds * 1e3:8.3f} / "
                line += f"{result.convoy_seconds * 1e3:8.3f} ms {result.ratio:5.2f}"
                results.append(result)
            print(line, flush=True)
    missed = False
    for name, results, least in zip(Passes._fields, totals, options.require):
        ours = sum(r.count * r.convoy_seconds for r in results) * 1e3
        print(f"total {name}: convoy {ours:.2f} ms, ratio {total(results):.2f} of {least}")
        missed = missed or total(results) < least
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
