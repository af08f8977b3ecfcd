#!/usr/bin/env python3
"""Trains a small convolutional network on Fashion-MNIST from Python: numpy, and Convoy for every
convolution, forward and backward. Network and schedule of train_fashion.c, without batch norm.

    pip install .  &&  python3 examples/train_fashion.py
    or, from a build: PYTHONPATH=bindings/python python3 examples/train_fashion.py

The data are the four gzipped IDX files of Debian's package dataset-fashion-mnist.
"""

import argparse
import gzip
import math
import sys
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np

import convoy

DATA = Path("/usr/share/datasets/fashion-mnist")
SIDE = 28
CLASSES = 10
PIXEL_MEAN, PIXEL_DEVIATION = 0.2860, 0.3530  # of the training images, pixels scaled to 0 .. 1
PEAK_RATE, WARM_UP_STEPS = 0.05, 100
MOMENTUM, WEIGHT_DECAY = 0.9, 1e-4


class Spec(NamedTuple):
    """One convolution of the network; `channels` are those of its output."""

    channels: int
    filter: int
    stride: int = 1
    padding: int = 0
    depthwise: bool = False
    relu: bool = False
    pool: bool = False


NETWORK = [
    Spec(16, 3, padding=1, relu=True),
    Spec(32, 3, stride=2, padding=1, relu=True),
    Spec(32, 3, padding=1, depthwise=True),
    Spec(64, 1, relu=True, pool=True),
    Spec(CLASSES, 7),  # the fully connected layer
]


# ------------------------------------------------------------------------------------------ data


def read_idx(file, magic, header):
    try:
        with gzip.open(file, "rb") as stream:
            content = stream.read()
    except (OSError, EOFError) as error:
        why = getattr(error, "strerror", None) or error
        raise SystemExit(f"{file} cannot be read: {why}. The images are Debian's package "
                         "dataset-fashion-mnist; --data names another folder") from None
    if int.from_bytes(content[:4], "big") != magic:
        raise SystemExit(f"{file} is not the IDX file it should be")
    return np.frombuffer(content, np.uint8, offset=header)


def read_set(folder, name):
    """Images [N][28][28] and labels [N], both uint8; name: "train" or "t10k"."""
    images = read_idx(folder / f"{name}-images-idx3-ubyte.gz", 2051, 16).reshape(-1, SIDE, SIDE)
    labels = read_idx(folder / f"{name}-labels-idx1-ubyte.gz", 2049, 8)
    return images, labels


def as_input(images):
    """Pixels as float32 [N][1][28][28] with mean 0 and deviation 1."""
    scaled = images.astype(np.float32) * np.float32(1 / (255 * PIXEL_DEVIATION))
    scaled -= np.float32(PIXEL_MEAN / PIXEL_DEVIATION)
    return scaled.reshape(-1, 1, SIDE, SIDE)


def mirror_half(images, random):
    """Images with each one mirrored, left to right, at even odds."""
    mirrored = images.copy()
    chosen = random.random(len(images)) < 0.5
    mirrored[chosen] = mirrored[chosen, :, ::-1]
    return mirrored


# --------------------------------------------------------------------------------------- network


def pool(x):
    """Means of 2x2 squares."""
    rows = x[:, :, ::2] + x[:, :, 1::2]
    return np.float32(0.25) * (rows[..., ::2] + rows[..., 1::2])


def pool_backward(dy):
    return np.repeat(np.repeat(np.float32(0.25) * dy, 2, axis=2), 2, axis=3)


class Layer:
    """A convolution with its parameters, and ReLU and pool if it has them.

    Results and gradients go to arrays reserved once, for the largest batch.
    """

    def __init__(self, context, spec, x_shape, first, random):
        groups = x_shape[1] if spec.depthwise else 1
        w_shape = (spec.channels, x_shape[1] // groups, spec.filter, spec.filter)
        deviation = math.sqrt(2 / math.prod(w_shape[1:]))
        self.context, self.spec = context, spec
        self.geometry = {"stride": spec.stride, "padding": spec.padding, "groups": groups}
        self.w = np.float32(deviation) * random.standard_normal(w_shape, np.float32)
        self.b = np.zeros(spec.channels, np.float32)
        self.dw, self.db = np.zeros_like(self.w), np.zeros_like(self.b)
        y_shape = convoy.output_shape(x_shape, w_shape, **self.geometry)
        self.y = context.shared_zeros(y_shape)
        self.dx = None if first else context.shared_zeros(x_shape)
        halves = 2 if spec.pool else 1
        self.out_shape = (*y_shape[:2], y_shape[2] // halves, y_shape[3] // halves)

    def forward(self, x):
        self.x = x
        activation = "relu" if self.spec.relu else None
        out = self.y[: len(x)]
        y = self.context.forward(
            x, self.w, self.b, activation=activation, out=out, **self.geometry
        )
        return pool(y) if self.spec.pool else y

    def backward(self, dy):
        """Leaves the parameters' gradients in dw and db; returns that of x, if it is wanted."""
        if self.spec.pool:
            dy = pool_backward(dy)
        if self.spec.relu:
            dy *= self.y[: len(dy)] > 0
        x, context = self.x, self.context
        context.backward_weights(x, dy, self.w.shape, out=self.dw, **self.geometry)
        context.backward_bias(dy, out=self.db)
        if self.dx is None:
            return None
        out = self.dx[: len(dy)]
        return context.backward_data(dy, self.w, x.shape, out=out, **self.geometry)


def softmax_loss(logits, labels):
    """Mean cross-entropy, and its gradient by the logits [N][10]."""
    shifted = logits - logits.max(axis=1, keepdims=True)
    exponents = np.exp(shifted)
    sums = exponents.sum(axis=1, keepdims=True)
    rows = np.arange(len(labels))
    loss = float(np.mean(np.log(sums[:, 0]) - shifted[rows, labels]))
    gradient = exponents / sums
    gradient[rows, labels] -= 1
    return loss, gradient / np.float32(len(labels))


def learning_rate(step, steps):
    """Warms up, then follows half a cosine down to 0."""
    warmed = min(1.0, (step + 1) / WARM_UP_STEPS)
    return PEAK_RATE * warmed * 0.5 * (1 + math.cos(math.pi * step / steps))


class Network:
    def __init__(self, context, batch, random):
        self.layers = []
        shape = (batch, 1, SIDE, SIDE)
        for spec in NETWORK:
            self.layers.append(Layer(context, spec, shape, not self.layers, random))
            shape = self.layers[-1].out_shape
        self.momenta = [np.zeros_like(value) for value, _ in self.parameters()]

    def parameters(self):
        """Pairs of a parameter and its gradient."""
        for layer in self.layers:
            yield layer.w, layer.dw
            yield layer.b, layer.db

    def logits(self, x):
        for layer in self.layers:
            x = layer.forward(x)
        return x.reshape(len(x), CLASSES)

    def train(self, x, labels, rate):
        """One step of SGD with momentum; returns the loss before it."""
        loss, gradient = softmax_loss(self.logits(x), labels)
        gradient = gradient.reshape(len(x), CLASSES, 1, 1)
        for layer in reversed(self.layers):
            gradient = layer.backward(gradient)
        for (value, slope), momentum in zip(self.parameters(), self.momenta):
            momentum *= np.float32(MOMENTUM)
            momentum += slope + np.float32(WEIGHT_DECAY) * value
            value -= np.float32(rate) * momentum
        return loss

    def accuracy(self, images, labels, batch):
        right = 0
        for first in range(0, len(labels), batch):
            logits = self.logits(as_input(images[first : first + batch]))
            right += int((logits.argmax(axis=1) == labels[first : first + batch]).sum())
        return right / len(labels)


# -------------------------------------------------------------------------------------- training


class Progress:
    """One line on stderr: redrawn on a terminal, else a new one every ten seconds."""

    def __init__(self, steps, batch):
        self.steps, self.batch = steps, batch
        self.terminal = sys.stderr.isatty()
        self.began = self.shown = time.monotonic()
        self.loss = None

    def step(self, done, loss):
        self.loss = loss if self.loss is None else 0.98 * self.loss + 0.02 * loss
        now = time.monotonic()
        if now - self.shown < (0.1 if self.terminal else 10) and done != self.steps:
            return
        self.shown = now
        rate = done / (now - self.began)
        left = int((self.steps - done) / rate)
        line = f"step {done}/{self.steps}  loss {self.loss:.3f}  {rate * self.batch:.0f} images/s"
        line += f"  ETA {left // 60}:{left % 60:02}"
        print(f"\r{line}\033[K" if self.terminal else line, end="", file=sys.stderr)
        if not self.terminal or done == self.steps:
            print(file=sys.stderr)


def batches(images, labels, options, random):
    """(x, labels) of every step of the training, shuffled anew in each epoch."""
    for _ in range(options.epochs):
        order = random.permutation(len(labels))
        for first in range(0, len(labels) - options.batch + 1, options.batch):
            chosen = order[first : first + options.batch]
            yield as_input(mirror_half(images[chosen], random)), labels[chosen]


def train(context, options):
    """Trains; returns the network's accuracy on the test images."""
    images, labels = read_set(options.data, "train")
    test = read_set(options.data, "t10k")
    random = np.random.default_rng(options.seed)
    network = Network(context, options.batch, random)
    per_epoch = len(labels) // options.batch
    planned = per_epoch * options.epochs
    steps = min(options.steps or planned, planned)
    progress = Progress(steps, options.batch)
    for step, (x, wanted) in enumerate(batches(images, labels, options, random), 1):
        progress.step(step, network.train(x, wanted, learning_rate(step - 1, planned)))
        if step % per_epoch == 0 or step == steps:
            accuracy = network.accuracy(*test, options.batch)
            epoch = math.ceil(step / per_epoch)
            print(f"epoch {epoch} step {step}: test accuracy {accuracy:.4f}", flush=True)
        if step == steps:
            return accuracy


def positive(text):
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text} is less than 1")
    return number


def arguments(given=None):
    parser = argparse.ArgumentParser(description="Trains a network on Fashion-MNIST.")
    parser.add_argument("--epochs", type=positive, default=2)
    parser.add_argument("--batch", type=positive, default=64, help="images per step")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--device", help="auto, cpu, ocl, ocl:1 or part of a device's name")
    parser.add_argument("--data", type=Path, default=DATA, help="folder of the IDX files")
    parser.add_argument("--steps", type=positive, help="stop after this many steps")
    return parser.parse_args(given)


def main():
    options = arguments()
    began = time.monotonic()
    with convoy.open(options.device) as context:
        device = context.device
        print(f"training on {device.id}: {device.name} ({device.platform})", flush=True)
        accuracy = train(context, options)
        device, health = context.device.id, context.health()
    if health.faults:
        print(f"device faults: {health.faults}, computed elsewhere: {health.failovers}")
    seconds = time.monotonic() - began
    print(f"result: accuracy={accuracy:.4f} device={device} seconds={seconds:.1f}")


if __name__ == "__main__":
    main()
