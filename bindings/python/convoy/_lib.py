"""The C interface in ctypes: constants, structs and signatures of the public headers.

Written by scripts/declarations.py; tests/test_declarations.py compares all with the headers.
"""

from __future__ import annotations

import ctypes
import enum
from ctypes import (
    POINTER,
    c_char,
    c_char_p,
    c_double,
    c_float,
    c_int,
    c_int32,
    c_int64,
    c_size_t,
    c_uint,
    c_uint32,
    c_uint64,
    c_void_p,
)

VERSION = (0, 2, 0)
MAX_RANK = 3
MAX_DIMS = 5
BOX_AXES = 8
MATMUL_TRANSPOSE_A = 1
MATMUL_TRANSPOSE_B = 2
MATMUL_SUM = 4
STATE_EXTRA = 1
STATE_MISSING = 2
DESCRIPTION_TEXT = 640
PROBLEM_TEXT = 384
PROGRAM_TEXT = 16384


class Status(enum.IntEnum):
    """convoy_status: what a call of the C library returned."""

    OK = 0
    ERR_ARGUMENT = 1
    ERR_SHAPE = 2
    ERR_MEMORY = 3
    ERR_DEVICE = 4
    ERR_UNSUPPORTED = 5
    ERR_IO = 6
    ERR_NOT_FOUND = 7
    ERR_INTERRUPTED = 8
    ERR_DEADLINE = 9
    ERR_WRONG = 10


class LogLevel(enum.IntEnum):
    """convoy_log_level: how much is logged."""

    OFF = 0
    ERROR = 1
    WARNING = 2
    INFO = 3
    DEBUG = 4


class Switch(enum.IntEnum):
    """convoy_switch: an option that can be left to environment and default."""

    DEFAULT = 0
    ON = 1
    NO = 2


class Verify(enum.IntEnum):
    """convoy_verify: how results of a device are checked."""

    DEFAULT = 0
    SAMPLE = 1
    ALL = 2
    OFF = 3


class Isolation(enum.IntEnum):
    """convoy_isolation: where the GPU driver lives."""

    DEFAULT = 0
    PROCESS = 1
    NONE = 2
    CALLER = 3


class DeviceType(enum.IntEnum):
    """convoy_device_type: what kind of device it is."""

    CPU_ENGINE = 0
    GPU = 1
    CPU = 2
    ACCELERATOR = 3


class Dtype(enum.IntEnum):
    """convoy_dtype: the type of all elements."""

    FLOAT32 = 0
    INT32 = 1
    UINT8 = 2


class Direction(enum.IntEnum):
    """convoy_direction: which of the four operations."""

    FORWARD = 0
    BACKWARD_DATA = 1
    BACKWARD_WEIGHTS = 2
    BACKWARD_BIAS = 3


class Activation(enum.IntEnum):
    """convoy_activation: what forward applies to its result."""

    IDENTITY = 0
    RELU = 1
    LEAKY_RELU = 2


class Pool(enum.IntEnum):
    """convoy_pool: what is made of windows."""

    MAX_POOL = 0
    MAX_POOL_BACKWARD = 1
    AVERAGE_POOL = 2
    AVERAGE_POOL_BACKWARD = 3


class Padding(enum.IntEnum):
    """convoy_padding: what lies around an array that is padded."""

    CONSTANT = 0


class Interpolation(enum.IntEnum):
    """convoy_interpolation: where an element of a result lies in what is resampled."""

    NEAREST = 0
    NEAREST_EXACT = 1
    LINEAR = 2
    LINEAR_ALIGNED = 3


class EventKind(enum.IntEnum):
    """convoy_event_kind: what an event reports."""

    DOWNGRADE = 0
    FAULT = 1
    FAILOVER = 2
    NONFINITE = 3


class Reduction(enum.IntEnum):
    """convoy_reduction: what becomes of the losses of elements."""

    MEAN = 0
    SUM = 1
    NONE = 2


# C name: (what the names of its constants begin with, the enum)
ENUMS = {
    "convoy_status": ("CONVOY_", Status),
    "convoy_log_level": ("CONVOY_LOG_", LogLevel),
    "convoy_switch": ("CONVOY_", Switch),
    "convoy_verify": ("CONVOY_VERIFY_", Verify),
    "convoy_isolation": ("CONVOY_ISOLATION_", Isolation),
    "convoy_device_type": ("CONVOY_DEVICE_", DeviceType),
    "convoy_dtype": ("CONVOY_", Dtype),
    "convoy_direction": ("CONVOY_", Direction),
    "convoy_activation": ("CONVOY_", Activation),
    "convoy_pool": ("CONVOY_", Pool),
    "convoy_padding": ("CONVOY_PAD_", Padding),
    "convoy_interpolation": ("CONVOY_", Interpolation),
    "convoy_event_kind": ("CONVOY_EVENT_", EventKind),
    "convoy_reduction": ("CONVOY_REDUCE_", Reduction),
}

Axes = c_int64 * MAX_RANK


class Sized(ctypes.Structure):
    """A struct whose first field tells the library how much of it there is."""

    def __init__(self, **fields: object) -> None:
        super().__init__(struct_size=ctypes.sizeof(type(self)), **fields)


class OptionsStruct(Sized):
    _fields_ = [("struct_size", c_uint32), ("isolation", c_int32), ("failover", c_int32),
        ("tune", c_int32), ("threads", c_int32), ("reserved", c_int32),
        ("workspace_limit", c_int64), ("device", c_char_p), ("algorithm", c_char_p),
        ("device_wait_budget", c_double), ("history_limit", c_int64), ("verify", c_int32),
        ("nan_watch", c_int32), ("winograd", c_int32), ("reserved2", c_int32), ("team", c_void_p),
        ("require_device", c_int32), ("reserved3", c_int32), ("memory_limit", c_int64)]


class DeviceStruct(Sized):
    _fields_ = [("struct_size", c_uint32), ("type", c_int32), ("simulator", c_int32),
        ("compute_units", c_int32), ("clock_mhz", c_int32), ("reserved", c_int32),
        ("memory_bytes", c_int64), ("max_allocation_bytes", c_int64),
        ("local_memory_bytes", c_int64), ("id", c_char * 16), ("name", c_char * 128),
        ("platform", c_char * 128), ("driver", c_char * 128)]


class ConvStruct(Sized):
    _fields_ = [("struct_size", c_uint32), ("rank", c_int32), ("dtype", c_int32),
        ("transposed", c_int32), ("groups", c_int64), ("stride", Axes), ("pad_begin", Axes),
        ("pad_end", Axes), ("dilation", Axes), ("output_padding", Axes)]


class EpilogueStruct(Sized):
    _fields_ = [("struct_size", c_uint32), ("activation", c_int32), ("slope", c_float),
        ("reserved", c_int32)]


class RunStruct(Sized):
    _fields_ = [("struct_size", c_uint32), ("attempts", c_int32), ("first_fault", c_int32),
        ("reserved", c_int32), ("milliseconds", c_double), ("workspace_bytes", c_int64),
        ("device", c_char * 16), ("algorithm", c_char * 32), ("parameters", c_char * 128),
        ("fault", c_char * 256)]


class PlanStruct(Sized):
    _fields_ = [("struct_size", c_uint32), ("accepted", c_int32), ("workspace_bytes", c_int64),
        ("algorithm", c_char * 32), ("parameters", c_char * 128), ("reason", c_char * 192),
        ("error_growth", c_double), ("error_reach", c_int64)]


class TunedStruct(Sized):
    _fields_ = [("struct_size", c_uint32), ("tried", c_int32), ("failed", c_int32),
        ("kept", c_int32), ("untuned_ms", c_double), ("milliseconds", c_double),
        ("algorithm", c_char * 32), ("parameters", c_char * 128), ("reason", c_char * 192)]


class HealthStruct(Sized):
    _fields_ = [("struct_size", c_uint32), ("worker_pid", c_uint32), ("operations", c_int64),
        ("device_operations", c_int64), ("faults", c_int64), ("failovers", c_int64),
        ("downgrades", c_int64), ("device_bytes", c_int64), ("device_bytes_peak", c_int64),
        ("device_bytes_held", c_int64), ("host_bytes", c_int64), ("programs_compiled", c_int64),
        ("programs_cached", c_int64), ("workers_abandoned", c_int64),
        ("deadlines_missed", c_int64), ("wrong_results", c_int64), ("verified", c_int64),
        ("verify_nanoseconds", c_int64), ("history_bytes", c_int64), ("retired_bytes", c_int64),
        ("cpu_stalls", c_int64), ("fallback_seconds", c_int64)]


class EventStruct(Sized):
    _fields_ = [("struct_size", c_uint32), ("kind", c_int32), ("status", c_int32),
        ("reserved", c_int32), ("device", c_char * 16), ("algorithm", c_char * 32),
        ("message", c_char * 256)]


class GraphPlanStruct(Sized):
    _fields_ = [("struct_size", c_uint32), ("captured", c_int32), ("operations", c_int32),
        ("reserved", c_int32), ("flops", c_double), ("bytes", c_double), ("read_bytes", c_int64),
        ("written_bytes", c_int64), ("internal_bytes", c_int64)]


class BatchNormStruct(Sized):
    _fields_ = [("struct_size", c_uint32), ("evaluate", c_int32), ("epsilon", c_double),
        ("momentum", c_double)]


class CrossEntropyStruct(Sized):
    _fields_ = [("struct_size", c_uint32), ("reduction", c_int32), ("ignored", c_int32),
        ("reserved", c_int32), ("smoothing", c_double)]


class SgdStruct(Sized):
    _fields_ = [("struct_size", c_uint32), ("nesterov", c_int32), ("momentum", c_double),
        ("dampening", c_double), ("decay", c_double)]


class AdamStruct(Sized):
    _fields_ = [("struct_size", c_uint32), ("reserved", c_int32), ("beta1", c_double),
        ("beta2", c_double), ("epsilon", c_double), ("decay", c_double)]


class WindowStruct(Sized):
    _fields_ = [("struct_size", c_uint32), ("rank", c_int32), ("count_padding", c_int32),
        ("ceil_mode", c_int32), ("extent", Axes), ("stride", Axes), ("pad_begin", Axes),
        ("pad_end", Axes), ("dilation", Axes)]


class BoxStruct(Sized):
    _fields_ = [("struct_size", c_uint32), ("axes", c_int32), ("fill", c_float),
        ("reserved", c_int32), ("offset", c_int64), ("extent", c_int64 * BOX_AXES),
        ("count", c_int64 * BOX_AXES), ("begin", c_int64 * BOX_AXES), ("step", c_int64 * BOX_AXES),
        ("stride", c_int64 * BOX_AXES)]


class ResamplingStruct(Sized):
    _fields_ = [("struct_size", c_uint32), ("rank", c_int32), ("mode", c_int32),
        ("reserved", c_int32), ("scale", c_double * MAX_RANK)]


STRUCTS = {
    "convoy_options": OptionsStruct,
    "convoy_device_info": DeviceStruct,
    "convoy_conv": ConvStruct,
    "convoy_epilogue": EpilogueStruct,
    "convoy_run": RunStruct,
    "convoy_plan": PlanStruct,
    "convoy_tuned": TunedStruct,
    "convoy_health": HealthStruct,
    "convoy_event": EventStruct,
    "convoy_graph_plan": GraphPlanStruct,
    "convoy_batch_norm_options": BatchNormStruct,
    "convoy_cross_entropy_options": CrossEntropyStruct,
    "convoy_sgd_options": SgdStruct,
    "convoy_adam_options": AdamStruct,
    "convoy_window": WindowStruct,
    "convoy_box": BoxStruct,
    "convoy_resampling": ResamplingStruct,
}

LogFunction = ctypes.CFUNCTYPE(None, c_void_p, c_int, c_char_p)
TeamMember = ctypes.CFUNCTYPE(None, c_void_p)
Team = ctypes.CFUNCTYPE(None, TeamMember, c_void_p, c_uint, c_uint)
EventFunction = ctypes.CFUNCTYPE(None, c_void_p, POINTER(EventStruct))
AllocateFunction = ctypes.CFUNCTYPE(c_void_p, c_void_p, c_size_t, c_void_p)
ReleaseFunction = ctypes.CFUNCTYPE(None, c_void_p, c_void_p, c_size_t, c_void_p)

CALLBACKS = {
    "convoy_log_fn": LogFunction,
    "convoy_team_member": TeamMember,
    "convoy_team": Team,
    "convoy_event_fn": EventFunction,
    "convoy_allocate_fn": AllocateFunction,
    "convoy_release_fn": ReleaseFunction,
}

# C name: (what it returns, its arguments)
FUNCTIONS = {
    "convoy_status_name": (c_char_p, [c_int]),
    "convoy_last_error": (c_char_p, []),
    "convoy_version": (c_char_p, []),
    "convoy_set_log": (None, [LogFunction, c_void_p, c_int]),
    "convoy_devices": (c_int, [POINTER(OptionsStruct), POINTER(DeviceStruct), c_int32,
        POINTER(c_int32), c_char_p, c_size_t]),
    "convoy_build_info": (c_char_p, []),
    "convoy_open": (c_int, [POINTER(OptionsStruct), POINTER(c_void_p)]),
    "convoy_close": (None, [c_void_p]),
    "convoy_context_device": (c_int, [c_void_p, POINTER(DeviceStruct)]),
    "convoy_context_describe": (c_int, [c_void_p, c_char_p, c_size_t]),
    "convoy_sync": (c_int, [c_void_p]),
    "convoy_interrupt": (None, [c_void_p]),
    "convoy_output_shape": (c_int, [POINTER(ConvStruct), POINTER(c_int64), POINTER(c_int64),
        POINTER(c_int64)]),
    "convoy_flops": (c_double, [POINTER(ConvStruct), c_int, POINTER(c_int64), POINTER(c_int64)]),
    "convoy_parse_problem": (c_int, [c_char_p, POINTER(ConvStruct), POINTER(c_int64),
        POINTER(c_int64), POINTER(c_int)]),
    "convoy_format_problem": (c_int, [POINTER(ConvStruct), POINTER(c_int64), POINTER(c_int64),
        c_int, c_char_p, c_size_t]),
    "convoy_forward_host": (c_int, [c_void_p, POINTER(ConvStruct), POINTER(c_int64),
        POINTER(c_float), POINTER(c_int64), POINTER(c_float), POINTER(c_float),
        POINTER(EpilogueStruct), POINTER(c_float), POINTER(RunStruct)]),
    "convoy_backward_data_host": (c_int, [c_void_p, POINTER(ConvStruct), POINTER(c_int64),
        POINTER(c_float), POINTER(c_int64), POINTER(c_float), c_float, POINTER(c_float),
        POINTER(RunStruct)]),
    "convoy_backward_weights_host": (c_int, [c_void_p, POINTER(ConvStruct), POINTER(c_int64),
        POINTER(c_float), POINTER(c_int64), POINTER(c_float), c_float, POINTER(c_float),
        POINTER(RunStruct)]),
    "convoy_backward_bias_host": (c_int, [c_void_p, POINTER(ConvStruct), POINTER(c_int64),
        POINTER(c_int64), POINTER(c_float), c_float, POINTER(c_float), POINTER(RunStruct)]),
    "convoy_host_alloc": (c_int, [c_void_p, c_size_t, POINTER(c_void_p)]),
    "convoy_host_free": (None, [c_void_p, c_void_p]),
    "convoy_tensor_new": (c_int, [c_void_p, c_int32, POINTER(c_int64), POINTER(c_void_p)]),
    "convoy_tensor_new_typed": (c_int, [c_void_p, c_int, c_int32, POINTER(c_int64),
        POINTER(c_void_p)]),
    "convoy_tensor_free": (None, [c_void_p]),
    "convoy_tensor_shape": (c_int, [c_void_p, POINTER(c_int64), POINTER(c_int32)]),
    "convoy_tensor_dtype": (c_int, [c_void_p, POINTER(c_int)]),
    "convoy_tensor_write": (c_int, [c_void_p, c_void_p, c_int64]),
    "convoy_tensor_read": (c_int, [c_void_p, c_void_p, c_int64]),
    "convoy_tensors_write": (c_int, [c_int32, POINTER(c_void_p), POINTER(c_void_p),
        POINTER(c_int64)]),
    "convoy_tensors_read": (c_int, [c_int32, POINTER(c_void_p), POINTER(c_void_p),
        POINTER(c_int64)]),
    "convoy_tensors_lend": (c_int, [c_int32, POINTER(c_void_p), POINTER(c_void_p),
        POINTER(c_int64)]),
    "convoy_return_lent": (c_int, [c_void_p]),
    "convoy_tensor_copy": (c_int, [c_void_p, c_void_p]),
    "convoy_commit": (c_int, [c_void_p]),
    "convoy_forward": (c_int, [c_void_p, POINTER(ConvStruct), c_void_p, c_void_p, c_void_p,
        POINTER(EpilogueStruct), c_void_p, POINTER(RunStruct)]),
    "convoy_backward_data": (c_int, [c_void_p, POINTER(ConvStruct), c_void_p, c_void_p, c_float,
        c_void_p, POINTER(RunStruct)]),
    "convoy_backward_weights": (c_int, [c_void_p, POINTER(ConvStruct), c_void_p, c_void_p, c_float,
        c_void_p, POINTER(RunStruct)]),
    "convoy_backward_bias": (c_int, [c_void_p, POINTER(ConvStruct), c_void_p, c_float, c_void_p,
        POINTER(RunStruct)]),
    "convoy_program_parse": (c_int, [c_char_p, POINTER(c_void_p)]),
    "convoy_program_named": (c_int, [c_char_p, POINTER(c_void_p)]),
    "convoy_program_name": (c_char_p, [c_int32]),
    "convoy_program_gradient": (c_int, [c_void_p, c_char_p, POINTER(c_void_p)]),
    "convoy_program_free": (None, [c_void_p]),
    "convoy_program_text": (c_int, [c_void_p, c_char_p, c_size_t]),
    "convoy_program_input": (c_char_p, [c_void_p, c_int32]),
    "convoy_program_result": (c_char_p, [c_void_p, c_int32]),
    "convoy_apply": (c_int, [c_void_p, c_void_p, POINTER(c_void_p), POINTER(c_void_p),
        POINTER(RunStruct)]),
    "convoy_parse_operation": (c_int, [c_char_p, POINTER(c_void_p), POINTER(c_int),
        POINTER(c_int64)]),
    "convoy_seed": (c_int, [c_void_p, c_uint64]),
    "convoy_relu": (c_int, [c_void_p, c_void_p, c_void_p, POINTER(RunStruct)]),
    "convoy_silu": (c_int, [c_void_p, c_void_p, c_void_p, POINTER(RunStruct)]),
    "convoy_sigmoid": (c_int, [c_void_p, c_void_p, c_void_p, POINTER(RunStruct)]),
    "convoy_add": (c_int, [c_void_p, c_void_p, c_void_p, c_void_p, POINTER(RunStruct)]),
    "convoy_multiply": (c_int, [c_void_p, c_void_p, c_void_p, c_void_p, POINTER(RunStruct)]),
    "convoy_algorithm_name": (c_char_p, [c_void_p, c_int32]),
    "convoy_set_algorithm": (c_int, [c_void_p, c_char_p]),
    "convoy_plan_problem": (c_int, [c_void_p, c_char_p, POINTER(ConvStruct), c_int,
        POINTER(c_int64), POINTER(c_int64), POINTER(PlanStruct)]),
    "convoy_prepare": (c_int, [c_void_p, POINTER(ConvStruct), c_int, POINTER(c_int64),
        POINTER(c_int64)]),
    "convoy_tune": (c_int, [c_void_p, POINTER(ConvStruct), c_int, POINTER(c_int64),
        POINTER(c_int64), c_double, POINTER(TunedStruct)]),
    "convoy_get_health": (c_int, [c_void_p, POINTER(HealthStruct)]),
    "convoy_mark_step": (c_int, [c_void_p, c_int64]),
    "convoy_set_event_callback": (c_int, [c_void_p, EventFunction, c_void_p]),
    "convoy_fault_table": (c_int, [c_char_p, c_char_p, c_size_t]),
    "convoy_fault_table_clear": (c_int, [c_char_p]),
    "convoy_measure_peak": (c_int, [c_void_p, POINTER(c_double), POINTER(c_double)]),
    "convoy_tensor_wrap": (c_int, [c_void_p, c_int, c_int32, POINTER(c_int64), c_void_p, c_int64,
        POINTER(c_void_p)]),
    "convoy_tensors_rewrap": (c_int, [c_int32, POINTER(c_void_p), POINTER(c_void_p)]),
    "convoy_set_stream": (c_int, [c_void_p, c_void_p]),
    "convoy_set_allocator": (c_int, [c_void_p, AllocateFunction, ReleaseFunction, c_void_p]),
    "convoy_problem_new": (c_int, [POINTER(ConvStruct), c_int, POINTER(c_int64), POINTER(c_int64),
        c_int32, POINTER(c_void_p)]),
    "convoy_problem_free": (None, [c_void_p]),
    "convoy_enqueue": (c_int, [c_void_p, c_void_p, c_void_p, POINTER(c_void_p), c_void_p, c_int64,
        POINTER(RunStruct)]),
    "convoy_capture_begin": (c_int, [c_void_p]),
    "convoy_capture_end": (c_int, [c_void_p, POINTER(c_void_p)]),
    "convoy_capture_cut": (c_int, [c_void_p]),
    "convoy_gradients": (c_int, [c_void_p, c_void_p, c_void_p, c_int32, POINTER(c_void_p),
        POINTER(c_void_p)]),
    "convoy_graph_run": (c_int, [c_void_p, POINTER(RunStruct)]),
    "convoy_graph_run_stage": (c_int, [c_void_p, c_int32, POINTER(RunStruct)]),
    "convoy_graph_runs": (c_int, [c_void_p, POINTER(c_uint64)]),
    "convoy_graph_set_runs": (c_int, [c_void_p, c_uint64]),
    "convoy_graph_text": (c_int, [c_void_p, c_char_p, c_size_t]),
    "convoy_plan_graph": (c_int, [c_void_p, POINTER(GraphPlanStruct)]),
    "convoy_plan_text": (c_int, [c_void_p, c_char_p, c_size_t]),
    "convoy_graph_free": (None, [c_void_p]),
    "convoy_batch_norm": (c_int, [c_void_p, POINTER(BatchNormStruct), c_void_p, c_void_p, c_void_p,
        c_void_p, c_void_p, c_void_p, POINTER(RunStruct)]),
    "convoy_layer_norm": (c_int, [c_void_p, c_int32, c_double, c_void_p, c_void_p, c_void_p,
        c_void_p, POINTER(RunStruct)]),
    "convoy_group_norm": (c_int, [c_void_p, c_int64, c_double, c_void_p, c_void_p, c_void_p,
        c_void_p, POINTER(RunStruct)]),
    "convoy_softmax": (c_int, [c_void_p, c_int32, c_void_p, c_void_p, POINTER(RunStruct)]),
    "convoy_log_softmax": (c_int, [c_void_p, c_int32, c_void_p, c_void_p, POINTER(RunStruct)]),
    "convoy_cross_entropy": (c_int, [c_void_p, POINTER(CrossEntropyStruct), c_void_p, c_void_p,
        c_void_p, c_void_p, POINTER(RunStruct)]),
    "convoy_bce_with_logits": (c_int, [c_void_p, c_int, c_void_p, c_void_p, c_void_p, c_void_p,
        c_void_p, POINTER(RunStruct)]),
    "convoy_mse": (c_int, [c_void_p, c_int, c_void_p, c_void_p, c_void_p, POINTER(RunStruct)]),
    "convoy_smooth_l1": (c_int, [c_void_p, c_int, c_double, c_void_p, c_void_p, c_void_p,
        POINTER(RunStruct)]),
    "convoy_dropout": (c_int, [c_void_p, c_double, c_void_p, c_void_p, POINTER(RunStruct)]),
    "convoy_sgd": (c_int, [c_void_p, POINTER(SgdStruct), c_int32, POINTER(c_void_p),
        POINTER(c_void_p), POINTER(c_void_p), c_void_p, c_void_p, POINTER(RunStruct)]),
    "convoy_adam": (c_int, [c_void_p, POINTER(AdamStruct), c_int32, POINTER(c_void_p),
        POINTER(c_void_p), POINTER(c_void_p), POINTER(c_void_p), c_void_p, c_void_p,
        POINTER(RunStruct)]),
    "convoy_adamw": (c_int, [c_void_p, POINTER(AdamStruct), c_int32, POINTER(c_void_p),
        POINTER(c_void_p), POINTER(c_void_p), POINTER(c_void_p), c_void_p, c_void_p,
        POINTER(RunStruct)]),
    "convoy_moving_average": (c_int, [c_void_p, c_void_p, c_int32, POINTER(c_void_p),
        POINTER(c_void_p), POINTER(RunStruct)]),
    "convoy_gradient_norm": (c_int, [c_void_p, c_int32, POINTER(c_void_p), c_void_p,
        POINTER(RunStruct)]),
    "convoy_clip_gradients": (c_int, [c_void_p, c_double, c_int32, POINTER(c_void_p), c_void_p,
        POINTER(RunStruct)]),
    "convoy_matmul": (c_int, [c_void_p, c_uint32, c_void_p, c_void_p, c_void_p,
        POINTER(RunStruct)]),
    "convoy_parse_matmul": (c_int, [c_char_p, POINTER(c_uint32), POINTER(c_int32),
        POINTER(c_int64)]),
    "convoy_pool_shape": (c_int, [POINTER(WindowStruct), POINTER(c_int64), POINTER(c_int64)]),
    "convoy_max_pool": (c_int, [c_void_p, POINTER(WindowStruct), c_void_p, c_void_p,
        POINTER(RunStruct)]),
    "convoy_max_pool_backward": (c_int, [c_void_p, POINTER(WindowStruct), c_void_p, c_void_p,
        c_void_p, POINTER(RunStruct)]),
    "convoy_average_pool": (c_int, [c_void_p, POINTER(WindowStruct), c_void_p, c_void_p,
        POINTER(RunStruct)]),
    "convoy_average_pool_backward": (c_int, [c_void_p, POINTER(WindowStruct), c_void_p, c_void_p,
        POINTER(RunStruct)]),
    "convoy_parse_pool": (c_int, [c_char_p, POINTER(c_int), POINTER(WindowStruct),
        POINTER(c_int64), POINTER(c_int64)]),
    "convoy_copy": (c_int, [c_void_p, POINTER(BoxStruct), c_void_p, c_void_p, POINTER(RunStruct)]),
    "convoy_permute": (c_int, [c_void_p, POINTER(c_int32), c_void_p, c_void_p,
        POINTER(RunStruct)]),
    "convoy_slice": (c_int, [c_void_p, POINTER(c_int64), POINTER(c_int64), c_void_p, c_void_p,
        POINTER(RunStruct)]),
    "convoy_pad": (c_int, [c_void_p, c_int, POINTER(c_int64), c_float, c_void_p, c_void_p,
        POINTER(RunStruct)]),
    "convoy_parse_copy": (c_int, [c_char_p, POINTER(BoxStruct), POINTER(c_int), POINTER(c_int64)]),
    "convoy_concatenate": (c_int, [c_void_p, c_int32, c_int32, POINTER(c_void_p), c_void_p,
        POINTER(RunStruct)]),
    "convoy_parse_concatenate": (c_int, [c_char_p, POINTER(c_int32), POINTER(c_int),
        POINTER(c_int64)]),
    "convoy_resample": (c_int, [c_void_p, POINTER(ResamplingStruct), c_void_p, c_void_p,
        POINTER(RunStruct)]),
    "convoy_resample_backward": (c_int, [c_void_p, POINTER(ResamplingStruct), c_void_p, c_void_p,
        POINTER(RunStruct)]),
    "convoy_parse_resample": (c_int, [c_char_p, POINTER(c_int32), POINTER(ResamplingStruct),
        POINTER(c_int64), POINTER(c_int64)]),
    "convoy_state_new": (c_int, [c_void_p, POINTER(c_void_p)]),
    "convoy_state_free": (None, [c_void_p]),
    "convoy_state_tensor": (c_int, [c_void_p, c_char_p, c_void_p]),
    "convoy_state_numbers": (c_int, [c_void_p, c_char_p, POINTER(c_int64), c_int64]),
    "convoy_state_graph": (c_int, [c_void_p, c_char_p, c_void_p]),
    "convoy_state_seed": (c_int, [c_void_p, c_char_p]),
    "convoy_state_save": (c_int, [c_void_p, c_char_p]),
    "convoy_state_load": (c_int, [c_void_p, c_char_p, c_uint32]),
}


def declare(library: ctypes.CDLL) -> ctypes.CDLL:
    """Gives every function of the loaded library its signature."""
    for name, (result, arguments) in FUNCTIONS.items():
        function = getattr(library, name)
        function.restype = result
        function.argtypes = arguments
    return library
