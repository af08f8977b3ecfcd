"""How OpenMP's threads wait: said by `convoy run` where others want the processors, by a line where
it is too late, and by nobody else."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import convoy
from convoy import _waiting

PACKAGES = Path(convoy.__file__).parents[1]
SETTINGS = "OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "KMP_BLOCKTIME"
SHOW = f"import os; print([os.environ.get(name) for name in {SETTINGS}])"


@pytest.fixture
def crowd():
    """A program for each processor, that wants it all the time."""
    spin = [sys.executable, "-c", "while True: pass"]
    programs = [subprocess.Popen(spin) for _ in os.sched_getaffinity(0)]
    yield
    for program in programs:
        program.kill()
        program.wait()


def run(folder, *words, text=SHOW, **environment):
    """`import ultralytics`, in a test before, has put OMP_NUM_THREADS=1 into the environment."""
    (folder / "train.py").write_text(text)
    left_out = (*SETTINGS, "OMP_NUM_THREADS")
    variables = {name: value for name, value in os.environ.items() if name not in left_out}
    variables.update(PYTHONPATH=str(PACKAGES), CONVOY_DEVICE="cpu", **environment)
    command = [sys.executable, *words]
    return subprocess.run(
        command, capture_output=True, text=True, timeout=120, env=variables, cwd=folder
    )


RUN = "-m", "convoy", "run", "train.py"


@pytest.mark.parametrize("words", [RUN, ("-mconvoy", *RUN[2:])])
def test_in_a_crowd_the_program_has_threads_that_sleep(crowd, tmp_path, words):
    pytest.importorskip("torch", reason="no PyTorch")
    done = run(tmp_path, *words, OMP_DISPLAY_ENV="true")
    assert done.stdout == "['passive', None, None]\n"
    told = [line for line in done.stderr.splitlines() if line.startswith("convoy:")]
    assert len(told) == 1 and "; OMP_WAIT_POLICY=passive, because others keep " in told[0]
    heard = [line for line in done.stderr.splitlines() if "OMP_WAIT_POLICY = " in line]
    assert heard and all("PASSIVE" in line for line in heard)  # so each runtime was told in time


@pytest.mark.parametrize("name, value", [("OMP_WAIT_POLICY", "active"), ("GOMP_SPINCOUNT", "9")])
def test_what_the_user_says_stands(crowd, tmp_path, name, value):
    pytest.importorskip("torch", reason="no PyTorch")
    done = run(tmp_path, *RUN, **{name: value})
    assert done.stdout == str([value if each == name else None for each in SETTINGS]) + "\n"
    assert "OMP_WAIT_POLICY" not in done.stderr and done.stderr.count("\n") == 1


@pytest.mark.parametrize("words", [("-c", f"import convoy; {SHOW}"), ("train.py", "run")])
def test_other_programs_environment_is_theirs(crowd, tmp_path, words):
    done = run(tmp_path, *words, text=f"import convoy; {SHOW}")
    assert (done.stdout, done.stderr) == ("[None, None, None]\n", "")


ENABLE = """
import torch, convoy.torch
convoy.torch.enable("cpu")
with convoy.torch.enabled("cpu", route="convoy"):
    pass
"""


def test_enabled_in_a_crowd(crowd, tmp_path):
    pytest.importorskip("torch", reason="no PyTorch")
    done = run(tmp_path, "train.py", text=ENABLE)
    assert done.stderr.count("\n") == done.stderr.count("OMP_WAIT_POLICY=passive, set before") == 1
    assert "others keep " in done.stderr
    assert run(tmp_path, "train.py", text=ENABLE, KMP_BLOCKTIME="0").stderr == ""


@pytest.fixture
def counted(monkeypatch, tmp_path):
    """Says what the kernel has counted a look later, of four processors, of which this process may
    use the first two."""
    looks = []

    def say(*ticks):
        lines = [f"cpu{i} {n} 1 2 999 99 3 4 5 0 0" for i, n in enumerate(ticks)]
        (tmp_path / "stat").write_text("\n".join(["cpu 9 9 9 9 9 9 9 9 9 9", *lines, "intr 5"]))

    def later(*ticks):
        say(0, 0, 0, 0)
        looks[:] = [ticks]

    monkeypatch.setattr(_waiting, "_STAT", str(tmp_path / "stat"))
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {0, 1})
    clock = [100.0]
    monkeypatch.setattr(_waiting.time, "monotonic", lambda: clock[0])
    monkeypatch.setattr(_waiting.time, "process_time", lambda: 0.0)

    def sleep(seconds):
        clock[0] += seconds
        say(*looks[0])

    monkeypatch.setattr(_waiting.time, "sleep", sleep)
    return later


def test_a_crowd_is_a_quarter_of_the_processors(counted, monkeypatch):
    monkeypatch.setattr(os, "sysconf", lambda name: 100)
    counted(2, 2, 10, 10)  # others' processors are no concern
    assert _waiting._crowd() == ""
    counted(10, 0, 0, 0)
    assert _waiting._crowd() == "others keep 1.0 of 2 processors busy"
    own = iter([0.0, 0.1])
    monkeypatch.setattr(_waiting.time, "process_time", lambda: next(own))
    counted(10, 0, 0, 0)  # it was this process
    assert _waiting._crowd() == ""


def test_a_kernel_that_does_not_count(monkeypatch, tmp_path):
    for text in "", "cpu0 rubbish\n", "cpu0\n":
        (tmp_path / "stat").write_text(text)
        monkeypatch.setattr(_waiting, "_STAT", str(tmp_path / "stat"))
        assert _waiting._crowd() == ""
    monkeypatch.setattr(_waiting, "_STAT", str(tmp_path / "missing"))
    assert _waiting._crowd() == ""


def test_advice_is_for_those_who_have_not_decided(monkeypatch):
    for name in SETTINGS:
        monkeypatch.delenv(name, raising=False)
    assert "OMP_WAIT_POLICY=passive" in _waiting.advice()
    monkeypatch.setenv("GOMP_SPINCOUNT", "0")
    assert _waiting.advice() == ""
