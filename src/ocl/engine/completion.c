/* Kernels under way, oldest first. Waiting for them one by one instead of for the whole queue shows
 * the other side that the device gets on, and how fast, which is what launches are cut into parts by. */
#include "ocl/engine/engine.h"
#include "os/os.h"

/* An event costs some drivers as much as a short kernel: kernels that are expected to take less than
 * this together share one. */
#define EVENT_SECONDS 20e-3
/* A launch shorter than this says little about how fast the kernel is. */
#define TELLING_SECONDS 1e-3

bool completion_due(cvy_device *device, double seconds) {
  completion *all = &device->completion;
  all->expected += seconds;
  if (!(all->expected < EVENT_SECONDS)) return true;
  all->unseen++;
  return false;
}

void completion_add(cvy_device *device, cl_event event, double work, double *rate) {
  completion *all = &device->completion;
  const bool alone = all->unseen == 0;
  all->unseen = 0;
  all->expected = 0;
  if (all->count == COMPLETION_EVENTS) { /* the wait for the whole queue covers it */
    clReleaseEvent(event);
    return;
  }
  all->event[(all->first + all->count++) % COMPLETION_EVENTS] =
      (completion_event){event, device->ticket, work, cvy_clock(), rate, alone};
}

static void drop_oldest(cvy_device *device) {
  completion *all = &device->completion;
  clReleaseEvent(all->event[all->first].event);
  all->first = (all->first + 1) % COMPLETION_EVENTS;
  --all->count;
}

void completion_drop(cvy_device *device) {
  while (device->completion.count > 0) drop_oldest(device);
  device->completion.unseen = 0;
  device->completion.expected = 0;
}

/* CL_COMPLETE, more while it is under way, less if it or the question failed. */
static cl_int state_of(cl_event event) {
  cl_int state = CL_QUEUED;
  const cl_int code =
      clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof state, &state, NULL);
  return code == CL_SUCCESS ? state : code;
}

static bool is_complete(cl_event event) {
  return state_of(event) == CL_COMPLETE;
}

/* The kernel ran from when the one before ended, or from when it was enqueued, until now. The older
 * rate counts as much as the new one, so that a disturbed launch does not decide alone. Of a short
 * kernel, or one that shared the time with others, only the least it can be is learnt. */
static void learn(const completion_event *done, double since) {
  const double start = since > done->enqueued ? since : done->enqueued;
  const double seconds = cvy_clock() - start;
  const double rate = done->work / (seconds > TELLING_SECONDS ? seconds : TELLING_SECONDS);
  if (seconds >= TELLING_SECONDS && done->alone)
    *done->rate = (*done->rate + rate) / 2;
  else if (rate > *done->rate)
    *done->rate = rate;
}

/* All kernels of earlier commands are done when one of this command is. */
static void retire_oldest(cvy_device *device) {
  const uint64_t before = device->completion.event[device->completion.first].ticket - 1;
  if (before > device->finished) device->finished = before;
  drop_oldest(device);
  watch_progress(device);
}

static const completion_event *newest_until(const completion *all, uint64_t ticket) {
  uint32_t count = all->count;
  while (count > 0 && all->event[(all->first + count - 1) % COMPLETION_EVENTS].ticket > ticket)
    --count;
  return count > 0 ? &all->event[(all->first + count - 1) % COMPLETION_EVENTS] : NULL;
}

/* Often all are done when somebody asks: one question instead of one for each. */
static void retire_if_done(cvy_device *device, uint64_t ticket) {
  completion *all = &device->completion;
  const completion_event *newest = newest_until(all, ticket);
  if (!newest || !is_complete(newest->event)) return;
  const uint64_t last = newest->ticket;
  if (last - 1 > device->finished) device->finished = last - 1;
  while (all->count > 0 && all->event[all->first].ticket <= last) drop_oldest(device);
  watch_progress(device);
}

convoy_status completion_wait(cvy_device *device, uint64_t ticket) {
  completion *all = &device->completion;
  double since = 0;
  flush_all(device);
  retire_if_done(device, ticket);
  while (all->count > 0 && all->event[all->first].ticket <= ticket) {
    const completion_event *oldest = &all->event[all->first];
    const bool late = is_complete(oldest->event); /* when it ended is not known */
    if (!late) {
      const cl_int code = clWaitForEvents(1, &oldest->event);
      if (code != CL_SUCCESS) return command_drained(device, code, "waiting for the device");
      if (since > 0) learn(oldest, since);
    }
    since = cvy_clock();
    retire_oldest(device);
  }
  return CONVOY_OK;
}

/* -------------------------------------------------------------------- the idle event */

void completion_forget_idle(cvy_device *device) {
  if (device->idle_event) clReleaseEvent(device->idle_event);
  device->idle_event = NULL;
}

/* The first look after a job only brings it under way: often the next one is about to come. A failure is
 * left to the wait to find: it knows what was waited for. */
bool engine_poll(cvy_device *device) {
  if (device->fault != 0) return false;
  if (device->finished == device->ticket) {
    watch_progress(device); /* it may not have heard of this since its own last command */
    return false;
  }
  if (device->unflushed > 0) {
    flush_all(device);
    return true;
  }
  if (device->idle_event && device->idle_ticket != device->ticket) completion_forget_idle(device);
  if (!device->idle_event) {
    const cl_int code = clEnqueueMarkerWithWaitList(device->queue, 0, NULL, &device->idle_event);
    if (code != CL_SUCCESS) device->idle_event = NULL;
    device->idle_ticket = device->ticket;
    flush_all(device);
  }
  const cl_int state = device->idle_event ? state_of(device->idle_event) : CL_INVALID_EVENT;
  if (state != CL_COMPLETE) return state > CL_COMPLETE;
  completion_forget_idle(device);
  command_drained(device, CL_SUCCESS, "looking how far the device is");
  return false;
}
