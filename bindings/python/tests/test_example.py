"""examples/train_fashion.py: its gradients, some of its steps, its command line; and that
examples/batch_norm.py learns."""

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import convoy

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"
FILE = EXAMPLES / "train_fashion.py"


def load(file):
    spec = importlib.util.spec_from_file_location(file.stem, file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


example = load(FILE)


@pytest.fixture(scope="module")
def images():
    if not (example.DATA / "train-images-idx3-ubyte.gz").exists():
        pytest.skip(f"Fashion-MNIST is not in {example.DATA}: package dataset-fashion-mnist")
    return example.read_set(example.DATA, "train")


def test_data(images):
    pixels, labels = images
    assert pixels.shape == (60000, 28, 28) and np.bincount(labels).tolist() == [6000] * 10
    scaled = example.as_input(pixels[:5000])
    assert abs(scaled.mean()) < 0.05 and abs(scaled.std() - 1) < 0.05


def test_gradients(context, images):
    """The hand-written backward pass against differences of the loss, along random directions."""
    pixels, labels = images
    random = np.random.default_rng(3)
    network = example.Network(context, 8, random)
    x, wanted = example.as_input(pixels[:8]), labels[:8]
    network.train(x, wanted, rate=0.0)
    for value, slope in network.parameters():
        direction = random.standard_normal(value.shape, np.float32)
        direction /= np.linalg.norm(direction)
        start, step = value.copy(), np.float32(3e-4)  # small: a ReLU that turns bends the loss
        losses = []
        for sign in (1, -1):
            value[...] = start + sign * step * direction
            losses.append(example.softmax_loss(network.logits(x), wanted)[0])
        value[...] = start
        measured = (losses[0] - losses[1]) / (2 * step)
        computed = float((slope * direction).sum())
        # A loss near 2.3 is rounded to 2.4e-7; eight such roundings over 2 step are 3.2e-3.
        assert abs(measured - computed) <= 0.01 * abs(computed) + 3.2e-3


def test_loss_falls(context, images):
    options = example.arguments(["--batch", "32"])
    random = np.random.default_rng(1)
    network = example.Network(context, options.batch, random)
    steps = zip(range(60), example.batches(*images, options, random))
    losses = [network.train(x, labels, rate=0.02) for _, (x, labels) in steps]
    assert np.mean(losses[-10:]) < 0.6 * np.mean(losses[:5])


def test_command_line(images):
    environment = {**os.environ, "PYTHONPATH": str(Path(convoy.__file__).parents[1])}
    command = [sys.executable, FILE, "--device", "cpu", "--steps", "20", "--seed", "3"]
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
    assert ended.returncode == 0, ended.stderr
    result = re.search(r"result: accuracy=(\S+) device=cpu seconds=", ended.stdout)
    assert 0.1 < float(result[1]) < 0.9
    assert re.search(r"step 20/20  loss \S+  \d+ images/s  ETA 0:00", ended.stderr)


def test_batch_norm(context):
    batch_norm = load(EXAMPLES / "batch_norm.py")
    losses = batch_norm.train(context)
    assert len(losses) == batch_norm.STEPS and 0 < losses[-1] < 0.1 * losses[0]


def test_gradients_of_batch_norm(context):
    """Against differences of the loss, along a random direction of each parameter."""
    batch_norm, random = load(EXAMPLES / "batch_norm.py"), np.random.default_rng(2)
    x, wanted = (
        context.tensor(random.standard_normal(shape).astype(np.float32))
        for shape in (batch_norm.X, (8, 16, 16, 16))
    )
    parameter = batch_norm.parameters(context, random)

    def loss():
        y, at = batch_norm.layer(context, x, parameter)
        return y, at, context.apply(batch_norm.LOSS, y, wanted).read().item()

    y, at, _ = loss()
    dy = context.apply(batch_norm.LOSS_GRADIENT, y, wanted, y.size)
    for name, slope in batch_norm.gradients(context, x, dy, at).items():
        start = parameter[name].read()
        direction = np.sign(slope.read())
        losses = []
        for step in (2**-8, -(2**-8)):
            parameter[name].write(start + np.float32(step) * direction)
            losses.append(loss()[2])
        parameter[name].write(start)
        computed = float((slope.read() * direction).sum())
        assert abs((losses[0] - losses[1]) * 2**7 - computed) <= 0.02 * abs(computed), name
