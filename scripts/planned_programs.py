#!/usr/bin/env python3
"""planned_programs.py: writes the lists of programs for which the build makes loops of the CPU
engine, because plans of networks have them over many elements; or says where a list is not what
the planner makes now.

    scripts/planned_programs.py nets [--check]     of nets/: src/cpu/program/planned_nets.txt
    scripts/planned_programs.py torch [--check]    of captured networks: planned_torch.txt
    scripts/planned_programs.py torch --check --only resnet18

Both want a build, CONVOY_BUILD or build/release; `torch` also torchvision and Ultralytics, as
.venv/bin/python has them. A line has the inputs that are one number for a run of elements, and the
program. Constants such as the share of an element in a mean are others with each batch and map:
such a constant is an input called share, the last one.
"""

import argparse
import difflib
import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUILD = Path(os.environ.get("CONVOY_BUILD", ROOT / "build" / "release"))
MANY = 100000  # elements: what fewer have is interpreted as fast
NETS = {  # batches
    "yolov8n": (4, 16),
    "resnet18": (4, 16),
    "resnet50": (4, 16),
    "mobilenet_v2": (4, 16),
    "eegnet": (16, 32),
}
TORCH = {  # height and width, batch
    "resnet18": ((224, 2), (224, 4)),
    "resnet50": ((224, 2), (224, 4)),
    "mobilenet_v2": ((224, 2), (224, 4)),
    "yolov8n": ((320, 2), (640, 1), (640, 4)),
}

OPERATION = re.compile(
    r" *\d+: [v\d ]+ = (?P<program>.*y0 = .*) on (?P<extents>(?:[nczhw]\d+)+)"
    r"(?P<views>(?: x\d+:\S+)*)(?: y\d+:\S+)*(?: piece=\d+)?(?: of .*)?"
)
NUMBER = re.compile(r"(?<![\w.])\d+(?:\.\d+)?(?:e[-+]?\d+)?(?![\w.])")
MOVES_ONLY = re.compile(r"(y\d = (?:\w+ over [nczhw ]+ of )?x\d+(?:; )?)+")
ONE_NUMBER = {"channel", "one", "position"}


def elements_of(extents):
    count = 1
    for extent in re.findall(r"\d+", extents):
        count *= int(extent)
    return count


def programs_of(plan):
    """(inputs that are one number, program) of what a plan computes over many elements."""
    for line in plan.splitlines():
        found = OPERATION.fullmatch(line)
        if not found or elements_of(found["extents"]) < MANY:
            continue
        views = dict(view.split(":", 1) for view in found["views"].split())
        if set(views.values()) <= ONE_NUMBER and not MOVES_ONLY.fullmatch(found["program"]):
            yield tuple(views), found["program"]


def with_share(program, number):
    """None: the number is no constant of the program."""
    shared = NUMBER.sub(lambda each: "share" if each[0] == number else each[0], program)
    if shared == program:
        return None
    named = re.match(r"input ([^;]*); ", shared)
    if named:
        return shared.replace(named[1], named[1] + ", share", 1)
    last = max(int(each) for each in re.findall(r"\bx(\d+)", shared))
    return f"input {', '.join(f'x{at}' for at in range(last + 1))}, share; {shared}"


def shares_of(found):
    """The constants in which programs differ that are the same otherwise."""
    alike = {}
    for singles, program in found:
        for number in set(NUMBER.findall(program)):
            alike.setdefault((singles, with_share(program, number)), set()).add(number)
    return set().union(*(numbers for numbers in alike.values() if len(numbers) > 1))


def lines_of(plans):
    found = {each for plan in plans for each in programs_of(plan)}
    shares, lines = shares_of(found), set()
    for singles, program in found:
        number = next((each for each in NUMBER.findall(program) if each in shares), None)
        if number:
            singles, program = (*singles, "share"), with_share(program, number)
        lines.add(f"{' '.join(singles)}: {program}")
    return sorted(lines)


# ------------------------------------------------------------------------------------------- plans


def net_plans():
    for net, batches in NETS.items():
        for batch in batches:
            command = [BUILD / "convoy", "graph", "--device", "cpu", "--net", net, "--batch"]
            run = subprocess.run([*command, str(batch)], check=True, stdout=subprocess.PIPE)
            yield run.stdout.decode()


def torch_network(name):
    if not name.startswith("yolo"):
        import torchvision

        return getattr(torchvision.models, name)()
    from ultralytics.nn.tasks import DetectionModel

    return DetectionModel(f"{name}.yaml", verbose=False)


def torch_plans(names):
    os.environ.setdefault("CONVOY_LIBRARY", str(BUILD / "libconvoy.so"))
    sys.path[:0] = [str(ROOT / "bindings/python"), str(ROOT / "bindings/python/tests")]
    import torch
    import torchvision_ops  # noqa: F401 torchvision's operators, where they are not PyTorch's build
    import convoy.torch
    from convoy import Context

    graphs, capture = [], Context.capture
    Context.capture = lambda *args, **named: graphs.append(capture(*args, **named)) or graphs[-1]
    convoy.torch.graph.network.MOST_HOST_CALLS = 0
    for name in names:
        for image, batch in TORCH[name]:
            convoy.torch.enable("cpu", route="graph")
            network = torch_network(name)
            for _ in range(2):  # the first call of a kind is PyTorch's, the second is captured
                network(torch.randn(batch, 3, image, image))
            yield from [graph.plan_text() for graph in graphs]
            graphs.clear()
            convoy.torch.disable()


# ---------------------------------------------------------------------------------------- the list


def header(which):
    return f"# Written by scripts/planned_programs.py {which}, and checked against it.\n"


def check(path, text, partly):
    """The exit status. `partly`: not all networks were asked, so the list may have more."""
    there = path.read_text()
    missing = [line for line in text.splitlines() if line not in there.splitlines()]
    if not missing and (partly or text == there):
        return 0
    print(f"{path} is not what the planner makes: {sys.argv[0]} {sys.argv[1]} writes it anew")
    lines = there.splitlines(True), text.splitlines(True)
    sys.stdout.writelines(difflib.unified_diff(*lines, "there", "made", n=0))
    return 1


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("which", choices=("nets", "torch"))
    parser.add_argument("--check", action="store_true", help="compare with the list that is there")
    parser.add_argument("--only", choices=TORCH, help="one network of PyTorch's, with --check")
    given = parser.parse_args()
    if given.only and not given.check:
        parser.error("--only is for --check")
    names = [given.only] if given.only else list(TORCH)
    plans = net_plans() if given.which == "nets" else torch_plans(names)
    text = header(given.which) + "".join(line + "\n" for line in lines_of(plans))
    path = ROOT / "src" / "cpu" / "program" / f"planned_{given.which}.txt"
    if given.check:
        return check(path, text, bool(given.only))
    path.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
