"""Tensors: contents, order, and what they refuse. Results of operations: test_results.py."""

import numpy
import pytest
from numpy.testing import assert_array_equal

import convoy
from cases import integers


def test_contents(context):
    values = integers((2, 3, 4), 1)
    tensor = context.tensor(values)
    assert (tensor.shape, tensor.ndim, tensor.size) == ((2, 3, 4), 3, 24)
    assert_array_equal(tensor.numpy(), values)
    assert_array_equal(numpy.asarray(tensor), values)
    assert_array_equal(numpy.asarray(tensor, dtype=numpy.float64), values)
    tensor.write(values + 1)
    out = numpy.zeros_like(values)
    assert tensor.read(out) is out
    assert_array_equal(out, values + 1)
    assert not context.tensor((3, 5)).read().any()


def test_written_values_may_change(context):
    values = integers((7,), 2)
    tensor = context.tensor(values)
    values[:] = 99
    assert_array_equal(tensor.read(), integers((7,), 2))


def test_write_of_another_layout(context):
    values = integers((4, 6), 3)
    tensor = context.tensor((6, 4))
    tensor.write(values.T)
    assert_array_equal(tensor.read(), values.T)


def test_a_chain_in_place(context):
    """The output of each call is the input of the next, and the output too."""
    x, w = integers((2, 3, 5, 5), 4), integers((3, 3, 1, 1), 5)
    tensor, weights = context.tensor(x), context.tensor(w)
    expected = x.astype(numpy.float64)
    for _ in range(4):
        context.forward(tensor, weights, out=tensor)
        expected = numpy.einsum("nchw,kc->nkhw", expected, w[:, :, 0, 0])
    tensor.commit()
    assert_array_equal(tensor.read(), expected)


def test_outputs_are_made_with_the_right_shape(context, operands):
    x, w, dy = map(context.tensor, operands)
    assert context.forward(x, w, padding=1).shape == dy.shape
    assert context.backward_data(dy, w, x.shape, padding=1).shape == x.shape
    assert context.backward_weights(x, dy, w.shape, padding=1).shape == w.shape
    assert context.backward_bias(dy).shape == (4,)
    context.sync()


def test_run_waits(context, operands):
    x, w, _ = map(context.tensor, operands)
    run = convoy.Run()
    context.forward(x, w, run=run)
    assert run.device == "cpu" and run.attempts == 1 and run.algorithm


def test_wrong_shapes(context, operands):
    x, w, dy = map(context.tensor, operands)
    with pytest.raises(convoy.ShapeError):
        context.forward(x, w, out=context.tensor((2, 4, 8, 9)))
    with pytest.raises(convoy.ShapeError, match="out has shape"):
        context.backward_data(dy, w, x.shape, padding=1, out=context.tensor((2, 3, 9, 8)))
    with pytest.raises(convoy.ShapeError):
        context.backward_data(x, w, x.shape, padding=1)
    with pytest.raises(convoy.ShapeError):
        context.backward_weights(x, x, w.shape, padding=1)
    with pytest.raises(convoy.ShapeError, match="values has shape"):
        x.write(numpy.zeros((2, 3, 9, 8), numpy.float32))
    with pytest.raises(convoy.ShapeError, match="out has shape"):
        x.read(numpy.zeros((2, 3, 9, 8), numpy.float32))
    with pytest.raises(convoy.ShapeError):
        context.tensor((3, -2))
    with pytest.raises(convoy.ArgumentError):
        context.tensor(())


def test_tensors_go_with_tensors_of_their_context(context, operands):
    x, w, dy = operands
    tensor = context.tensor(x)
    with pytest.raises(convoy.ArgumentError, match="w is a ndarray"):
        context.forward(tensor, w)
    with pytest.raises(convoy.ArgumentError, match="x is a ndarray"):
        context.forward(x, w, out=tensor)
    with convoy.open("cpu") as other:
        with pytest.raises(convoy.ArgumentError, match="another context"):
            other.forward(tensor, other.tensor(w))


def test_values_are_shared_under_other_extents(context):
    values = integers((2, 3, 4), 6)
    tensor = context.tensor(values)
    flat, other = tensor.reshape((24,)), context.tensor((2, 12))
    other.assign(tensor)
    tensor.write(values + 1)
    assert_array_equal(flat.read(), values.reshape(24))
    assert_array_equal(other.read(), values.reshape(2, 12))
    labels = context.tensor(numpy.arange(4, dtype=numpy.int32)).reshape((2, 2))
    assert labels.dtype == numpy.int32 and labels.read()[1, 1] == 3


def test_values_that_cannot_be_shared(context):
    tensor = context.tensor((2, 3))
    with pytest.raises(convoy.ShapeError, match="6"):
        tensor.reshape((7,))
    with pytest.raises(convoy.ArgumentError, match="types"):
        tensor.assign(context.tensor((2, 3), dtype="uint8"))
    with pytest.raises(convoy.ArgumentError, match="tensor is a ndarray"):
        tensor.assign(numpy.zeros((2, 3), numpy.float32))
    with convoy.open("cpu") as other, pytest.raises(convoy.ArgumentError, match="another context"):
        tensor.assign(other.tensor((2, 3)))


def test_wrong_dtype(context):
    with pytest.raises(convoy.ArgumentError, match="float64"):
        context.tensor(numpy.zeros(3))
    with pytest.raises(convoy.ArgumentError, match="int64"):
        context.tensor((3,)).read(numpy.zeros(3, numpy.int64))
