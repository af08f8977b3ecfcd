"""convoy.torch with tensors on a card: pytest runs this file by name, in a process where the
stand-ins are the drivers (test_torch_cards.py).
"""

import gc
import os
import threading

import pytest
import torch
import torch.nn.functional as F

import convoy.torch
from convoy.torch import _card, _cards, _kernels
from standin_cards import StandinCards
from torch_cases import CASES, assert_same, compute

platform = _kernels.platform = StandinCards()
driver = platform.driver
HERE = platform.device(0)


@pytest.fixture
def convoy_on():
    with convoy.torch.enabled(route="convoy"):
        yield


@pytest.fixture
def since():
    """What has been counted since the test began."""
    before = convoy.torch.counts()

    def counts():
        now = convoy.torch.counts().items()
        return {key: n - before.get(key, 0) for key, n in now if n > before.get(key, 0)}

    return counts


def step(x, w, bias=None, **geometry):
    """y, dx, dw and db of one step."""
    leaves = [each.detach().requires_grad_() for each in (x, w, bias) if each is not None]
    y = F.conv2d(*leaves, **geometry)
    y.backward(torch.ones_like(y))
    return [y.detach(), *(leaf.grad for leaf in leaves)]


def operands(seed=3, n=2, c=6, k=8, h=10):
    generator = torch.Generator().manual_seed(seed)
    shapes = (n, c, h, h), (k, c, 3, 3), (k,)
    return [torch.randn(shape, generator=generator) for shape in shapes]


# ---------------------------------------------------------------------- steps of a training


def test_repeats_are_the_same_and_wait_for_nothing(convoy_on, since):
    given = operands()
    first = step(*given, padding=1)
    step(*given, padding=1)
    waits = driver.waits()
    for _ in range(400):  # more commands than anybody keeps a record of
        for got, wanted in zip(step(*given, padding=1), first):
            assert torch.equal(got, wanted)
    assert driver.waits() == waits
    assert set(since()) == {(HERE, d, "") for d in
                            ("forward", "backward_data", "backward_weights", "backward_bias")}


def _cards_now():
    return convoy.torch._switch._current.cards


def _memory_now():
    (opened,) = _cards_now()._opened.values()
    return opened.card._memory


def test_memory_is_given_back(convoy_on):
    for padding in range(4):
        step(*operands(), padding=padding)
    assert _memory_now()._held == {}


def test_views_that_begin_anywhere(convoy_on, since):
    x, w, bias = operands(n=4, h=9)
    flat = torch.zeros(w.numel() + 1)
    flat[1:] = w.flatten()
    views = x[1:], flat[1:].view_as(w), bias
    got = step(*views, padding=1)
    assert views[0].data_ptr() % 64 and views[1].data_ptr() % 64
    assert {where for where, _, _ in since()} == {HERE}
    convoy.torch.disable()
    for a, b in zip(got, step(*views, padding=1)):
        assert_same(a, b)


def test_threads(convoy_on):
    given = [operands(seed, h=8 + seed % 3) for seed in range(6)]
    wanted = [step(*each, padding=1) for each in given]
    wrong = []

    def work(i):
        for _ in range(10):
            for got, same in zip(step(*given[i], padding=1), wanted[i]):
                if not torch.equal(got, same):
                    wrong.append(i)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


@pytest.mark.skipif(driver.kind != "cuda", reason="HIP's threads always have a device")
def test_a_thread_keeps_its_context(convoy_on):
    found = []

    def work():
        F.conv2d(*operands())
        found.append(driver.current())
        driver.enter()
        F.conv2d(*operands(), padding=2)
        found.append(driver.current())

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert found[0] is None and found[1] is not None


# -------------------------------------------------------------------------- recorded graphs


def test_what_is_new_is_not_recorded(convoy_on, since):
    x, w, _ = operands(11)
    with platform.recorded():
        F.conv2d(x, w, padding=1)
    assert since() == {("pytorch", "forward", _card.RECORDED): 1}
    F.conv2d(x, w, padding=1)  # it was not broken
    assert since()[HERE, "forward", ""] == 1


def test_a_recorded_step_is_replayed(convoy_on, since):
    x, w, _ = operands(12)
    dy = torch.ones(2, 8, 10, 10)
    arguments = [8], [1, 1], [1, 1], [1, 1], False, [0, 0], 1, [True, True, False]
    for _ in range(2):
        F.conv2d(x, w, padding=1)
        torch.ops.aten.convolution_backward(dy, x, w, *arguments)
    with platform.recorded() as replay:
        y = F.conv2d(x, w, padding=1)
        dx, dw, _ = torch.ops.aten.convolution_backward(dy, x, w, *arguments)
    counted = sum(n for (where, _, _), n in since().items() if where == HERE)
    assert counted == 9 and len(since()) == 3
    x.copy_(operands(13)[0])
    replay[0]()
    got = [y.clone(), dx.clone(), dw.clone()]
    convoy.torch.disable()
    y.zero_()
    replay[0]()  # the programs outlive what they were loaded for
    assert torch.equal(y, got[0])
    wanted = torch.ops.aten.convolution_backward(dy, x, w, *arguments)
    for a, b in zip(got, (F.conv2d(x, w, padding=1), *wanted)):
        assert_same(a, b)


def test_others_compute_while_a_graph_is_recorded(convoy_on, since):
    """First uses allocate, load and wait; that is not to break what another thread records."""
    with platform.recorded():
        stream = platform._stream
        thread = threading.Thread(target=_first_use_elsewhere)
        thread.start()
        thread.join()
        assert platform._stream == stream
    assert since()[HERE, "forward", ""] == 1


def _first_use_elsewhere():
    with platform.in_stream(0):
        F.conv2d(*operands(14, h=17), padding=2)


# ------------------------------------------------------------------------- what goes wrong


def test_wrong_results_are_pytorchs_to_compute(convoy_on, since):
    x, w, _ = operands(15, c=5)
    driver.skip_next(50)
    got = F.conv2d(x, w, stride=3)
    driver.skip_next(0)
    assert since() == {("pytorch", "forward", _card.WRONG): 1}
    convoy.torch.disable()
    assert torch.equal(got, F.conv2d(x, w, stride=3))


def test_a_failing_launch_is_an_error(convoy_on):
    given = operands(16)
    wanted = F.conv2d(*given)
    driver.fail_next(1)
    with pytest.raises(RuntimeError, match="Convoy: .* failed, and the tensors' memory is not"):
        F.conv2d(*given)
    assert torch.equal(F.conv2d(*given), wanted)
    assert "1 faults of the device" in convoy.torch.report()


class Full(RuntimeError):
    """The card's memory is."""


def test_a_lack_of_memory_is_the_allocators_error(convoy_on, monkeypatch):
    given = operands(17)

    def full(size, index):
        raise Full("out of memory")

    F.conv2d(*given)
    monkeypatch.setattr(_memory_now(), "make", full)
    with pytest.raises(Full):
        F.conv2d(*given, dilation=2)
    monkeypatch.undo()
    F.conv2d(*given, dilation=2)
    assert _memory_now()._held == {}


def test_a_card_that_does_not_open(monkeypatch, capfd):
    monkeypatch.setattr(platform, "device", lambda index: "cuda:7")
    with convoy.torch.enabled(route="convoy"):
        F.conv2d(*operands())
        F.conv2d(*operands())
        assert convoy.torch.counts() == {("pytorch", "forward", _cards.LEFT): 2}
    assert capfd.readouterr().err.count("is left to PyTorch") == 1


# --------------------------------------------------------------------- what PyTorch computes


def test_tf32(convoy_on, monkeypatch, since):
    given = operands()
    step(*given)
    monkeypatch.setattr(platform, "tf32", True)
    step(*given)
    assert since()["pytorch", "forward", _cards.TF32] == 1
    assert since()["pytorch", "backward_bias", _cards.TF32] == 1


def test_children(convoy_on, since):
    given = operands()
    wanted = F.conv2d(*given)
    reading, writing = os.pipe()
    if os.fork() == 0:
        torch.set_num_threads(1)  # the parent's others do not exist here
        same = torch.allclose(F.conv2d(*given), wanted, atol=1e-4)
        told = since().get(("pytorch", "forward", "in a forked child"))
        os.write(writing, b"1" if same and told == 1 else b"0")
        os._exit(0)
    assert os.read(reading, 1) == b"1"
    os.wait()


# ------------------------------------------------------------------------------ which way


class Clock:
    """In the place of the card's: Convoy and PyTorch are asked in turn."""

    def __init__(self, ours, theirs):
        self._times, self._asked = [ours, theirs], 0

    def __call__(self, action, times, index):
        action()
        self._asked += 1
        return self._times[(self._asked - 1) % 2]


@pytest.mark.parametrize("winner", ["convoy", "pytorch"])
def test_the_faster_way_is_taken_and_kept(winner, tmp_path, monkeypatch):
    file = tmp_path / "routes.txt"
    monkeypatch.setenv("CONVOY_ROUTE_FILE", str(file))
    times = (1e-3, 2e-3) if winner == "convoy" else (2e-3, 1e-3)
    x, w, _ = operands(18)
    ours, theirs = (HERE, "forward", ""), ("pytorch", "forward", _cards.MEASURED)
    wanted = [{ours: 4}] * 2 if winner == "convoy" else [{ours: 1, theirs: 3}, {theirs: 4}]
    for session in range(2):  # the second takes it from the file
        monkeypatch.setattr(platform, "seconds", Clock(*times))
        with convoy.torch.enabled(route="measured"):
            for _ in range(4):
                F.conv2d(x, w, padding=1)
            assert convoy.torch.counts() == wanted[session]
    assert len(file.read_text().splitlines()) == 2


def test_a_vendor_that_errs_is_not_asked_again(tmp_path, monkeypatch, capfd):
    monkeypatch.setenv("CONVOY_ROUTE_FILE", str(tmp_path / "routes.txt"))
    monkeypatch.setattr(platform, "seconds", lambda action, times, index: 1e-3)

    def errs(self, op):
        raise RuntimeError("miopenStatusUnknownError")

    monkeypatch.setattr("convoy.torch._ways.PytorchWay.compute", errs)
    with convoy.torch.enabled(route="measured"):
        for _ in range(4):
            F.conv2d(*operands(19))
        assert convoy.torch.counts() == {(HERE, "forward", ""): 4}
    assert capfd.readouterr().err.count("miopenStatusUnknownError") == 1


def test_a_bad_vendor_is_never_asked(monkeypatch):
    monkeypatch.setattr(platform, "bad", "it hangs")
    monkeypatch.setattr(platform, "seconds", None)
    with convoy.torch.enabled(route="measured"):
        for _ in range(4):
            F.conv2d(*operands(20))
        assert convoy.torch.counts() == {(HERE, "forward", ""): 4}


def test_nothing_is_left_of_a_session():
    with convoy.torch.enabled(route="convoy"):
        step(*operands())
        context = next(iter(_cards_now()._opened.values())).card.context
    gc.collect()
    assert context.closed


# ---------------------------------------------------------------------------- same results


# The last, since Convoy stays enabled through all of them.


@pytest.fixture(scope="module")
def plain():
    """What PyTorch alone computes."""
    convoy.torch.disable()
    return {name: compute(name) for name in CASES}


@pytest.fixture(scope="module")
def enabled(plain):
    with convoy.torch.enabled(route="convoy"):
        yield


@pytest.mark.parametrize("name", CASES)
def test_same_as_pytorch(name, enabled, plain, since):
    """The second time, what can go the short way does."""
    for _ in range(2):
        results = compute(name)
        assert len(results) == len(plain[name])
        for got, wanted in zip(results, plain[name]):
            assert_same(got, wanted)
    why = CASES[name][1]
    assert {reason for where, _, reason in since() if where == "pytorch"} == (
        {why} if why else set()
    )
    assert {where for where, _, _ in since()} == ({"pytorch"} if why else {HERE})
