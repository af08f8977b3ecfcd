#!/usr/bin/env python3
"""Trains a convolution, batch norm and SiLU to do what another such layer does. Nothing leaves the
device but the loss: what is no convolution is a program. The same as batch_norm.c.

    pip install .  &&  python3 examples/batch_norm.py
    or, from a build: PYTHONPATH=bindings/python python3 examples/batch_norm.py
"""

import numpy as np

import convoy
from convoy import Program

STEPS, RATE, MOMENTUM, EPSILON = 100, 0.1, 0.9, 1e-5
X, W, CHANNELS = (8, 3, 16, 16), (16, 3, 3, 3), (1, 16, 1, 1)

STATISTICS = Program("mean = mean over n z h w of x; variance = variance over n z h w of x")
SCALE = Program("deviation = rsqrt(variance + epsilon); scale = gamma * deviation")
NORMALISE = Program("let t = (x - mean) * scale + beta; y = t * sigmoid(t)")
LOSS = Program("loss = mean over n c z h w of (y - wanted) * (y - wanted)")
LOSS_GRADIENT = Program("dy = 2 * (y - wanted) / count")
SUMS = Program.named("normalise_silu_sums")
MEANS = Program("a = d_beta / positions; b = d_gamma / positions")
BACKWARD = Program.named("normalise_silu_backward")
UPDATE = Program("v = momentum * v + g; w = w - rate * v")


def layer(context, x, parameter):
    """What forward computes, by the names that the programs have for it."""
    z = context.forward(x, parameter["w"], padding=1)
    mean, variance = context.apply(STATISTICS, z)
    gamma, beta = parameter["gamma"], parameter["beta"]
    given = {"variance": variance, "gamma": gamma, "epsilon": EPSILON}
    deviation, scale = context.apply(SCALE, given)
    y = context.apply(NORMALISE, {"x": z, "mean": mean, "scale": scale, "beta": beta})
    at = {"x": z, "mean": mean, "deviation": deviation, "gamma": gamma, "beta": beta}
    return y, {**at, "scale": scale}


def gradients(context, x, dy, at):
    """Of w, gamma and beta."""
    known = {**at, "dy": dy}
    d_beta, d_gamma = context.apply(SUMS, {name: known[name] for name in SUMS.inputs})
    a, b = context.apply(MEANS, d_beta, dy.size / W[0], d_gamma)
    known.update(a=a, b=b)
    dz = context.apply(BACKWARD, {name: known[name] for name in BACKWARD.inputs})
    dw = context.backward_weights(x, dz, W, padding=1)
    return {"w": dw, "gamma": d_gamma, "beta": d_beta}


def parameters(context, random):
    values = {"w": random.standard_normal(W) / 5, "gamma": random.uniform(0.5, 1.5, CHANNELS)}
    values["beta"] = random.standard_normal(CHANNELS) / 2
    return {name: context.tensor(value.astype(np.float32)) for name, value in values.items()}


def train(context):
    """The losses of all steps."""
    random = np.random.default_rng(1)
    x = context.tensor(random.standard_normal(X).astype(np.float32))
    wanted, _ = layer(context, x, parameters(context, random))
    parameter = parameters(context, random)
    speed = {name: context.tensor(tensor.shape) for name, tensor in parameter.items()}
    losses = []
    for _ in range(STEPS):
        y, at = layer(context, x, parameter)
        losses.append(context.apply(LOSS, y, wanted))
        dy = context.apply(LOSS_GRADIENT, y, wanted, y.size)
        for name, g in gradients(context, x, dy, at).items():
            v, w = speed[name], parameter[name]
            context.apply(UPDATE, MOMENTUM, v, g, w, RATE, out=(v, w))
    return [loss.read().item() for loss in losses]


def main():
    with convoy.open(verbose=True) as context:
        losses = train(context)
    print(f"loss {losses[0]:.4f} in the first step, {losses[-1]:.4f} in the last")


if __name__ == "__main__":
    main()
