"""Graphs: operations on tensors that were captured once and are carried out by one call."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any, Callable, List, Optional, Sequence

from ._errors import ArgumentError, argument_error, check
from ._host import fill
from ._keywords import keywords
from ._lib import GraphPlanStruct
from ._load import library
from ._records import GraphPlan, Run, values_of
from ._single import Owned, Single
from ._tensor import Tensor, tensor_pointer
from ._values import integer, shown, unsigned

if TYPE_CHECKING:
    from ._context import Context

_ROOM = 1 << 16  # of a text, doubled until it fits


class Graph(Single):
    """What Context.capture() makes: run() carries it out.

    Each run reads the tensors as they are when it is called and gives those that were written new
    values. `results` is what the captured function returned. It keeps its context from being
    collected; after Context.close() it can only be dropped.
    """

    _instead = "it belongs to its context; capture it anew in another"

    def __init__(self, context: Context, pointer: Optional[int], results: Any) -> None:
        self._context = context
        self._owned = Owned(pointer, library.convoy_graph_free)
        self._results = results

    @property
    def results(self) -> Any:
        """What the captured function returned."""
        return self._results

    @keywords()
    def run(self, *, run: Optional[Run] = None) -> Any:
        """Enqueues one run and returns `results`. With `run`, a convoy.Run, it waits, and fills it.
        Where it fails all tensors keep their values."""
        pointer = self._owned.pointer
        fill(self._context, run, lambda _, struct: library.convoy_graph_run(pointer, struct))
        return self._results

    @keywords()
    def run_stage(self, stage: int, *, run: Optional[Run] = None) -> Any:
        """Enqueues stage `stage` of a graph that Context.cut() has divided, from 0 on, which begins
        a run, one after the other; otherwise as run(), which carries out all of them."""
        pointer, number = self._owned.pointer, integer(stage, "stage", 32)
        call = library.convoy_graph_run_stage
        fill(self._context, run, lambda _, struct: call(pointer, number, struct))
        return self._results

    @property
    def runs(self) -> int:
        """How many runs have succeeded. Random numbers depend on it: set it to go on with a
        training where a checkpoint was taken."""
        runs = ctypes.c_uint64()
        with self._context._handle:
            check(library.convoy_graph_runs(self._owned.pointer, ctypes.byref(runs)))
        return runs.value

    @runs.setter
    def runs(self, runs: int) -> None:
        with self._context._handle:
            check(library.convoy_graph_set_runs(self._owned.pointer, unsigned(runs, "runs")))

    def plan(self) -> GraphPlan:
        """What a run consists of, as planned for the context's device. Computes nothing."""
        struct = GraphPlanStruct()
        with self._context._handle:
            check(library.convoy_plan_graph(self._owned.pointer, struct))
        return GraphPlan(**values_of(GraphPlan, struct))

    def plan_text(self) -> str:
        """The plan for people: sums, operations, memory and where each result lies in it."""
        return self._text(library.convoy_plan_text)

    def __str__(self) -> str:
        """A line for each tensor that is read and for each operation."""
        return self._text(library.convoy_graph_text)

    def _text(self, call: Callable[..., int]) -> str:
        room = _ROOM
        while True:
            text = ctypes.create_string_buffer(room)
            try:
                with self._context._handle:
                    check(call(self._owned.pointer, text, room))
                return text.value.decode()
            except ArgumentError:
                if self._context.closed or room > 1 << 28:
                    raise
                room *= 2

    def __repr__(self) -> str:
        return "<convoy.Graph>"


def _begin(context: Context) -> None:
    with context._handle as handle:
        check(library.convoy_capture_begin(handle))


def _end(context: Context) -> Optional[int]:
    made = ctypes.c_void_p()
    with context._handle as handle:
        check(library.convoy_capture_end(handle, ctypes.byref(made)))
    return made.value


def cut(context: Context) -> None:
    """Context.cut()."""
    with context._handle as handle:
        check(library.convoy_capture_cut(handle))


def _abandon(context: Context) -> None:
    if context.closed:  # which has ended the capture
        return
    with context._handle as handle:
        library.convoy_capture_end(handle, None)


def capture(context: Context, function: Callable[[], Any]) -> Graph:
    """Context.capture()."""
    if not callable(function):
        raise argument_error(f"function is {shown(function)}, which cannot be called")
    _begin(context)
    try:
        results = function()
        return Graph(context, _end(context), results)
    except BaseException:
        _abandon(context)
        raise


def _outputs(context: Context, of: Sequence[Any], out: Optional[Sequence[Any]]) -> List[Any]:
    if out is None:
        return [Tensor(context, each.shape) for each in of]
    if len(out) != len(of):
        raise argument_error(f"out has {len(out)} tensors for {len(of)} gradients")
    return list(out)


def gradients(
    context: Context, y: Any, of: Any, dy: Any, out: Optional[Sequence[Any]]
) -> List[Tensor]:
    """Context.gradients()."""
    wanted = list(of)
    read = [tensor_pointer(each, context, "a tensor in of") for each in wanted]
    results = _outputs(context, wanted, out)
    made = [tensor_pointer(each, context, "a tensor in out") for each in results]
    pointers = (ctypes.c_void_p * len(read))(*read), (ctypes.c_void_p * len(made))(*made)
    of_y = tensor_pointer(y, context, "y")
    given = None if dy is None else tensor_pointer(dy, context, "dy")
    with context._handle as handle:
        check(library.convoy_gradients(handle, of_y, given, len(read), *pointers))
    return results
