"""Sums that round the same way again and again: images on a background, as a batch norm's gradient
makes them. The terms of one sign are nearly equal, those of the other are few and larger."""

import convoy
import numpy
import pytest


@pytest.mark.parametrize("name", ["cpu", "opencl"])
def test_gradient_over_a_background(name, request):
    device = name if name == "cpu" else request.getfixturevalue("opencl_device")
    x = numpy.full((64, 1, 28, 28), -0.81, numpy.float32)
    dy = numpy.full((64, 4, 28, 28), -1.7e-6, numpy.float32)
    dy[:, :, 10:20, 8:21] *= -5.03
    with convoy.open(device, failover=False, tune=False) as context:
        got = context.backward_weights(x, dy, (4, 1, 3, 3), padding=1)[:, 0, 1, 1]
    terms = x.astype(numpy.float64) * dy
    error = numpy.abs(got - terms.sum((0, 2, 3))) / numpy.abs(terms).sum((0, 2, 3))
    assert error.max() < 2e-7
