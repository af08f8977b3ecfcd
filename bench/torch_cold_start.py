"""What a training gains by default from its first step on: plain PyTorch's time for as many steps,
over the time that they take with convoy.torch as enable() has it, measuring included and nothing
written down before.

    PYTHONPATH=bindings/python python3 bench/torch_cold_start.py [--threads 2] [--seconds 60]
        [NET:BATCH:EXTENT ...]

NET is a model of torchvision's or timm's, or eegnet. A step is forward, cross entropy, backward and
SGD with momentum. Of each network, in a process of its own: plain steps, then 200 steps or
--seconds with Convoy, whichever is longer, then plain steps again, of all of which the median
counts. "at the end" are the last 20 steps with Convoy, "longest" is its longest step.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

NETS = ["resnet18:8:96", "mobilenet_v3_small:16:96", "squeezenet1_1:8:96", "eegnet:32:0"]
STEPS, PLAIN_SECONDS = 200, 12.0


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("nets", nargs="*", default=NETS, metavar="NET:BATCH:EXTENT")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--one", help=argparse.SUPPRESS)
    return parser.parse_args()


def make(text):
    """A network, a batch for it, and how many classes it has."""
    import torch

    name, batch, extent = text.split(":")
    if name == "eegnet":
        import step_nets

        network, x = step_nets.EEGNet(), torch.randn(int(batch), 1, 129, 500)
        network(x)
        return network, x, 4
    sys.path.append(str(Path(__file__).resolve().parents[1] / "bindings/python/tests"))
    import torchvision_ops  # noqa: F401  where torchvision's operators do not fit PyTorch
    from torchvision import models

    if hasattr(models, name):
        network = getattr(models, name)(num_classes=10)
    else:
        import timm

        network = timm.create_model(name, num_classes=10)
    return network, torch.randn(int(batch), 3, int(extent), int(extent)), 10


def step_of(text):
    import torch
    from torch.nn import functional

    torch.manual_seed(0)
    network, x, classes = make(text)
    labels = torch.randint(0, classes, (len(x),))
    optimizer = torch.optim.SGD(network.parameters(), 1e-3, momentum=0.9)

    def step():
        begin = time.perf_counter()
        optimizer.zero_grad()
        loss = functional.cross_entropy(network(x), labels)
        loss.backward()
        optimizer.step()
        loss.item()
        return time.perf_counter() - begin

    return step


def during(step, seconds, least=0):
    begin, found = time.perf_counter(), []
    while time.perf_counter() - begin < seconds or len(found) < least:
        found.append(step())
    return found, time.perf_counter() - begin


def measure(text, options):
    import torch

    torch.set_num_threads(options.threads)
    step = step_of(text)
    during(step, 0, 3)
    plain, _ = during(step, PLAIN_SECONDS)
    with tempfile.TemporaryDirectory() as folder:
        os.environ["CONVOY_ROUTE_FILE"] = os.path.join(folder, "routes.txt")
        begin = time.perf_counter()
        import convoy.torch

        convoy.torch.enable("cpu")
        started = time.perf_counter() - begin
        ours, seconds = during(step, options.seconds, STEPS)
        convoy.torch.disable()
    plain += during(step, PLAIN_SECONDS / 2)[0]
    typical = statistics.median(plain)
    gain = typical * len(ours) / (started + seconds)
    end = typical / statistics.median(ours[-20:])
    print(
        f"{text:32} plain {typical * 1e3:7.1f} ms   {len(ours):5} steps: {gain:.2f}, "
        f"at the end {end:.2f}, longest {max(ours):.1f} s"
    )


def main():
    options = parse()
    if options.one:
        measure(options.one, options)
        return
    for net in options.nets:
        own = [f"--threads={options.threads}", f"--seconds={options.seconds}", f"--one={net}"]
        subprocess.run([sys.executable, __file__, *own], check=True)


if __name__ == "__main__":
    main()
