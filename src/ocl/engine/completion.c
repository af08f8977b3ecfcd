/* Events of what is under way, oldest first. Waiting for them one by one instead of for the
 * whole queue shows the other side that the device gets on, and how fast, which is what launches
 * are cut into parts by. */
#include "ocl/engine/completion.h"

#include "ocl/engine/device.h"
#include "ocl/engine/observer.h"
#include "os/os.h"

/* An event costs some drivers as much as a short kernel, so kernels that are expected to take less
 * than this together share one. */
#define EVENT_SECONDS 20e-3
/* A launch that was shorter than this says little about how fast the kernel is. */
#define TELLING_SECONDS 1e-3

bool completion_due(cvy_device *device, double seconds) {
  device_completion *all = &device->completion;
  if (device->stream_is_lent) return all->learning;
  all->expected += seconds;
  if (!(all->expected < EVENT_SECONDS)) return true;
  all->unseen++;
  return false;
}

static completion_event *event_at(device_completion *all, uint32_t index) {
  return &all->event[(all->first + index) % COMPLETION_EVENTS];
}

/* Where there is no room for the event, the wait for the whole queue covers the command. */
static void add(cvy_device *device, const completion_event *new) {
  device_completion *all = &device->completion;
  bool alone = all->unseen == 0;
  all->unseen = 0;
  all->expected = 0;
  if (all->count == COMPLETION_EVENTS) {
    device->runtime->event_release(device->queue, new->event);
    return;
  }
  completion_event *event = event_at(all, all->count++);
  *event = *new;
  event->ticket = device->tickets.issued;
  event->enqueued = cvy_clock();
  event->alone = alone;
}

/* There may be more kernels of the command. */
void completion_add(cvy_device *device, runtime_event *event, double work, double *rate) {
  uint64_t before = device->tickets.issued - 1;
  add(device, &(completion_event){.event = event, .good = before, .work = work, .rate = rate});
}

void completion_add_last(cvy_device *device, runtime_event *event) {
  add(device, &(completion_event){.event = event, .good = device->tickets.issued});
}

static void drop_oldest(cvy_device *device) {
  device_completion *all = &device->completion;
  device->runtime->event_release(device->queue, all->event[all->first].event);
  all->first = (all->first + 1) % COMPLETION_EVENTS;
  all->count--;
}

void completion_drop(cvy_device *device) {
  device_completion *all = &device->completion;
  while (all->count > 0) drop_oldest(device);
  all->unseen = 0;
  all->expected = 0;
}

/* 0 if the command is done, more while it is under way, less if it failed or the question did. */
static int32_t state_of(const cvy_device *device, runtime_event *event) {
  int32_t state = 1;
  int32_t code = device->runtime->event_state(device->queue, event, &state);
  return code ? code : state;
}

static bool is_complete(const cvy_device *device, runtime_event *event) {
  return state_of(device, event) == 0;
}

/* The kernel ran from when the one before ended, or from when it was enqueued, until now. The older
 * rate counts as much as the new one, so that a disturbed launch does not decide alone. Of a short
 * kernel, or one that shared the time with others, only the least rate it can have is learnt. */
static void learn(const completion_event *done, double since) {
  double start = since > done->enqueued ? since : done->enqueued;
  double seconds = cvy_clock() - start;
  double rate = done->work / (seconds > TELLING_SECONDS ? seconds : TELLING_SECONDS);
  if (seconds >= TELLING_SECONDS && done->alone)
    *done->rate = (*done->rate + rate) / 2;
  else if (rate > *done->rate)
    *done->rate = rate;
}

static void retire_oldest(cvy_device *device) {
  device_completion *all = &device->completion;
  uint64_t good = all->event[all->first].good;
  drop_oldest(device);
  tickets_finish(device, good);
}

static const completion_event *newest_until(device_completion *all, uint64_t ticket) {
  uint32_t count = all->count;
  while (count > 0 && event_at(all, count - 1)->ticket > ticket) count--;
  return count > 0 ? event_at(all, count - 1) : NULL;
}

/* Often all are done when somebody asks: then one question does instead of one for each. */
static void retire_if_done(cvy_device *device, uint64_t ticket) {
  device_completion *all = &device->completion;
  const completion_event *newest = newest_until(all, ticket);
  if (!newest || !is_complete(device, newest->event)) return;
  uint64_t last = newest->ticket, good = newest->good;
  while (all->count > 0 && all->event[all->first].ticket <= last) drop_oldest(device);
  tickets_finish(device, good);
}

/* An event that is late was done before it was asked: when it ended is not known. */
convoy_status completion_wait(cvy_device *device, uint64_t ticket) {
  device_completion *all = &device->completion;
  double since = 0;
  flush_all(device);
  retire_if_done(device, ticket);
  while (all->count > 0 && all->event[all->first].ticket <= ticket) {
    const completion_event *oldest = &all->event[all->first];
    bool late = is_complete(device, oldest->event);
    if (!late) {
      int32_t code = device->runtime->event_wait(device->queue, oldest->event);
      if (code) return command_drained(device, code, "waiting for the device");
      if (since > 0 && oldest->rate) learn(oldest, since);
    }
    since = cvy_clock();
    retire_oldest(device);
  }
  return CONVOY_OK;
}

/* -------------------------------------------------------------------------------- flushes */

#define MOST_BURST 4

/* The first jobs are flushed at once, then fewer times. */
void flush_burst(cvy_device *device) {
  device_completion *all = &device->completion;
  if (++all->unflushed >> all->burst == 0) return;
  device->runtime->flush(device->queue);
  all->unflushed = 0;
  if (all->burst < MOST_BURST) all->burst++;
}

void flush_all(cvy_device *device) {
  device->runtime->flush(device->queue);
  device->completion.unflushed = device->completion.burst = 0;
}

/* -------------------------------------------------------------------------- the idle event */

void completion_forget_idle(cvy_device *device) {
  device_completion *all = &device->completion;
  if (all->idle_event) device->runtime->event_release(device->queue, all->idle_event);
  all->idle_event = NULL;
}

/* An event behind everything enqueued: once it is complete, the device is idle. */
static void ask_for_idle(cvy_device *device) {
  device_completion *all = &device->completion;
  if (device->runtime->marker(device->queue, &all->idle_event)) all->idle_event = NULL;
  all->idle_ticket = device->tickets.issued;
  flush_all(device);
}

/* The first look after a job only brings it under way: often the next one is about to come. A
 * failure is left to the wait to find, which knows what was waited for. Where all is finished the
 * observer is told nevertheless, as it may not have heard of it since its own last command. */
bool engine_poll(cvy_device *device) {
  device_completion *all = &device->completion;
  if (device->fault.ticket != 0 || device->stream_is_lent) return false;
  if (device->tickets.finished == device->tickets.issued) {
    observer_progress(device);
    return false;
  }
  if (all->unflushed > 0) {
    flush_all(device);
    return true;
  }
  if (all->idle_event && all->idle_ticket != device->tickets.issued) completion_forget_idle(device);
  if (!all->idle_event) ask_for_idle(device);
  if (!all->idle_event) return false;
  int32_t state = state_of(device, all->idle_event);
  if (state) return state > 0;
  completion_forget_idle(device);
  command_drained(device, 0, "looking how far the device is");
  return false;
}
