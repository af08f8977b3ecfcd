"""convoy.torch as a module: turning it on and off, errors, counts, forks, threads, processes."""

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="no PyTorch")

import convoy
import convoy.torch
from convoy.torch import _device, _ways
import torch.nn.functional as F

HERE = Path(__file__).parent


@pytest.fixture(autouse=True)
def off(monkeypatch):
    monkeypatch.setenv("CONVOY_ROUTE", "convoy")
    convoy.torch.disable()
    yield
    convoy.torch.disable()


def conv():
    return F.conv2d(torch.ones(1, 2, 4, 4), torch.ones(3, 2, 3, 3))


def through_convoy():
    """Whether a convolution is counted now."""
    before = sum(convoy.torch.counts().values())
    conv()
    return sum(convoy.torch.counts().values()) > before


def test_on_and_off():
    assert not through_convoy()
    for _ in range(3):
        convoy.torch.enable("cpu")
        assert through_convoy()
        convoy.torch.disable()
        assert not through_convoy()


def test_enabling_twice_changes_nothing():
    convoy.torch.enable("cpu")
    conv()
    convoy.torch.enable("cpu")
    conv()
    assert convoy.torch.counts() == {("cpu", "forward", ""): 2}
    convoy.torch.disable()
    convoy.torch.disable()
    assert not through_convoy()


def test_enabled_restores_what_was_before():
    with convoy.torch.enabled("cpu"):
        with convoy.torch.enabled("cpu"):
            assert through_convoy()
        assert through_convoy()
    assert not through_convoy()
    with pytest.raises(ZeroDivisionError), convoy.torch.enabled("cpu"):
        raise ZeroDivisionError
    assert not through_convoy()


def test_report():
    with convoy.torch.enabled("cpu"):
        model = torch.nn.Conv2d(2, 3, 3)
        model(torch.ones(1, 2, 5, 5)).sum().backward()
        conv()
        model.double()(torch.ones(1, 2, 5, 5, dtype=torch.float64))
    lines = [line.split() for line in convoy.torch.report().splitlines()]
    assert " ".join(lines[0]) == "4 of 5 convolution operations through Convoy"
    assert ["2", "cpu", "forward"] in lines
    assert ["1", "cpu", "backward_weights"] in lines
    assert ["1", "cpu", "backward_bias"] in lines
    assert lines[-1] == ["1", "pytorch", "forward", "not", "float32"]


def test_report_of_one_of_several_processes(monkeypatch):
    with convoy.torch.enabled("cpu"):
        conv()
    alone = convoy.torch.report().splitlines()
    monkeypatch.setenv("RANK", "3")
    assert convoy.torch.report().splitlines() == [f"rank 3: {line}" for line in alone]


@pytest.mark.parametrize(
    "arguments, words",
    [
        ({"device": 5}, "device is 5"),
        ({"device": "cpu\0x"}, "NUL"),
        ({"route": "sideways"}, "'sideways'"),
        ({"route": 0}, "route is 0"),
        ({"route": ["convoy"]}, "route is"),
    ],
)
def test_wrong_arguments(arguments, words):
    for turn in (convoy.torch.enable, lambda **given: convoy.torch.enabled(**given).__enter__()):
        with pytest.raises(convoy.ArgumentError, match=words):
            turn(**arguments)
    assert not through_convoy()


@pytest.mark.parametrize("turn", [convoy.torch.enable, convoy.torch.enabled])
def test_misspelt_keyword(turn):
    with pytest.raises(TypeError, match="'devise'. Did you mean 'device'[?]"):
        turn(devise="cpu")


ILLEGAL = {
    "channels": ((1, 3, 4, 4), (3, 2, 3, 3), None, {}),
    "filter larger than input": ((1, 2, 2, 2), (3, 2, 3, 3), None, {}),
    "bias": ((1, 2, 4, 4), (3, 2, 3, 3), (4,), {}),
    "groups": ((1, 2, 4, 4), (3, 2, 3, 3), None, {"groups": 2}),
    "stride": ((1, 2, 4, 4), (3, 2, 3, 3), None, {"stride": 0}),
}


@pytest.mark.parametrize("name", ILLEGAL)
def test_errors_are_pytorchs(name):
    x, w, bias, options = ILLEGAL[name]
    bias = None if bias is None else torch.ones(bias)
    sentences = []
    for turn in (convoy.torch.disable, lambda: convoy.torch.enable("cpu")):
        turn()
        with pytest.raises(RuntimeError) as caught:
            F.conv2d(torch.ones(x), torch.ones(w), bias, **options)
        sentences.append(str(caught.value))
        assert caught.value.__context__ is None
    assert sentences[0] == sentences[1]


@pytest.mark.parametrize("failover", ["0", "1"])
def test_a_device_that_never_was(monkeypatch, failover):
    """Convoy's own errors come out of the convolution, with the library's sentence, each time."""
    monkeypatch.setenv("CONVOY_FAILOVER", failover)
    convoy.torch.enable("ocl:9")
    for _ in range(2):
        with pytest.raises(convoy.NotFoundError, match='no device is called "ocl:9"'):
            conv()
    assert convoy.torch.counts() == {}


def test_a_device_that_is_gone(gone_device, capfd):
    convoy.torch.enable(gone_device, verbose=True)
    assert capfd.readouterr().err == ""
    conv()
    told = capfd.readouterr().err.splitlines()
    assert len(told) == 2 and f"{gone_device} cannot be opened" in told[0]
    assert told[1].startswith("convoy: convolutions run on cpu (")
    conv()
    assert capfd.readouterr().err == ""
    for _ in range(2):
        lines = convoy.torch.report().splitlines()
        assert lines[0] == "2 of 2 convolution operations through Convoy"
        assert lines[-1].startswith("  computing on cpu (")
        assert f"in place of {gone_device} for " in lines[-1] and "My Old Card" in lines[-1]
        convoy.torch.disable()  # and the same of the time before


def test_a_device_is_required(gone_device):
    with convoy.torch.enabled("cpu"):
        with convoy.torch.enabled(gone_device, require_device=True):
            with pytest.raises(convoy.ConvoyError, match="last seen on 2026-11-20"):
                conv()
        assert through_convoy()
    with convoy.torch.enabled(gone_device, require_device=False):
        assert through_convoy()


def test_the_device_is_said(capfd):
    convoy.torch.enable("cpu", verbose=True)
    convoy.torch.enable("cpu", verbose=True)
    conv()
    conv()
    told = capfd.readouterr().err
    assert told.startswith("convoy: convolutions run on cpu (")
    assert told.endswith('): asked for as "cpu"\n') and told.count("\n") == 1
    assert "computing on" not in convoy.torch.report()


def test_threads_compute_at_the_same_time():
    model, x = torch.nn.Conv2d(2, 3, 3), torch.randn(2, 2, 6, 6)
    wanted, results = model(x), []

    def work():
        for _ in range(20):
            y = model(x)
            y.sum().backward()
            results.append(y.detach())

    with convoy.torch.enabled("cpu"):
        workers = [threading.Thread(target=work) for _ in range(4)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        assert convoy.torch.counts()["cpu", "forward", ""] == 80
    for result in results:
        torch.testing.assert_close(result, wanted.detach())


def test_turned_off_while_another_thread_computes(monkeypatch):
    """The operation under way ends as it began, and its context is closed after it."""
    begun, may_go_on, contexts, results = threading.Event(), threading.Event(), [], []
    compute = _ways.ConvoyWay.compute

    def slowly(way, op):
        contexts.append(way.context)
        begun.set()
        assert may_go_on.wait(60)
        return compute(way, op)

    monkeypatch.setattr(_ways.ConvoyWay, "compute", slowly)
    convoy.torch.enable("cpu")
    thread = threading.Thread(target=lambda: results.append(conv()))
    thread.start()
    assert begun.wait(60)
    convoy.torch.disable()
    assert not contexts[0].closed and (conv() == 18).all()
    may_go_on.set()
    thread.join(60)
    assert contexts[0].closed and len(contexts) == 1 and (results[0] == 18).all()
    assert convoy.torch.counts() == {("cpu", "forward", ""): 1}


def test_an_error_that_is_kept_keeps_no_device(monkeypatch):
    contexts = []

    def fail(way, op):
        contexts.append(way.context)
        raise KeyboardInterrupt

    monkeypatch.setattr(_ways.ConvoyWay, "compute", fail)
    convoy.torch.enable("cpu")
    with pytest.raises(KeyboardInterrupt) as caught:
        conv()
    assert not contexts[0].closed
    convoy.torch.disable()
    assert contexts[0].closed and caught.tb


TURNED_ON_AND_OFF = """
import threading, time, torch, convoy.torch
from convoy._handle import _handles
convoy.torch.enable("cpu")
stop, errors = threading.Event(), []
def train():
    model, x = torch.nn.Conv2d(3, 8, 3), torch.randn(2, 3, 16, 16, requires_grad=True)
    while not stop.is_set():
        try:
            model(x).sum().backward()
        except Exception as error:
            errors.append(str(error))
threads = [threading.Thread(target=train) for _ in range(2)]
for thread in threads: thread.start()
end = time.monotonic() + 4
while time.monotonic() < end:
    with convoy.torch.enabled("cpu", "convoy"): time.sleep(0.01)
    convoy.torch.disable()
    time.sleep(0.001)
stop.set()
for thread in threads: thread.join()
print(errors, [handle for handle in _handles if not handle.closed])
"""


def test_turned_on_and_off_while_threads_train():
    done = run("-c", TURNED_ON_AND_OFF)
    assert (done.returncode, done.stdout, done.stderr) == (0, "[] []\n", "")


class Convolved(torch.utils.data.Dataset):
    """Items that are computed by a convolution, and how it was counted."""

    def __len__(self):
        return 6

    def __getitem__(self, index):
        y = F.conv2d(torch.full((1, 2, 4, 4), float(index)), torch.ones(3, 2, 3, 3))
        forked = [why for where, _, why in convoy.torch.counts() if where == "pytorch"]
        return y, forked == ["in a forked child"]


@pytest.mark.parametrize("device", ["cpu", "pocl"])
def test_forked_workers_of_a_data_loader(device, request):
    name = request.getfixturevalue("opencl_device") if device == "pocl" else device
    with convoy.torch.enabled(name):
        conv()
        loader = torch.utils.data.DataLoader(
            Convolved(), batch_size=None, num_workers=2, multiprocessing_context="fork"
        )
        for index, (y, in_child) in enumerate(loader):
            assert in_child
            assert torch.equal(y, torch.full((1, 3, 2, 2), index * 18.0))
            assert through_convoy()
        assert all(where == name for where, _, _ in convoy.torch.counts())


def run(*arguments, **environment):
    return subprocess.run(
        [sys.executable, *arguments],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "PYTHONPATH": str(Path(convoy.__file__).parents[1]), **environment},
    )


FORKED_TRAINER = """
import os, torch, convoy.torch
convoy.torch.enable("cpu")
conv = lambda: torch.nn.functional.conv2d(torch.ones(1, 2, 4, 4), torch.ones(3, 2, 3, 3))
conv()
child = os.fork()
convoy.torch.enable("cpu")
conv()
print(sorted(convoy.torch.counts().items()), flush=True)
if child: os.waitpid(child, 0)
"""


def test_a_forked_child_may_enable_it_for_itself():
    done = run("-c", FORKED_TRAINER)
    assert (done.returncode, done.stderr) == (0, "")
    assert sorted(done.stdout.splitlines()) == [
        "[(('cpu', 'forward', ''), 1)]",
        "[(('cpu', 'forward', ''), 2)]",
    ]


def test_importing_and_enabling_opens_nothing():
    text = "import convoy.torch as c; c.enable('no such device'); c.disable(); print(c.report())"
    done = run("-c", text, CONVOY_FAILOVER="0")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "0 of 0 convolution operations through Convoy\n"


class FakeDevice:
    def __init__(self, id, type, simulator=False, name=None):
        self.id, self.type, self.simulator, self.name = id, type, simulator, name or id


@pytest.mark.parametrize(
    "asked, rank, chosen",
    [
        (None, None, "auto"),
        (None, "0", "ocl:1"),
        (None, "1", "ocl:2"),
        (None, "2", "ocl:1"),
        ("ocl", "2", "ocl:2"),
        (" OCL", "2", "ocl:2"),
        ("cpu", "1", "cpu"),
        ("ocl:0", "1", "ocl:0"),
    ],
)
def test_processes_share_the_devices_out(monkeypatch, asked, rank, chosen):
    kinds = convoy.DeviceType
    found = [
        FakeDevice("cpu", kinds.CPU_ENGINE),
        FakeDevice("ocl:0", kinds.CPU),
        FakeDevice("ocl:1", kinds.GPU),
        FakeDevice("ocl:2", kinds.GPU),
        FakeDevice("ocl:3", kinds.GPU, simulator=True),
    ]
    monkeypatch.setattr(_device, "devices", lambda _: found)
    monkeypatch.delenv("CONVOY_DEVICE", raising=False)
    if rank is not None:
        monkeypatch.setenv("LOCAL_RANK", rank)
    assert _device.device_of_process(asked) == chosen


@pytest.mark.parametrize(
    "asked, rank, chosen",
    [
        ("auto", "0", "ocl:0"),
        ("auto", "1", "ocl:1"),
        ("auto", "2", "hip:0"),
        ("auto", "3", "ocl:0"),
        ("cuda", "1", "cuda:1"),
        ("hip", "5", "hip:0"),
    ],
)
def test_a_card_seen_through_two_runtimes_is_one(monkeypatch, asked, rank, chosen):
    gpu = convoy.DeviceType.GPU
    found = [FakeDevice(f"ocl:{i}", gpu, name="Green card") for i in range(2)]
    found += [FakeDevice("hip:0", gpu, name="Red card")]
    found += [FakeDevice(f"cuda:{i}", gpu, name="Green card") for i in range(2)]
    monkeypatch.setattr(_device, "devices", lambda _: found)
    monkeypatch.setenv("LOCAL_RANK", rank)
    assert _device.device_of_process(asked) == chosen


def test_processes_share_the_cores_out(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)))
    monkeypatch.setattr(torch, "get_num_threads", lambda: 6)
    monkeypatch.delenv("CONVOY_THREADS", raising=False)
    assert _device.threads_of_process() == 6
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "3")
    assert _device.threads_of_process() == 6
    monkeypatch.setattr(torch, "get_num_threads", lambda: 1)  # what torchrun asks for
    assert _device.threads_of_process() == 2
    monkeypatch.setenv("CONVOY_THREADS", "5")
    assert _device.threads_of_process() == 5


def threads_of_convoy():
    """The CPU engine's own that this process has."""
    names = (path.read_text() for path in Path("/proc/self/task").glob("*/comm"))
    return sum(name.startswith("convoy-cpu-") for name in names)


@pytest.mark.parametrize("more, own", [(0, 0), (1, 2)])
def test_the_engine_computes_on_pytorchs_threads(monkeypatch, more, own):
    """Unless it is to have more than there are."""
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    monkeypatch.setenv("CONVOY_THREADS", str(2 + more))
    x, w = torch.rand(4, 16, 64, 64), torch.rand(16, 16, 3, 3)
    expected = torch.nn.functional.conv2d(x, w)
    others = threads_of_convoy()  # of contexts that other tests have open
    try:
        with convoy.torch.enabled("cpu", "convoy"):
            result = torch.nn.functional.conv2d(x, w)
            assert threads_of_convoy() - others == own
    finally:
        torch.set_num_threads(before)
    assert torch.allclose(result, expected, atol=1e-3)


def test_convoy_team_says_whose_threads(monkeypatch):
    monkeypatch.setenv("CONVOY_TEAM", "pool")
    monkeypatch.setenv("CONVOY_THREADS", "2")
    x, w = torch.rand(4, 16, 64, 64), torch.rand(16, 16, 3, 3)
    others = threads_of_convoy()
    with convoy.torch.enabled("cpu", "convoy"):
        torch.nn.functional.conv2d(x, w)
        assert threads_of_convoy() - others == 1


FORKED_WITH_A_TEAM = """
import os, signal, torch, convoy.torch
torch.set_num_threads(2)
x, w = torch.rand(4, 16, 64, 64), torch.rand(16, 16, 3, 3)
expected = torch.nn.functional.conv2d(x, w)
convoy.torch.enable("cpu", "convoy")
conv = lambda: torch.nn.functional.conv2d(x, w)
conv()
child = os.fork()
if child == 0:
    signal.alarm(60)
    convoy.torch.enable("cpu", "convoy")
    right = abs(conv().numpy() - expected.numpy()).max() < 1e-3  # PyTorch's own loops would hang
    os._exit(0 if right and convoy.torch.counts() == {("cpu", "forward", ""): 1} else 1)
print(os.waitpid(child, 0)[1], float((conv() - expected).abs().max()) < 1e-3)
"""


def test_a_forked_child_does_not_wait_for_pytorchs_threads():
    done = run("-c", FORKED_WITH_A_TEAM)
    assert (done.returncode, done.stdout, done.stderr) == (0, "0 True\n", "")
