"""What a graph's run costs beside its launches: python3 bench/graph_overhead.py DEVICE...

Graphs of 1 to 96 products of two 16 x 16 matrices, each of which reads the one before, so that each
is a launch and none can be left out or fused. A line fitted to what a run takes, many following one
another, has the cost of a launch as its slope, and what a run takes beside them at 0 launches.
Prints both in microseconds, and of the second how much the trainer's own thread works. Medians of
seven rounds of 300 runs, the graphs in turns; the default verification is on.
"""

import statistics
import sys
import time

import numpy

import convoy

LAUNCHES, RUNS, ROUNDS, SIDE = (1, 8, 24, 48, 96), 300, 7, 16


def capture(context, launches):
    values = numpy.random.default_rng(launches).standard_normal((SIDE, SIDE)).astype("float32") / 4
    x, w = context.tensor(values), context.tensor(values)

    @context.capture
    def chain():
        y = x
        for _ in range(launches):
            y = context.matmul(y, w)
        return y

    return chain


def measure(context, graph):
    """Microseconds a run: until the last is done, and of this thread's work."""
    context.sync()
    began, worked = time.perf_counter(), time.thread_time()
    for _ in range(RUNS):
        graph.run()
    worked = time.thread_time() - worked
    context.sync()
    return (time.perf_counter() - began) / RUNS * 1e6, worked / RUNS * 1e6


def main():
    for device in sys.argv[1:] or ["auto"]:
        with convoy.open(device) as context:
            graphs = [capture(context, launches) for launches in LAUNCHES]
            rounds = [[measure(context, graph) for graph in graphs] for _ in range(ROUNDS + 1)]
            medians = [
                [statistics.median(one[kind] for one in runs) for runs in zip(*rounds[1:])]
                for kind in (0, 1)
            ]
            (launch, run), (_, own) = (numpy.polyfit(LAUNCHES, each, 1) for each in medians)
            each = ", ".join(f"{n}: {took:.0f}" for n, took in zip(LAUNCHES, medians[0]))
            print(
                f"{context.description}: {run:.1f} us a run and {launch:.2f} us a launch; of the"
                f" run {own:.1f} us are the trainer's ({each} us)"
            )


if __name__ == "__main__":
    main()
