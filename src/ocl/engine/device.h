/* An open device of the OpenCL engine, which lives in the module convoy-ocl.so and is called by one
 * thread at a time. A device has one in-order queue, so commands need no events between them, and
 * memory may be given back as soon as its last use is enqueued.
 *
 * Each part of a device belongs to the module whose header describes it. */
#ifndef CVY_OCL_ENGINE_DEVICE_H
#define CVY_OCL_ENGINE_DEVICE_H

#include "ocl/engine/arrays.h"
#include "ocl/engine/captured.h"
#include "ocl/engine/completion.h"
#include "ocl/engine/faults.h"
#include "ocl/engine/generated.h"
#include "ocl/engine/memory.h"
#include "ocl/engine/plans.h"
#include "ocl/engine/prepacked.h"
#include "ocl/engine/programs.h"
#include "ocl/engine/runtime/runtime.h"
#include "ocl/engine/tickets.h"
#include "ocl/engine/transfer.h"

struct cvy_device {
  cvy_facts facts;
  double longest_launch; /* seconds that one launch should not exceed */
  const runtime *runtime;
  runtime_queue *queue;
  void *stream; /* that commands go into, once somebody has lent one */
  bool stream_is_lent;
  runtime_traits traits;
  device_memory memory;
  device_prepacked prepacked;
  device_programs programs;
  device_generated generated;
  device_captured captured;
  device_plans plans;
  struct pinned *pinned; /* host memory that the driver knows */
  device_tickets tickets;
  device_completion completion;
  device_fault fault;
};

convoy_status engine_open(int32_t index, const cvy_open_options *options, cvy_device **out);
void engine_close(cvy_device *device);

#endif
