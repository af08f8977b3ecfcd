"""The same operations on an OpenCL device, through the worker and in this process."""

import gc
import os
import time

import numpy
import pytest
from cases import Case
from numpy.testing import assert_array_equal
from test_results import OnArrays, OnTensors

import convoy


@pytest.fixture(scope="module", params=["process", "none"])
def device_context(request, opencl_device):
    with convoy.open(
        opencl_device, isolation=request.param, failover=False, tune=False
    ) as context:
        assert context.device.id == opencl_device
        assert bool(context.health().worker_pid) == (request.param == "process")
        yield context


@pytest.mark.parametrize("kind", [OnArrays, OnTensors])
@pytest.mark.parametrize(
    "name", ["rank1_all", "rank2_all", "rank2_depthwise", "rank2_transposed", "rank3_all"]
)
def test_results(device_context, name, kind):
    case, operations = Case(name), kind(device_context)
    assert_array_equal(operations.forward(case), case.y)
    biased = operations.forward(case, case.bias, activation="relu")
    assert_array_equal(biased, numpy.maximum(case.along_bias(case.y), 0))
    assert_array_equal(operations.backward_data(case), case.dx)
    assert_array_equal(operations.backward_weights(case), case.dw)
    assert_array_equal(operations.backward_bias(case), case.db)


def test_run_names_the_device(device_context, opencl_device, operands):
    x, w, _ = operands
    run = convoy.Run()
    device_context.forward(x, w, run=run)
    assert run.device == opencl_device and run.attempts == 1
    assert run.algorithm.startswith("ocl.")


def test_a_chain_of_tensors(device_context, operands):
    """Results that stay on the device, read at the end."""
    x, w, dy = operands
    with convoy.open("cpu") as cpu:
        dx = cpu.backward_data(dy, w, x.shape, padding=1)
        expected = cpu.forward(dx, w, padding=1)
    tensors = map(device_context.tensor, (dy, w))
    gradient, filters = tensors
    gradient_x = device_context.backward_data(gradient, filters, x.shape, padding=1)
    result = device_context.forward(gradient_x, filters, padding=1)
    numpy.testing.assert_allclose(result.read(), expected, rtol=1e-4, atol=1e-4)


def test_shared_zeros(device_context, operands):
    x, w, _ = operands
    shared = device_context.shared_zeros(x.shape)
    shared[...] = x
    assert_array_equal(device_context.forward(shared, w), device_context.forward(x, w))


def is_gone(pid):
    """Whether the process has ended within ten seconds."""
    deadline = time.monotonic() + 10
    while os.path.exists(f"/proc/{pid}") and time.monotonic() < deadline:
        time.sleep(0.01)
    return not os.path.exists(f"/proc/{pid}")


@pytest.mark.parametrize("end", ["close", "collect"])
def test_the_worker_ends_with_its_context(opencl_device, end):
    context = convoy.open(opencl_device, isolation="process", failover=False)
    pid = context.health().worker_pid
    assert os.path.exists(f"/proc/{pid}")
    if end == "close":
        context.close()
    del context
    gc.collect()
    assert is_gone(pid)
