/* OpenCL's row of the seam. */
#include "ocl/engine/opencl/runtime.h"

#include "ocl/engine/opencl/devices.h"
#include "ocl/engine/opencl/events.h"
#include "ocl/engine/opencl/memory.h"
#include "ocl/engine/opencl/programs.h"
#include "ocl/engine/opencl/queue.h"

const runtime opencl_runtime = {
    .name = "ocl",
    .list = opencl_devices,
    .open = opencl_open,
    .close = opencl_close,
    .error_name = opencl_error_name,
    .fail = opencl_fail,
    .memory = opencl_memory,
    .memory_release = opencl_memory_release,
    .memory_move = opencl_memory_move,
    .pin = opencl_pin,
    .unpin = opencl_unpin,
    .copy = opencl_copy,
    .zero = opencl_zero,
    .write = opencl_write,
    .read = opencl_read,
    .marker = opencl_marker,
    .event_state = opencl_event_state,
    .event_wait = opencl_event_wait,
    .event_release = opencl_event_release,
    .compile = opencl_compile,
    .load = opencl_load,
    .save = opencl_save,
    .program_release = opencl_program_release,
    .kernel = opencl_kernel,
    .kernel_release = opencl_kernel_release,
    .argument = opencl_argument,
    .launch = opencl_launch,
    .flush = opencl_flush,
    .finish = opencl_finish,
};
