"""The C interface in ctypes: constants, structs and function signatures of the public headers.

Declarations only; tests/test_declarations.py compares every one with the header.
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
MATMUL_TRANSPOSE_A, MATMUL_TRANSPOSE_B, MATMUL_SUM = 1, 2, 4
STATE_EXTRA, STATE_MISSING = 1, 2
DESCRIPTION_TEXT = 640
PROBLEM_TEXT = 384  # bytes that hold any problem as text
PROGRAM_TEXT = 16384  # any program


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


class Reduction(enum.IntEnum):
    """convoy_reduction: what becomes of the losses of elements."""

    MEAN = 0
    SUM = 1
    NONE = 2


class EventKind(enum.IntEnum):
    """convoy_event_kind: what an event reports."""

    DOWNGRADE = 0
    FAULT = 1
    FAILOVER = 2
    NONFINITE = 3


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
    _fields_ = [
        ("struct_size", c_uint32),
        ("isolation", c_int32),
        ("failover", c_int32),
        ("tune", c_int32),
        ("threads", c_int32),
        ("reserved", c_int32),
        ("workspace_limit", c_int64),
        ("device", c_char_p),
        ("algorithm", c_char_p),
        ("device_wait_budget", c_double),
        ("history_limit", c_int64),
        ("verify", c_int32),
        ("nan_watch", c_int32),
        ("winograd", c_int32),
        ("reserved2", c_int32),
        ("team", c_void_p),
        ("require_device", c_int32),
        ("reserved3", c_int32),
        ("memory_limit", c_int64),
    ]


class DeviceStruct(Sized):
    _fields_ = [
        ("struct_size", c_uint32),
        ("type", c_int32),
        ("simulator", c_int32),
        ("compute_units", c_int32),
        ("clock_mhz", c_int32),
        ("reserved", c_int32),
        ("memory_bytes", c_int64),
        ("max_allocation_bytes", c_int64),
        ("local_memory_bytes", c_int64),
        ("id", c_char * 16),
        ("name", c_char * 128),
        ("platform", c_char * 128),
        ("driver", c_char * 128),
    ]


class ConvStruct(Sized):
    _fields_ = [
        ("struct_size", c_uint32),
        ("rank", c_int32),
        ("dtype", c_int32),
        ("transposed", c_int32),
        ("groups", c_int64),
        ("stride", Axes),
        ("pad_begin", Axes),
        ("pad_end", Axes),
        ("dilation", Axes),
        ("output_padding", Axes),
    ]


class EpilogueStruct(Sized):
    _fields_ = [
        ("struct_size", c_uint32),
        ("activation", c_int32),
        ("slope", c_float),
        ("reserved", c_int32),
    ]


class WindowStruct(Sized):
    _fields_ = [
        ("struct_size", c_uint32),
        ("rank", c_int32),
        ("count_padding", c_int32),
        ("ceil_mode", c_int32),
        ("extent", Axes),
        ("stride", Axes),
        ("pad_begin", Axes),
        ("pad_end", Axes),
        ("dilation", Axes),
    ]


_BoxAxes = c_int64 * BOX_AXES


class BoxStruct(Sized):
    _fields_ = [
        ("struct_size", c_uint32),
        ("axes", c_int32),
        ("fill", c_float),
        ("reserved", c_int32),
        ("offset", c_int64),
        ("extent", _BoxAxes),
        ("count", _BoxAxes),
        ("begin", _BoxAxes),
        ("step", _BoxAxes),
        ("stride", _BoxAxes),
    ]


class ResamplingStruct(Sized):
    _fields_ = [
        ("struct_size", c_uint32),
        ("rank", c_int32),
        ("mode", c_int32),
        ("reserved", c_int32),
        ("scale", c_double * MAX_RANK),
    ]


class RunStruct(Sized):
    _fields_ = [
        ("struct_size", c_uint32),
        ("attempts", c_int32),
        ("first_fault", c_int32),
        ("reserved", c_int32),
        ("milliseconds", c_double),
        ("workspace_bytes", c_int64),
        ("device", c_char * 16),
        ("algorithm", c_char * 32),
        ("parameters", c_char * 128),
        ("fault", c_char * 256),
    ]


class PlanStruct(Sized):
    _fields_ = [
        ("struct_size", c_uint32),
        ("accepted", c_int32),
        ("workspace_bytes", c_int64),
        ("algorithm", c_char * 32),
        ("parameters", c_char * 128),
        ("reason", c_char * 192),
        ("error_growth", c_double),
        ("error_reach", c_int64),
    ]


class GraphPlanStruct(Sized):
    _fields_ = [
        ("struct_size", c_uint32),
        ("captured", c_int32),
        ("operations", c_int32),
        ("reserved", c_int32),
        ("flops", c_double),
        ("bytes", c_double),
        ("read_bytes", c_int64),
        ("written_bytes", c_int64),
        ("internal_bytes", c_int64),
    ]


class TunedStruct(Sized):
    _fields_ = [
        ("struct_size", c_uint32),
        ("tried", c_int32),
        ("failed", c_int32),
        ("kept", c_int32),
        ("untuned_ms", c_double),
        ("milliseconds", c_double),
        ("algorithm", c_char * 32),
        ("parameters", c_char * 128),
        ("reason", c_char * 192),
    ]


class HealthStruct(Sized):
    _fields_ = [
        ("struct_size", c_uint32),
        ("worker_pid", c_uint32),
        ("operations", c_int64),
        ("device_operations", c_int64),
        ("faults", c_int64),
        ("failovers", c_int64),
        ("downgrades", c_int64),
        ("device_bytes", c_int64),
        ("device_bytes_peak", c_int64),
        ("device_bytes_held", c_int64),
        ("host_bytes", c_int64),
        ("programs_compiled", c_int64),
        ("programs_cached", c_int64),
        ("workers_abandoned", c_int64),
        ("deadlines_missed", c_int64),
        ("wrong_results", c_int64),
        ("verified", c_int64),
        ("verify_nanoseconds", c_int64),
        ("history_bytes", c_int64),
        ("retired_bytes", c_int64),
        ("cpu_stalls", c_int64),
        ("fallback_seconds", c_int64),
    ]


class EventStruct(Sized):
    _fields_ = [
        ("struct_size", c_uint32),
        ("kind", c_int32),
        ("status", c_int32),
        ("reserved", c_int32),
        ("device", c_char * 16),
        ("algorithm", c_char * 32),
        ("message", c_char * 256),
    ]


class BatchNormStruct(Sized):
    _fields_ = [
        ("struct_size", c_uint32),
        ("evaluate", c_int32),
        ("epsilon", c_double),
        ("momentum", c_double),
    ]


class CrossEntropyStruct(Sized):
    _fields_ = [
        ("struct_size", c_uint32),
        ("reduction", c_int32),
        ("ignored", c_int32),
        ("reserved", c_int32),
        ("smoothing", c_double),
    ]


class SgdStruct(Sized):
    _fields_ = [
        ("struct_size", c_uint32),
        ("nesterov", c_int32),
        ("momentum", c_double),
        ("dampening", c_double),
        ("decay", c_double),
    ]


class AdamStruct(Sized):
    _fields_ = [
        ("struct_size", c_uint32),
        ("reserved", c_int32),
        ("beta1", c_double),
        ("beta2", c_double),
        ("epsilon", c_double),
        ("decay", c_double),
    ]


STRUCTS = {
    "convoy_options": OptionsStruct,
    "convoy_device_info": DeviceStruct,
    "convoy_conv": ConvStruct,
    "convoy_epilogue": EpilogueStruct,
    "convoy_window": WindowStruct,
    "convoy_box": BoxStruct,
    "convoy_resampling": ResamplingStruct,
    "convoy_run": RunStruct,
    "convoy_plan": PlanStruct,
    "convoy_graph_plan": GraphPlanStruct,
    "convoy_tuned": TunedStruct,
    "convoy_health": HealthStruct,
    "convoy_event": EventStruct,
    "convoy_batch_norm_options": BatchNormStruct,
    "convoy_cross_entropy_options": CrossEntropyStruct,
    "convoy_sgd_options": SgdStruct,
    "convoy_adam_options": AdamStruct,
}

LogFunction = ctypes.CFUNCTYPE(None, c_void_p, c_int, c_char_p)
EventFunction = ctypes.CFUNCTYPE(None, c_void_p, POINTER(EventStruct))

AllocateFunction = ctypes.CFUNCTYPE(c_void_p, c_void_p, c_size_t, c_void_p)
ReleaseFunction = ctypes.CFUNCTYPE(None, c_void_p, c_void_p, c_size_t, c_void_p)

TeamMember = ctypes.CFUNCTYPE(None, c_void_p)
Team = ctypes.CFUNCTYPE(None, TeamMember, c_void_p, c_uint, c_uint)

CALLBACKS = {
    "convoy_log_fn": LogFunction,
    "convoy_event_fn": EventFunction,
    "convoy_allocate_fn": AllocateFunction,
    "convoy_release_fn": ReleaseFunction,
    "convoy_team_member": TeamMember,
    "convoy_team": Team,
}

# Short names for the signatures below. Contexts, tensors and their like are opaque.
_status = c_int
_enum = c_int
_context = c_void_p
_tensor = c_void_p
_problem = c_void_p
_program = c_void_p
_graph = c_void_p
_state = c_void_p
_tensors = POINTER(c_void_p)
_floats = POINTER(c_float)
_shape = POINTER(c_int64)
_conv = POINTER(ConvStruct)
_run = POINTER(RunStruct)
_epilogue = POINTER(EpilogueStruct)
_window = POINTER(WindowStruct)
_box = POINTER(BoxStruct)
_resampling = POINTER(ResamplingStruct)
_options = POINTER(OptionsStruct)
_device = POINTER(DeviceStruct)

# C name: (what it returns, its arguments)
FUNCTIONS = {
    "convoy_status_name": (c_char_p, [_enum]),
    "convoy_last_error": (c_char_p, []),
    "convoy_version": (c_char_p, []),
    "convoy_set_log": (None, [LogFunction, c_void_p, _enum]),
    "convoy_devices": (
        _status,
        [_options, _device, c_int32, POINTER(c_int32), c_char_p, c_size_t],
    ),
    "convoy_build_info": (c_char_p, []),
    "convoy_open": (_status, [_options, POINTER(_context)]),
    "convoy_close": (None, [_context]),
    "convoy_context_device": (_status, [_context, _device]),
    "convoy_context_describe": (_status, [_context, c_char_p, c_size_t]),
    "convoy_sync": (_status, [_context]),
    "convoy_interrupt": (None, [_context]),
    "convoy_mark_step": (_status, [_context, c_int64]),
    "convoy_output_shape": (_status, [_conv, _shape, _shape, _shape]),
    "convoy_flops": (c_double, [_conv, _enum, _shape, _shape]),
    "convoy_parse_problem": (_status, [c_char_p, _conv, _shape, _shape, POINTER(_enum)]),
    "convoy_format_problem": (_status, [_conv, _shape, _shape, _enum, c_char_p, c_size_t]),
    "convoy_forward_host": (
        _status,
        [_context, _conv, _shape, _floats, _shape, _floats, _floats, _epilogue, _floats, _run],
    ),
    "convoy_backward_data_host": (
        _status,
        [_context, _conv, _shape, _floats, _shape, _floats, c_float, _floats, _run],
    ),
    "convoy_backward_weights_host": (
        _status,
        [_context, _conv, _shape, _floats, _shape, _floats, c_float, _floats, _run],
    ),
    "convoy_backward_bias_host": (
        _status,
        [_context, _conv, _shape, _shape, _floats, c_float, _floats, _run],
    ),
    "convoy_host_alloc": (_status, [_context, c_size_t, POINTER(c_void_p)]),
    "convoy_host_free": (None, [_context, c_void_p]),
    "convoy_tensor_new": (_status, [_context, c_int32, _shape, POINTER(_tensor)]),
    "convoy_tensor_new_typed": (_status, [_context, _enum, c_int32, _shape, POINTER(_tensor)]),
    "convoy_tensor_wrap": (
        _status,
        [_context, _enum, c_int32, _shape, c_void_p, c_int64, POINTER(_tensor)],
    ),
    "convoy_tensors_rewrap": (_status, [c_int32, _tensors, POINTER(c_void_p)]),
    "convoy_set_stream": (_status, [_context, c_void_p]),
    "convoy_set_allocator": (
        _status,
        [_context, AllocateFunction, ReleaseFunction, c_void_p],
    ),
    "convoy_problem_new": (
        _status,
        [_conv, _enum, _shape, _shape, c_int32, POINTER(_problem)],
    ),
    "convoy_problem_free": (None, [_problem]),
    "convoy_enqueue": (
        _status,
        [_context, _problem, c_void_p, POINTER(c_void_p), c_void_p, c_int64, _run],
    ),
    "convoy_tensor_free": (None, [_tensor]),
    "convoy_tensor_shape": (_status, [_tensor, _shape, POINTER(c_int32)]),
    "convoy_tensor_dtype": (_status, [_tensor, POINTER(_enum)]),
    "convoy_tensor_write": (_status, [_tensor, c_void_p, c_int64]),
    "convoy_tensor_read": (_status, [_tensor, c_void_p, c_int64]),
    "convoy_tensors_write": (_status, [c_int32, _tensors, POINTER(c_void_p), _shape]),
    "convoy_tensors_lend": (_status, [c_int32, _tensors, POINTER(c_void_p), _shape]),
    "convoy_return_lent": (_status, [_context]),
    "convoy_tensors_read": (_status, [c_int32, _tensors, POINTER(c_void_p), _shape]),
    "convoy_tensor_copy": (_status, [_tensor, _tensor]),
    "convoy_commit": (_status, [_tensor]),
    "convoy_forward": (
        _status,
        [_context, _conv, _tensor, _tensor, _tensor, _epilogue, _tensor, _run],
    ),
    "convoy_backward_data": (_status, [_context, _conv, _tensor, _tensor, c_float, _tensor, _run]),
    "convoy_backward_weights": (
        _status,
        [_context, _conv, _tensor, _tensor, c_float, _tensor, _run],
    ),
    "convoy_backward_bias": (_status, [_context, _conv, _tensor, c_float, _tensor, _run]),
    "convoy_program_parse": (_status, [c_char_p, POINTER(_program)]),
    "convoy_program_named": (_status, [c_char_p, POINTER(_program)]),
    "convoy_program_name": (c_char_p, [c_int32]),
    "convoy_program_gradient": (_status, [_program, c_char_p, POINTER(_program)]),
    "convoy_program_free": (None, [_program]),
    "convoy_program_text": (_status, [_program, c_char_p, c_size_t]),
    "convoy_program_input": (c_char_p, [_program, c_int32]),
    "convoy_program_result": (c_char_p, [_program, c_int32]),
    "convoy_apply": (_status, [_context, _program, _tensors, _tensors, _run]),
    "convoy_parse_operation": (_status, [c_char_p, POINTER(_program), POINTER(_enum), _shape]),
    "convoy_seed": (_status, [_context, c_uint64]),
    "convoy_relu": (_status, [_context, _tensor, _tensor, _run]),
    "convoy_silu": (_status, [_context, _tensor, _tensor, _run]),
    "convoy_sigmoid": (_status, [_context, _tensor, _tensor, _run]),
    "convoy_add": (_status, [_context, _tensor, _tensor, _tensor, _run]),
    "convoy_multiply": (_status, [_context, _tensor, _tensor, _tensor, _run]),
    "convoy_matmul": (_status, [_context, c_uint32, _tensor, _tensor, _tensor, _run]),
    "convoy_parse_matmul": (
        _status,
        [c_char_p, POINTER(c_uint32), POINTER(c_int32), _shape],
    ),
    "convoy_pool_shape": (_status, [_window, _shape, _shape]),
    "convoy_parse_pool": (_status, [c_char_p, POINTER(_enum), _window, _shape, _shape]),
    "convoy_max_pool": (_status, [_context, _window, _tensor, _tensor, _run]),
    "convoy_max_pool_backward": (_status, [_context, _window, _tensor, _tensor, _tensor, _run]),
    "convoy_average_pool": (_status, [_context, _window, _tensor, _tensor, _run]),
    "convoy_average_pool_backward": (_status, [_context, _window, _tensor, _tensor, _run]),
    "convoy_copy": (_status, [_context, _box, _tensor, _tensor, _run]),
    "convoy_permute": (_status, [_context, POINTER(c_int32), _tensor, _tensor, _run]),
    "convoy_slice": (_status, [_context, _shape, _shape, _tensor, _tensor, _run]),
    "convoy_pad": (_status, [_context, _enum, _shape, c_float, _tensor, _tensor, _run]),
    "convoy_parse_copy": (_status, [c_char_p, _box, POINTER(_enum), POINTER(c_int64)]),
    "convoy_concatenate": (_status, [_context, c_int32, c_int32, _tensors, _tensor, _run]),
    "convoy_parse_concatenate": (
        _status,
        [c_char_p, POINTER(c_int32), POINTER(_enum), _shape],
    ),
    "convoy_resample": (_status, [_context, _resampling, _tensor, _tensor, _run]),
    "convoy_resample_backward": (_status, [_context, _resampling, _tensor, _tensor, _run]),
    "convoy_parse_resample": (
        _status,
        [c_char_p, POINTER(c_int32), _resampling, _shape, _shape],
    ),
    "convoy_capture_begin": (_status, [_context]),
    "convoy_capture_cut": (_status, [_context]),
    "convoy_capture_end": (_status, [_context, POINTER(_graph)]),
    "convoy_gradients": (_status, [_context, _tensor, _tensor, c_int32, _tensors, _tensors]),
    "convoy_graph_run": (_status, [_graph, _run]),
    "convoy_graph_run_stage": (_status, [_graph, c_int32, _run]),
    "convoy_graph_runs": (_status, [_graph, POINTER(c_uint64)]),
    "convoy_graph_set_runs": (_status, [_graph, c_uint64]),
    "convoy_graph_text": (_status, [_graph, c_char_p, c_size_t]),
    "convoy_plan_graph": (_status, [_graph, POINTER(GraphPlanStruct)]),
    "convoy_plan_text": (_status, [_graph, c_char_p, c_size_t]),
    "convoy_graph_free": (None, [_graph]),
    "convoy_batch_norm": (_status, [_context, POINTER(BatchNormStruct), *[_tensor] * 6, _run]),
    "convoy_layer_norm": (_status, [_context, c_int32, c_double, *[_tensor] * 4, _run]),
    "convoy_group_norm": (_status, [_context, c_int64, c_double, *[_tensor] * 4, _run]),
    "convoy_softmax": (_status, [_context, c_int32, _tensor, _tensor, _run]),
    "convoy_log_softmax": (_status, [_context, c_int32, _tensor, _tensor, _run]),
    "convoy_cross_entropy": (
        _status,
        [_context, POINTER(CrossEntropyStruct), *[_tensor] * 4, _run],
    ),
    "convoy_bce_with_logits": (_status, [_context, _enum, *[_tensor] * 5, _run]),
    "convoy_mse": (_status, [_context, _enum, *[_tensor] * 3, _run]),
    "convoy_smooth_l1": (_status, [_context, _enum, c_double, *[_tensor] * 3, _run]),
    "convoy_dropout": (_status, [_context, c_double, _tensor, _tensor, _run]),
    "convoy_sgd": (
        _status,
        [_context, POINTER(SgdStruct), c_int32, *[_tensors] * 3, _tensor, _tensor, _run],
    ),
    "convoy_adam": (
        _status,
        [_context, POINTER(AdamStruct), c_int32, *[_tensors] * 4, _tensor, _tensor, _run],
    ),
    "convoy_adamw": (
        _status,
        [_context, POINTER(AdamStruct), c_int32, *[_tensors] * 4, _tensor, _tensor, _run],
    ),
    "convoy_moving_average": (_status, [_context, _tensor, c_int32, _tensors, _tensors, _run]),
    "convoy_gradient_norm": (_status, [_context, c_int32, _tensors, _tensor, _run]),
    "convoy_state_new": (_status, [_context, POINTER(_state)]),
    "convoy_state_free": (None, [_state]),
    "convoy_state_tensor": (_status, [_state, c_char_p, _tensor]),
    "convoy_state_numbers": (_status, [_state, c_char_p, POINTER(c_int64), c_int64]),
    "convoy_state_graph": (_status, [_state, c_char_p, _graph]),
    "convoy_state_seed": (_status, [_state, c_char_p]),
    "convoy_state_save": (_status, [_state, c_char_p]),
    "convoy_state_load": (_status, [_state, c_char_p, c_uint32]),
    "convoy_clip_gradients": (_status, [_context, c_double, c_int32, _tensors, _tensor, _run]),
    "convoy_algorithm_name": (c_char_p, [_context, c_int32]),
    "convoy_set_algorithm": (_status, [_context, c_char_p]),
    "convoy_plan_problem": (
        _status,
        [_context, c_char_p, _conv, _enum, _shape, _shape, POINTER(PlanStruct)],
    ),
    "convoy_prepare": (_status, [_context, _conv, _enum, _shape, _shape]),
    "convoy_tune": (
        _status,
        [_context, _conv, _enum, _shape, _shape, c_double, POINTER(TunedStruct)],
    ),
    "convoy_get_health": (_status, [_context, POINTER(HealthStruct)]),
    "convoy_set_event_callback": (_status, [_context, EventFunction, c_void_p]),
    "convoy_fault_table": (_status, [c_char_p, c_char_p, c_size_t]),
    "convoy_fault_table_clear": (_status, [c_char_p]),
    "convoy_measure_peak": (_status, [_context, POINTER(c_double), POINTER(c_double)]),
}


def declare(library: ctypes.CDLL) -> ctypes.CDLL:
    """Gives every function of the loaded library its signature."""
    for name, (result, arguments) in FUNCTIONS.items():
        function = getattr(library, name)
        function.restype = result
        function.argtypes = arguments
    return library
