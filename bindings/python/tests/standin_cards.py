"""PyTorch's CPU in the place of its cards: what convoy.torch does with tensors on a card, on a
machine without one.

The library reaches the "card" through the stand-in of CUDA's driver (tests/standin), for which all
of the process's memory is the card's. It has to be found before it is loaded: run this way only in
processes that `environment` was made for.
"""

import contextlib
import ctypes
import os
import time
from pathlib import Path

import torch


def folder():
    """Where the stand-ins are; None if they were not built."""
    library = os.environ.get("CONVOY_LIBRARY")
    build = Path(library).parent if library else Path(__file__).parents[3] / "build" / "release"
    found = build / "tests" / "standin" / "lib"
    return found if (found / "libcuda.so.1").exists() else None


def environment(kind="cuda"):
    """Of a process in which the stand-ins are the drivers."""
    libraries = folder()
    before = os.environ.get("LD_LIBRARY_PATH")
    return {
        **os.environ,
        "LD_LIBRARY_PATH": str(libraries) + (f":{before}" if before else ""),
        "OPENCL_LAYERS": str(libraries / "standin_compiler.so"),
        "STANDIN_ANY_MEMORY": "1",
        "POCL_EXTRA_BUILD_FLAGS": "-cl-opt-disable",  # compiling takes longer than computing
        "STANDIN_KIND": kind,
    }


_NAMES = {
    "cuda": ("libcuda.so.1", "cuStreamBeginCapture_v2", "cuStreamEndCapture", "cuGraphLaunch"),
    "hip": ("libamdhip64.so.6", "hipStreamBeginCapture", "hipStreamEndCapture", "hipGraphLaunch"),
}


class Driver:
    """The stand-in, as a framework sees it."""

    def __init__(self):
        self.kind = os.environ["STANDIN_KIND"]
        name, self._begin, self._end, self._launch = _NAMES[self.kind]
        self._library = ctypes.CDLL(name)
        start = "cuInit" if self.kind == "cuda" else "hipInit"
        assert getattr(self._library, start)(0) == 0
        self._library.standin_waits.restype = ctypes.c_long

    def waits(self):
        """How often a stream was waited for."""
        return self._library.standin_waits()

    def fail_next(self, code):
        self._library.standin_fail_next(code)

    def skip_next(self, launches):
        self._library.standin_skip_next(launches)

    def stream(self):
        made = ctypes.c_void_p()
        if self.kind == "cuda":
            self.enter()
            assert self._library.cuStreamCreate(ctypes.byref(made), 1) == 0
        else:
            self._library.hipSetDevice(0)
            assert self._library.hipStreamCreateWithFlags(ctypes.byref(made), 1) == 0
        return made.value

    def enter(self):
        context = ctypes.c_void_p()
        assert self._library.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0
        assert self._library.cuCtxSetCurrent(context) == 0

    def current(self):
        """What this thread has of CUDA's contexts."""
        context = ctypes.c_void_p()
        assert self._library.cuCtxGetCurrent(ctypes.byref(context)) == 0
        return context.value

    def begin(self, stream, mode=0):
        assert getattr(self._library, self._begin)(ctypes.c_void_p(stream), mode) == 0

    def end(self, stream):
        """What was recorded."""
        graph = ctypes.c_void_p()
        end = getattr(self._library, self._end)
        assert end(ctypes.c_void_p(stream), ctypes.byref(graph)) == 0
        return graph

    def launch(self, graph, stream):
        assert getattr(self._library, self._launch)(graph, ctypes.c_void_p(stream)) == 0


class StandinCards:
    """In the place of convoy.torch._platform.Cards."""

    key = "CPU"

    def __init__(self):
        self.driver = Driver()
        self.tf32 = False
        self.bad = ""
        self.slow = set()  # ways that take long
        self.host = set()  # where tensors begin that are on no card
        self._stream = 0
        self._recording = False
        self._pool = []  # of what was recorded

    def stream(self, index):
        return self._stream

    def recording(self):
        return self._recording

    @contextlib.contextmanager
    def in_stream(self, stream):
        before, self._stream = self._stream, stream
        yield
        self._stream = before

    @contextlib.contextmanager
    def recorded(self):
        """As torch.cuda.graph does; the list gets the function that replays it."""
        stream, replay = self.driver.stream(), []
        with self.in_stream(stream):
            self.driver.begin(stream)
            self._recording = True
            yield replay
            self._recording = False
            graph = self.driver.end(stream)
        replay.append(lambda: self.driver.launch(graph, stream))

    def memory(self, size, index):
        return self._pooled(torch.empty(size, dtype=torch.uint8))

    def empty(self, shape, index):
        return self._pooled(torch.empty(tuple(shape)))

    def _pooled(self, made):
        if self._recording:
            self._pool.append(made)
        return made

    def index(self, tensor):
        return None if tensor.data_ptr() in self.host else 0

    def torch_device(self, index):
        return torch.device("cpu")

    def synchronize(self, index):
        pass

    def device(self, index):
        return f"{self.driver.kind}:0"

    def name(self, index):
        return ""

    def allows_tf32(self):
        return self.tf32

    def versions(self):
        return "a stand-in"

    def bad_vendor(self, name):
        return self.bad

    def seconds(self, action, times, index):
        begin = time.perf_counter()
        for _ in range(times):
            action()
        return (time.perf_counter() - begin) / times
