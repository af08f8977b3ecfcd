"""Bad input: the right exception, the numbers in its sentence, outputs untouched."""

import pickle

import numpy
import pytest

import convoy
from convoy._errors import _CLASSES


def zeros(*shape):
    return numpy.zeros(shape, numpy.float32)


X, W = zeros(2, 6, 7, 8), zeros(4, 6, 3, 3)

# what is wrong: (exception, words of its sentence, x, w, keywords)
WRONG = {
    "channels": (convoy.ShapeError, ["6", "5"], X, zeros(4, 5, 3, 3), {}),
    "filter_too_large": (convoy.ShapeError, ["9", "7"], X, zeros(4, 6, 9, 3), {}),
    "groups_do_not_divide": (convoy.ShapeError, ["4"], X, zeros(4, 6, 3, 3), {"groups": 4}),
    "no_filters": (convoy.ShapeError, ["0"], X, zeros(0, 6, 3, 3), {}),
    "stride_zero": (convoy.ArgumentError, ["stride", "0"], X, W, {"stride": 0}),
    "negative_padding": (convoy.ArgumentError, ["-1"], X, W, {"padding": ((0, -1), 0)}),
    "dilation_zero": (convoy.ArgumentError, ["dilation", "0"], X, W, {"dilation": (1, 0)}),
    "groups_zero": (convoy.ArgumentError, ["groups", "0"], X, W, {"groups": 0}),
    "output_padding": (convoy.ArgumentError, ["1"], X, W, {"output_padding": 1}),
    "rank_of_w": (convoy.ShapeError, ["(4, 6, 3)"], X, zeros(4, 6, 3), {}),
    "rank_0": (convoy.ShapeError, ["2 extents"], zeros(2, 6), zeros(4, 6), {}),
    "rank_4": (convoy.ShapeError, ["6 extents"], zeros(*[1] * 6), zeros(*[1] * 6), {}),
    "stride_entries": (convoy.ArgumentError, ["3 entries", "2"], X, W, {"stride": (1, 1, 1)}),
    "padding_triple": (convoy.ArgumentError, ["3 entries"], X, W, {"padding": ((1, 1, 1), 0)}),
    "stride_float": (convoy.ArgumentError, ["1.5", "integer"], X, W, {"stride": 1.5}),
    "stride_huge": (convoy.ArgumentError, [str(2**70), "64 bits"], X, W, {"stride": 2**70}),
    "activation": (convoy.ArgumentError, ["'gelu'"], X, W, {"activation": "gelu"}),
    "bias": (convoy.ShapeError, ["(5,)", "(4,)"], X, W, {"bias": zeros(5)}),
    "x_is_a_list": (convoy.ArgumentError, ["float64"], [[[1.0]]], W, {}),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_forward(context, name):
    error, words, x, w, keywords = WRONG[name]
    out = numpy.full((2, 4, 5, 6), 7, numpy.float32)
    with pytest.raises(error) as raised:
        context.forward(x, w, out=out, **keywords)
    for word in words:
        assert word in str(raised.value)
    assert (out == 7).all()


def test_sentence_is_the_librarys(context):
    with pytest.raises(convoy.ShapeError) as raised:
        context.forward(X, zeros(4, 5, 3, 3))
    sentence = context._handle and convoy._load.library.convoy_last_error().decode()
    assert str(raised.value) == raised.value.sentence == sentence != ""
    assert raised.value.status is convoy.Status.ERR_SHAPE


def test_unknown_keyword(context):
    with pytest.raises(TypeError, match="strides"):
        context.forward(X, W, strides=2)


def test_gradients_of_wrong_shapes(context):
    with pytest.raises(convoy.ShapeError, match=r"dy has shape.*\(2, 4, 5, 6\)"):
        context.backward_data(zeros(2, 4, 6, 5), W, X.shape)
    with pytest.raises(convoy.ShapeError, match=r"dy has shape.*\(2, 4, 5, 6\)"):
        context.backward_weights(X, zeros(2, 4, 6, 5), W.shape)
    with pytest.raises(convoy.ShapeError, match="out has shape"):
        context.backward_data(zeros(2, 4, 5, 6), W, X.shape, out=zeros(2, 6, 8, 7))
    with pytest.raises(convoy.ShapeError, match="out has shape"):
        context.backward_bias(zeros(2, 4, 5, 6), out=zeros(5))
    with pytest.raises(convoy.ArgumentError, match="accumulate"):
        context.backward_bias(zeros(2, 4, 5, 6), accumulate=True)


def test_standard_exceptions_catch_them():
    assert issubclass(convoy.ShapeError, ValueError)
    assert issubclass(convoy.ArgumentError, ValueError)
    assert issubclass(convoy.MemoryError_, MemoryError)
    assert issubclass(convoy.NotFoundError, LookupError)
    assert set(_CLASSES) == set(convoy.Status) - {convoy.Status.OK}


@pytest.mark.parametrize("error", _CLASSES.values())
def test_errors_survive_pickling(error):
    again = pickle.loads(pickle.dumps(error(convoy.Status.ERR_DEVICE, "ocl:0 is gone")))
    assert type(again) is error and again.status is convoy.Status.ERR_DEVICE
    assert str(again) == "ocl:0 is gone"


@pytest.mark.parametrize(
    "options, words",
    [
        ({"threads": -1}, "-1"),
        ({"threads": 2**40}, str(2**40)),
        ({"workspace_limit": -5}, "-5"),
        ({"isolation": "thread"}, "thread"),
        ({"failover": "no"}, "failover"),
        ({"device_wait_budget": -1.5}, "-1.5"),
        ({"history_limit": -5}, "-5"),
        ({"verify": "never"}, "never"),
        ({"nan_watch": "no"}, "nan_watch"),
        ({"device": b"cpu"}, "device"),
        ({"device": "cpu\0x"}, "device"),
    ],
)
def test_wrong_options(options, words):
    with pytest.raises(convoy.ArgumentError, match=words):
        convoy.open(**{"device": "cpu", **options})


def test_unknown_algorithm(context):
    with pytest.raises(convoy.NotFoundError, match="cpu.magic"):
        context.set_algorithm("cpu.magic")
    with pytest.raises(convoy.NotFoundError, match="cpu.magic"):
        context.plan("forward", X.shape, W.shape, algorithm="cpu.magic")
    with pytest.raises(convoy.ArgumentError, match="sideways"):
        context.plan("sideways", X.shape, W.shape)
