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


_SGD = convoy.Program("w = w - rate * g")
_LOSS = convoy.Program("loss = mean over n c h w of y * y")


def train_within(device, limit, images=8, layers=8):
    """Weights after four steps, the plan, and the most bytes of the device that were in use."""
    random = numpy.random.default_rng(2)
    with convoy.open(device, memory_limit=limit) as context:
        x = context.tensor(random.standard_normal((images, 16, 48, 48)).astype("float32"))
        shape = (16, 16, 3, 3)
        weights = [
            context.tensor(0.2 * random.standard_normal(shape).astype("float32"))
            for _ in range(layers)
        ]
        rate = context.tensor(numpy.array([0.1], "float32"))

        @context.capture
        def step():
            y = x
            for w in weights:
                y = context.silu(context.forward(y, w, padding=1))
            gradients = context.gradients(context.apply(_LOSS, y), weights)
            for w, g in zip(weights, gradients):
                context.apply(_SGD, {"w": w, "g": g, "rate": rate}, out=w)

        for _ in range(4):
            step.run()
        results = [w.read() for w in weights]
        health = context.health()
        return results, step.plan(), health


def test_graphs_keep_to_a_memory_limit(opencl_device):
    """What has no room is computed again: the same bits in less memory."""
    wanted, roomy, _ = train_within(opencl_device, 0)
    least = roomy.read_bytes + 2 * roomy.written_bytes + roomy.internal_bytes * 7 // 10
    limit = least * 8 // 7
    results, plan, health = train_within(opencl_device, limit)
    assert plan.internal_bytes < roomy.internal_bytes and plan.operations > roomy.operations
    assert 0 < health.device_bytes_peak <= limit
    assert health.device_operations == health.operations
    for one, other in zip(results, wanted):
        assert_array_equal(one, other)


def test_too_little_memory_loses_nothing(opencl_device):
    """Far too little, even for single operations: then others compute."""
    wanted, roomy, _ = train_within("cpu", 0)
    results, _, health = train_within(opencl_device, roomy.internal_bytes // 16)
    assert health.device_bytes_peak <= roomy.internal_bytes // 16
    for one, other in zip(results, wanted):
        numpy.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)
