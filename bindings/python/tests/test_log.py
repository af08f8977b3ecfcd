"""Lines that Python writes: like the library's, where those go, with the process's rank."""

import io
import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest

import convoy
from convoy import _log
from convoy._lib import LogLevel

RANKS = ("RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID", "LOCAL_RANK")


@pytest.fixture(autouse=True)
def alone(monkeypatch):
    for name in (*RANKS, "CONVOY_LOG"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(_log, "_level", None)
    monkeypatch.setattr(_log, "_function", None)


@pytest.mark.parametrize(
    "variables, rank",
    [
        ({}, ""),
        ({"RANK": "3", "LOCAL_RANK": "1", "SLURM_PROCID": "9"}, "rank 3"),
        ({"OMPI_COMM_WORLD_RANK": "0"}, "rank 0"),
        ({"PMI_RANK": "12"}, "rank 12"),
        ({"SLURM_PROCID": "7"}, "rank 7"),
        ({"LOCAL_RANK": "1"}, "local rank 1"),
        ({"RANK": "colonel", "LOCAL_RANK": "1"}, "local rank 1"),
        ({"RANK": ""}, ""),
        ({"RANK": "-1"}, ""),
        ({"RANK": "\u0663"}, ""),
        ({"RANK": "12345678901234567890"}, ""),
    ],
)
def test_rank(monkeypatch, capsys, variables, rank):
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert _log.rank() == rank
    _log.say("hello")
    assert capsys.readouterr().err == (f"convoy: {rank}: hello\n" if rank else "convoy: hello\n")
    _log.log(LogLevel.WARNING, "it failed")
    time = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"
    wanted = f"convoy: {time} {rank}: it failed\n" if rank else f"convoy: {time}: it failed\n"
    assert re.fullmatch(wanted, capsys.readouterr().err)


@pytest.mark.parametrize(
    "named, most",
    [("off", 0), ("ERROR", 1), ("warning", 2), ("Info", 3), ("debug", 4), ("loud", 2), ("", 2)],
)
def test_levels_of_the_environment(monkeypatch, capsys, named, most):
    monkeypatch.setenv("CONVOY_LOG", named)
    for level in list(LogLevel)[1:]:
        _log.log(level, str(int(level)))
    assert [line[-1:] for line in capsys.readouterr().err.splitlines()] == list("1234"[:most])


def test_hooks(capsys):
    lines = []
    convoy.set_log(lambda level, line: lines.append((level, line)), "info")
    _log.log(LogLevel.INFO, "caf\u00e9 \udcff")
    _log.log(LogLevel.DEBUG, "not wanted")
    assert lines == [(LogLevel.INFO, "caf\u00e9 ?")]
    convoy.set_log(None, "off")
    _log.log(LogLevel.ERROR, "not wanted")
    assert capsys.readouterr().err == ""
    convoy.set_log(None)
    _log.log(LogLevel.WARNING, "wanted")
    assert capsys.readouterr().err.endswith("Z: wanted\n") and len(lines) == 1


def test_an_exception_in_the_hook(monkeypatch):
    caught = []
    monkeypatch.setattr(sys, "unraisablehook", lambda args: caught.append(args.exc_type))
    convoy.set_log(lambda level, line: 1 / 0)
    _log.log(LogLevel.ERROR, "line")
    convoy.set_log(None)
    assert caught == [ZeroDivisionError]


class Full(io.StringIO):
    def write(self, text):
        raise OSError(28, "No space left on device")


def closed():
    stream = io.StringIO()
    stream.close()
    return stream


@pytest.mark.parametrize("stream", [None, Full(), closed()], ids=["none", "full", "closed"])
def test_a_screen_that_is_not_there(monkeypatch, stream):
    """As in a daemon: a line is no reason to fail."""
    monkeypatch.setattr(sys, "stderr", stream)
    _log.say("hello")
    _log.log(LogLevel.ERROR, "hello")
    with _log.shown_meanwhile("working"):
        pass


SHOWN = "from convoy import _log\nwith _log.shown_meanwhile('working'): pass\n"


def test_what_only_a_terminal_shows():
    environment = {**os.environ, "PYTHONPATH": str(Path(convoy.__file__).parents[1]), "RANK": "2"}
    command = [sys.executable, "-c", SHOWN]
    ended = subprocess.run(command, capture_output=True, env=environment)
    assert (ended.stdout, ended.stderr) == (b"", b"")
    screen, theirs = pty.openpty()
    subprocess.run(command, stderr=theirs, env=environment, check=True)
    os.close(theirs)
    assert os.read(screen, 1000) == b"convoy: rank 2: working\r\033[K"
    os.close(screen)
