#!/usr/bin/env python3
"""Time over the floor, per algorithm and pass, of a file that `convoy bench --json` wrote.

    python3 bench/floors.py bench/results/2026-11-22-h200.json

The floor of a layer is the larger of its arithmetic (operations of the direct convolution, two per
multiply-add, over the measured peak) and its traffic (each operand once, over the measured copy rate).
Layers are weighed with their `count`. Those with a floor of LARGE and more stand apart: below it, what a
launch costs is most of the time.
"""

from __future__ import annotations

import json
import sys
from typing import Any, Dict, List, NamedTuple, Tuple

LARGE = 20e-6


class Layer(NamedTuple):
    arithmetic: float  # seconds, as all of them
    traffic: float
    measured: float

    def floor(self) -> float:
        return max(self.arithmetic, self.traffic)


def layer_of(line: Dict[str, Any], device: Dict[str, Any]) -> Layer:
    count = line["count"]
    return Layer(
        count * line["flops"] / device["peak_gflops"] * 1e-9,
        count * line["bytes"] / device["peak_gigabytes_per_second"] * 1e-9,
        count * line["median_ms"] * 1e-3,
    )


def read(path: str) -> Dict[Tuple[str, str], List[Tuple[Layer, bool]]]:
    """Layers per algorithm and pass, each with whether a single one is large."""
    layers: Dict[Tuple[str, str], List[Tuple[Layer, bool]]] = {}
    device: Dict[str, Any] = {}
    with open(path, encoding="utf-8") as file:
        for text in file:
            line = json.loads(text)
            if line["type"] == "head":
                device = line["devices"][0]
            if line["type"] != "line" or line["status"] != "ok":
                continue
            layer = layer_of(line, device)
            key = line["algorithm"], line["pass"]
            layers.setdefault(key, []).append((layer, layer.floor() >= LARGE * line["count"]))
    return layers


def over_floor(layers: List[Layer]) -> str:
    floor = sum(layer.floor() for layer in layers)
    return f"{sum(layer.measured for layer in layers) / floor:.2f}" if floor > 0 else ""


def main() -> int:
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    print("| row, pass | layers | arithmetic | traffic | measured | over floor | large ones |")
    print("|---|---|---|---|---|---|---|")
    for (algorithm, direction), found in sorted(read(sys.argv[1]).items()):
        every = [layer for layer, _ in found]
        large = [layer for layer, is_large in found if is_large]
        sums = (1e3 * sum(getattr(layer, field) for layer in every) for field in Layer._fields)
        arithmetic, traffic, measured = (f"{value:.3f}" for value in sums)
        print(
            f"| {algorithm} {direction} | {len(every)} | {arithmetic} | {traffic} | {measured} "
            f"| {over_floor(every)} | {over_floor(large)} ({len(large)}) |"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
