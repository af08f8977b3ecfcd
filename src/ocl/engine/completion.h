/* Events of the kernels under way, and flushes. */
#ifndef CVY_OCL_ENGINE_COMPLETION_H
#define CVY_OCL_ENGINE_COMPLETION_H

#include "backend.h"
#include "ocl/engine/runtime/runtime.h"

/* The end of a kernel under way. */
typedef struct completion_event {
  runtime_event *event;
  uint64_t ticket;
  uint64_t good;   /* the newest command that is done when the event is */
  double work;     /* floating-point operations */
  double enqueued; /* cvy_clock seconds */
  double *rate;    /* of the kernel: operations per second; NULL: it is no kernel's */
  bool alone;      /* the kernel before it has an event too */
} completion_event;

#define COMPLETION_EVENTS 4096

/* A device's part of this module. */
typedef struct device_completion {
  completion_event event[COMPLETION_EVENTS]; /* oldest first, from `first` on */
  uint32_t first, count;
  uint32_t unseen;           /* kernels since the newest event */
  double expected;           /* seconds that these are expected to take */
  bool learning;             /* in a stream that is lent: kernels have events all the same */
  double unmeasured;         /* the rate of kernels that are not ours to cut */
  uint32_t unflushed, burst; /* jobs since the last flush; the next one is due after 2^burst */
  runtime_event *idle_event; /* behind command `idle_ticket`; NULL: none */
  uint64_t idle_ticket;
} device_completion;

/* Whether the next kernel, expected to take so long, is to have an event. */
bool completion_due(cvy_device *device, double seconds);
/* Takes over the event of a kernel of the newest command. */
void completion_add(cvy_device *device, runtime_event *event, double work, double *rate);
/* The same of an event behind all of the newest command: who waits for that waits for no other. */
void completion_add_last(cvy_device *device, runtime_event *event);
/* Waits for the events of commands up to `ticket`, one by one. A failure is recorded as
 * a fault. */
convoy_status completion_wait(cvy_device *device, uint64_t ticket);
void completion_drop(cvy_device *device);
/* Forgets the event of engine_poll. */
void completion_forget_idle(cvy_device *device);

/* A flush costs as much as half a kernel. Jobs are flushed in bursts, so that the device always has
 * work; whoever waits, rests or begins something slow flushes what is left. */
void flush_burst(cvy_device *device);
void flush_all(cvy_device *device);

/* Looks how far the device is, without waiting, as backend.h says. */
bool engine_poll(cvy_device *device);

#endif
