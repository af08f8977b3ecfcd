"""Optimizers against PyTorch's, in float64, over several steps."""

import convoy
import numpy
import pytest

FLOAT = numpy.float32
torch = pytest.importorskip("torch")
SHAPES = [(4, 3, 2, 2), (5,), (3, 7)]
STEPS = 5


def normal(shape, seed):
    return numpy.random.default_rng(seed).standard_normal(shape).astype(FLOAT)


def close(got, right, tolerance=1e-6):
    right = right.detach().numpy()
    worst = numpy.abs(got.read().reshape(right.shape) - right).max()
    assert worst <= tolerance * max(1.0, numpy.abs(right).max()), worst


class Parameters:
    """The same numbers here and there, and zeros for what an optimizer keeps."""

    def __init__(self, context, make):
        self.theirs = [
            torch.nn.Parameter(torch.tensor(normal(shape, i)).double())
            for i, shape in enumerate(SHAPES)
        ]
        self.optimizer = make(self.theirs)
        self.ours = [context.tensor(normal(shape, i)) for i, shape in enumerate(SHAPES)]
        self.gradients = [context.tensor(shape) for shape in SHAPES]
        self.first, self.second = ([context.tensor(shape) for shape in SHAPES] for _ in range(2))
        self.rate, self.step = context.tensor((1,)), context.tensor((1,))

    def follow(self, steps, update, captured=None):
        """Steps with gradients and rates of their own; `captured` runs what was captured."""
        for step in range(steps):
            rate = 0.1 / (1 + step)
            for group in self.optimizer.param_groups:
                group["lr"] = rate
            self.rate.write(numpy.array([rate], FLOAT))
            for i, (mine, parameter) in enumerate(zip(self.gradients, self.theirs)):
                values = normal(mine.shape, 100 * step + i)
                mine.write(values)
                parameter.grad = torch.tensor(values).double()
            self.optimizer.step()
            (captured.run if captured else update)()
            for mine, parameter in zip(self.ours, self.theirs):
                close(mine, parameter)


def check(context, make, update):
    """Called, and captured."""
    parameters = Parameters(context, make)
    parameters.follow(STEPS, lambda: update(parameters))
    parameters = Parameters(context, make)
    graph = context.capture(lambda: update(parameters))
    parameters.follow(STEPS, None, graph)


SGD = [
    {},
    {"weight_decay": 0.1},
    {"momentum": 0.9},
    {"momentum": 0.9, "weight_decay": 0.1, "dampening": 0.25},
    {"momentum": 0.9, "dampening": 1.0},
    {"momentum": 0.9, "weight_decay": 0.1, "nesterov": True},
]


@pytest.mark.parametrize("given", SGD)
def test_sgd(context, given):
    mine = {"decay" if name == "weight_decay" else name: value for name, value in given.items()}

    def update(p):
        velocities = p.first if "momentum" in mine else None
        context.sgd(
            p.ours, p.gradients, p.rate, velocities=velocities, step=p.step, **mine
        )

    check(context, lambda theirs: torch.optim.SGD(theirs, lr=0.1, **given), update)


@pytest.mark.parametrize("name", ["adam", "adamw"])
@pytest.mark.parametrize("decay", [0.0, 0.1])
@pytest.mark.parametrize("betas", [(0.9, 0.999), (0.0, 0.5)])
def test_adam(context, name, decay, betas):
    kind = {"adam": torch.optim.Adam, "adamw": torch.optim.AdamW}[name]

    def make(theirs):
        return kind(theirs, lr=0.1, betas=betas, eps=1e-6, weight_decay=decay)

    def update(p):
        lists = p.ours, p.gradients, p.first, p.second
        function = getattr(context, name)
        function(*lists, p.rate, p.step, betas=betas, epsilon=1e-6, decay=decay)

    check(context, make, update)


def test_corrections_of_many_steps(context):
    """A moment's correction is right at any step, to float32's rounding."""
    w, g, first, second = (context.tensor(numpy.ones(1, FLOAT)) for _ in range(4))
    for t in (1, 2, 10, 1000, 100000, 2**24):
        first.write(numpy.zeros(1, FLOAT))
        second.write(numpy.zeros(1, FLOAT))
        w.write(numpy.zeros(1, FLOAT))
        step = context.tensor(numpy.array([t - 1], FLOAT))
        context.adam([w], [g], [first], [second], 1.0, step, epsilon=0.0)
        right = -0.1 / (1 - 0.9**t) / numpy.sqrt(0.001 / (1 - 0.999**t))
        assert abs(w.read()[0] - right) < 1e-6 * abs(right)
        assert step.read()[0] == t


def test_moving_average(context):
    averages = [context.tensor(normal(shape, i)) for i, shape in enumerate(SHAPES)]
    ours = [context.tensor(normal(shape, 10 + i)) for i, shape in enumerate(SHAPES)]
    right = [each.read().astype(float) for each in averages]
    for share in (1e-4, 0.5, 1.0):
        context.moving_average(averages, ours, context.tensor(numpy.array([share], FLOAT)))
        for i, (average, w) in enumerate(zip(averages, ours)):
            right[i] += share * (w.read() - right[i])
            assert numpy.abs(average.read() - right[i]).max() < 1e-6


@pytest.mark.parametrize("count", [1, 2, 12, 13, 30, 160])
@pytest.mark.parametrize("most", [0.5, 1e6])
def test_clipping(context, count, most):
    shapes = [(1 + i % 7, 3) for i in range(count)]
    theirs = [torch.nn.Parameter(torch.zeros(shape).double()) for shape in shapes]
    for i, parameter in enumerate(theirs):
        parameter.grad = torch.tensor(normal(shapes[i], i)).double()
    ours = [context.tensor(normal(shape, i)) for i, shape in enumerate(shapes)]
    plain = context.gradient_norm(ours)
    norm = context.clip_gradients(ours, most)
    right = torch.nn.utils.clip_grad_norm_(theirs, most)
    close(norm, right)
    assert norm.read() == plain.read()
    for mine, parameter in zip(ours, theirs):
        close(mine, parameter.grad)


def test_what_is_not_finite_is_clipped_to_nan(context):
    for value in (numpy.nan, numpy.inf):
        gradients = [context.tensor(numpy.array([value, 1], FLOAT)), context.tensor((3,))]
        norm = context.clip_gradients(gradients, 1.0)
        assert not numpy.isfinite(norm.read()).all()
        theirs = [torch.nn.Parameter(torch.zeros(2)), torch.nn.Parameter(torch.zeros(3))]
        theirs[0].grad, theirs[1].grad = torch.tensor([value, 1.0]), torch.zeros(3)
        torch.nn.utils.clip_grad_norm_(theirs, 1.0)
        for mine, parameter in zip(gradients, theirs):
            assert numpy.array_equal(mine.read(), parameter.grad.numpy(), equal_nan=True)


def test_what_is_wrong_is_said(context):
    w, v = [context.tensor((3,)), context.tensor((4,))], [context.tensor((3,))] * 2
    one, both = context.tensor((1,)), [context.tensor((3,)), context.tensor((4,))]
    argument, shape = convoy.ArgumentError, convoy.ShapeError
    nesterov = {"momentum": 0.9, "dampening": 0.5, "nesterov": True, "velocities": both}
    cases = [
        (argument, "2 tensors in parameters|1 tensors in gradients", lambda: context.sgd(
            w, both[:1], one)),
        (argument, "count is 0", lambda: context.sgd([], [], one)),
        (argument, "parameters is convoy.Tensor", lambda: context.sgd(one, one, one)),
        (argument, r"gradients\[1\] is 1.0", lambda: context.sgd(w, [both[0], 1.0], one)),
        (shape, r"extent 0 of g\[1\] is 3, not 4", lambda: context.sgd(w, v, one)),
        (argument, "v is NULL", lambda: context.sgd(w, both, one, momentum=0.9)),
        (argument, "step is NULL", lambda: context.sgd(
            w, both, one, momentum=0.9, velocities=both, dampening=0.5)),
        (argument, "Nesterov's momentum is 0.9 with dampening 0.5", lambda: context.sgd(
            w, both, one, **nesterov)),
        (argument, "momentum is -1", lambda: context.sgd(w, both, one, momentum=-1)),
        (argument, "two outputs are the same", lambda: context.sgd(v, v, one)),
        (shape, "rate has 3 elements, not one", lambda: context.sgd(w, both, w[0])),
        (argument, "beta1 is 1 and beta2 0.999", lambda: context.adam(
            w, both, w, both, one, one, betas=(1, 0.999))),
        (argument, "betas is 0.9, not two", lambda: context.adam(
            w, both, w, both, one, one, betas=0.9)),
        (argument, "epsilon is nan", lambda: context.adamw(
            w, both, w, both, one, one, epsilon=float("nan"))),
        (argument, "most is -1", lambda: context.clip_gradients(both, -1)),
        (argument, "most is None", lambda: context.clip_gradients(both, None)),
        (shape, "norm has 3 elements, not one", lambda: context.gradient_norm(both, out=w[0])),
    ]
    for kind, words, call in cases:
        with pytest.raises(kind, match=words):
            call()


def test_refused_steps_change_nothing(context):
    w = [context.tensor(normal((3,), 1)), context.tensor(normal((4,), 2))]
    before = [each.read() for each in w]
    step, rate = context.tensor((1,)), context.tensor(numpy.ones(1, FLOAT))
    first = [context.tensor((3,)), context.tensor((4,))]
    second = [context.tensor((3,)), context.tensor((5,))]
    with pytest.raises(convoy.ShapeError, match=r"v\[1\]"):
        context.adam(w, w, first, second, rate, step)
    assert step.read() == 0
    assert all((each.read() == old).all() for each, old in zip(w, before))
