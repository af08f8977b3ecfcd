"""Every operation on arrays and on tensors against the float64 reference, exactly: integer data."""

import numpy
import pytest
from numpy.testing import assert_array_equal

import convoy
from cases import integers


def nan(shape):
    return numpy.full(shape, numpy.nan, numpy.float32)


class OnArrays:
    """The four operations on arrays, into outputs poisoned with NaN."""

    def __init__(self, context):
        self.context = context

    def forward(self, case, bias=None, **epilogue):
        out = nan(case.y.shape)
        self.context.forward(case.x, case.w, bias, out=out, **epilogue, **case.geometry)
        return out

    def backward_data(self, case, start=None):
        out = nan(case.dx.shape) if start is None else start.copy()
        given = {"out": out, "accumulate": start is not None}
        self.context.backward_data(case.dy, case.w, case.x.shape, **given, **case.geometry)
        return out

    def backward_weights(self, case, start=None):
        out = nan(case.dw.shape) if start is None else start.copy()
        given = {"out": out, "accumulate": start is not None}
        self.context.backward_weights(case.x, case.dy, case.w.shape, **given, **case.geometry)
        return out

    def backward_bias(self, case, start=None):
        out = nan(case.db.shape) if start is None else start.copy()
        return self.context.backward_bias(case.dy, out=out, accumulate=start is not None)


class OnTensors:
    """The same on tensors."""

    def __init__(self, context):
        self.context = context

    def _start(self, shape, start):
        given = {"out": self.context.tensor(nan(shape) if start is None else start)}
        return {**given, "accumulate": start is not None}

    def forward(self, case, bias=None, **epilogue):
        tensor = self.context.tensor
        operands = tensor(case.x), tensor(case.w), None if bias is None else tensor(bias)
        out = tensor(nan(case.y.shape))
        return self.context.forward(*operands, out=out, **epilogue, **case.geometry).read()

    def backward_data(self, case, start=None):
        operands = self.context.tensor(case.dy), self.context.tensor(case.w), case.x.shape
        given = self._start(case.dx.shape, start)
        return self.context.backward_data(*operands, **given, **case.geometry).read()

    def backward_weights(self, case, start=None):
        operands = self.context.tensor(case.x), self.context.tensor(case.dy), case.w.shape
        given = self._start(case.dw.shape, start)
        return self.context.backward_weights(*operands, **given, **case.geometry).read()

    def backward_bias(self, case, start=None):
        given = self._start(case.db.shape, start)
        return self.context.backward_bias(self.context.tensor(case.dy), **given).read()


@pytest.fixture(params=[OnArrays, OnTensors])
def operations(request, context):
    return request.param(context)


def test_output_shape(case):
    shape = convoy.output_shape(case.x.shape, case.w.shape, **case.geometry)
    assert shape == case.y.shape


def test_forward(operations, case):
    assert_array_equal(operations.forward(case), case.y)


def test_forward_bias_relu(operations, case):
    got = operations.forward(case, case.bias, activation="relu")
    assert_array_equal(got, numpy.maximum(case.along_bias(case.y), 0))


def test_forward_leaky_relu(operations, case):
    got = operations.forward(case, case.bias, activation="leaky_relu", slope=0.25)
    value = case.along_bias(case.y)
    assert_array_equal(got, numpy.where(value > 0, value, 0.25 * value))


def test_backward_data(operations, case):
    assert_array_equal(operations.backward_data(case), case.dx)


def test_backward_weights(operations, case):
    assert_array_equal(operations.backward_weights(case), case.dw)


def test_backward_bias(operations, case):
    assert_array_equal(operations.backward_bias(case), case.db)


@pytest.mark.parametrize(
    "name, right", [("backward_data", "dx"), ("backward_weights", "dw"), ("backward_bias", "db")]
)
def test_accumulate(operations, case, name, right):
    expected = getattr(case, right)
    start = integers(expected.shape, 9)
    assert_array_equal(getattr(operations, name)(case, start), start + expected)


def test_one_number_serves_all_axes(context, operands):
    x, w, _ = operands
    every = {"stride": (2, 2), "padding": ((1, 1), (1, 1)), "dilation": (2, 2)}
    expected = context.forward(x, w, **every)
    assert_array_equal(context.forward(x, w, stride=2, padding=1, dilation=2), expected)
    mixed = context.forward(x, w, stride=[2, 2], padding=(1, (1, 1)), dilation=numpy.array([2, 2]))
    assert_array_equal(mixed, expected)


def test_empty_batch(context):
    x, w = numpy.zeros((0, 3, 5, 5), numpy.float32), numpy.ones((2, 3, 3, 3), numpy.float32)
    assert context.forward(x, w).shape == (0, 2, 3, 3)
    dy = numpy.zeros((0, 2, 3, 3), numpy.float32)
    assert context.backward_data(dy, w, x.shape).shape == x.shape
    assert_array_equal(context.backward_weights(x, dy, w.shape), numpy.zeros(w.shape))
    dw = integers(w.shape, 6)
    context.backward_weights(x, dy, w.shape, out=dw, accumulate=True)
    assert_array_equal(dw, integers(w.shape, 6))


def test_run_is_filled(context, operands):
    x, w, _ = operands
    run = convoy.Run()
    context.forward(x, w, run=run)
    assert run.device == "cpu" and run.algorithm in context.algorithms()
    assert run.attempts == 1 and run.first_fault == convoy.Status.OK and run.fault == ""
    assert 0 <= run.milliseconds < 60e3


@pytest.mark.parametrize("direction", convoy.Direction)
def test_every_algorithm_that_accepts(context, direction, case):
    """Each row of the table by name; a refusal must say why, and be raised when it is run."""
    problem = direction, case.x.shape, case.w.shape
    operation = getattr(OnArrays(context), direction.name.lower())
    right = [case.y, case.dx, case.dw, case.db][direction]
    for name in context.algorithms():
        plan = context.plan(*problem, algorithm=name, **case.geometry)
        context.set_algorithm(name)
        try:
            if plan.accepted:
                assert plan.reason == ""
                assert_array_equal(operation(case), right)
            else:
                assert plan.reason
                with pytest.raises(convoy.UnsupportedError):
                    operation(case)
        finally:
            context.set_algorithm(None)
