"""Programs and reductions on tensors and arrays: values, extents, gradients, types, random numbers,
lifetimes, and what is refused."""

import copy
import gc
import os
import pickle
import re
import threading
from pathlib import Path

import numpy
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import convoy
from convoy import Program

FLOAT = numpy.float32


def reals(*shape, seed=1):
    return numpy.random.default_rng(seed).standard_normal(shape).astype(FLOAT)


def test_what_the_document_shows(monkeypatch):
    """docs/python.md, "Programs": it runs, and softmax sums to 1."""
    document = Path(__file__).resolve().parents[3] / "docs" / "python.md"
    section = document.read_text(encoding="utf-8").split("\n## Programs\n")[1].split("\n## ")[0]
    shown = []
    monkeypatch.setenv("CONVOY_DEVICE", "cpu")
    (code,) = re.findall(r"```python\n(.*?)```", section, re.S)
    exec(code, {"convoy": convoy, "np": numpy, "print": shown.append})
    assert_allclose(shown[0], numpy.ones(8), 1e-6)


# ------------------------------------------------------------------------------ what they are


def test_a_program_says_what_it_is():
    program = Program("v = momentum*v + g;w = w - rate * v")
    assert program.inputs == ("momentum", "v", "g", "w", "rate")
    assert program.results == ("v", "w")
    assert program.reduced == ""
    assert Program(program.text) == program
    assert str(program) == program.text and eval(repr(program), {"convoy": convoy}) == program


def test_a_reduction_says_what_it_reduces():
    program = Program("over = mean over n h w of x; q = variance over n h w of x")
    assert (program.inputs, program.results, program.reduced) == (("x",), ("over", "q"), "nhw")
    assert Program("of = over * n").reduced == ""


def test_equality_and_hash():
    same = Program("y=x*x"), Program("let t = x * x; y = t")
    assert same[0] == same[1] and len({*same}) == 1
    assert same[0] != Program("y = z * z") and same[0] != "y = x * x"


def test_named_programs():
    names = Program.names()
    assert len(names) == len(set(names)) > 30 and {"relu", "adamw", "statistics"} <= set(names)
    for name in names:
        program = Program.named(name)
        assert Program(program.text) == program
        assert program.inputs and program.results
    with pytest.raises(convoy.NotFoundError, match='"swish"'):
        Program.named("swish")


@pytest.mark.parametrize("way", [copy.copy, copy.deepcopy])
def test_a_copy_is_itself(way):
    program = Program("y = x")
    assert way(program) is program and way([program])[0] is program


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_pickled_as_text(context, protocol):
    for program in (Program("y = a - b"), Program.named("adamw"), Program.named("silu").gradient()):
        other = pickle.loads(pickle.dumps(program, protocol))
        assert other == program and other is not program
        assert (other.inputs, other.results) == (program.inputs, program.results)
    assert context.apply(pickle.loads(pickle.dumps(Program("y = a - b"))), 3, 1) == [2]


def test_a_program_never_changes():
    program = Program("y = x")
    for name in "text", "inputs", "_text", "more":
        with pytest.raises(AttributeError):
            setattr(program, name, "y = 2")
    assert program.text == "y = x"


@pytest.mark.parametrize(
    "text, words",
    [
        ("y = x +", "column 8"),
        ("", "column 1: no result"),
        ("y = \N{GREEK SMALL LETTER ALPHA}", "column 5"),
        ("y = x\0", "NUL"),
        (None, "None"),
        (b"y = x", "not a text"),
        (3, "not a text"),
        ("y = " + "(" * 10000, "nested"),
        ("y = " + "x + " * 5000 + "x", "16383"),
        ("y = x" + " " * 10_000_000, "16383"),
    ],
)
def test_texts_that_are_none(text, words):
    with pytest.raises(convoy.ArgumentError, match=words):
        Program(text)


# -------------------------------------------------------------------------------------- values


def test_values(context):
    x, mean = reals(2, 3, 4, 5), reals(3, seed=2)
    y = context.apply(Program("y = (x - mean) * 2"), x, mean)
    assert y.dtype == FLOAT and type(y) is numpy.ndarray
    assert_array_equal(y, (x - mean[:, None, None]) * FLOAT(2))


def test_by_name_and_by_place(context):
    program, a, b = Program("y = a - b"), reals(4), reals(4, seed=2)
    for inputs in ((a, b), ({"b": b, "a": a},)):
        assert_array_equal(context.apply(program, *inputs), a - b)
        there = [
            {name: context.tensor(each) for name, each in one.items()}
            if isinstance(one, dict)
            else context.tensor(one)
            for one in inputs
        ]
        assert_array_equal(context.apply(program, *there).read(), a - b)


# In numpy's terms: which extents of n c z h w an array of so many has.
VIEWS = {1: (0, 2, 3, 4), 2: (2, 3, 4), 3: (2, 3), 4: (2,), 5: ()}


def widened(array):
    return numpy.expand_dims(array, VIEWS[array.ndim])


@pytest.mark.parametrize(
    "shapes, result",
    [
        (((2, 3, 4, 5), (3,)), (2, 3, 4, 5)),
        (((3,), (2, 3, 4, 5)), (2, 3, 4, 5)),
        (((2, 3), (2, 3, 7)), (2, 3, 7)),
        (((1,), (2, 3, 2, 4, 5)), (2, 3, 2, 4, 5)),
        (((2, 1, 4, 1), (1, 3, 1, 5)), (2, 3, 4, 5)),
        (((1, 3, 7), (2, 1, 1)), (2, 3, 7)),
        (((2, 3, 7), (2, 3, 4, 7)), (2, 3, 4, 7)),
        (((0, 3, 7), (3,)), (0, 3, 7)),
        (((4,), (1,)), (4,)),
    ],
)
def test_extents_of_one_are_repeated(context, shapes, result):
    a, b = (reals(*shape, seed=i) for i, shape in enumerate(shapes))
    wanted = (widened(a) + widened(b)).reshape(result)
    for made in (context.add(a, b), context.add(context.tensor(a), context.tensor(b)).read()):
        assert made.shape == result
        assert_array_equal(made, wanted)


def test_numbers_are_inputs(context):
    x = reals(2, 3)
    there = context.tensor(x)
    program = Program("y = x * k + more")
    for k in (0.5, FLOAT(0.5), numpy.float64(0.5), numpy.array(0.5)):
        wanted = x * FLOAT(0.5) + FLOAT(2)
        assert_array_equal(context.apply(program, x, k, 2), wanted)
        assert_array_equal(context.apply(program, there, k, 2).read(), wanted)
    assert context.apply(program, 1, float("inf"), 0) == [numpy.inf]
    for k in (1e39, 10**999):
        with pytest.raises(convoy.ArgumentError, match="^k is "):
            context.apply(program, x, k, 0)


def test_named_functions(context):
    x, b = reals(2, 3, 4), reals(2, 3, 4, seed=2)
    double = x.astype(numpy.float64)
    assert_array_equal(context.relu(x), numpy.maximum(x, 0))
    assert_allclose(context.sigmoid(x), 1 / (1 + numpy.exp(-double)), 4e-7)
    assert_allclose(context.silu(x), double / (1 + numpy.exp(-double)), 6e-7)
    assert_array_equal(context.multiply(x, b), x * b)
    tensor = context.tensor(x)
    assert context.relu(tensor, out=tensor) is tensor
    assert_array_equal(tensor.read(), numpy.maximum(x, 0))


def test_run_is_filled(context):
    for x in (reals(3), context.tensor(reals(3))):
        run = convoy.Run()
        context.relu(x, run=run)
        assert (run.algorithm, run.device, run.attempts) == ("cpu.program", "cpu", 1)
    context.apply(Program.named("total"), reals(3), run=run)
    assert run.algorithm == "cpu.reduce"


# ------------------------------------------------------------------------------------- results


MOMENTUM = Program("v = momentum * v + g; w = w - rate * v")


def test_an_optimizer_in_place(context):
    w, g, v = reals(8, 3, 3, 3), reals(8, 3, 3, 3, seed=2), numpy.zeros((8, 3, 3, 3), FLOAT)
    names = {"w": context.tensor(w), "v": context.tensor(v)}
    for _ in range(3):
        given = {**names, "g": context.tensor(g), "momentum": 0.9, "rate": 0.1}
        made = context.apply(MOMENTUM, given, out=names)
        assert made == (names["v"], names["w"])
        v = FLOAT(0.9) * v + g
        w = w - FLOAT(0.1) * v
    assert_array_equal(names["v"].read(), v)
    assert_array_equal(names["w"].read(), w)


def test_an_optimizer_in_place_on_arrays(context):
    w, g, v = reals(4, 5), reals(4, 5, seed=2), reals(4, 5, seed=3)
    next_v = FLOAT(0.9) * v + g
    next_w = w - FLOAT(0.1) * next_v
    made = context.apply(MOMENTUM, 0.9, v, g, w, 0.1, out=(v, w))
    assert made[0] is v and made[1] is w
    assert_array_equal(v, next_v)
    assert_array_equal(w, next_w)


def test_results_without_a_place_are_made(context):
    program, x = Program("y = x; z = -x; q = x * x"), reals(2, 3)
    there = context.tensor(x)
    mine = context.tensor((2, 3))
    y, z, q = context.apply(program, there, out={"z": mine})
    assert z is mine and y is not there
    for made, wanted in zip((y, z, q), (x, -x, x * x)):
        assert_array_equal(made.read(), wanted)
    assert_array_equal(context.apply(program, there, out=[None, mine, None])[1].read(), -x)
    array = numpy.empty((2, 3), FLOAT)
    assert context.apply(program, x, out={"q": array})[2] is array
    assert_array_equal(array, x * x)


def test_a_program_without_inputs_has_the_extents_of_out(context):
    program = Program("y = index(c) * 10 + index(h); z = index(n)")
    y, z = context.apply(program, out={"y": context.tensor((2, 3, 4, 1))})
    assert z.shape == (2, 3, 4, 1)
    assert_array_equal(y.read()[1, :, :, 0], numpy.add.outer(numpy.arange(3) * 10, range(4)))
    with pytest.raises(convoy.ArgumentError, match="without inputs"):
        context.apply(program)


# ---------------------------------------------------------------------------------- reductions


def test_statistics(context):
    x = reals(4, 3, 5, 6) + FLOAT(1000)
    mean, variance = context.apply(Program.named("statistics"), x)
    double = x.astype(numpy.float64)
    assert mean.shape == variance.shape == (1, 3, 1, 1)
    assert_allclose(mean.ravel(), double.mean((0, 2, 3)), 1e-6)
    assert_allclose(variance.ravel(), double.var((0, 2, 3)), 1e-4)


@pytest.mark.parametrize("kind, of", [("sum", "sum"), ("maximum", "max"), ("minimum", "min")])
@pytest.mark.parametrize("axes", ["n", "c", "h w", "n z h w", "n c z h w"])
def test_reductions(context, kind, of, axes):
    x = numpy.random.default_rng(3).integers(-4, 5, (3, 4, 2, 5, 6)).astype(FLOAT)
    numbers = tuple("nczhw".index(axis) for axis in axes.split())
    wanted = getattr(x, of)(numbers, keepdims=True)
    program = Program(f"s = {kind} over {axes} of x")
    made = context.apply(program, context.tensor(x))
    assert_array_equal(made.read(), wanted)
    assert_array_equal(context.apply(program, x), wanted)


def test_a_statistic_is_an_input_of_the_next_program(context):
    """Softmax over channels, as three programs."""
    x = reals(2, 10, 4)
    there = context.tensor(x)
    most = context.apply(Program.named("channel_maximum"), there)
    total = context.apply(Program.named("exponentials"), there, most)
    y = context.apply(Program("y = exp(x - m) / s"), there, most, total)
    power = numpy.exp(x.astype(numpy.float64))
    assert_allclose(y.read(), power / power.sum(1, keepdims=True), 2e-6)


def test_results_of_a_reduction_may_leave_out_what_is_reduced(context):
    x, place = reals(4, 3, 5, 6), numpy.empty(3, FLOAT)
    made = context.apply(Program.named("channel_sum"), x, out=place)
    assert made is place
    assert_allclose(place, x.sum((0, 2, 3), numpy.float64), 1e-4)


# ----------------------------------------------------------------------------------- gradients


@pytest.mark.parametrize(
    "text",
    [
        "y = x * sigmoid(x * k)",
        "y = exp(x) / (1 + k * k); z = tanh(x) * k",
        "let t = x - k; y = sqrt(t * t + 1) + log(2 + erf(t))",
        "y = max(x, k) * fma(x, k, 3)",
    ],
)
def test_gradients_against_differences(context, text):
    """Of the sum of all results, each weighted at random, in every input."""
    program, x, k = Program(text), reals(2, 3, 4), reals(2, 3, 4, seed=2)
    gradient = program.gradient()
    weights = {f"d_{name}": reals(2, 3, 4, seed=7 + i) for i, name in enumerate(program.results)}

    def loss(x, k):
        made = context.apply(program, {"x": x.astype(FLOAT), "k": k.astype(FLOAT)})
        made = made if isinstance(made, tuple) else (made,)
        return sum(
            each.astype(numpy.float64) * weights[f"d_{name}"]
            for each, name in zip(made, program.results)
        )

    operands = {"x": x, "k": k, **weights}
    made = context.apply(gradient, {name: operands[name] for name in gradient.inputs})
    step = 2.0**-8
    for name, got in zip(gradient.results, made):
        at = {"x": x, "k": k}
        up, down = ({**at, name[2:]: at[name[2:]] + sign * step} for sign in (1, -1))
        assert_allclose(got, (loss(**up) - loss(**down)) / (2 * step), 2e-3, 1e-3)


def test_gradients_of_some_inputs(context):
    program = Program("y = a * b + c")
    assert program.gradient("b").results == ("d_b",)
    assert program.gradient("c", "a").results == ("d_a", "d_c")
    assert program.gradient("a").inputs == ("b", "d_y")
    assert Program.named("silu").gradient("x").gradient("x").results == ("d_x",)


def test_gradients_there_are_none_of():
    program = Program("y = a * b")
    with pytest.raises(convoy.ArgumentError, match='no input "z"'):
        program.gradient("z")
    for name in ("", "a b", " a", 3, None):
        with pytest.raises(convoy.ArgumentError):
            program.gradient(name)
    with pytest.raises(convoy.ArgumentError, match="9 inputs.*at most 8"):
        Program("y = a + b + c + d + e + f + g + h + i").gradient()
    with pytest.raises(convoy.UnsupportedError, match="only sums"):
        Program("s = maximum over c of x").gradient()
    with pytest.raises(convoy.ArgumentError, match="d_y"):
        Program("y = x * d_y").gradient("x")


# --------------------------------------------------------------------------------------- types


@pytest.mark.parametrize("dtype", ["int32", "uint8", numpy.int32, numpy.dtype("uint8")])
def test_tensors_of_other_types(context, dtype):
    values = numpy.arange(12).reshape(3, 4).astype(dtype)
    tensor = context.tensor((3, 4), dtype)
    assert tensor.dtype == dtype and not tensor.read().any()
    assert repr(tensor) == f"convoy.Tensor(shape=(3, 4), dtype={numpy.dtype(dtype)})"
    tensor.write(values)
    assert tensor.read().dtype == dtype
    assert_array_equal(tensor.numpy(), values)
    assert_array_equal(numpy.asarray(tensor), values)
    assert_array_equal(copy.deepcopy(tensor).read(), values)
    assert copy.copy(tensor).dtype == dtype
    assert_array_equal(context.tensor(values).read(), values)
    assert context.tensor(values).dtype == dtype
    out = numpy.zeros((3, 4), dtype)
    assert tensor.read(out) is out
    assert_array_equal(out, values)


def test_wrong_types(context):
    tensor, values = context.tensor((3,), "int32"), numpy.zeros(3)
    with pytest.raises(convoy.ArgumentError, match="float64, the tensor is int32: pass numpy.as"):
        tensor.write(values)
    with pytest.raises(convoy.ArgumentError, match="uint8, the tensor is int32"):
        tensor.read(numpy.zeros(3, numpy.uint8))
    with pytest.raises(convoy.ArgumentError, match="float64, Convoy computes in float32"):
        context.tensor(values)
    with pytest.raises(convoy.ArgumentError, match="float64, the tensor is uint8"):
        context.tensor(values, "uint8")
    with pytest.raises(convoy.ArgumentError, match="6"):
        context.relu(numpy.zeros((1,) * 6, FLOAT))
    for dtype in ("int64", float, bool, "no type", 3, object):
        with pytest.raises(convoy.ArgumentError, match="^dtype is "):
            context.tensor((3,), dtype)
    with pytest.raises(convoy.ArgumentError, match="x is int64"):
        context.relu(numpy.zeros(3, numpy.int64))
    with pytest.raises(convoy.ArgumentError, match="y is not float32, as all results are"):
        context.relu(context.tensor((3,)), out=tensor)
    with pytest.raises(convoy.ArgumentError, match="y is int32, Convoy computes in float32"):
        context.relu(numpy.zeros(3, FLOAT), out=numpy.zeros(3, numpy.int32))
    with pytest.raises(convoy.ArgumentError, match="x is int32, not float32"):
        context.forward(context.tensor((1, 1, 3), "int32"), context.tensor((1, 1, 1)))


def test_labels_and_masks(context):
    x, label = reals(3, 4, 5), numpy.array([[2], [0], [3]], numpy.int32)
    mask = numpy.random.default_rng(5).integers(0, 256, (3, 4, 5)).astype(numpy.uint8)
    program = Program("y = (index(c) == label ? 100 : 0) + x * mask")
    hot = (numpy.arange(4) == label)[:, :, None] * FLOAT(100)
    for prepare in (context.tensor, lambda array: array):
        made = context.apply(program, *map(prepare, (label, x, mask)))
        assert_array_equal(numpy.asarray(made), hot + x * mask.astype(FLOAT))


# --------------------------------------------------------------------------------------- random


def test_random_numbers_follow_the_seed(context):
    program = Program("y = random()")

    def draws(seed):
        context.seed(seed)
        return [context.apply(program, out=numpy.empty(4000, FLOAT)) for _ in range(2)]

    first, again, other = draws(7), draws(7), draws(8)
    assert_array_equal(first, again)
    assert not numpy.array_equal(first[0], first[1]) and not numpy.array_equal(first, other)
    assert abs(numpy.mean(first) - 0.5) < 0.02 and 0 <= numpy.min(first) < numpy.max(first) < 1
    assert not numpy.array_equal(draws(2**64 - 1), draws(2**63 - 1))


@pytest.mark.parametrize("seed", [-1, 2**64, 1.5, "7", None])
def test_seeds_that_are_none(context, seed):
    with pytest.raises(convoy.ArgumentError, match="^seed is "):
        context.seed(seed)


# -------------------------------------------------------------------------------------- refused


def test_wrong_extents(context):
    x, s = context.tensor((2, 3, 4, 5)), context.tensor((5,))
    with pytest.raises(convoy.ShapeError, match="s has extent 5 along c"):
        context.apply(Program("y = x * s"), x, s)
    with pytest.raises(convoy.ShapeError, match="s has extent 5 along c"):
        context.apply(Program("y = x * s"), numpy.zeros((2, 3), FLOAT), numpy.zeros(5, FLOAT))
    with pytest.raises(convoy.ShapeError, match="x has extent 4 along h"):
        context.relu(x, out=context.tensor((2, 3, 5, 5)))
    with pytest.raises(convoy.ShapeError, match="t has not the extents n2 c1"):
        context.apply(Program("t = sum over c of x"), x, out=s)


def test_wrong_operands(context):
    program, x = Program("y = a * b; z = a"), context.tensor((3,))
    array = numpy.ones(3, FLOAT)
    for inputs, words in (
        ((x,), r"1 inputs for a program with 2 \(a, b\)"),
        ((x, x, x), "3 inputs"),
        ((), "0 inputs"),
        (({"a": x},), "reads b, which is not among"),
        (({"a": x, "b": x, "c": x},), "no input 'c'; it has a, b"),
        ((x, array), "b is a ndarray: tensors go with tensors only"),
        ((x, None), "b is None"),
        ((array, "text"), "b is <U4"),
        ((array, 1j), "b is complex128"),
        ((array, [1.0, 2.0]), "b is float64"),
        ((array, object()), "b is object"),
    ):
        with pytest.raises(convoy.ArgumentError, match=words):
            context.apply(program, *inputs)
    for out, words in (
        (x, "not one for each of y, z"),
        ((x,), "not one for each"),
        ({"a": x}, "no result 'a'; it has y, z"),
        ((x, x), "y and z are the same tensor"),
        ((x, array), "z is a ndarray"),
    ):
        with pytest.raises(convoy.ArgumentError, match=words):
            context.apply(program, x, x, out=out)
    for out, words in (((array, array), "y and z overlap"), (([1.0], None), "y is a list")):
        with pytest.raises(convoy.ArgumentError, match=words):
            context.apply(program, array, array, out=out)
    with pytest.raises(convoy.ArgumentError, match="not a convoy.Program"):
        context.apply("y = x", x)
    with pytest.raises(convoy.ArgumentError, match="not a convoy.Run"):
        context.apply(program, x, x, run=True)
    with pytest.raises(TypeError, match="'output'. Did you mean 'out'"):
        context.apply(program, x, x, output=x)
    assert_array_equal(array, 1)
    assert_array_equal(x.read(), 0)


def test_foreign_and_closed_contexts(context):
    x = context.tensor((3,))
    with convoy.open("cpu") as other:
        for inputs, out in ((x, None), (other.tensor((3,)), x)):
            with pytest.raises(convoy.ArgumentError, match="another context"):
                other.relu(inputs, out=out)
        mine = other.tensor((3,))
    for call in (
        lambda: other.relu(mine),
        lambda: other.relu(mine, out=mine),
        lambda: other.relu(numpy.zeros(3, FLOAT)),
        lambda: other.seed(1),
        lambda: other.tensor((3,), "uint8"),
    ):
        with pytest.raises(convoy.ArgumentError, match="the context is closed"):
            call()


# ------------------------------------------------------------------------------------ lifetimes


def test_programs_and_inputs_may_go_before_the_result_is_read(context):
    x = reals(64, 64)
    made = [context.apply(Program("y = x * k"), context.tensor(x), k) for k in range(50)]
    gc.collect()
    for k, tensor in enumerate(made):
        assert_array_equal(tensor.read(), x * FLOAT(k))


def test_nothing_grows(context):
    x = context.tensor(reals(256, 256))

    def step():
        program = Program("y = x * k; z = x - k")
        cycle = [context.apply(program, x, 2.0), program.gradient("x")]
        cycle.append(cycle)
        del cycle
        gc.collect()

    step()
    context.sync()
    before = context.health().host_bytes
    for _ in range(20):
        step()
    context.sync()
    assert context.health().host_bytes <= before


def test_threads_share_programs(context):
    program, failures = Program("y = x * k + 1"), []

    def work(number):
        x = reals(1000, seed=number)
        for k in range(100):
            text = f"y = x * k + {number}"
            if not numpy.array_equal(context.apply(program, x, k), x * FLOAT(k) + FLOAT(1)):
                failures.append(k)
            if Program(text).text != text:
                failures.append(text)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not failures


@pytest.mark.filterwarnings("ignore:.*use of fork:DeprecationWarning")
def test_in_a_forked_child(context):
    """The child has the parent's programs and tensors, and frees its own."""
    program, x = Program("y = x * 2"), context.tensor(reals(5))
    child = os.fork()
    if child == 0:
        status = 1
        try:
            assert_array_equal(context.apply(program, x).read(), reals(5) * FLOAT(2))
            assert Program("y = x * 2") == program
            del program
            gc.collect()
            status = 0
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert_array_equal(context.apply(program, x).read(), reals(5) * FLOAT(2))


def test_on_an_opencl_device(opencl_device):
    x = reals(2, 3, 8, 8)
    with convoy.open(opencl_device) as context:
        y = context.apply(Program("y = x * 2 + k"), context.tensor(x), 1)
        assert_array_equal(y.read(), x * FLOAT(2) + FLOAT(1))
