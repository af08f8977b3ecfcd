"""Functions that the library calls: they see what happens, and cannot break it."""

import gc
import os
import sys

import pytest
from numpy.testing import assert_array_equal

import convoy
from convoy import _lib
from convoy._hooks import event_function
from convoy._release import inside_log_hook, release


@pytest.fixture
def unraised(monkeypatch):
    """What went to sys.unraisablehook."""
    caught = []
    monkeypatch.setattr(sys, "unraisablehook", lambda args: caught.append(args.exc_value))
    return caught


@pytest.fixture
def restore_log():
    yield
    convoy.set_log(None)


@pytest.fixture
def open_a_missing_device(gone_device):
    """Falls back to the CPU engine, which is one line of log."""
    return lambda: convoy.open(gone_device, failover=True)


def test_log_hook(restore_log, open_a_missing_device):
    lines = []
    convoy.set_log(lambda level, line: lines.append((level, line)), "warning")
    open_a_missing_device().close()
    assert any("My Old Card" in line for _, line in lines)
    assert all(level <= convoy.LogLevel.WARNING for level, _ in lines)
    lines.clear()
    convoy.set_log(None, "off")
    open_a_missing_device().close()
    assert lines == []


def test_log_level(restore_log, capfd, open_a_missing_device):
    convoy.set_log(None, "off")
    open_a_missing_device().close()
    assert capfd.readouterr().err == ""
    convoy.set_log(None, convoy.LogLevel.WARNING)
    open_a_missing_device().close()
    assert "convoy: " in capfd.readouterr().err
    with pytest.raises(convoy.ArgumentError, match="loud"):
        convoy.set_log(None, "loud")


def test_exception_in_the_log_hook(restore_log, unraised, open_a_missing_device):
    def hook(level, line):
        raise RuntimeError("in the hook")

    convoy.set_log(hook)
    with open_a_missing_device() as context:
        assert context.device.id == "cpu"
    assert unraised and all(str(error) == "in the hook" for error in unraised)


def test_nothing_is_released_inside_a_log_hook():
    released = []
    with inside_log_hook():
        release(lambda: released.append(1))
        gc.collect()
        assert released == []
    release(lambda: released.append(2))
    assert released == [1, 2]


def call_event_function(function):
    struct = _lib.EventStruct(
        kind=convoy.EventKind.FAULT,
        status=convoy.Status.ERR_DEVICE,
        device=b"ocl:0",
        algorithm=b"ocl.direct",
        message=b"the worker died",
    )
    function(None, struct)


def test_event_hook():
    events = []
    call_event_function(event_function(events.append))
    expected = convoy.Event(
        convoy.EventKind.FAULT, convoy.Status.ERR_DEVICE, "ocl:0", "ocl.direct", "the worker died"
    )
    assert events == [expected]


def test_exception_in_the_event_hook(unraised):
    def hook(event):
        raise KeyboardInterrupt

    call_event_function(event_function(hook))
    assert len(unraised) == 1 and isinstance(unraised[0], KeyboardInterrupt)


def test_event_of_a_dead_worker(opencl_device, operands, restore_log):
    """The worker is killed; the result is right, and an event says what happened."""
    x, w, _ = operands
    convoy.set_log(None, "off")
    events = []
    with convoy.open(opencl_device, failover=True) as context:
        context.on_event(lambda event: events.append((event, context.health().failovers)))
        os.kill(context.health().worker_pid, 9)
        with convoy.open("cpu") as cpu:
            expected = cpu.forward(x, w)
        run = convoy.Run()
        got = context.forward(x, w, run=run)
        assert_array_equal(got, expected)
        assert run.attempts >= 2 and run.device == "cpu" and run.fault
    kinds = {event.kind for event, _ in events}
    assert kinds & {convoy.EventKind.FAULT, convoy.EventKind.FAILOVER}


def test_close_inside_an_event_hook_is_refused(opencl_device, operands, unraised, restore_log):
    x, w, _ = operands
    convoy.set_log(None, "off")
    with convoy.open(opencl_device, failover=True) as context:
        context.on_event(lambda event: context.close())
        os.kill(context.health().worker_pid, 9)
        context.forward(x, w)
        assert not context.closed
    assert unraised and all("inside a call" in str(error) for error in unraised)
