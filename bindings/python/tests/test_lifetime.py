"""Closing, collecting, threads, fork and the end of the interpreter."""

import gc
import os
import subprocess
import sys
import threading
import time
import weakref

import numpy
import pytest
from numpy.testing import assert_array_equal

import convoy

FORK_SECONDS = 20


@pytest.fixture
def own():
    with convoy.open("cpu", threads=2) as opened:
        yield opened


def test_closed_context(operands):
    x, w, _ = operands
    context = convoy.open("cpu")
    tensor = context.tensor(x)
    context.close()
    context.close()
    assert context.closed and "closed" in repr(context)
    for use in (
        lambda: context.forward(x, w),
        lambda: context.device,
        lambda: context.tensor(x),
        context.sync,
        context.health,
        context.algorithms,
        tensor.read,
        lambda: tensor.write(x),
        tensor.commit,
    ):
        with pytest.raises(convoy.ArgumentError, match="closed"):
            use()
    del tensor  # freeing after the context is legal


def test_tensor_keeps_its_context():
    context = convoy.open("cpu")
    tensor = context.tensor((2, 3))
    gone = weakref.ref(context)
    del context
    gc.collect()
    assert gone() is not None
    assert tensor.read().shape == (2, 3)
    del tensor
    gc.collect()
    assert gone() is None


def test_what_is_dropped_is_freed(own):
    """Host memory in use does not grow with the number of tensors and results made."""
    x, w = numpy.ones((4, 8, 64, 64), numpy.float32), numpy.ones((8, 8, 3, 3), numpy.float32)

    def step():
        tensor = own.tensor(x)
        own.forward(tensor, own.tensor(w)).read()
        own.shared_zeros(x.shape)
        own.forward(x, w)

    step()
    before = own.health().host_bytes
    for _ in range(20):
        step()
    assert own.health().host_bytes < before + x.nbytes


def resident_bytes():
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def test_closed_contexts_and_shared_arrays_are_freed():
    """Nor does the process: contexts collected instead of closed, arrays they lent.

    What one step would leave behind is 8 MiB and more. Of what other tests freed before, malloc may
    keep tens of MiB and hand them out in pieces: that shows once, a leak in every round."""

    def step():
        context = convoy.open("cpu", threads=2)
        context.shared_zeros((1024, 1024))
        context.tensor((1024, 1024)).read()

    step()
    threads, grown = len(os.listdir("/proc/self/task")), []
    for _ in range(3):
        before = resident_bytes()
        for _ in range(20):
            step()
        grown.append(resident_bytes() - before)
    assert min(grown) < 20 * 2**20, grown
    assert len(os.listdir("/proc/self/task")) <= threads + 2


def test_close_waits_for_calls_in_other_threads():
    """A context closed while others compute: each call is right or finds it closed."""
    context = convoy.open("cpu", threads=1)
    x = numpy.ones((2, 8, 48, 48), numpy.float32)
    w = numpy.ones((8, 8, 3, 3), numpy.float32)
    expected = context.forward(x, w)
    done, wrong = [], []

    def work():
        try:
            while True:
                if not numpy.array_equal(context.forward(x, w), expected):
                    wrong.append("result")
                done.append(1)
        except convoy.ArgumentError as error:
            if "closed" not in str(error):
                wrong.append(error)

    workers = [threading.Thread(target=work) for _ in range(3)]
    for worker in workers:
        worker.start()
    deadline = time.monotonic() + 30
    while len(done) < 6 and time.monotonic() < deadline:
        time.sleep(0.01)
    context.close()
    for worker in workers:
        worker.join(30)
        assert not worker.is_alive()
    assert len(done) >= 6 and not wrong


def interrupted_before_the_call(context):
    """Ctrl-C where it does most harm: a call was booked, and is never taken off the books."""
    context._handle.__enter__()


def interrupted_after_the_call(context, monkeypatch):
    handle = context._handle
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(type(handle), "__exit__", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        context.health()


def test_interrupted_calls_do_not_keep_a_context_open(operands, monkeypatch):
    x, w, _ = operands
    context = convoy.open("cpu")
    expected = context.forward(x, w)
    interrupted_before_the_call(context)
    interrupted_after_the_call(context, monkeypatch)
    assert_array_equal(context.forward(x, w), expected)
    assert context._handle._inside
    context.close()
    assert context.closed and not context._handle._inside


def test_closing_waits_on_after_the_closer_of_an_interrupted_call(operands):
    """Another thread that closes the context waits for what this one had booked, no longer."""
    context = convoy.open("cpu")
    interrupted_before_the_call(context)
    closer = threading.Thread(target=context.close)
    closer.start()
    deadline = time.monotonic() + 30
    while not context.closed and time.monotonic() < deadline:
        time.sleep(0.01)
    context.close()
    closer.join(30)
    assert not closer.is_alive()


def test_interrupted_closing_can_be_repeated(monkeypatch):
    context = convoy.open("cpu")

    def interrupt(_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(context._handle._changed, "wait_for", interrupt)
        context.close()
    assert not context.closed and context.health()
    context.close()
    assert context.closed


def test_closing_on_top_of_a_call_is_refused():
    """As a signal's handler may try, between a call's bookkeeping and the call."""
    with convoy.open("cpu") as context:
        interrupted_before_the_call(context)
        with context._handle, pytest.raises(convoy.ArgumentError, match="inside a call"):
            context.close()
        assert not context.closed


def test_threads_share_a_context(own, operands):
    x, w, _ = operands
    expected = own.forward(x, w)
    results = [None] * 4

    def work(index):
        tensor, weights = own.tensor(x), own.tensor(w)
        same = [numpy.array_equal(own.forward(x, w), expected) for _ in range(20)]
        same += [numpy.array_equal(own.forward(tensor, weights).read(), expected)] * 2
        results[index] = all(same)

    workers = [threading.Thread(target=work, args=(index,)) for index in range(len(results))]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)
    assert results == [True] * 4


def test_calls_let_other_threads_run(own):
    """The interpreter lock is given up: another thread counts while a call computes."""
    x = numpy.ones((8, 32, 96, 96), numpy.float32)
    w = numpy.ones((32, 32, 3, 3), numpy.float32)
    counted, stop = [0], threading.Event()

    def count():
        while not stop.is_set():
            counted[0] += 1
            time.sleep(0.001)

    counter = threading.Thread(target=count)
    counter.start()
    start, before = time.monotonic(), counted[0]
    while time.monotonic() - start < 0.2:
        own.forward(x, w)
    during = counted[0] - before
    stop.set()
    counter.join()
    assert during >= 5


def in_child(work):
    """Exit status of a forked child that runs `work`; 0 when nothing was raised."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            work()
            status = 0
        finally:
            os._exit(status)
    deadline = time.monotonic() + FORK_SECONDS
    while time.monotonic() < deadline:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.01)
    os.kill(child, 9)
    os.waitpid(child, 0)
    return "the child hangs"


@pytest.mark.filterwarnings("ignore:.*use of fork:DeprecationWarning")
def test_fork(own, operands):
    x, w, _ = operands
    tensor = own.tensor(x)
    expected = own.forward(x, w)

    def work():
        assert_array_equal(own.forward(x, w), expected)
        assert_array_equal(own.forward(tensor, own.tensor(w)).read(), expected)
        own.close()

    assert in_child(work) == 0
    assert_array_equal(own.forward(x, w), expected)


@pytest.mark.filterwarnings("ignore:.*use of fork:DeprecationWarning")
def test_fork_while_another_thread_computes(own, operands):
    """The child must not wait for the parent's threads, neither to compute nor to close."""
    x, w, _ = operands
    expected = own.forward(x, w)
    big = numpy.ones((4, 16, 64, 64), numpy.float32)
    filters = numpy.ones((16, 16, 3, 3), numpy.float32)
    stop = threading.Event()

    def work():
        assert_array_equal(own.forward(x, w), expected)
        own.close()

    def compute():
        while not stop.is_set():
            own.forward(big, filters)

    thread = threading.Thread(target=compute)
    thread.start()
    try:
        statuses = [in_child(work) for _ in range(5)]
    finally:
        stop.set()
        thread.join(30)
    assert statuses == [0] * 5


SCRIPTS = {
    "everything_left_open": """
        context = convoy.open("cpu")
        tensor = context.tensor(numpy.ones((1, 2, 5), numpy.float32))
        later = context.forward(tensor, context.tensor(numpy.ones((3, 2, 2), numpy.float32)))
        cycle = [context, tensor]
        cycle.append(cycle)
        """,
    "hooks_left_set": """
        convoy.set_log(lambda level, line: None, "debug")
        context = convoy.open("cpu")
        context.on_event(lambda event: context.health())
        """,
    "shared_memory_left": """
        context = convoy.open("cpu")
        array = context.shared_zeros((4, 4))
        context.close()
        """,
    "thread_left_running": """
        context = convoy.open("cpu", threads=1)
        x, w = numpy.ones((1, 4, 32, 32), numpy.float32), numpy.ones((4, 4, 3, 3), numpy.float32)
        def forever():
            try:
                while True:
                    context.forward(x, w)
            except convoy.ConvoyError:
                pass  # closed under it at the end
        threading.Thread(target=forever, daemon=True).start()
        time.sleep(0.2)
        """,
    "fork_and_exit": """
        context = convoy.open("cpu")
        if os.fork() == 0:
            sys.exit(0)
        if os.wait()[1]:
            sys.exit("the child failed")
        """,
}


@pytest.mark.parametrize("name", SCRIPTS)
def test_end_of_the_interpreter(name):
    lines = SCRIPTS[name].replace("\n        ", "\n")
    script = "import convoy, numpy, os, sys, threading, time\n" + lines
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    ended = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=60, env=environment
    )
    output = ended.stdout + ended.stderr
    assert output == ""
    assert ended.returncode == 0, output
