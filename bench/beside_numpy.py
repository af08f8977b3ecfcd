#!/usr/bin/env python3
"""Time of convolutions that take turns with products of numpy's, in one process.

    PYTHONPATH=bindings/python CONVOY_LIBRARY=build/release/libconvoy.so \\
        python3 bench/beside_numpy.py

With numpy on the OpenMP build of OpenBLAS (Debian's python3-numpy with libopenblas0-openmp) both
compute on the same threads; numpy's own wheels bring another OpenBLAS, with threads of its own.
Prints medians of a pair, and of either alone, in milliseconds.
"""

import statistics
import sys
import time

import numpy

import convoy

ROUNDS = 200


def milliseconds(calls, rounds):
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        for call in calls:
            call()
        times.append((time.perf_counter() - start) * 1e3)
    return statistics.median(times)


def main():
    x = numpy.random.rand(4, 32, 40, 40).astype(numpy.float32)
    w = numpy.random.rand(32, 32, 3, 3).astype(numpy.float32)
    a = numpy.random.rand(384, 384).astype(numpy.float32)
    product = numpy.empty_like(a)
    with convoy.open("cpu", tune=False) as context:
        y = context.forward(x, w, padding=1)
        calls = {
            "convolution": lambda: context.forward(x, w, padding=1, out=y),
            "product": lambda: numpy.matmul(a, a, out=product),
        }
        milliseconds(calls.values(), ROUNDS // 4)
        for name, call in calls.items():
            print(f"{name:12} {milliseconds([call], ROUNDS):7.3f} ms", end="  ")
        print(f"in turns {milliseconds(calls.values(), ROUNDS):7.3f} ms")


sys.exit(main())
