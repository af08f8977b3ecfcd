"""The measured choice between ways, the file that remembers it, and CONVOY_CHECK."""

import os
import threading
import time

import pytest

torch = pytest.importorskip("torch", reason="no PyTorch")

import convoy
import convoy.torch
from convoy._routefile import read
from convoy.torch import _disturbance, _engine, _race, _routes
from convoy.torch._kept import Kept
from convoy.torch._operation import Operation, admit

GEOMETRY = [1], [0], [1], False, [0], 1


class Sleeper:
    """A way that takes its time and counts."""

    device = None

    def __init__(self, name, seconds):
        self.name, self.seconds, self.calls = name, seconds, 0

    def compute(self, op):
        self.calls += 1
        time.sleep(self.seconds)
        return op.x * 0 + self.calls, self.name

    def forget(self, operands):
        self.forgotten = [id(operand) for operand in operands]


@pytest.fixture(autouse=True)
def file(tmp_path, monkeypatch):
    path = tmp_path / "folder" / "routes.txt"
    monkeypatch.setenv("CONVOY_ROUTE_FILE", str(path))
    return path


@pytest.fixture(autouse=True)
def quiet(monkeypatch):
    """The machine is not asked: tests run on busy ones. Holds what a measurement is told."""
    told = [""]
    monkeypatch.setattr(_disturbance.Observed, "disturbance", lambda self: told[0])
    monkeypatch.setattr(_disturbance, "spread", lambda best, others: "")
    return told


def operation(width=5):
    x, w = torch.ones(1, 2, width, 5), torch.ones(3, 2, 3, 3)
    return Operation("forward", admit(x, w, GEOMETRY), GEOMETRY, x=x, w=w)


def test_what_comes_twice_is_measured_once(file):
    slow, quick = Sleeper("slow", 0.02), Sleeper("quick", 0.001)
    routes = _routes.Measured([slow, quick])
    assert routes.choose(operation()) == (slow, None)  # the first time: the device, unmeasured
    assert slow.calls == quick.calls == 0 and not file.exists()
    way, result = routes.choose(operation())
    assert way is quick and result is not None
    assert (slow.calls, quick.calls) == (2, 1 + _race.ROUNDS)  # hopeless after one round
    assert routes.choose(operation()) == (quick, None)

    again = _routes.Measured([slow, quick])
    assert again.choose(operation()) == (quick, None)  # from the file, the first time already
    assert again.choose(operation(6)) == (slow, None)  # another problem
    assert len(file.read_text().splitlines()) == 2


def test_directions_and_layouts_are_problems_of_their_own(file):
    routes = _routes.Measured([Sleeper("a", 0), Sleeper("b", 0.005)])
    lasts = operation()._replace(x=operation().x.to(memory_format=torch.channels_last))
    for op in (operation(), lasts, operation()._replace(direction="backward_weights")):
        for _ in range(3):
            routes.choose(op)
    shape = "n1c2h5w5 k3r3s3"
    assert [route[1:3] for route in read(file)] == [
        (f"{shape} forward", "contiguous"),
        (f"{shape} forward", "channels_last"),
        (f"{shape} backward_weights", "contiguous"),
    ]
    for route in read(file):
        assert convoy.parse_problem(route.problem).x_shape == (1, 2, 5, 5)


@pytest.mark.parametrize("quick", ["device", "pytorch"])
def test_transfers_are_measured_unless_they_are_saved(quick):
    """What the device was sent for forward, dy for the gradient of data, it has."""
    device, other = (Sleeper(name, 0.004 * (name != quick)) for name in ("device", "pytorch"))
    routes = _routes.Measured([device, other])
    forward = operation()
    dy = torch.ones(forward.at.y_shape)
    both, last = [id(forward.x), id(forward.w)], [id(dy)]
    sent = {"device": [both, last, []], "pytorch": [both, both + last, both + last]}
    for direction, wanted in zip(("forward", "backward_data", "backward_weights"), sent[quick]):
        for _ in range(2):
            routes.choose(
                forward._replace(direction=direction, dy=None if direction == "forward" else dy)
            )
        assert device.forgotten == wanted


def test_too_many_problems_are_not_measured(monkeypatch):
    monkeypatch.setattr(_routes, "_MOST", 1)
    first, second = Sleeper("first", 0), Sleeper("second", 0.005)
    routes = _routes.Measured([second, first])
    for _ in range(3):
        assert routes.choose(operation(7))[0]
        assert routes.choose(operation(8)) == (second, None)
    assert routes.choose(operation(7)) == (first, None)


@pytest.fixture
def lines():
    """What is logged at level info and below."""
    logged = []
    convoy.set_log(lambda level, line: logged.append((level.name, line)), "info")
    yield logged
    convoy.set_log(None)


def settled(routes, *operations):
    """The names of the ways after each has come twice."""
    for op in operations * 2:
        routes.choose(op)
    return [routes.choose(op)[0].name for op in operations]


def test_what_was_disturbed_serves_for_now_and_is_not_kept(file, quiet, lines, monkeypatch):
    slow, quick = Sleeper("slow", 0.02), Sleeper("quick", 0.001)
    routes = _routes.Measured([slow, quick])
    quiet[0] = "its threads waited"
    assert settled(routes, operation(), operation(6)) == ["quick", "quick"]
    assert not file.exists() and quick.calls == 2 * (1 + _race.ROUNDS)
    assert [level for level, _ in lines] == ["WARNING", "INFO"]
    assert "n1c2h5w5 k3r3s3 forward (its threads waited): quick for now, in 60 s" in lines[0][1]

    now = time.monotonic()
    monkeypatch.setattr(time, "monotonic", lambda: now + 61)
    slow.seconds, quick.seconds = 0.001, 0.02  # what was disturbed was wrong, too
    assert routes.choose(operation())[0] is slow and not file.exists()
    assert "in 120 s" in lines[-1][1]
    assert routes.choose(operation()) == (slow, None)
    monkeypatch.setattr(time, "monotonic", lambda: now + 61 + 121)
    quiet[0] = ""
    way, result = routes.choose(operation())
    assert way is slow and result is not None
    assert [route.way for route in read(file)] == ["slow"]
    monkeypatch.setattr(time, "monotonic", lambda: now + 10**6)
    assert routes.choose(operation()) == (slow, None)


def test_it_is_not_measured_again_all_the_time(quiet, monkeypatch):
    quiet[0] = "busy"
    way, now = Sleeper("way", 0), [time.monotonic()]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    routes = _routes.Measured([way])
    for _ in range(24 * 60):  # a day, a step a minute
        routes.choose(operation())
        now[0] += 60
    races = way.calls / (1 + _race.ROUNDS)
    assert 24 <= races <= 24 + 8


def test_threads_do_not_measure_the_same_again(quiet):
    quiet[0] = "busy"
    way = Sleeper("way", 0.005)
    routes = _routes.Measured([way])
    routes.choose(operation())
    threads = [threading.Thread(target=routes.choose, args=(operation(),)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert way.calls == 1 + _race.ROUNDS


@pytest.mark.parametrize("kind", ["fifo", "folder", "link", "garbage", "no home"])
def test_a_hostile_file_costs_one_line(file, kind, lines, monkeypatch, tmp_path):
    """And every operation goes on, by the fastest way."""
    file.parent.mkdir()
    if kind == "fifo":
        os.mkfifo(file)
    elif kind == "folder":
        file.mkdir()
    elif kind == "link":
        file.symlink_to(tmp_path / "elsewhere")
    elif kind == "garbage":
        file.write_text("precious")
    else:
        monkeypatch.delenv("CONVOY_ROUTE_FILE")
        monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
        monkeypatch.setattr(os.path, "expanduser", lambda path: path)
    slow, quick = Sleeper("slow", 0.02), Sleeper("quick", 0.001)
    routes = _routes.Measured([slow, quick])
    assert settled(routes, operation(), operation(6)) == ["quick", "quick"]
    assert len(lines) == 1 and lines[0][0] == "WARNING"
    assert lines[0][1].endswith(": measured routes are not kept")
    assert not (tmp_path / "elsewhere").exists()
    assert kind != "garbage" or file.read_text() == "precious"


def test_routes_of_another_place(file):
    here, there = Kept("here"), Kept("there")
    here.add(("p", "contiguous"), "a", "a=1")
    there.add(("p", "contiguous"), "b", "b=1")
    Kept("here").add(("p", "contiguous"), "c", "c=1")  # the first stays
    for place, way in ("here", "a"), ("there", "b"):
        assert Kept(place).way(("p", "contiguous")) == way
        assert Kept(place).way(("p", "channels_last")) is None
    assert len(read(file)) == 2


def test_route_of_enable(monkeypatch):
    monkeypatch.setenv("CONVOY_ROUTE", "sideways")
    with pytest.raises(convoy.ArgumentError, match="sideways"):
        convoy.torch.enable("cpu")
    assert convoy.torch.ROUTES == ("measured", "convoy", "graph")


@pytest.mark.parametrize("winner", ["cpu", "pytorch"])
def test_steps_with_measured_routes(monkeypatch, winner):
    """Every step is right, whether its operations are first, measured, or routed; bias gradients go
    with those of the weights."""
    model, x = torch.nn.Conv2d(3, 4, 3), torch.randn(2, 3, 8, 8, requires_grad=True)

    def step():
        model.zero_grad()
        x.grad = None
        model(x).square().sum().backward()
        return [x.grad, *(parameter.grad.clone() for parameter in model.parameters())]

    def race(ways, op, sent_anew):
        results = {way.name: way.compute(op)[0] for way in ways}
        return _race.Race({name: [float(name != winner)] for name in results}, results, "")

    monkeypatch.setattr(_routes, "race", race)
    wanted = step()
    with convoy.torch.enabled("cpu", route="measured"):
        for _ in range(4):
            for got, right in zip(step(), wanted):
                torch.testing.assert_close(got, right, rtol=1e-4, atol=1e-4)
        counts = convoy.torch.counts()
    reason = "measured to be faster" if winner == "pytorch" else ""
    for direction in ("forward", "backward_data", "backward_weights", "backward_bias"):
        assert counts[winner, direction, reason] == (4 if winner == "cpu" else 3)


# --------------------------------------------------------------------------- CONVOY_CHECK


def steps():
    model = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3), torch.nn.ConvTranspose2d(8, 4, 3, 2))
    model(torch.randn(2, 3, 8, 8, requires_grad=True)).square().sum().backward()
    with torch.no_grad():
        model[0](torch.full((1, 3, 4, 4), float("inf")))


def test_check_passes_what_is_right(monkeypatch):
    monkeypatch.setenv("CONVOY_CHECK", "1")
    with convoy.torch.enabled("cpu", route="convoy"):
        steps()


@pytest.mark.parametrize("lie", [1e-2, float("nan")])
@pytest.mark.parametrize("direction", ["forward", "backward_data", "backward_weights"])
def test_check_finds_what_is_wrong(monkeypatch, direction, lie):
    compute = _engine.compute

    def lying(context, op):
        result = compute(context, op)
        if op.direction == direction:
            result.view(-1)[3] += lie
        return result

    monkeypatch.setattr(_engine, "compute", lying)
    monkeypatch.setenv("CONVOY_CHECK", "1")
    with convoy.torch.enabled("cpu", route="convoy"):
        with pytest.raises(convoy.WrongResultError, match=f"1 of .* n2.* {direction}"):
            steps()
