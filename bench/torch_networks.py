"""Networks of several libraries in plain PyTorch and captured as graphs: one training step and one
evaluation each, from the same weights and batch, and how far results and gradients lie apart.

    PYTHONPATH=bindings/python python3 bench/torch_networks.py --device cpu
    PYTHONPATH=bindings/python python3 bench/torch_networks.py --device ocl:0 resnet18 EEGNetv4

Each network has a process of its own. What counts is ||a - b|| / ||b|| of each result and each
gradient, b being PyTorch's. Where more than 1e-3 is between them, as in gradients that are nothing
but rounding, and where an activation comes to lie on the other side of a threshold, PyTorch in
float64 judges: Convoy's may be four times as far from that as PyTorch's own float32, or as float64
with all weights and the batch off by 2^-21; that is tried up to eight times. A gradient of which
PyTorch's float32 has no digit has only to be as small as such. Where one is farther all the same,
the network is compared once more with smooth activations in place of those with thresholds: behind
these a single element on the other side may count for more than all rounding; "thresholds" in the
row counts them. Exit status 1 if one is farther there, too, or no row came.
"""

from __future__ import annotations

import argparse
import copy
import json
import os
import subprocess
import sys
import warnings
from typing import Any, Dict, List, NamedTuple, Optional, Tuple

CLOSE = 1e-3
AS_FAR = 4.0
SHAKEN = 2.0**-21
MOST_SHAKEN = 8
TRIES = 15  # calls in which a captured network may be proved: five for each of three batches
ROUNDING_ONLY = 1e-4  # of the largest gradient's norm: what a gradient without digits may have

COLUMNS = [
    "network",
    "library",
    "parameters",
    "captured",
    "operations",
    "results",
    "gradients",
    "by float64",
    "Convoy",
    "PyTorch",
]


# --------------------------------------------------------------------------------- in the process


class Step(NamedTuple):
    results: Dict[str, Any]
    gradients: Dict[str, Any]


def tensors_of(returned: Any) -> List[Any]:
    import torch
    from torch.utils._pytree import tree_flatten

    leaves = tree_flatten(returned)[0]
    return [each for each in leaves if torch.is_tensor(each) and each.is_floating_point()]


def train(network: Any, batch: Any) -> Step:
    """Mean squares of all results that have gradients."""
    network.zero_grad(set_to_none=True)
    made = tensors_of(network(batch))
    sum(each.square().mean() for each in made if each.requires_grad).backward()
    results = {f"result {at}": each.detach().clone() for at, each in enumerate(made)}
    for name, each in network.named_buffers():
        if each.is_floating_point():
            results[f"the new {name}"] = each.clone()
    parameters = network.named_parameters()
    gradients = {name: each.grad.clone() for name, each in parameters if each.grad is not None}
    return Step(results, gradients)


def evaluate(network: Any, batch: Any) -> Step:
    import torch

    with torch.no_grad():
        made = tensors_of(network(batch))
    return Step({f"result {at}": each.clone() for at, each in enumerate(made)}, {})


def distance(a: Any, b: Any) -> float:
    far = float((a.double() - b.double()).norm())
    return far and far / max(float(b.double().norm()), 1e-300)


class Side:
    """One network in one mode, from the same state each time."""

    def __init__(self, network: Any, batch: Any, step: Any) -> None:
        self._network, self._batch, self._step = network, batch, step
        self._state = copy.deepcopy(network.state_dict())

    def run(self, batch: Any = None) -> Step:
        """With its own batch, or with another one."""
        self._network.load_state_dict(self._state)
        network = self._network.train(self._step is train)
        return self._step(network, self._batch if batch is None else batch)

    def run_with_others(self) -> None:
        """As a training does, until it is captured or given up."""
        import torch

        numbers = torch.Generator().manual_seed(1)
        for _ in range(TRIES):
            self.run(torch.rand(self._batch.shape, generator=numbers))

    def shaken(self, which: int, dtype: Any) -> Step:
        """By PyTorch in this type, slightly off by other numbers for each `which`, 0 for none."""
        import torch

        self._network.load_state_dict(self._state)
        network, batch = copy.deepcopy(self._network), self._batch.clone()
        numbers = torch.Generator().manual_seed(which)
        with torch.no_grad():
            for each in [*network.parameters(), batch] if which else []:
                each.mul_(1 + SHAKEN * (2 * torch.rand(each.shape, generator=numbers) - 1))
        network = network.to(dtype).train(self._step is train)
        return self._step(network, batch.to(dtype))


class Exact:
    """PyTorch in float64, and as often as needed slightly off, in float32 as well."""

    def __init__(self, side: Side, plainly: Any) -> None:
        self._side, self._plainly = side, plainly
        self._steps: List[Tuple[Step, Step]] = []

    def steps(self, which: int) -> Tuple[Step, Step]:
        import torch

        while len(self._steps) <= which:
            with self._plainly():
                at = len(self._steps)
                both = [self._side.shaken(at, each) for each in (torch.float64, torch.float32)]
                self._steps.append((both[0], both[1]))
        return self._steps[which]

    def explains(self, kind: str, name: str, ours: Any, largest: float) -> str:
        """Empty where rounding explains ours, else a sentence."""
        true = getattr(self.steps(0)[0], kind)[name]
        far, reach = distance(ours, true), 0.0
        for which in range(MOST_SHAKEN + 1):
            wide, narrow = (getattr(each, kind)[name] for each in self.steps(which))
            reach = max(reach, distance(wide, true), distance(narrow, wide))
            if far <= AS_FAR * reach:
                return ""
            if reach >= 1 and float(ours.norm()) <= ROUNDING_ONLY * largest:
                return ""
        return f"{far:.2g} from float64, rounding {reach:.2g}"


def judged(kind: str, ours: Step, theirs: Step, exact: Exact) -> Dict[str, Any]:
    """The worst distance, how many were judged in float64, and what is out of bound."""
    mine, wanted = getattr(ours, kind), getattr(theirs, kind)
    largest = max((float(each.norm()) for each in wanted.values()), default=0.0)
    worst, asked, out = 0.0, 0, []
    if mine.keys() != wanted.keys():
        out.append(f"{sorted(mine.keys() ^ wanted.keys())[:3]} on one side only")
    for name in mine.keys() & wanted.keys():
        a, b = mine[name], wanted[name]
        far = distance(a, b)
        if far <= CLOSE:
            worst = max(worst, far)
            continue
        asked += 1
        said = exact.explains(kind, name, a, largest)
        if said:
            out.append(f"{name}: {said}")
    return {"worst": worst, "count": len(wanted), "asked": asked, "out": out}


def together(ours: Step, exact: Exact) -> List[float]:
    """How far Convoy's gradients are from float64's, as one vector, and PyTorch's float32 ones."""
    wide, narrow = (each.gradients for each in exact.steps(0))
    norm = sum(float(each.norm()) ** 2 for each in wide.values()) ** 0.5
    parts = [
        sum(float((each[name].double() - wide[name]).norm()) ** 2 for name in wide) ** 0.5
        for each in (ours.gradients, narrow)
    ]
    return [part / max(norm, 1e-300) for part in parts]


def beside(side: Side, plainly: Any) -> Tuple[Step, Step]:
    """Convoy's step and PyTorch's. The first call of a kind is PyTorch's in both."""
    with plainly():
        theirs = side.run()
    side.run()
    side.run_with_others()
    return side.run(), theirs


def captured(counts: Any, before: Any) -> str:
    """Whether the outermost call became a graph, else the reason."""
    new = {key: count - before.get(key, 0) for key, count in counts.items()}
    new = {key: count for key, count in new.items() if count}
    if not new:
        return "nothing was called"
    name, how, why = list(new)[0]  # of the outermost: it was counted first
    if any(key[0] == name and key[1] == "graph" for key in new):
        return "graph"
    reasons = [key[2] for key in new if key[0] == name]
    reasons = [each for each in reasons if each != "the first call of its kind"]
    return (reasons or [why])[0]


def operations(networks: Any) -> int:
    """Of all graphs that were captured."""
    total = 0
    for _, record in networks._records.values():
        for network in record.networks.values():
            total += network.pair._instances[0]._graph.plan().operations
    return total


def compare(name: str, device: str, smooth: bool) -> Dict[str, Any]:
    import network_table

    network, batch = network_table.build(name, smooth)

    import convoy.torch
    from convoy.torch import _switch
    from convoy.torch._plainly import plainly

    convoy.torch.enable(device=device, route="graph")
    row: Dict[str, Any] = {
        "network": name,
        "library": network_table.NETWORKS[name].library,
        "parameters": sum(each.numel() for each in network.parameters()),
    }
    for mode, step in ("training", train), ("evaluation", evaluate):
        before = _switch._current.statistics.networks()
        side = Side(network, batch, step)
        ours, theirs = beside(side, plainly)
        exact = Exact(side, plainly)
        row[mode] = {"how": captured(_switch._current.statistics.networks(), before)}
        row[mode]["results"] = judged("results", ours, theirs, exact)
        if step is train:
            row[mode]["gradients"] = judged("gradients", ours, theirs, exact)
            row[mode]["together"] = together(ours, exact)
            row["operations"] = operations(_switch._current.networks)
    health = _switch._current.states()
    row["faults"] = sum(each.health.faults for each in health)
    return row


# ------------------------------------------------------------------------------------- the table


def asked(name: str, options: Any, smooth: bool) -> Dict[str, Any]:
    """The row, from a process of its own."""
    command = [sys.executable, __file__, "--device", options.device, "--one", name]
    command += ["--smooth"] if smooth else []
    try:
        ran = subprocess.run(
            command, capture_output=True, text=True, timeout=options.seconds, check=False
        )
    except subprocess.TimeoutExpired:
        return {"network": name, "failed": f"no end within {options.seconds} seconds"}
    return answer_of(name, ran)


def answer_of(name: str, ran: Any) -> Dict[str, Any]:
    """The row that a process has printed last, or why there is none."""
    for line in reversed(ran.stdout.splitlines()):
        if line.startswith("{"):
            return json.loads(line)
    last = (ran.stderr.strip().splitlines() or [f"exit status {ran.returncode}"])[-1]
    return {"network": name, "failed": last[:200]}


def out_of_bound(row: Dict[str, Any]) -> List[str]:
    if "failed" in row:
        return [row["failed"]]
    if "smooth" in row:
        return out_of_bound(row["smooth"])
    kinds = [("training", "results"), ("training", "gradients"), ("evaluation", "results")]
    return [each for mode, kind in kinds for each in row[mode][kind]["out"]]


def is_captured(row: Dict[str, Any]) -> bool:
    return all(row.get(mode, {}).get("how") == "graph" for mode in ("training", "evaluation"))


def how(row: Dict[str, Any]) -> str:
    """"yes", or the reason, by mode where they differ."""
    hows = {mode: row[mode]["how"] for mode in ("training", "evaluation")}
    if is_captured(row):
        return "yes"
    if len(set(hows.values())) == 1:
        return hows["training"]
    return "; ".join(f"{mode}: {each}" for mode, each in hows.items())


def shown(row: Dict[str, Any]) -> str:
    """As a row of a table in Markdown. The last two are how far all gradients are from float64's,
    as one vector, Convoy's and PyTorch's."""
    if "failed" in row:
        return f"| {row['network']} | | | {row['failed']} | | | | | | |"
    training = row["training"]
    kinds = [training["results"], row["evaluation"]["results"], training["gradients"]]
    judged_so = sum(each["asked"] for each in kinds)
    number = f"{judged_so} of {sum(each['count'] for each in kinds)}" if judged_so else ""
    if "smooth" in row:
        number += f", {len(row['with thresholds'])} thresholds"
    cells = [
        row["network"],
        row["library"],
        f"{row['parameters']:,}",
        how(row),
        str(row["operations"] or ""),
        f"{max(each['worst'] for each in kinds[:2]):.0e}",
        f"{kinds[2]['worst']:.0e}",
        number,
        *(f"{each:.0e}" for each in training["together"]),
    ]
    return "| " + " | ".join(cells) + " |"


def main(arguments: Optional[List[str]] = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="all when none is given")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--seconds", type=float, default=300, help="for one network")
    parser.add_argument("--json", help="a file for all that is known, a line each")
    parser.add_argument("--smooth", action="store_true", help="without thresholds")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.one:
        warnings.simplefilter("ignore")
        print(json.dumps(compare(options.one, options.device, options.smooth)))
        return 0

    import network_table

    print("| " + " | ".join(COLUMNS) + " |")
    print("|" + "---|" * len(COLUMNS), flush=True)
    bad: List[str] = []
    graphs = 0
    for name in options.names or network_table.NETWORKS:
        row = asked(name, options, options.smooth)
        if "failed" not in row and out_of_bound(row) and not options.smooth:
            row["with thresholds"] = out_of_bound(row)
            smooth = asked(name, options, True)
            row["smooth"] = smooth
        print(shown(row), flush=True)
        for each in out_of_bound(row):
            bad.append(f"{name}: {each}")
        graphs += is_captured(row)
        if options.json:
            with open(options.json, "a", encoding="utf-8") as file:
                file.write(json.dumps(row) + "\n")
    names = options.names or list(network_table.NETWORKS)
    print(f"\n{graphs} of {len(names)} captured in training and in evaluation")
    for each in bad:
        print(f"OUT OF BOUND {each}")
    return 1 if bad else 0


if __name__ == "__main__":
    os.environ.setdefault("YOLO_VERBOSE", "False")
    sys.exit(main())
