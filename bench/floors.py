#!/usr/bin/env python3
"""Time over the floor, per algorithm and pass, of a file that `convoy bench --json` wrote.

    python3 bench/floors.py bench/results/2026-11-22-h200.json

The floor of a layer is the larger of its arithmetic (operations of the direct convolution, two per
multiply-add, over the measured peak) and its traffic (each operand once, over the measured copy
rate). Layers are weighed with their `count`. Those with a floor of LARGE and more stand apart:
below it, what a launch costs is most of the time.
"""

from __future__ import annotations

import sys
from typing import Dict, List, NamedTuple, Tuple

import bench_lines

LARGE = 20e-6


class Layer(NamedTuple):
    count: int
    arithmetic: float  # seconds, as all of them
    traffic: float
    measured: float

    def floor(self) -> float:
        return max(self.arithmetic, self.traffic)


def read(path: str) -> Dict[Tuple[str, str], List[Layer]]:
    """Layers per algorithm and pass."""
    layers: Dict[Tuple[str, str], List[Layer]] = {}
    for line in bench_lines.timed(bench_lines.read_whole(path)):
        shares = line["flops_share"], line["copy_share"], 1.0  # of the device's peaks
        times = (line["median_ms"] * 1e-3 * share for share in shares)
        key = line["algorithm"], line["pass"]
        layers.setdefault(key, []).append(Layer(line["count"], *times))
    return layers


def over_floor(layers: List[Layer]) -> str:
    floor = sum(layer.count * layer.floor() for layer in layers)
    measured = sum(layer.count * layer.measured for layer in layers)
    return f"{measured / floor:.2f}" if floor > 0 else ""


def main() -> int:
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    rows = read(sys.argv[1])
    print("| row, pass | layers | arithmetic | traffic | measured | over floor | large ones |")
    print("|---|---|---|---|---|---|---|")
    for (algorithm, direction), every in sorted(rows.items()):
        large = [layer for layer in every if layer.floor() >= LARGE]
        fields = ("arithmetic", "traffic", "measured")
        sums = (sum(layer.count * getattr(layer, field) for layer in every) for field in fields)
        arithmetic, traffic, measured = (f"{1e3 * value:.3f}" for value in sums)
        print(
            f"| {algorithm} {direction} | {len(every)} | {arithmetic} | {traffic} | {measured} "
            f"| {over_floor(every)} | {over_floor(large)} ({len(large)}) |"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
