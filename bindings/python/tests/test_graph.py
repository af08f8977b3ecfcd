"""Graphs: captured operations against the same ones called one by one, and against PyTorch."""

import gc
import re
from pathlib import Path

import convoy
import numpy
import pytest
from convoy import Program

FLOAT = numpy.float32
SGD = Program("v = 0.9 * v + g; w = w - rate * v")
MEAN_SQUARE = Program("loss = mean over n c h w of (y - target) * (y - target)")
# Softmax with cross entropy, of logits [n][c], by numerically safe steps.
LARGEST = Program("top = maximum over c of x")
EXPONENTIALS = Program("total = sum over c of exp(x - top)")
LOSSES = Program("loss = mean over n c of mask * (log(total) + top - x)")


@pytest.fixture(params=["cpu", "ocl"])
def context(request):
    try:
        opened = convoy.open(request.param, require_device=True)
    except convoy.NotFoundError:
        pytest.skip("no OpenCL device")
    with opened:
        yield opened


def _random(*shape, seed=0):
    return numpy.random.default_rng(seed).standard_normal(shape).astype(FLOAT)


def _layers(context, x, w, u):
    y = context.relu(context.forward(x, w, padding=1))
    return context.forward(context.silu(context.average_pool(y, 2)), u)


class Network:
    """Two convolutions with their momenta; a step is written once and used both ways."""

    def __init__(self, context):
        self.context = context
        self.x = context.tensor(_random(4, 3, 8, 8, seed=1))
        self.target = context.tensor(_random(4, 2, 4, 4, seed=2))
        self.weights = [context.tensor(_random(5, 3, 3, 3, seed=3) * FLOAT(0.3))]
        self.weights.append(context.tensor(_random(2, 5, 1, 1, seed=4) * FLOAT(0.3)))
        self.momenta = [context.tensor(each.shape) for each in self.weights]
        self.rate = context.tensor(numpy.array([0.05], FLOAT))

    def step(self):
        y = _layers(self.context, self.x, *self.weights)
        loss = self.context.apply(MEAN_SQUARE, y, self.target)
        gradients = self.context.gradients(loss, self.weights)
        for w, v, g in zip(self.weights, self.momenta, gradients):
            self.context.apply(SGD, {"w": w, "v": v, "g": g, "rate": self.rate}, out=[v, w])
        return loss


def test_a_captured_step_trains(context):
    network = Network(context)
    graph = context.capture(network.step)
    losses = [graph.run().read().item() for _ in range(30)]
    assert losses[-1] < 0.85 * losses[0]
    assert graph.runs == 30
    again = Network(context)
    second = context.capture(again.step)
    assert [second.run().read().item() for _ in range(30)] == losses


def test_inputs_are_read_by_each_run(context):
    network = Network(context)
    graph = context.capture(network.step)
    first = graph.run().read()
    network.x.write(_random(4, 3, 8, 8, seed=9))
    network.rate.write(numpy.zeros(1, FLOAT))
    second = graph.run().read()
    assert second != first
    assert graph.run().read() == second  # with a rate of 0 the weights stay


def test_forward_has_the_bits_of_single_calls(context):
    x, w, u = _random(2, 3, 6, 6), _random(4, 3, 3, 3, seed=1), _random(2, 4, 1, 1, seed=2)
    tensors = [context.tensor(each) for each in (x, w, u)]
    wanted = _layers(context, *tensors).read()
    graph = context.capture(lambda: _layers(context, *tensors))
    assert (graph.run().read() == wanted).all()
    assert (graph.run().read() == wanted).all()


def test_gradients_are_pytorchs(context):
    torch = pytest.importorskip("torch")
    network = Network(context)
    extra = context.tensor(_random(5, seed=8))

    @context.capture
    def graph():
        y = _layers(context, network.x, *network.weights)
        loss = context.apply(MEAN_SQUARE, y, network.target)
        return context.gradients(loss, [network.x, *network.weights, extra])

    results = [each.read() for each in graph.run()]
    given = network.x, *network.weights
    leaves = [torch.tensor(each.read(), requires_grad=True) for each in given]
    y = torch.nn.functional.conv2d(leaves[0], leaves[1], padding=1).relu()
    y = torch.nn.functional.silu(torch.nn.functional.avg_pool2d(y, 2))
    y = torch.nn.functional.conv2d(y, leaves[2])
    (y - torch.tensor(network.target.read())).square().mean().backward()
    for ours, leaf in zip(results, leaves):
        theirs = leaf.grad.numpy()
        assert numpy.linalg.norm(ours - theirs) < 1e-5 * numpy.linalg.norm(theirs)
    assert (results[3] == 0).all()  # the loss does not depend on it


def test_cross_entropy_is_pytorchs(context):
    torch = pytest.importorskip("torch")
    x, labels = _random(6, 10), numpy.arange(6) % 10
    mask = numpy.eye(10, dtype=FLOAT)[labels] * FLOAT(10)  # the mean is over all classes
    logits, given = context.tensor(x), context.tensor(mask)

    @context.capture
    def graph():
        top = context.apply(LARGEST, logits)
        total = context.apply(EXPONENTIALS, logits, top)
        loss = context.apply(LOSSES, {"mask": given, "total": total, "top": top, "x": logits})
        return loss, *context.gradients(loss, [logits])

    loss, gradient = (each.read() for each in graph.run())
    leaf = torch.tensor(x, requires_grad=True)
    wanted = torch.nn.functional.cross_entropy(leaf, torch.tensor(labels))
    wanted.backward()
    assert abs(loss.item() - wanted.item()) < 1e-6
    assert numpy.abs(gradient - leaf.grad.numpy()).max() < 1e-7


def test_the_text_has_a_line_for_each_operation(context):
    graph = context.capture(Network(context).step)
    text = str(graph)
    assert "n4c3h8w8 k5r3s3 pad1 forward" in text and "backward_weights" in text
    assert "tensors read" in text.splitlines()[0]
    assert repr(graph) == "<convoy.Graph>"


def test_the_plan_is_in_numbers(context):
    network = Network(context)
    graph = context.capture(network.step)
    plan = graph.plan()
    assert plan.captured == int(str(graph).split()[0]) >= plan.operations > 0
    assert plan.flops > 2 * 2 * 9 * 3 * 5 * 4 * 64 and plan.bytes > 0  # two passes at least
    assert plan.read_bytes > 0 and plan.written_bytes > 0 and plan.internal_bytes > 0
    graph.run()  # on a device also operation by operation
    before = context.health().operations
    graph.run()
    assert context.health().operations - before == plan.operations
    assert graph.plan() == plan
    text = graph.plan_text()
    assert text.startswith(f"{plan.operations} operations of {plan.captured} captured on ")
    assert f"{plan.internal_bytes} bytes, of what is made on the way" in text


def test_the_page_shows_what_learns(monkeypatch):
    """The first program of docs/graphs.md, on a batch that does not change."""
    page = Path(__file__).resolve().parents[3] / "docs" / "graphs.md"
    program = re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.S)[0]
    random = numpy.random.default_rng(1)
    images = random.standard_normal((16, 3, 32, 32), numpy.float32)
    losses = []

    def batches():
        for _ in range(8):
            yield images, numpy.ones((16, 8, 32, 32), numpy.float32)
            losses.append(names["loss"].read().item())

    filters = 0.1 * random.standard_normal((8, 3, 3, 3), numpy.float32)
    names = {"numpy": numpy, "first_weights": filters, "batches": batches()}
    monkeypatch.setenv("CONVOY_DEVICE", "cpu")
    exec(program, names)
    names["context"].close()
    assert len(losses) == 8 and losses[-1] < losses[0]


def test_a_capture_that_fails_is_given_up(context):
    network = Network(context)

    def fail():
        network.step()
        raise KeyError("in the middle")

    with pytest.raises(KeyError):
        context.capture(fail)
    before = network.weights[0].read()
    context.capture(network.step).run()
    assert (network.weights[0].read() != before).any()


def test_what_is_wrong_is_said(context):
    network = Network(context)
    w = network.weights[0]

    def refused(function, words):
        with pytest.raises(convoy.ArgumentError, match=words):
            context.capture(function)

    refused(lambda: w.read(), "convoy_tensor_read")
    refused(lambda: w.commit(), "convoy_commit")
    refused(lambda: context.relu(_random(2, 3)), "capture")
    refused(lambda: context.capture(network.step), "convoy_capture_begin")
    refused(lambda: context.gradients(w, [w]), "no result")
    refused(lambda: context.gradients(context.relu(w), [w]), "dy is NULL")
    refused(lambda: context.gradients(context.relu(w), [w], dy=w, out=[w, w]), "2 tensors for 1")
    refused(lambda: context.gradients(context.relu(w, out=w), [w], dy=w), "has been written")
    refused(7, "cannot be called")
    with pytest.raises(convoy.ArgumentError, match="no capture is open"):
        context.gradients(w, [w])
    graph = context.capture(network.step)
    with pytest.raises(convoy.ArgumentError, match=r"not a convoy\.Run"):
        graph.run(run=3)
    with pytest.raises(TypeError, match="cannot be copied"):
        graph.__reduce_ex__(2)
    run = convoy.Run()
    graph.run(run=run)
    assert run.attempts == 1


def test_graphs_are_freed_in_any_order(context):
    network = Network(context)
    graph = context.capture(network.step)
    weights = network.weights[0]
    del network
    gc.collect()
    graph.run()
    loss = graph.results
    del graph
    assert numpy.isfinite(loss.read()).all() and numpy.isfinite(weights.read()).all()


def test_closed_contexts_refuse():
    context = convoy.open("cpu")
    graph = context.capture(Network(context).step)
    context.close()
    with pytest.raises(convoy.ArgumentError, match="closed"):
        graph.run()
    with pytest.raises(convoy.ArgumentError, match="closed"):
        str(graph)


def test_stages_are_forward_and_backward(context):
    x, w, d = (context.tensor(_random(2, 3, 4, 5, seed=i)) for i in range(3))

    @context.capture
    def step():
        y = context.silu(context.multiply(x, w))
        context.cut()
        (dw,) = context.gradients(y, [w], dy=d)
        return y, dw

    y, dw = step.run_stage(0)
    product = x.numpy() * w.numpy()
    sigmoid = 1 / (1 + numpy.exp(-product))
    numpy.testing.assert_allclose(y.numpy(), product * sigmoid, rtol=1e-5, atol=1e-6)
    d.write(2 * y.numpy())
    step.run_stage(1)
    slope = sigmoid * (1 + product * (1 - sigmoid))
    wanted = 2 * y.numpy() * slope * x.numpy()
    numpy.testing.assert_allclose(dw.numpy(), wanted, rtol=1e-4, atol=1e-5)
    with pytest.raises(convoy.ArgumentError, match="stage 0 is next"):
        step.run_stage(1)
    with pytest.raises(convoy.ArgumentError, match="has 2"):
        step.run_stage(2)
    with pytest.raises(convoy.ArgumentError):
        step.run_stage("1")
    with pytest.raises(convoy.ArgumentError, match="no capture"):
        context.cut()


def test_the_widest_program_there_can_be_is_verified(context):
    """16 inputs and 8 results: every list of operands on the way has room for them."""
    names = "abcdefgh"
    text = "; ".join(f"{n} = {n} + 0.5 * x{n}" for n in names)
    program = Program(text)
    states = {n: context.tensor(_random(3, 70, seed=i)) for i, n in enumerate(names)}
    steps = {"x" + n: context.tensor(_random(3, 70, seed=9 + i)) for i, n in enumerate(names)}
    wanted = {n: states[n].numpy() for n in names}

    @context.capture
    def step():
        context.apply(program, {**states, **steps}, out=[states[n] for n in names])

    for _ in range(150):
        step.run()
        for n in names:
            wanted[n] = wanted[n] + FLOAT(0.5) * steps["x" + n].numpy()
    for n in names:
        assert (states[n].numpy() == wanted[n]).all()
    health = context.health()
    assert health.wrong_results == 0
    assert context.device.id == "cpu" or health.verified > 2
