/* What the rows of the seam that go through a driver have in common. Of its own a row has a name,
 * its devices, how one is opened, and its errors: these are called without a queue that would say
 * whose they are. */
#ifndef CVY_OCL_ENGINE_DRIVER_ROW_H
#define CVY_OCL_ENGINE_DRIVER_ROW_H

#include "ocl/engine/driver/devices.h"
#include "ocl/engine/driver/programs.h"
#include "ocl/engine/driver/queue.h"

// clang-format off
#define DRIVER_FUNCTIONS \
  .close = driver_close, \
  .memory = driver_memory, \
  .memory_release = driver_memory_release, \
  .memory_move = driver_memory_move, \
  .pin = driver_pin, \
  .unpin = driver_unpin, \
  .memory_at = driver_memory_at, \
  .use_stream = driver_use_stream, \
  .recording = driver_recording, \
  .enter = driver_enter_queue, \
  .copy = driver_copy, \
  .zero = driver_zero, \
  .write = driver_write, \
  .read = driver_read, \
  .marker = driver_marker, \
  .event_state = driver_event_state, \
  .event_wait = driver_event_wait, \
  .event_release = driver_event_release, \
  .compile = driver_compile, \
  .load = driver_load_program, \
  .save = driver_save, \
  .program_release = driver_program_release, \
  .kernel = driver_kernel, \
  .kernel_release = driver_kernel_release, \
  .argument = driver_argument, \
  .launch = driver_launch, \
  .flush = driver_flush, \
  .finish = driver_finish
// clang-format on

#endif
