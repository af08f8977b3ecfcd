"""Layers and losses against PyTorch in float64, their results and their gradients."""

import re
from pathlib import Path

import convoy
import numpy
import pytest

FLOAT = numpy.float32
torch = pytest.importorskip("torch")
functional = torch.nn.functional


def normal(shape, seed, mean=0.0, deviation=1.0):
    generator = numpy.random.default_rng(seed)
    return (mean + deviation * generator.standard_normal(shape)).astype(FLOAT)


def captured(context, build, operands, dy_seed=9):
    """What `build` makes of tensors of these arrays, called and captured, and the gradients of the
    result times something for all of float32."""
    tensors = [None if each is None else context.tensor(each) for each in operands]
    called = build(*tensors).read()
    of = [each for each in tensors if each is not None and each.dtype == FLOAT]
    dy = context.tensor(normal(called.shape, dy_seed))
    made = {}

    @context.capture
    def graph():
        made["y"] = build(*tensors)
        made["of"] = context.gradients(made["y"], of, dy=dy)
        return made["y"], made["of"]

    graph.run()
    y = made["y"].read()
    assert numpy.array_equal(y, called, equal_nan=True)
    return y, [each.read() for each in made["of"]]


def wanted(build, operands, dy_seed=9):
    """The same by PyTorch in float64."""
    tensors = []
    for each in operands:
        if each is None:
            tensors.append(None)
        elif each.dtype == FLOAT:
            tensors.append(torch.tensor(each, dtype=torch.float64, requires_grad=True))
        else:
            tensors.append(torch.tensor(each).long())
    y = build(*tensors)
    of = [each for each in tensors if each is not None and each.is_floating_point()]
    y.backward(torch.tensor(normal(tuple(y.shape) or (1,), dy_seed)).reshape(y.shape).double())
    return y.detach().numpy(), [each.grad.numpy() for each in of]


def close(got, right, tolerance=2e-6):
    """Relative to the largest, NaN where NaN is."""
    right = numpy.asarray(right).reshape(got.shape)
    assert (numpy.isnan(got) == numpy.isnan(right)).all()
    scale = max(numpy.nanmax(numpy.abs(right), initial=0.0), 1e-30)
    worst = numpy.nanmax(numpy.abs(got - right), initial=0.0)
    assert worst <= tolerance * scale, f"{worst} of {scale}"


def check(context, ours, theirs, operands, tolerance=2e-6):
    y, gradients = captured(context, ours, operands)
    right, right_gradients = wanted(theirs, operands)
    close(y, right, tolerance)
    for got, gradient in zip(gradients, right_gradients):
        close(got, gradient, tolerance)


# ----------------------------------------------------------------------------------- normalisation


SHAPES = [(6, 5), (3, 4, 7), (2, 3, 5, 6), (2, 3, 2, 3, 4), (1, 3, 9, 1)]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("affine", [True, False])
def test_batch_norm(context, shape, affine):
    c = shape[1]
    weights = [normal(c, 2), normal(c, 3)] if affine else [None, None]
    check(
        context,
        lambda x, gamma, beta: context.batch_norm(x, gamma, beta, epsilon=1e-3),
        lambda x, gamma, beta: functional.batch_norm(x, None, None, gamma, beta, True, eps=1e-3),
        [normal(shape, 1, 0.5, 2.0), *weights],
    )


@pytest.mark.parametrize("shape", SHAPES)
def test_batch_norm_evaluates(context, shape):
    c = shape[1]
    statistics = [normal(c, 4), numpy.abs(normal(c, 5)) + FLOAT(0.1)]
    x, gamma, beta = normal(shape, 1), normal(c, 2), normal(c, 3)
    mean, variance = context.tensor(statistics[0]), context.tensor(statistics[1])
    y, gradients = captured(
        context,
        lambda x, g, b: context.batch_norm(x, g, b, mean, variance, training=False),
        [x, gamma, beta],
    )
    right = wanted(
        lambda x, g, b: functional.batch_norm(
            x, *(torch.tensor(each).double() for each in statistics), g, b, False
        ),
        [x, gamma, beta],
    )
    close(y, right[0])
    for got, gradient in zip(gradients, right[1]):
        close(got, gradient)
    assert (mean.read() == statistics[0]).all() and (variance.read() == statistics[1]).all()


@pytest.mark.parametrize("momentum", [0.1, 1.0, 0.0])
def test_running_statistics(context, momentum):
    layer = torch.nn.BatchNorm2d(3, momentum=momentum).double()
    mean, variance = context.tensor((3,)), context.tensor(numpy.ones(3, FLOAT))
    for seed in range(3):
        x = normal((2, 3, 4, 5), seed, 2.0, 3.0)
        context.batch_norm(context.tensor(x), None, None, mean, variance, momentum=momentum)
        layer(torch.tensor(x).double())
        close(mean.read(), layer.running_mean.numpy())
        close(variance.read(), layer.running_var.numpy())


def test_running_statistics_in_runs_of_a_graph(context):
    layer = torch.nn.BatchNorm1d(4).double()
    mean, variance = context.tensor((4,)), context.tensor(numpy.ones(4, FLOAT))
    x = context.tensor((8, 4))

    @context.capture
    def step():
        return context.batch_norm(x, None, None, mean, variance)

    for seed in range(3):
        batch = normal((8, 4), seed)
        x.write(batch)
        close(step.run().read(), layer(torch.tensor(batch).double()).detach().numpy())
        close(mean.read(), layer.running_mean.numpy())
        close(variance.read(), layer.running_var.numpy())


def test_far_from_zero(context):
    """Mean 1000, deviation 1: what a sum of squares would lose."""
    x = normal((8, 3, 20, 20), 1, 1000.0)
    right = functional.batch_norm(torch.tensor(x).double(), None, None, training=True).numpy()
    variance = context.tensor((3,))
    y = context.batch_norm(context.tensor(x), None, None, context.tensor((3,)), variance)
    close(y.read(), right, 1e-4)
    close(10 * variance.read(), x.astype(float).var((0, 2, 3), ddof=1), 2e-5)
    rows = x.reshape(24, 400)
    y = context.layer_norm(context.tensor(rows))
    close(y.read(), functional.layer_norm(torch.tensor(rows).double(), (400,)).numpy(), 1e-4)


ROWS = [((6, 10), 1), ((2, 3, 8), 2), ((2, 3, 4, 5), 3), ((7,), 1)]


@pytest.mark.parametrize("shape, axes", ROWS)
@pytest.mark.parametrize("affine", [True, False])
def test_layer_norm(context, shape, axes, affine):
    last = shape[-axes:]
    weights = [normal(last, 2), normal(last, 3)] if affine else [None, None]
    check(
        context,
        lambda x, gamma, beta: context.layer_norm(x, gamma, beta, axes=axes),
        lambda x, gamma, beta: functional.layer_norm(x, last, gamma, beta),
        [normal(shape, 1, 1.0), *weights],
    )


@pytest.mark.parametrize("shape, groups", [((2, 6, 5), 3), ((2, 4, 3, 5), 1), ((2, 4, 3, 5), 4)])
@pytest.mark.parametrize("affine", [True, False])
def test_group_norm(context, shape, groups, affine):
    c = shape[1]
    weights = [normal(c, 2), normal(c, 3)] if affine else [None, None]
    check(
        context,
        lambda x, gamma, beta: context.group_norm(x, groups, gamma, beta),
        lambda x, gamma, beta: functional.group_norm(x, groups, gamma, beta),
        [normal(shape, 1, 1.0), *weights],
    )


# ----------------------------------------------------------------------------------------- softmax


@pytest.mark.parametrize("shape, axis", [((5, 7), 1), ((3, 4, 6), 1), ((3, 4, 6), -1), ((9,), 0)])
def test_softmax(context, shape, axis):
    for mine, theirs in (
        (context.softmax, functional.softmax),
        (context.log_softmax, functional.log_softmax),
    ):
        x = normal(shape, 1, 0.0, 5.0)
        check(context, lambda x, f=mine: f(x, axis), lambda x, f=theirs: f(x, axis), [x])


def test_softmax_of_extremes(context):
    inf = numpy.inf
    x = numpy.array(
        [[1e30, 0, -1e30], [-inf, 0, 1], [-inf, -inf, -inf], [inf, 0, 0], [90, 89, 88]], FLOAT
    )
    for mine, theirs in (
        (context.softmax, functional.softmax),
        (context.log_softmax, functional.log_softmax),
    ):
        got, right = mine(context.tensor(x), 1).read(), theirs(torch.tensor(x), 1).numpy()
        finite = numpy.isfinite(right)
        assert (numpy.isnan(got) == numpy.isnan(right)).all()
        assert numpy.allclose(got[finite], right[finite], rtol=1e-6)
        assert (got[~finite & ~numpy.isnan(right)] == right[~finite & ~numpy.isnan(right)]).all()
    certain = numpy.array([[100.0, 0, 0]], FLOAT)
    assert context.log_softmax(context.tensor(certain), 1).read()[0, 0] == 0


# ---------------------------------------------------------------------------------- cross entropy


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("smoothing", [0.0, 0.1, 1.0])
@pytest.mark.parametrize("shape", [(7, 5), (2, 4, 3, 5)])
def test_cross_entropy(context, reduction, weighted, smoothing, shape):
    generator = numpy.random.default_rng(3)
    labels = generator.integers(0, shape[1], (shape[0], *shape[2:])).astype(numpy.int32)
    labels.flat[::4] = 2
    weight = numpy.abs(normal(shape[1], 4)) if weighted else None
    keywords = {"reduction": reduction}
    check_loss = captured(
        context,
        lambda x, w: context.cross_entropy(
            x, context.tensor(labels), w, ignored=2, smoothing=smoothing, **keywords
        ),
        [normal(shape, 1, 0.0, 3.0), weight],
    )
    right = wanted(
        lambda x, w: functional.cross_entropy(
            x,
            torch.tensor(labels).long(),
            None if w is None else w.detach(),
            ignore_index=2,
            label_smoothing=smoothing,
            **keywords,
        )
        + (0.0 if w is None else 0.0 * w.sum()),
        [normal(shape, 1, 0.0, 3.0), weight],
    )
    close(check_loss[0], right[0])
    close(check_loss[1][0], right[1][0])


def test_labels(context):
    logits = normal((4, 3), 1)
    x = context.tensor(logits)
    right = functional.cross_entropy(
        torch.tensor(logits), torch.tensor([0, 2, 1, 2]), reduction="none"
    ).numpy()
    for dtype, shape in ((numpy.int32, (4,)), (numpy.uint8, (4, 1)), (numpy.int32, (4, 1))):
        labels = context.tensor(numpy.array([0, 2, 1, 2], dtype).reshape(shape))
        loss = context.cross_entropy(x, labels, reduction="none")
        assert loss.shape == shape
        close(loss.read().ravel(), right)
    none = context.tensor(numpy.full(4, -100, numpy.int32))
    assert numpy.isnan(context.cross_entropy(x, none).read()).all()
    assert (context.cross_entropy(x, none, reduction="sum").read() == 0).all()
    for wrong in (3, -1, 2**31 - 1, -(2**31)):
        labels = context.tensor(numpy.array([0, wrong, 1, 2], numpy.int32))
        loss = context.cross_entropy(x, labels, reduction="none").read()
        assert numpy.isnan(loss[1]) and (loss[[0, 2, 3]] == right[[0, 2, 3]]).all()
        assert numpy.isnan(context.cross_entropy(x, labels).read()).all()


def test_a_certain_answer_costs_nothing(context):
    x = context.tensor(numpy.array([[200.0, 0.0]], FLOAT))
    loss = context.cross_entropy(x, context.tensor(numpy.zeros(1, numpy.int32)))
    assert loss.read() == 0


# ---------------------------------------------------------------------------------- other losses


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_losses_of_elements(context, reduction):
    x, target = normal((3, 4, 5), 1, 0.0, 4.0), numpy.abs(normal((3, 4, 5), 2))
    target = target / target.max()
    weight, positive = numpy.abs(normal((3, 4, 5), 3)), numpy.abs(normal((1, 4, 1), 4))
    how = {"reduction": reduction}
    pairs = [
        (context.mse, functional.mse_loss, {}),
        (context.smooth_l1, functional.smooth_l1_loss, {"beta": 2.5}),
        (context.smooth_l1, functional.smooth_l1_loss, {"beta": 0.0}),
    ]
    for mine, theirs, more in pairs:
        ours = captured(context, lambda *each, f=mine, k=more: f(*each, **how, **k), [x, target])
        right = wanted(lambda *each, f=theirs, k=more: f(*each, **how, **k), [x, target])
        close(ours[0], right[0])
        close(ours[1][0], right[1][0])
        close(ours[1][1], right[1][1])
    for given in ([None, None], [weight, None], [None, positive], [weight, positive]):
        ours = captured(
            context,
            lambda x, t, w, p: context.bce_with_logits(x, t, w, p, **how),
            [x, target, *given],
        )
        right = wanted(
            lambda x, t: functional.binary_cross_entropy_with_logits(
                x,
                t,
                weight=None if given[0] is None else torch.tensor(given[0]).double(),
                pos_weight=None if given[1] is None else torch.tensor(given[1]).double(),
                **how,
            ),
            [x, target],
        )
        close(ours[0], right[0])
        close(ours[1][0], right[1][0])


def test_bce_far_out(context):
    """Finite, and as near as the header says, wherever float32 goes; and what is certain and right
    costs a small number with all of its digits, not what is left of two large ones."""
    x = numpy.array([0, 1e-3, 5, 17, 40, 88, 104, 1e4, 3e38], FLOAT)
    x = numpy.concatenate([x, -x])
    for value in (0.0, 0.25, 1.0):
        target = numpy.full(x.shape, value, FLOAT)
        got = context.bce_with_logits(context.tensor(x), context.tensor(target), reduction="none")
        right = functional.binary_cross_entropy_with_logits(
            torch.tensor(x).double(), torch.tensor(target).double(), reduction="none"
        ).numpy()
        bound = 2e-6 * (1 + numpy.abs(x.astype(float)))
        assert (numpy.abs(got.read() - right) <= bound).all()
        if value != 0.25:
            normal = right > 1e-37
            assert (numpy.abs(got.read() - right) <= 4e-6 * right)[normal].all()


# ----------------------------------------------------------------------------------------- dropout


def test_dropout(context):
    context.seed(5)
    x = context.tensor(numpy.ones((64, 100), FLOAT))
    y = context.dropout(x, 0.25)
    kept = y.read() != 0
    assert abs(kept.mean() - 0.75) < 0.03
    assert numpy.allclose(y.read()[kept], 1 / 0.75)
    assert (context.dropout(x, 0.25).read() != y.read()).any()
    context.seed(5)
    assert (context.dropout(x, 0.25).read() == y.read()).all()
    assert (context.dropout(x, 0.0).read() == 1).all()
    assert (context.dropout(x, 1.0).read() == 0).all()


def test_dropout_in_a_graph(context):
    x = context.tensor(normal((8, 50), 1))
    made = {}

    @context.capture
    def graph():
        made["y"] = context.dropout(x, 0.5)
        (made["dx"],) = context.gradients(made["y"], [x], dy=x)
        return made["y"], made["dx"]

    seen = []
    for _ in range(3):
        graph.run()
        y = made["y"].read()
        assert (y == made["dx"].read()).all()
        seen.append(y)
    assert (seen[0] != seen[1]).any() and (seen[1] != seen[2]).any()
    graph.runs = 1
    graph.run()
    assert (made["y"].read() == seen[1]).all()


# ---------------------------------------------------------------------------------- what is wrong


def test_what_is_wrong_is_said(context):
    x = context.tensor((2, 3, 4, 5))
    three = context.tensor((3,))
    labels = context.tensor((2,), "int32")
    logits, one = context.tensor((2, 5)), context.tensor((1, 3))
    nan = float("nan")
    shape, argument = convoy.ShapeError, convoy.ArgumentError
    cases = [
        (shape, "extent 0 of gamma is 3, not 5", lambda: context.batch_norm(logits, three)),
        (shape, "one element, which has no variance", lambda: context.batch_norm(one)),
        (shape, r"x has 1 extent, at least \[n\]\[c\]", lambda: context.batch_norm(three)),
        (argument, "needs running_mean", lambda: context.batch_norm(x, training=False)),
        (argument, "one of running_mean", lambda: context.batch_norm(x, None, None, three)),
        (argument, "momentum is 1.5", lambda: context.batch_norm(x, momentum=1.5)),
        (argument, "epsilon is -1", lambda: context.batch_norm(x, epsilon=-1)),
        (argument, "epsilon is nan", lambda: context.layer_norm(x, epsilon=nan)),
        (argument, "two outputs", lambda: context.batch_norm(x, None, None, three, three)),
        (argument, "axes is 5, x has 4", lambda: context.layer_norm(x, axes=5)),
        (shape, "3 channels in 2 groups", lambda: context.group_norm(x, 2)),
        (shape, "3 channels in 0 groups", lambda: context.group_norm(x, 0)),
        (argument, "axis is 4, x has 4", lambda: context.softmax(x, 4)),
        (argument, "x is int32", lambda: context.softmax(labels, 0)),
        (shape, "2 labels, or with other", lambda: context.cross_entropy(x, labels)),
        (argument, "labels are float32", lambda: context.cross_entropy(logits, three)),
        (argument, "smoothing is 2", lambda: context.cross_entropy(logits, labels, smoothing=2)),
        (shape, "loss has 3 el", lambda: context.cross_entropy(logits, labels, out=three)),
        (argument, "reduction is 'each'", lambda: context.mse(x, x, reduction="each")),
        (shape, "target has 1 extents, not 4", lambda: context.mse(x, three)),
        (argument, "beta is -1", lambda: context.smooth_l1(x, x, beta=-1)),
        (argument, "p is 1.5", lambda: context.dropout(x, 1.5)),
        (argument, "x is a ndarray: tensors", lambda: context.dropout(normal(3, 1), 0.5)),
    ]
    for kind, words, call in cases:
        with pytest.raises(kind, match=words):
            call()


def test_refused_calls_change_nothing(context):
    mean, variance = context.tensor(normal(3, 1)), context.tensor(normal(3, 2))
    x, before = context.tensor(normal((2, 3, 4), 3)), (mean.read(), variance.read())
    with pytest.raises(convoy.ShapeError, match="extent 2 of y is 5, not 4"):
        context.batch_norm(x, None, None, mean, variance, out=context.tensor((2, 3, 5)))
    with pytest.raises(convoy.ShapeError, match="extent 0 of beta"):
        context.batch_norm(x, None, context.tensor((4,)), mean, variance)
    assert (mean.read() == before[0]).all() and (variance.read() == before[1]).all()


def test_empty_batches(context):
    mean, variance = context.tensor(normal(3, 1)), context.tensor(normal(3, 2))
    before = mean.read()
    x, labels = context.tensor((0, 3)), context.tensor((0,), "int32")
    assert context.batch_norm(x, None, None, mean, variance).read().shape == (0, 3)
    assert (mean.read() == before).all()
    assert context.softmax(x, 1).read().size == 0
    assert (context.cross_entropy(x, labels, reduction="sum").read() == 0).all()
    assert numpy.isnan(context.cross_entropy(x, labels).read()).all()
    assert numpy.isnan(context.mse(x, x).read()).all()
    assert context.dropout(x, 0.5).read().size == 0


def test_a_run_tells_of_the_last_operation(context):
    run = convoy.Run()
    context.softmax(context.tensor(normal((3, 4), 1)), 1, run=run)
    assert run.device == "cpu" and run.algorithm == "cpu.program" and run.attempts == 1

    def graph():
        context.softmax(context.tensor(normal((3, 4), 1)), 1, run=run)

    with pytest.raises(convoy.ArgumentError, match="run is not NULL while a capture is open"):
        context.capture(graph)


def test_overwritten_results_have_no_gradient(context):
    """A tensor that a composition has written stands for what it wrote, and for nothing older."""
    x, y, loss = context.tensor(normal((3, 4), 1)), context.tensor((3, 4)), context.tensor((1,))

    def graph():
        context.softmax(x, 1, out=y)
        context.mse(y, x, out=loss)
        context.softmax(x, 0, out=y)
        context.gradients(loss, [y])

    with pytest.raises(convoy.ArgumentError, match="has been written since"):
        context.capture(graph)


def test_the_page_shows_what_learns(monkeypatch):
    """The program of docs/layers.md, on a batch that does not change."""
    page = Path(__file__).resolve().parents[3] / "docs" / "layers.md"
    (program,) = re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.S)
    classes = numpy.arange(16, dtype=numpy.int32).reshape(16, 1, 1) % 10
    losses = []

    def batches():
        for _ in range(12):
            yield normal((16, 3, 32, 32), 1), classes
            losses.append(float(names["loss"].read()[0]))

    monkeypatch.setenv("CONVOY_DEVICE", "cpu")
    names = {"batches": batches()}
    exec(program, names)
    names["context"].close()
    assert len(losses) == 12 and losses[-1] < losses[0]


def test_opencl(opencl_device):
    """Layers and losses on a device, captured, have the bits of the CPU's."""
    x, labels = normal((4, 6, 5, 3), 1), numpy.arange(60, dtype=numpy.int32).reshape(4, 5, 3) % 6
    results = []
    for device in ("cpu", opencl_device):
        with convoy.open(device=device, failover=False, tune=False) as opened:
            opened.seed(3)
            tensor, gamma = opened.tensor(x), opened.tensor(normal(6, 2))
            mean, variance = opened.tensor((6,)), opened.tensor((6,))
            target = opened.tensor(labels)
            made = {}

            @opened.capture
            def graph():
                y = opened.batch_norm(tensor, gamma, None, mean, variance)
                y = opened.dropout(opened.group_norm(y, 3), 0.3)
                loss = opened.cross_entropy(opened.log_softmax(y, 1), target, smoothing=0.1)
                made["loss"], made["of"] = loss, opened.gradients(loss, [tensor, gamma])
                return loss, made["of"]

            graph.run()
            tensors = [made["loss"], *made["of"], mean, variance]
            results.append([each.read() for each in tensors])
    for one, other in zip(*results):
        assert (one == other).all()
