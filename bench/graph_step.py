"""Times a captured training step: python3 bench/graph_step.py DEVICE...

Six 3x3 convolutions of 16 channels on 64 x 64, SiLU after each, two maxima, the mean of squared
differences, all gradients, SGD with momentum; batch 32. Prints what enqueuing a run takes, and what
a run takes when many follow one another, in milliseconds: medians of five times 60 runs.
"""

import statistics
import sys
import time

import numpy

import convoy
from convoy import Program

LAYERS, RUNS, ROUNDS = 6, 60, 5
LOSS = Program("loss = mean over n c h w of (y - target) * (y - target)")
SGD = Program("v = 0.9 * v + g; w = w - rate * v")


def capture(context):
    random = numpy.random.default_rng(0)

    def tensor(*shape):
        return context.tensor(random.standard_normal(shape).astype("float32"))

    x, target = tensor(32, 16, 64, 64), tensor(32, 16, 16, 16)
    weights = [
        context.tensor(0.1 * random.standard_normal((16, 16, 3, 3)).astype("float32"))
        for _ in range(LAYERS)
    ]
    velocities = [context.tensor(w.shape) for w in weights]
    rate = context.tensor(numpy.array([1e-4], "float32"))

    @context.capture
    def step():
        y = x
        for i, w in enumerate(weights):
            y = context.silu(context.forward(y, w, padding=1))
            if i in (1, 3):
                y = context.max_pool(y, 2)
        loss = context.apply(LOSS, y, target)
        gradients = context.gradients(loss, weights)
        for w, v, g in zip(weights, velocities, gradients):
            context.apply(SGD, {"w": w, "v": v, "g": g, "rate": rate}, out=[v, w])
        return loss

    return step


def measure(context, step):
    began = time.perf_counter()
    for _ in range(RUNS):
        step.run()
    enqueued = time.perf_counter()
    context.sync()
    ended = time.perf_counter()
    return (enqueued - began) / RUNS * 1e3, (ended - began) / RUNS * 1e3


def main():
    for device in sys.argv[1:] or ["auto"]:
        with convoy.open(device) as context:
            step = capture(context)
            measure(context, step)  # proves, compiles, fills caches
            rounds = [measure(context, step) for _ in range(ROUNDS)]
            enqueue, each = (statistics.median(one) for one in zip(*rounds))
            print(f"{context.description}: {enqueue:.3f} ms to enqueue, {each:.3f} ms a run")


if __name__ == "__main__":
    main()
