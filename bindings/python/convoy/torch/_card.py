"""A card on which PyTorch's tensors are: Convoy's kernels on their memory, in PyTorch's stream.

Nothing is copied, and nothing waits but the first use of each problem. The card's memory is all
PyTorch's: results are its tensors, and what the kernels need on the way comes from its allocator,
so that torch.cuda.memory_stats() counts it, and CUDA graphs keep what they need.
"""

from __future__ import annotations

import ctypes
import struct
import threading
import weakref
from typing import Any, Dict, List, Optional, Tuple

from .._context import Context
from .._conv import direction_of
from .._errors import ConvoyError, UnsupportedError, WrongResultError, argument_error, check
from .._lib import AllocateFunction, ReleaseFunction, RunStruct, Status
from .._load import library
from .._release import release
from .._single import Owned
from ._operation import Operation, Tensor, in_format

ALIGNMENT = 64  # bytes; vectors of 16 numbers are the longest that kernels load
_MOST = 4096  # problems remembered

# The addresses are passed as bytes, which takes a third of the time of an array of ctypes.
_enqueue = library["convoy_enqueue"]
_enqueue.restype = ctypes.c_int
_enqueue.argtypes = [
    ctypes.c_int64 if kind is ctypes.c_int64 else ctypes.c_void_p
    for kind in library.convoy_enqueue.argtypes or ()
]

RECORDED = "first met while a graph was recorded"
REFUSED = "not taken by the device"
WRONG = "a result that did not stand its proof"


class Declined(Exception):
    """Convoy does not compute it; `reason` is for the report."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class _Memory:
    """PyTorch's allocator as the library calls it: on the thread that called the library. What it
    raises there is kept for that thread, since C knows no exceptions."""

    def __init__(self, platform: Any, index: int) -> None:
        self.make, self._index = platform.memory, index
        self._held: Dict[int, Tensor] = {}
        self._raised = threading.local()
        self.allocate = AllocateFunction(self._allocate)
        self.release = ReleaseFunction(self._release)

    def _allocate(self, user: Any, size: int, stream: Any) -> Optional[int]:
        try:
            tensor = self.make(size, self._index)
        except Exception as error:  # out of memory
            self._raised.error = error
            return None
        address = tensor.data_ptr()
        self._held[address] = tensor
        return address

    def _release(self, user: Any, address: int, size: int, stream: Any) -> None:
        self._held.pop(address, None)

    def raised(self) -> Optional[Exception]:
        """Once."""
        error = getattr(self._raised, "error", None)
        self._raised.error = None
        return error


class Problem:
    """One direction of a convolution as the library takes it. `shape` is that of the result,
    `arrays` packs the addresses of operands and result."""

    def __init__(self, op: Operation) -> None:
        made = ctypes.c_void_p()
        at = op.at.conv, direction_of(op.direction), op.at.x_extents, op.at.w_extents
        check(library.convoy_problem_new(*at, op.bias is not None, ctypes.byref(made)))
        self._owned = Owned(made.value, library.convoy_problem_free)
        self.pointer = made.value
        self.shape = tuple(_RESULTS[op.direction](op.at))
        self.arrays = struct.Struct(f"{len(operands(op)) + 1}Q").pack
        self.runs, self.scratch = 0, -1  # bytes that it needs beside; not known before it has run


_RESULTS = {
    "forward": lambda at: at.y_shape,
    "backward_data": lambda at: at.x_shape,
    "backward_weights": lambda at: at.w_shape,
    "backward_bias": lambda at: at.y_shape[1:2],
}


def operands(op: Operation) -> List[Tensor]:
    """In the order of the library."""
    everything: Dict[str, Tuple[Optional[Tensor], ...]] = {
        "forward": (op.x, op.w, op.bias),
        "backward_data": (op.dy, op.w),
        "backward_weights": (op.x, op.dy),
        "backward_bias": (op.dy,),
    }
    return [tensor for tensor in everything[op.direction] if tensor is not None]


def _dense(tensor: Tensor) -> Tensor:
    """The values as kernels read them: in the order of the extents, from a multiple of 64 on. Views
    and parts of flattened parameters may begin anywhere."""
    tensor = tensor.contiguous()
    return tensor.clone() if tensor.data_ptr() % ALIGNMENT else tensor


def _close(context: Context, memory: _Memory) -> None:
    """What is closed gives its memory back, so that goes last."""
    release(context.close)


class Card:
    """Card `index` of a platform. `name` is what Convoy calls it."""

    def __init__(self, platform: Any, index: int, options: Dict[str, Any]) -> None:
        self.name = platform.device(index)
        self.index = index
        self._stream = platform.stream
        self._memory = memory = _Memory(platform, index)
        context = Context(self.name, isolation="caller", require_device=True, **options)
        weakref.finalize(self, _close, context, memory)
        self.context, self.device = context, context.device
        self._pointer: Any = context._handle._pointer
        self._problems: Dict[Any, Problem] = {}
        callbacks = memory.allocate, memory.release, None
        check(library.convoy_set_allocator(self._pointer, *callbacks))
        self._check_name(platform.name(index))

    def _check_name(self, name: str) -> None:
        """Both count cards by what the driver shows to this process."""
        if name not in self.device.name:
            raise argument_error(f"PyTorch's is {name}, {self.name} is {self.device.name}")

    def problem(self, op: Operation) -> Problem:
        key = op.direction, op.at.x_shape, op.at.w_shape, op.geometry, op.bias is None
        found = self._problems.get(key)
        if found is None:
            if len(self._problems) >= _MOST:
                self._problems.clear()
            found = self._problems[key] = Problem(op)
        return found

    def run(self, problem: Problem, *tensors: Tensor) -> Tensor:
        """The result, of operands that are dense."""
        result = tensors[0].new_empty(problem.shape)
        arrays = problem.arrays(*[each.data_ptr() for each in tensors], result.data_ptr())
        call = self._pointer, problem.pointer, self._stream(self.index), arrays
        size = problem.scratch
        if size < 0:
            status = self._run_first(problem, call)
        elif size:
            scratch = self._memory.make(size, self.index)
            status = _enqueue(*call, scratch.data_ptr(), size, None)
        else:
            status = _enqueue(*call, None, 0, None)
        if status:
            self._fail(status)
        return result

    def _run_first(self, problem: Problem, call: Tuple[Any, ...]) -> int:
        """What is needed for a proof is not needed again: the second run tells what is."""
        run = RunStruct()
        status = int(_enqueue(*call, None, 0, ctypes.byref(run)))
        if not status:
            problem.runs += 1
            if problem.runs > 1:
                problem.scratch = run.workspace_bytes
        return status

    def compute(self, op: Operation) -> Tuple[Tensor, str]:
        """The result, and where it was computed."""
        result = self.run(self.problem(op), *[_dense(each) for each in operands(op)])
        return (result if op.direction == "backward_bias" else in_format(result, op)), self.name

    def _fail(self, status: int) -> None:
        """What the device does not do, or has got wrong, PyTorch computes. What else befalls it is
        PyTorch's to hear of as an error like its own."""
        try:
            check(status)
        except ConvoyError as error:
            raise self.translated(error) from error

    def translated(self, error: ConvoyError) -> Exception:
        """An error of the library's as PyTorch is to have it."""
        raised = self._memory.raised()
        if isinstance(error, UnsupportedError):
            return Declined(RECORDED if "being recorded" in error.sentence else REFUSED)
        if isinstance(error, WrongResultError):
            return Declined(WRONG)
        if error.status == Status.ERR_MEMORY and raised is not None:
            return raised
        return RuntimeError(f"Convoy: {error.sentence}")

    def forget(self, tensors: Any) -> None:
        """Nothing is kept."""
