"""Convoy: convolution, forward and backward, on whatever device is there.

    import convoy
    with convoy.open() as context:
        y = context.forward(x, w, bias, stride=2, padding=1, activation="relu")
        dx = context.backward_data(dy, w, x.shape, stride=2, padding=1)
        dw = context.backward_weights(x, dy, w.shape, stride=2, padding=1)
        db = context.backward_bias(dy)
        y = context.apply(convoy.Program("y = x * sigmoid(x)"), y)

Arrays are numpy's, or anything numpy sees memory of: float32, NCHW (NCW, NCZHW), C order. Tensors
(Context.tensor) stay where the context computes and are computed asynchronously. Errors are
exceptions with the library's sentence. `python -m convoy` shows the devices.
"""

from . import _waiting

_waiting.decide()  # before anything loads OpenMP

try:
    import numpy as _numpy  # noqa: F401
except ImportError as error:  # `name`, so that python -m convoy tells it in a line
    raise ImportError(
        f"Convoy needs numpy, and it cannot be imported ({error}): python -m pip install numpy",
        name=__name__,
    ) from error

from ._context import Context, open
from ._conv import flops, format_problem, output_shape, parse_problem
from ._devices import build_info, devices, list_devices, version
from ._errors import (
    ArgumentError,
    ConvoyError,
    DeadlineError,
    DeviceError,
    FileError,
    Interrupted,
    MemoryError_,
    NotFoundError,
    ShapeError,
    UnsupportedError,
    WrongResultError,
)
from ._graph import Graph
from ._hooks import set_log
from ._lib import VERSION, DeviceType, Direction, EventKind, LogLevel, Status
from ._program import Program
from ._records import Device, Event, GraphPlan, Health, Peak, Plan, Problem, Run
from ._state import State
from ._tensor import Tensor

__version__ = ".".join(map(str, VERSION))

__all__ = [
    "ArgumentError",
    "Context",
    "ConvoyError",
    "Device",
    "DeviceError",
    "DeviceType",
    "Direction",
    "Event",
    "EventKind",
    "FileError",
    "Graph",
    "GraphPlan",
    "Health",
    "DeadlineError",
    "Interrupted",
    "WrongResultError",
    "LogLevel",
    "MemoryError_",
    "NotFoundError",
    "Peak",
    "Plan",
    "Problem",
    "Program",
    "Run",
    "ShapeError",
    "State",
    "Status",
    "Tensor",
    "UnsupportedError",
    "build_info",
    "devices",
    "flops",
    "format_problem",
    "list_devices",
    "open",
    "output_shape",
    "parse_problem",
    "set_log",
    "version",
]
