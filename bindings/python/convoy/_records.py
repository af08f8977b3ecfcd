"""What the library reports, as dataclasses: devices, runs, plans, health, events."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass, fields
from typing import Any, Dict, NamedTuple, Tuple

from ._lib import DeviceType, Direction, EventKind, Status


@dataclass(frozen=True)
class Device:
    """A device there is. `id` is what `convoy.open(device=...)` takes."""

    id: str
    name: str
    platform: str  #: OpenCL platform, or the instruction set of the CPU engine
    driver: str  #: driver version, or the BLAS in use
    type: DeviceType
    simulator: bool
    compute_units: int  #: threads for the CPU engine
    clock_mhz: int  #: 0 if unknown
    memory_bytes: int
    max_allocation_bytes: int
    local_memory_bytes: int


@dataclass
class Run:
    """How a call was carried out. Pass an empty one as `run=`; the call fills it in."""

    device: str = ""  #: id of the device that computed the result
    algorithm: str = ""
    parameters: str = ""
    attempts: int = 0  #: 1 unless a device failed first
    first_fault: Status = Status.OK
    fault: str = ""  #: sentence of the first fault
    milliseconds: float = 0.0  #: wall time of the call, waiting included
    workspace_bytes: int = 0


@dataclass(frozen=True)
class Plan:
    """What would run for a problem, or why an algorithm refuses it."""

    accepted: bool
    algorithm: str
    parameters: str
    workspace_bytes: int
    reason: str  #: why it refuses; "" if it accepts
    error_growth: float  #: 0: results keep the bound of every result; else see convoy.h, Accuracy
    error_reach: int


@dataclass(frozen=True)
class GraphPlan:
    """What a run of a graph consists of, as planned for the context's device."""

    captured: int  #: operations that were noted
    operations: int  #: that a run carries out, each a launch or the few of its algorithm
    flops: float
    bytes: float  #: the least that the operations move
    read_bytes: int  #: of the tensors that a run reads
    written_bytes: int  #: of the arrays that it gives tensors
    internal_bytes: int  #: of memory for what is made on the way, without workspaces


@dataclass(frozen=True)
class Health:
    """Counters since the context was opened."""

    worker_pid: int  #: 0 without a worker process
    operations: int
    device_operations: int  #: of them on the device asked for
    faults: int
    failovers: int  #: operations computed elsewhere after a fault
    downgrades: int
    device_bytes: int
    device_bytes_peak: int
    device_bytes_held: int
    host_bytes: int
    programs_compiled: int
    programs_cached: int
    workers_abandoned: int
    deadlines_missed: int  #: faults that were a lack of progress
    wrong_results: int
    verified: int  #: results checked against the CPU, wholly or in a sample
    verify_nanoseconds: int
    history_bytes: int  #: held only to recompute tensors that are on the device alone
    retired_bytes: int  #: memory a lost worker could still write; not used again
    cpu_stalls: int
    fallback_seconds: int  #: of the CPU engine in place of the device asked for; 0: it is not now


@dataclass(frozen=True)
class Event:
    """Something went slower, elsewhere or wrong."""

    kind: EventKind
    status: Status
    device: str
    algorithm: str
    message: str


class Peak(NamedTuple):
    """What a device was measured to do."""

    gflops: float  #: fused multiply-adds from registers, 1e9 operations per second
    gigabytes_per_second: float  #: copying memory, read plus written


class Problem(NamedTuple):
    """One line of the shape grammar, taken apart. `geometry` fits the keywords of `forward`."""

    direction: Direction
    x_shape: Tuple[int, ...]
    w_shape: Tuple[int, ...]
    geometry: Dict[str, Any]


_ENUMS = {"kind": EventKind, "type": DeviceType, "status": Status, "first_fault": Status}
_FLAGS = ("simulator", "accepted")


def values_of(record_class: type, struct: ctypes.Structure) -> Dict[str, Any]:
    """The struct's fields that the dataclass has, as Python values."""
    values = {}
    for field in fields(record_class):
        value = getattr(struct, field.name)
        if isinstance(value, bytes):
            value = value.decode("utf-8", "replace")
        elif field.name in _ENUMS:
            value = _ENUMS[field.name](value)
        elif field.name in _FLAGS:
            value = bool(value)
        values[field.name] = value
    return values
