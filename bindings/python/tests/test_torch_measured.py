"""Route "measured" of whole networks: captured and PyTorch's steps take turns, the faster way is
taken and written down, and what finding it out takes is bounded."""

import copy
import time

import pytest

torch = pytest.importorskip("torch", reason="no PyTorch")

import convoy
import convoy.torch
import torch_networks
from convoy.torch import _budget, _disturbance, _switch, _trial
from convoy.torch.graph import contest, networks, proof, prospect
from convoy.torch.graph.prospect import Prospect
from test_torch_graph import assert_same, step
from torch_twins import one_thread  # noqa: F401  a fixture

FIRST, ITS_TURN, MEASURED, PROVING, PUT_OFF = (
    networks.FIRST,
    networks.ITS_TURN,
    networks.MEASURED,
    networks.PROVING,
    networks.PUT_OFF,
)


def assert_steps(module, x, steps):
    """Each is PyTorch's."""
    other = copy.deepcopy(module)
    for _ in range(steps):
        other.load_state_dict(module.state_dict())
        assert_same(step(module, x), step(other, x, plain=True))


# ---------------------------------------------------------------------------------------- trials


@pytest.fixture
def quiet(monkeypatch):
    """The machine is not asked: tests run on busy ones. Holds what a measurement is told."""
    told = [""]
    monkeypatch.setattr(_disturbance.Observed, "disturbance", lambda self: told[0])
    monkeypatch.setattr(_disturbance, "spread", lambda best, others: "")
    return told


def tried(seconds_of, names=("a", "b"), rounds=8):
    """The outcome, and whose turns there were."""
    trial, turns = _trial.Trial(names, rounds, 0.97), []
    while not trial.is_over:
        turns.append(trial.turn)
        trial.note(seconds_of(trial.turn, len(turns) - 1))
    return trial.outcome(), turns


def test_each_way_gets_as_many_turns(quiet):
    outcome, turns = tried(lambda name, at: {"a": 1.0, "b": 1.5}[name])
    assert outcome.winner == "a" and len(outcome.times["a"]) == len(outcome.times["b"]) == 8
    assert len(turns) == 2 * 9  # the first round is for making ready


@pytest.mark.parametrize("period", [2, 3, 4, 5, 6])
def test_every_second_call_may_take_longer(quiet, period):
    """A program that calls a network several times in a step: both ways meet calls of all kinds."""
    outcome, turns = tried(lambda name, at: 1.0 + (at % period == 0) + 0.1 * (name == "b"))
    assert outcome.winner == "a"
    for name in ("a", "b"):
        met = {at % period for at, each in enumerate(turns) if each == name and at >= 2}
        assert met == set(range(period))


def test_the_last_way_wins_where_the_lead_is_small(quiet):
    assert tried(lambda name, at: {"a": 0.98, "b": 1.0}[name])[0].winner == "b"
    assert tried(lambda name, at: {"a": 0.96, "b": 1.0}[name])[0].winner == "a"


def test_the_hopeless_are_not_tried_again(quiet):
    for seconds, rounds in ((5.5, 1), (3.5, 2), (2.5, 3)):
        outcome, turns = tried(lambda name, at: {"a": seconds, "b": 1.0}[name])
        assert outcome.winner == "b" and turns.count("a") == 1 + rounds


# --------------------------------------------------------------------------------------- networks


@pytest.fixture
def measured(monkeypatch, tmp_path):
    """Which way wins is said by the test, after one round."""
    monkeypatch.setenv("CONVOY_ROUTE_FILE", str(tmp_path / "routes.txt"))
    said = {"graph": 1.0, "pytorch": 3.0, "disturbance": "", "trials": 0}

    def outcome(self):
        said["trials"] += 1
        winner = min(("graph", "pytorch"), key=lambda name: said[name])
        times = {name: [said[name]] for name in self._times}
        return _trial.Outcome(times, winner, said["disturbance"])

    monkeypatch.setattr(_trial.Trial, "outcome", outcome)
    monkeypatch.setattr(_trial, "_HOPELESS", float("inf"))
    monkeypatch.setattr(contest, "_ROUNDS", 1)
    monkeypatch.setattr(_budget, "_LEAST", 1e9)
    torch.manual_seed(1)
    convoy.torch.enable("cpu")
    yield said
    convoy.torch.disable()


def again():
    """A new process, as far as routes are concerned."""
    convoy.torch.disable()
    convoy.torch.enable("cpu")


def counted(how):
    counts = _switch._current.statistics.networks()
    return {reason: n for (_, way, reason), n in counts.items() if way == how}


# Calls: the first, the one that captures, two rounds of two, and one that sees the last's end.
TRIAL_ENDS = 7


@pytest.mark.parametrize("winner", ["graph", "pytorch"])
def test_the_fastest_way_is_taken_and_remembered(measured, winner):
    measured[winner] = 0.5
    module, x = torch_networks.Convolutions(), torch.randn(2, 3, 8, 8)
    assert_steps(module, x, steps=TRIAL_ENDS + 3)
    assert measured["trials"] == 1
    graph, pytorch = counted("graph"), counted("pytorch")
    assert pytorch[FIRST] == 1 and pytorch[ITS_TURN] == 2
    assert graph[""] == (7 if winner == "graph" else 3)
    assert pytorch.get(MEASURED, 0) == (0 if winner == "graph" else 4)
    again()
    assert_steps(module, x, steps=4)
    assert measured["trials"] == 1
    assert counted("graph") == ({"": 3} if winner == "graph" else {})


def test_a_disturbed_trial_is_repeated(measured, monkeypatch):
    lines = []
    convoy.set_log(lambda level, line: lines.append(line))
    measured["disturbance"] = "the test says so"
    monkeypatch.setattr(contest, "_LATER", 0.0)
    monkeypatch.setattr(contest, "_LATEST", 0.0)
    module, x = torch_networks.Convolutions(), torch.randn(2, 3, 8, 8)
    try:
        assert_steps(module, x, steps=TRIAL_ENDS + 10)
    finally:
        convoy.set_log(None)
    assert measured["trials"] >= 2
    assert [line for line in lines if "too busy to measure" in line and "the test says so" in line]
    measured.update(disturbance="", graph=9.0)
    before = measured["trials"]
    assert_steps(module, x, steps=8)
    assert measured["trials"] == before + 1 and counted("pytorch")[MEASURED] >= 1


def test_what_has_no_room_is_put_off(measured, monkeypatch):
    """It is judged once, and then waits."""
    monkeypatch.setattr(_budget, "_LEAST", 0.0)
    judged = []
    monkeypatch.setattr(Prospect, "saving", lambda self, *given: judged.append(self) or 0.0)
    module, x = torch_networks.Convolutions(), torch.randn(2, 3, 8, 8)
    assert_steps(module, x, steps=4)
    assert counted("pytorch") == {FIRST: 1, PUT_OFF: 3} and not counted("graph")
    assert len(judged) == 1
    monkeypatch.setattr(_budget, "_PART", 1e9)
    assert_steps(module, x, steps=2)
    assert counted("graph")[""] >= 1


def test_what_promises_much_has_room(measured, monkeypatch):
    monkeypatch.setattr(_budget, "_LEAST", 0.0)
    monkeypatch.setattr(_budget, "_PART", 0.0)
    monkeypatch.setattr(Prospect, "saving", lambda self, engine, step: 0.5)
    module, x = torch_networks.Convolutions(), torch.randn(2, 3, 8, 8)
    assert_steps(module, x, steps=4)
    assert counted("pytorch")[PUT_OFF] == 1 and counted("graph")[""] >= 1


@pytest.mark.parametrize("lead", [1.0, 3.0])
def test_float64_has_room_of_its_own(measured, monkeypatch, lead):
    """A capture that had room goes on when steps in float64 have it, or if it promises much."""
    room = [True]
    original = proof.distance

    def far(a, b):  # nothing is close at first sight
        room[0] = False
        return 1.0 if b.dtype is torch.float32 else original(a, b)

    monkeypatch.setattr(proof, "_quick_distance", far)
    monkeypatch.setattr(proof, "distance", far)
    monkeypatch.setattr(proof._Judged, "is_near", lambda self, shaken: True)
    monkeypatch.setattr(_budget.Budget, "has_room", lambda self, seconds: room[0])
    monkeypatch.setattr(networks.Network, "lead", lead)
    module, x = torch_networks.Convolutions(), torch.randn(2, 3, 8, 8)
    assert_steps(module, x, steps=4)
    if lead > networks._PROMISING:
        assert counted("graph")[""] >= 1 and PUT_OFF not in counted("pytorch")
        return
    assert counted("pytorch") == {FIRST: 1, PROVING: 1, PUT_OFF: 2} and not counted("graph")
    monkeypatch.setattr(_budget.Budget, "has_room", lambda self, seconds: True)
    assert_steps(module, x, steps=2)
    assert counted("graph")[""] >= 1


def test_what_was_measured_before_is_not_put_off(measured, monkeypatch):
    module, x = torch_networks.Convolutions(), torch.randn(2, 3, 8, 8)
    assert_steps(module, x, steps=TRIAL_ENDS)
    monkeypatch.setattr(_budget, "_LEAST", 0.0)
    monkeypatch.setattr(_budget, "_PART", 0.0)
    again()
    assert_steps(module, x, steps=3)
    assert counted("graph") == {"": 2}


def test_a_session_spends_a_part_of_its_time(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(_budget.time, "monotonic", lambda: now[0])
    budget = _budget.Budget()
    assert budget.has_room(1.0) and not budget.has_room(1.1)
    with budget.spending():
        now[0] += 0.75
    assert budget.has_room(0.25) and not budget.has_room(0.3)
    now[0] += 200 - 0.75
    assert budget.has_room(3.25) and not budget.has_room(3.3)
    budget.grant(0.2)  # an estimate may be off by that
    assert budget.has_room(3.25) and not budget.has_room(3.3)
    budget.grant(0.3)
    assert budget.has_room(6.2) and not budget.has_room(6.3)
    budget.grant(0.9)  # 5 s at most
    assert budget.has_room(11.2) and not budget.has_room(11.3)


# ------------------------------------------------------------------------------------- prospects


class Judged(torch.nn.Module):
    """Convolutions, products, and much besides."""

    def __init__(self):
        super().__init__()
        self.first = torch.nn.Conv2d(3, 8, 3, padding=1)
        self.second = torch.nn.Conv2d(8, 8, 3, groups=2, bias=False)
        self.last = torch.nn.Linear(8, 4)

    def forward(self, x):
        y = torch.relu(self.second(self.first(x))).sigmoid().mean((2, 3))
        return self.last(y)


@pytest.fixture
def observed():
    """What one of PyTorch's passes has shown, and the engine."""
    with convoy.torch.enabled("cpu", route="graph"):
        module, x = Judged(), torch.randn(2, 3, 8, 8)
        step(module, x)
        step(module, x)
        found = Prospect()
        assert not found.is_observed
        with convoy.torch._plainly.plainly(), found.observing():
            module(x.contiguous(memory_format=torch.channels_last))
        assert found.is_observed
        yield found, _switch._current.engine


def test_each_convolution_is_tried_in_its_directions(observed):
    first, second = observed[0]._times.convolutions
    ahead = [[op.direction for op in each.operations()] for each in (first, second)]
    both = ["forward", "backward_data", "backward_weights"]
    assert ahead == [["forward", "backward_weights"], both]
    op = second.operations()[0]
    assert op.geometry[-1] == 2 and op.x.shape == (2, 8, 8, 8)
    assert op.x.is_contiguous(memory_format=torch.channels_last)


@pytest.mark.parametrize("ratio", [0.1, 1.0, 3.0])
def test_what_is_saved_follows_from_its_parts(observed, monkeypatch, ratio):
    found, engine = observed
    monkeypatch.setattr(Prospect, "_ratio", lambda self, engine: ratio)
    times = found._times
    convolutions = sum(times.convolutions.values())
    total = convolutions + times.products + times.others
    assert times.products > 0 and times.others > 0
    least = convolutions * ratio + times.products * 1.3 + times.others * 0.5
    alone = found.saving(engine, 3 * found._seconds)
    assert alone == pytest.approx(max(0.0, 1 - least / total))
    assert found.saving(engine, 30 * found._seconds) == pytest.approx(alone / 10)


def test_a_ratio_is_measured(observed, monkeypatch):
    """By both ways; here one takes twice as long."""
    found, engine = observed
    seconds = {"cpu": 2.0, "pytorch": 1.0}
    monkeypatch.setattr(prospect, "_least", lambda way, op: seconds[way.name])
    assert found._ratio(engine) == pytest.approx(2.0)


def test_judging_draws_no_random_numbers(observed):
    found, engine = observed
    before = torch.get_rng_state()
    found.saving(engine, 1.0)
    assert torch.equal(before, torch.get_rng_state())


# ----------------------------------------------------------------------------------------- proofs


def test_a_long_proof_takes_several_calls(monkeypatch):
    """What float64 has to decide is decided in parts, from the values of the first call."""
    steps = [0]
    exact = proof.distance

    def far(a, b):  # nothing is close at first sight
        return 1.0 if b.dtype is torch.float32 else exact(a, b)

    def counting(self, shaken):
        steps[0] += 1
        return steps[0] >= 5

    monkeypatch.setattr(proof, "_quick_distance", far)
    monkeypatch.setattr(proof, "distance", far)
    monkeypatch.setattr(proof._Judged, "is_near", counting)
    with convoy.torch.enabled("cpu", route="graph"):
        torch.manual_seed(1)
        assert_steps(torch_networks.Convolutions(), torch.randn(2, 3, 8, 8), steps=12)
        assert counted("pytorch")[PROVING] >= 1 and counted("graph")[""] >= 3


def test_silence_ends(monkeypatch):
    from convoy import _log

    lines = []
    monkeypatch.setattr(_log, "_SILENCE", 0.05)
    monkeypatch.setattr(_log, "_is_terminal", lambda: False)
    convoy.set_log(lambda level, line: lines.append(line))
    try:
        with _log.shown_meanwhile("measuring this"):
            time.sleep(0.5)
        with _log.shown_meanwhile("measuring that"):
            pass
        time.sleep(0.2)
    finally:
        convoy.set_log(None)
    assert len(lines) == 1 and "measuring this" in lines[0]
