#!/usr/bin/env python3
"""The model of model.py for whole training steps: the operations of a plan, one after the other.

    build/release/convoy graph --net yolov8n --batch 16 --device ocl:0 > yolov8n_b16.plan
    tools/isa/step_model.py [--device NAME] yolov8n_b16.plan...

An OpenCL device has to be there, any of them, since steps are planned for a device; PoCL will do.
Convolutions are predicted launch by launch as in model.py. What is not modelled there is predicted
with ocl.implicit_gemm instead, which the device would choose if it were faster. Depthwise ones and
all that is no convolution take a launch for each kernel and the time in which memory moves the
least that the operation has to move. docs/rdna1.md says how far that is off; it fails where a
step that was measured is predicted farther off than by 30 %.
"""

import argparse
import collections
import re
import sys

import isa
import model

# Milliseconds measured, "Whole training steps on an NVIDIA H200" in docs/benchmarks.md.
MEASURED = {"yolov8n_b4": 9.38, "yolov8n_b16": 15.54, "yolov8n_b32": 25.51, "resnet18_b32": 7.96,
            "resnet50_b8": 9.94, "resnet50_b32": 25.56, "mobilenet_v2_b32": 7.97}
# Rows of which no kernel is in the model.
UNMODELLED = ("few_channels", "strided_data", "long_rows", "winograd_fused",
              "direct_backward_weights")
DEVICES = {"h200": model.H200, "rx5600xt": model.RX_5600_XT}
CONVOLUTION = re.compile(
    r" *(\d+): .* = n(\d+)c(\d+)(?:h(\d+))?w(\d+) k(\d+)(?:r(\d+))?s(\d+)")
CONVOLUTIONS = ("forward", "backward_data", "backward_weights")


def pair(text, word, default):
    """Extents "stride2" or "stride2x1" of the two axes."""
    found = re.search(rf" {word}([\d,x:]+)", text)
    numbers = [int(number) for number in re.findall(r"\d+", found[1])] if found else [default]
    return numbers[0], numbers[-1]


def read_plan(path):
    """The plan's name, as "yolov8n_b16", and the convolutions in it: {number: layer}, as in a table
    of shapes."""
    layers = {}
    text = isa.read_text(path)
    net, images = re.match(r"(\w+), (\d+) images", text).groups()
    for line in text.splitlines():
        found = CONVOLUTION.match(line)
        if not found:
            continue
        number, n, c, h, w, k, r, s = (int(word or 1) for word in found.groups())
        layer = {"N": n, "C": c, "H": h, "W": w, "K": k, "R": r, "S": s}
        for name, word, default in (("stride", "stride", 1), ("pad", "pad", 0), ("dil", "dil", 1)):
            layer[f"{name}_h"], layer[f"{name}_w"] = pair(line, word, default)
        layer["groups"] = pair(line, "groups", 1)[0]
        layers[number] = layer
    return f"{net}_b{images}", layers


def is_convolution(launch):
    """Whether its arithmetic counts."""
    return launch["pass"] in CONVOLUTIONS and not launch["kernel"].startswith("depthwise")


def by_operation(launches):
    found = collections.defaultdict(list)
    for launch in launches:
        found[int(launch["layer"])].append(launch)
    return dict(found)


def conv_seconds(device, launches, layers, programs, lines):
    named = {(launch["table"], launch["layer"]): layers[int(launch["layer"])]
             for launch in launches}
    return sum(model.launch_seconds(device, launch, named, programs, lines) for launch in launches)


def other_seconds(device, launches):
    return len(launches) * device.launch + launches[0]["bytes"] / device.memory


def predict(device, path):
    """Seconds by kind of operation, and how many launches there are. Of NVIDIA's there is no
    assembly to be read."""
    _, layers = read_plan(path)
    launches, programs, lines = model.take_down(device, [path], device is model.RX_5600_XT)
    forced = model.take_down(device, [path], False, ["--row", "ocl.implicit_gemm"])
    instead = by_operation(launch for launch in forced[0] if is_convolution(launch))
    seconds = collections.Counter()
    for number, own in by_operation(launches).items():
        if not is_convolution(own[0]):
            seconds[own[0]["pass"]] += other_seconds(device, own)
        elif any(launch["kernel"].startswith(UNMODELLED) for launch in own):
            seconds["convolutions, instead"] += conv_seconds(device, instead[number], layers,
                                                             forced[1], {})
        else:
            seconds["convolutions"] += conv_seconds(device, own, layers, programs, lines)
    return seconds, len(launches)


def print_step(device, path):
    """Whether the step is predicted well, as far as that is known."""
    name, _ = read_plan(path)
    seconds, launches = predict(device, path)
    total = 1e3 * sum(seconds.values())
    print(f"\n{name} on {device.name}: {total:.1f} ms predicted, {launches} launches, of which "
          f"{1e3 * launches * device.launch:.1f} ms")
    for kind, some in seconds.most_common():
        print(f"    {kind:26} {1e3 * some:7.1f} ms")
    if device is not model.H200 or name not in MEASURED:
        return True
    ratio = total / MEASURED[name]
    print(f"    measured {MEASURED[name]} ms, predicted/measured {ratio:.2f}")
    return 0.7 <= ratio <= 1.3


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("plans", nargs="+", metavar="PLAN", help="what `convoy graph` printed")
    parser.add_argument("--device", choices=sorted(DEVICES), help="one alone")
    given = parser.parse_args()
    isa.check_tools()
    devices = [DEVICES[given.device]] if given.device else DEVICES.values()
    good = [print_step(device, path) for path in given.plans for device in devices]
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
