"""How long a training step of networks of several libraries takes, in plain PyTorch and with
convoy.torch as it is enabled by default, which measures its ways and takes the fastest.

    PYTHONPATH=bindings/python python3 bench/network_times.py [--device cpu] [--seconds 120]
        [--json FILE] [NETWORK...]

The networks are those of bench/network_table.py, with two samples each. A step is forward, the mean
squares of all results, and backward. Each network has a process of its own, in which both take
turns: a turn is some steps of one, and what counts is the fastest turn's median. What has been
measured once is written down; here that starts anew for each network. Prints a row for each, and at
the end the median ratio and those that are slower by more than 5 %; exit status 1 if there are any.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from typing import Any, Dict, List

from torch_networks import answer_of, tensors_of

TURNS = 5
MOST_STEPS, TURN_SECONDS = 20, 0.6  # of a turn
SETTLING = 24  # steps until ways have been measured
SLOWER = 1.05


def steps_of(network: Any, batch: Any) -> Any:
    import torch

    torch.manual_seed(0)
    network.train()

    def step() -> float:
        begin = time.perf_counter()
        network.zero_grad(set_to_none=True)
        made = tensors_of(network(batch))
        sum(each.square().mean() for each in made if each.requires_grad).backward()
        return time.perf_counter() - begin

    return step


def turn(step: Any, count: int) -> float:
    step()  # brings back what the other turn has displaced
    return statistics.median(step() for _ in range(count))


def measure(name: str, device: str) -> Dict[str, Any]:
    import network_table

    network, batch = network_table.build(name, False)

    import convoy.torch
    from convoy.torch import _switch
    from convoy.torch._plainly import plainly

    convoy.torch.enable(device=device)
    step = steps_of(network, batch)
    for _ in range(SETTLING):
        step()
    before = _switch._current.statistics.networks()
    with plainly():
        once = turn(step, 1)
    count = max(1, min(MOST_STEPS, int(TURN_SECONDS / once)))
    plain, ours = [], []
    for _ in range(TURNS):
        with plainly():
            plain.append(turn(step, count))
        ours.append(turn(step, count))
    new = _switch._current.statistics.networks()
    ways = {key: n - before.get(key, 0) for key, n in new.items()}
    way = max(ways, key=lambda key: ways[key])[1]
    return {"network": name, "plain": min(plain), "convoy": min(ours), "way": way}


def asked(name: str, options: Any) -> Dict[str, Any]:
    """The row, from a process of its own."""
    command = [sys.executable, __file__, "--device", options.device, "--one", name]
    with tempfile.TemporaryDirectory() as folder:
        given = {**os.environ, "CONVOY_ROUTE_FILE": os.path.join(folder, "routes.txt")}
        try:
            ran = subprocess.run(
                command, capture_output=True, text=True, timeout=options.seconds, env=given,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return {"network": name, "failed": f"no end within {options.seconds} seconds"}
    return answer_of(name, ran)


def shown(row: Dict[str, Any]) -> str:
    if "failed" in row:
        return f"| {row['network']} | | | | {row['failed']} |"
    plain, ours = row["plain"] * 1e3, row["convoy"] * 1e3
    return f"| {row['network']} | {plain:.1f} | {ours:.1f} | {ours / plain:.2f} | {row['way']} |"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="all when none is given")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--seconds", type=float, default=120, help="for one network")
    parser.add_argument("--json", help="a file for the rows, a line each")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        warnings.simplefilter("ignore")
        print(json.dumps(measure(options.one, options.device)))
        return 0

    import network_table

    print("| network | PyTorch ms | Convoy ms | part | way |\n|---|---|---|---|---|", flush=True)
    rows: List[Dict[str, Any]] = []
    for name in options.names or network_table.NETWORKS:
        rows.append(asked(name, options))
        print(shown(rows[-1]), flush=True)
        if options.json:
            with open(options.json, "a", encoding="utf-8") as file:
                file.write(json.dumps(rows[-1]) + "\n")
    parts = {row["network"]: row["convoy"] / row["plain"] for row in rows if "plain" in row}
    slower = [f"{name} {part:.2f}" for name, part in parts.items() if part > SLOWER]
    middle = statistics.median(parts.values()) if parts else float("nan")
    print(f"\n{len(parts)} of {len(rows)} networks, the median {middle:.2f} of PyTorch's time, "
          f"{len(slower)} slower by more than 5 %: {', '.join(slower)}")
    return 1 if slower or len(parts) < len(rows) else 0


if __name__ == "__main__":
    os.environ.setdefault("YOLO_VERBOSE", "False")
    sys.exit(main())
