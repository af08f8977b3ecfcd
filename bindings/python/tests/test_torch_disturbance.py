"""Whether a measurement was disturbed: told from what the kernel counts, and from the times."""

import os
import subprocess
import sys
import time

import pytest

torch = pytest.importorskip("torch", reason="no PyTorch")

import convoy.torch
from convoy.torch import _disturbance, _switch
from convoy.torch._disturbance import Observed, spread


@pytest.fixture
def counted(monkeypatch):
    """What the kernel says: seconds by thread, and ticks stolen; to be changed."""
    threads, ticks = {"1": (10.0, 5.0), "2": (20.0, 7.0)}, [100]
    monkeypatch.setattr(_disturbance, "_threads", lambda: dict(threads))
    monkeypatch.setattr(_disturbance, "_stolen", lambda: ticks[0])
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    return threads, ticks


def test_threads_that_wait(counted):
    threads, _ = counted
    observed = Observed()
    assert observed.disturbance() == ""
    threads["1"] = (10.9, 5.1)
    assert observed.waited() == pytest.approx(0.1) and observed.disturbance() == ""
    threads["2"] = (20.1, 7.4)
    assert observed.disturbance() == "this process's threads waited 33 % of their time to run"
    del threads["2"]  # it has ended
    threads["3"] = (0.1, 0.5)  # it is new
    assert observed.waited() == pytest.approx(0.6 / 1.6)


def test_waking_up_is_no_waiting(counted):
    threads, _ = counted
    observed = Observed()
    threads["1"] = (10.0005, 5.0009)
    assert observed.waited() == 0


def test_a_host_that_takes_processors(counted, monkeypatch):
    _, ticks = counted
    begin = time.perf_counter()
    monkeypatch.setattr(time, "perf_counter", lambda: begin)
    observed = Observed()
    monkeypatch.setattr(time, "perf_counter", lambda: begin + 1)
    ticks[0] += 15
    assert observed.stolen() == pytest.approx(15 / 2 / os.sysconf("SC_CLK_TCK"))
    assert observed.disturbance() == ""
    ticks[0] += 20
    assert "the host took 18 %" in observed.disturbance()
    monkeypatch.setattr(time, "perf_counter", lambda: begin + 0.001)
    ticks[0] = 101  # of a clock this coarse
    assert observed.stolen() == 0


@pytest.mark.parametrize(
    "best, others, doubtful",
    [
        ([1, 1.1, 1.2], [[1.05, 1.1]], False),  # close, but steady
        ([1, 1.6, 1.7], [[2, 2]], False),  # unsteady, but clearly the best
        ([1, 1.6, 1.7], [[2], [1.5, 1.6, 1.7]], True),
        ([1, 1.1, 9], [[2, 2, 2]], False),  # once
        ([1], [[3]], False),
        ([1, 2, 2], [], False),
    ],
)
def test_spread(best, others, doubtful):
    assert bool(spread(best, others)) is doubtful
    assert not doubtful or spread(best, others) == "one operation took 1e+03 ms and 1.6e+03 ms"


def test_a_kernel_that_does_not_count(monkeypatch, tmp_path):
    (tmp_path / "1").mkdir()
    (tmp_path / "2").mkdir()
    (tmp_path / "2" / "schedstat").write_text("rubbish")
    monkeypatch.setattr(_disturbance, "_TASKS", str(tmp_path))
    assert Observed().disturbance() == ""


@pytest.fixture
def busy():
    """Four programs for each processor."""
    burn = [sys.executable, "-c", "while True: pass"]
    programs = [subprocess.Popen(burn) for _ in range(4 * len(os.sched_getaffinity(0)))]
    time.sleep(0.5)
    yield
    for program in programs:
        program.kill()
        program.wait()


def test_a_busy_machine_is_seen(busy, tmp_path, monkeypatch):
    """What is measured then is not kept."""
    if not os.path.exists("/proc/self/schedstat"):
        pytest.skip("this kernel does not count how long threads wait")
    monkeypatch.setenv("CONVOY_ROUTE_FILE", str(tmp_path / "routes.txt"))
    monkeypatch.delenv("OMP_WAIT_POLICY", raising=False)
    monkeypatch.setattr(_switch, "_warned", True)  # of the crowd: in test_waiting.py
    lines = []
    convoy.set_log(lambda level, line: lines.append(line))
    model, x = torch.nn.Conv2d(16, 16, 3), torch.randn(4, 16, 128, 128)
    wanted = model(x)
    try:
        with convoy.torch.enabled("cpu", route="measured"):
            for _ in range(3):
                torch.testing.assert_close(model(x), wanted, rtol=1e-4, atol=1e-4)
    finally:
        convoy.set_log(None)
    assert not (tmp_path / "routes.txt").exists()
    assert len(lines) == 1 and "the machine was too busy to measure n4c16h128w128" in lines[0]
    assert "waited" in lines[0] and "; OMP_WAIT_POLICY=passive, set before" in lines[0]
