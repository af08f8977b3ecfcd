"""Whatever crosses to C arrives as it was or is refused with what it was: at every entry point."""

import inspect

import numpy
import pytest

import convoy


def zeros(*shape):
    return numpy.zeros(shape, numpy.float32)


X, W, DY = zeros(2, 6, 7, 8), zeros(4, 6, 3, 3), zeros(2, 4, 5, 6)
SHAPES = X.shape, W.shape


def option(name):
    return lambda context, value: convoy.open("cpu", **{name: value}).close()


def geometry(name):
    return lambda context, value: context.forward(X, W, **{name: value})


def graph(context):
    x = context.tensor((3,))
    return context.capture(lambda: context.relu(x))


def product(name):
    return lambda context, value: context.matmul(zeros(2, 2), zeros(2, 2), **{name: value})


def layer(name, parameter, *given):
    """A layer of tensors (2, 4, 3, 3), with what it wants besides."""

    def call(context, value):
        wanted = {"group_norm": 2, "softmax": 1, "log_softmax": 1}
        arguments = [wanted[name]] if name in wanted and parameter not in ("axis", "groups") else []
        x = context.tensor((2, 4, 3, 3))
        return getattr(context, name)(x, *arguments, **{parameter: value})

    return call


def loss(name, parameter):
    def call(context, value):
        of = context.tensor((2, 4))
        shape, dtype = ((2,), "int32") if name == "cross_entropy" else ((2, 4), "float32")
        target = context.tensor(shape, dtype)
        return getattr(context, name)(of, target, **{parameter: value})

    return call


def update(name, parameter):
    """One update of a parameter by an optimizer."""

    def call(context, value):
        weights, gradients, *state = ([context.tensor((3,))] for _ in range(4))
        wanted = {"parameters": weights, "gradients": gradients, "rate": 0.1}
        if name == "sgd":
            wanted.update(velocities=state[0], momentum=0.9, step=context.tensor((1,)))
        else:
            wanted.update(first=state[0], second=state[1], step=context.tensor((1,)))
        return getattr(context, name)(**{**wanted, parameter: value})

    return call


# what is given: a call that gives it
INTEGERS = {
    **{name: option(name) for name in ("threads", "workspace_limit", "history_limit", "team")},
    "memory_limit": option("memory_limit"),
    **{name: geometry(name) for name in ("stride", "dilation", "padding", "groups")},
    "output_padding": geometry("output_padding"),
    "one stride": lambda context, value: context.forward(X, W, stride=(1, value)),
    "one side": lambda context, value: context.forward(X, W, padding=((0, value), 0)),
    "step": lambda context, value: context.mark_step(value),
    "stage": lambda context, value: graph(context).run_stage(value),
    "x_shape": lambda context, value: context.backward_data(DY, W, (2, value, 7, 8)),
    "w_shape": lambda context, value: context.backward_weights(X, DY, (4, value, 3, 3)),
    "source": lambda context, value: context.tensor((value, 1)),
    "shape": lambda context, value: context.shared_zeros((value,)),
    "plan": lambda context, value: context.plan("forward", X.shape, (4, 6, value, 3)),
    "prepare": lambda context, value: context.prepare("forward", (value, 6, 7, 8), W.shape),
    "extent": lambda context, value: context.average_pool(X, value),
    "a window's dilation": lambda context, value: context.max_pool(X, 2, dilation=value),
    "a window's stride": lambda context, value: context.average_pool(X, 2, stride=(1, value)),
    "normalised axes": layer("layer_norm", "axes"),
    "softmax's axis": layer("softmax", "axis"),
    "logarithm's axis": layer("log_softmax", "axis"),
    "normalised groups": layer("group_norm", "groups"),
    "ignored": loss("cross_entropy", "ignored"),
    "axes": lambda context, value: context.permute(X, (0, 1, 2, value)),
    "extents": lambda context, value: context.resample(X, (4, value)),
    "resample's x_shape": lambda context, value: context.resample_backward(X, (2, 6, value, 8)),
    "axis": lambda context, value: context.concatenate([X, X], value),
    "pad": lambda context, value: context.pad(X, value),
    "a side of pad": lambda context, value: context.pad(X, (0, 0, 0, (0, value))),
    "strides": lambda context, value: context.strided(X, (2, 2), (1, value)),
    "strided's shape": lambda context, value: context.strided(X, (2, value), (1, 1)),
    "offset": lambda context, value: context.strided(X, (2, 2), (1, 1), offset=value),
    "flops": lambda context, value: convoy.flops("forward", *SHAPES, stride=value),
    "output_shape": lambda context, value: convoy.output_shape(X.shape, (4, 6, value, 3)),
    "format": lambda context, value: convoy.format_problem("forward", *SHAPES, groups=value),
}
REALS = {
    "device_wait_budget": option("device_wait_budget"),
    "slope": lambda context, value: context.forward(X, W, activation="leaky_relu", slope=value),
    "epsilon": layer("batch_norm", "epsilon"),
    "layer_norm's epsilon": layer("layer_norm", "epsilon"),
    "group_norm's epsilon": layer("group_norm", "epsilon"),
    "momentum": layer("batch_norm", "momentum"),
    "p": layer("dropout", "p"),
    "smoothing": loss("cross_entropy", "smoothing"),
    "beta of a loss": loss("smooth_l1", "beta"),
    **{name: update("sgd", name) for name in ("rate", "dampening", "decay")},
    "sgd's momentum": update("sgd", "momentum"),
    **{f"{name}'s {what}": update(name, what) for name in ("adam", "adamw")
       for what in ("rate", "epsilon", "decay")},
    "one of betas": lambda context, value: update("adam", "betas")(context, (0.9, value)),
    "share": lambda context, value: context.moving_average(
        [context.tensor((3,))], [context.tensor((3,))], value
    ),
    "most": lambda context, value: context.clip_gradients([context.tensor((3,))], value),
}
FILLS = {"value": lambda context, value: context.pad(X, 1, value=value)}
SCALES = {"scale": lambda context, value: context.resample(X, scale=value)}
TEXTS = {
    "device": lambda context, value: convoy.open(value).close(),
    "algorithm": option("algorithm"),
    "name": lambda context, value: context.set_algorithm(value),
    "plan's algorithm": lambda context, value: context.plan("forward", *SHAPES, algorithm=value),
    "text": lambda context, value: convoy.parse_problem(value),
    "program's text": lambda context, value: convoy.Program(value),
    "program's name": lambda context, value: convoy.Program.named(value),
    "gradient's input": lambda context, value: convoy.Program("y = x").gradient(value),
}
FLAGS = {
    "training": layer("batch_norm", "training"),
    "nesterov": update("sgd", "nesterov"),
    "transposed": geometry("transposed"),
    "verbose": option("verbose"),
    **{name: product(name) for name in ("transpose_a", "transpose_b", "sum_batch")},
    "ceil_mode": lambda context, value: context.max_pool(X, 2, ceil_mode=value),
    "count_padding": lambda context, value: context.average_pool(X, 2, count_padding=value),
    "accumulate": lambda context, value: context.backward_bias(DY, out=zeros(4), accumulate=value),
    "data's": lambda context, value: context.backward_data(
        DY, W, X.shape, out=X.copy(), accumulate=value
    ),
    "weights'": lambda context, value: context.backward_weights(
        X, DY, W.shape, out=W.copy(), accumulate=value
    ),
}
CHOICES = {
    **{name: option(name) for name in ("isolation", "failover", "tune", "verify", "nan_watch")},
    **{name: option(name) for name in ("winograd", "require_device")},
    "activation": lambda context, value: context.forward(X, W, activation=value),
    "direction": lambda context, value: context.plan(value, *SHAPES),
    "level": lambda context, value: convoy.set_log(None, value),
    "dtype": lambda context, value: context.tensor((2, 3), value),
    "reduction": loss("cross_entropy", "reduction"),
    **{f"{name}'s": loss(name, "reduction") for name in ("bce_with_logits", "mse", "smooth_l1")},
    "mode": lambda context, value: context.pad(X, 1, mode=value),
    "resample's mode": lambda context, value: context.resample(X, 4, mode=value),
}
OBJECTS = {
    "run": lambda context, value: context.forward(X, W, run=value),
    "program": lambda context, value: context.apply(value, X),
    "run of a program": lambda context, value: context.relu(X, run=value),
    "hook": lambda context, value: convoy.set_log(value),
    "event hook": lambda context, value: context.on_event(value),
    "plan's x_shape": lambda context, value: context.plan("forward", value, W.shape),
    "a tensor's shape": lambda context, value: convoy.Tensor(context, value),
    "function": lambda context, value: context.capture(value),
    "parts": lambda context, value: context.concatenate(value),
    "slices": lambda context, value: context.slice(X, value),
    "array's shape": lambda context, value: context.shared_zeros(value),
    "gamma": layer("batch_norm", "gamma"),
    "running_mean": layer("batch_norm", "running_mean"),
    "layer_norm's beta": layer("layer_norm", "beta"),
    "group_norm's gamma": layer("group_norm", "gamma"),
    **{name: loss("bce_with_logits", name) for name in ("weight", "positive")},
    "a layer's input": lambda context, value: context.batch_norm(value),
    "logits": lambda context, value: context.cross_entropy(value, context.tensor((2,), "int32")),
    "labels": lambda context, value: context.cross_entropy(context.tensor((2, 4)), value),
    "target": lambda context, value: context.mse(context.tensor((2, 4)), value),
    "parameters": update("sgd", "parameters"),
    "one parameter": lambda context, value: update("sgd", "parameters")(context, [value]),
    **{name: update("adam", name) for name in ("gradients", "first", "second", "betas")},
    "velocities": update("sgd", "velocities"),
    "averages": lambda context, value: context.moving_average(value, [context.tensor((3,))], 0.1),
    "tensor": lambda context, value: context.tensor((3,)).assign(value),
}
SEEDS = {
    "seed": lambda context, value: context.seed(value),
    "runs": lambda context, value: setattr(graph(context), "runs", value),
    "stream": lambda context, value: context.set_stream(value),
}


class Mute:
    def __repr__(self):
        raise RuntimeError("no words")


NOT_NUMBERS = ["3", b"3", 1j, object(), Mute()]
LONG = [2**63, -(2**63) - 1, 2**70, -(2**70), 10**5000]
# the calls, what all of them refuse
HOSTILE = [
    (INTEGERS, [*LONG, 1.5, 1.0, float("nan"), *NOT_NUMBERS]),
    (REALS, [float("nan"), float("inf"), 10**999, zeros(2), *NOT_NUMBERS]),
    (FILLS, [10**999, zeros(2), *NOT_NUMBERS]),
    (SCALES, [float("nan"), float("inf"), 0.0, -1.0, 10**999, *NOT_NUMBERS]),
    (TEXTS, ["cpu.direct\0junk", "cpu\0", b"cpu", 0, 5, "\udc80", [], Mute()]),
    (FLAGS, [2, -1, None, 0.5, 1.0, "", "no", zeros(2), Mute()]),
    (CHOICES, [2**70, 10**5000, "sideways", [], {}, Mute()]),
    (SEEDS, [-1, 2**64, 2**70, -(2**70), 10**5000, -(10**5000), 1.5, *NOT_NUMBERS]),
    (OBJECTS, [5, 2**70, 10**5000, Mute()]),
]


def word_of(value):
    """What its sentence must have in it."""
    if isinstance(value, Mute):
        return "a Mute"
    if isinstance(value, int) and value.bit_length() > 200:
        return f"{value.bit_length()} bits"
    return repr(value)


@pytest.mark.parametrize(
    "call, values", [(call, values) for table, values in HOSTILE for call in table.values()],
    ids=[name for table, _ in HOSTILE for name in table],
)  # fmt: skip
def test_refused_with_what_it_was(context, call, values):
    context.forward(X, W, stride=1, padding=0, dilation=1, groups=1, output_padding=0)
    context.forward(X, W, stride=(1, 1), padding=((0, 0), 0))  # 1.0 is not to be found as 1
    before = context.plan("forward", *SHAPES).algorithm
    for value in values:
        with pytest.raises(convoy.ArgumentError) as raised:
            call(context, value)
            pytest.fail(f"{word_of(value)} was taken")
        assert word_of(value) in str(raised.value) and len(str(raised.value)) < 400
    assert context.plan("forward", *SHAPES).algorithm == before


def test_a_slope_that_float32_makes_infinite(context):
    with pytest.raises(convoy.ArgumentError, match="1e[+]39"):
        REALS["slope"](context, 1e39)


def test_what_is_legal_passes(context):
    context.mark_step(2**63 - 1)
    context.mark_step(numpy.int32(-7))
    context.forward(X, W, stride=numpy.int64(1), padding=[0, (0, 0)], transposed=numpy.bool_(False))
    context.forward(X, W, stride=numpy.array([1, 1]))
    context.forward(X, W, activation="leaky_relu", slope=numpy.float32(2))
    context.set_algorithm("")
    context.set_algorithm(None)
    convoy.open("cpu", threads=numpy.int8(1), device_wait_budget=numpy.float32(5)).close()


ARRAYS = {"x", "w", "bias", "dy", "out", "values"}  # test_arrays.py
ARRAYS |= {"inputs", "a", "b"}  # test_programs.py
ARRAYS |= {"y", "of"}  # test_graph.py
ARRAYS |= {"array"}  # test_dlpack.py
ARRAYS |= {"beta", "running_variance"}  # as gamma and running_mean


def functions():
    """Everything people call, with the name it has for them."""
    for name in convoy.__all__:
        value = getattr(convoy, name)
        if inspect.isfunction(value):
            yield name, value
    for owner in (convoy.Context, convoy.Tensor, convoy.Program, convoy.Graph):
        for name, value in vars(owner).items():
            makes = name == "__init__" and owner is not convoy.Graph  # which Context.capture makes
            if inspect.isfunction(value) and (makes or not name.startswith("_")):
                yield f"{owner.__name__}.{name}", value


def settable():
    """Every property that people may set."""
    for owner in [each for each in vars(convoy).values() if inspect.isclass(each)]:
        for name, value in vars(owner).items():
            if isinstance(value, property) and value.fset:
                yield name


@pytest.mark.parametrize("name", [*SEEDS])
def test_the_number_of_bits_is_right(context, name):
    """A pointer has as many as seeds and numbers of runs, which have no sign."""
    with pytest.raises(convoy.ArgumentError, match="18446744073709551616, .* fit 64 bits"):
        SEEDS[name](context, 2**64)
    with pytest.raises(convoy.ArgumentError, match="is -1, which is negative"):
        SEEDS[name](context, -1)
    if name != "stream":
        SEEDS[name](context, 2**64 - 1)


def test_no_parameter_is_forgotten():
    tables = (INTEGERS, REALS, FILLS, SCALES, TEXTS, FLAGS, CHOICES, SEEDS, OBJECTS)
    known = {name for table in tables for name in table} | ARRAYS
    for name, function in functions():
        parameters = inspect.signature(function).parameters.values()
        given = {each.name for each in parameters if each.kind is not each.VAR_KEYWORD}
        assert given - {"self", "context"} <= known, name
    assert set(settable()) == {"runs"} <= known
    assert set(convoy._options.Options.__annotations__) <= known
    assert set(convoy._conv.Geometry.__annotations__) <= known


# what is misspelt: the word that is meant, a call
MISSPELT = {
    "strides": ("stride", lambda context, word: context.forward(X, W, **word)),
    "pad": ("padding", lambda context, word: context.backward_data(DY, W, X.shape, **word)),
    "accumulated": ("accumulate", lambda context, word: context.backward_bias(DY, **word)),
    "group": ("groups", lambda context, word: context.plan("forward", *SHAPES, **word)),
    "dilations": ("dilation", lambda context, word: convoy.output_shape(*SHAPES, **word)),
    "treads": ("threads", lambda context, word: convoy.open("cpu", **word)),
    "fail_over": ("failover", lambda context, word: convoy.devices(**word)),
    "leval": ("level", lambda context, word: convoy.set_log(None, **word)),
    "steps": ("step", lambda context, word: context.mark_step(**word)),
    "shapes": ("shape", lambda context, word: convoy.Tensor(context, **word)),
    "value": ("values", lambda context, word: context.tensor((3,)).write(**word)),
}


@pytest.mark.parametrize("word", MISSPELT)
def test_misspelt_keyword(context, word):
    meant, call = MISSPELT[word]
    with pytest.raises(TypeError, match=f"{word!r}. Did you mean {meant!r}[?]"):
        call(context, {word: 1})


def test_every_function_tells_an_unknown_keyword():
    for name, function in functions():
        with pytest.raises(TypeError, match="unexpected keyword argument 'xyzzy'"):
            function(xyzzy=1)
        if len(inspect.signature(function).parameters) > 1:
            with pytest.raises(TypeError, match=f"{name.split('.')[0]}.*There are "):
                function(xyzzy=1)


def test_keywords_keep_what_functions_say_of_themselves():
    assert convoy.open.__doc__.startswith("Opens a device")
    assert list(inspect.signature(convoy.open).parameters) == ["device", "verbose", "options"]
