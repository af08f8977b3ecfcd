/* Takes down what launch code does for a job: its launches, and which of the job's arrays each was
 * given. What depends on more than the job cannot be captured and is left to the launch code. */
#include "ocl/engine/capture.h"

#include <string.h>

#include "ocl/engine/device.h"

void capture_begin(cvy_device *device, capture *new, const cvy_job *job, const job_sizes *sizes,
                   const job_arrays *arrays, int64_t scratch_bytes) {
  memset(new, 0, offsetof(capture, launches));
  new->packs = job->in[1].id;
  new->job.sizes = *sizes;
  new->job.scratch_bytes = scratch_bytes;
  new->job.most_at = INT64_MAX;
  new->job.launches = new->launches;
  new->job.arrays = new->arrays;
  new->job.blocks = new->blocks;
  for (int32_t i = 0; i < ORIGINS; i++) new->base[i] = arrays->origin[i].at;
  device->captured.capture = new;
}

bool capture_end(cvy_device *device) {
  const capture *ended = device->captured.capture;
  device->captured.capture = NULL;
  return !ended->invalid;
}

void capture_invalidate(cvy_device *device) {
  if (device->captured.capture) device->captured.capture->invalid = true;
}

void capture_form(cvy_device *device, uint64_t id, const prepacked_form *form, int64_t bytes,
                  span at, bool fresh) {
  capture *on = device->captured.capture;
  if (!on) return;
  if (id != on->packs || on->job.form_bytes > 0) on->invalid = true;
  on->base[ORIGIN_FORM] = at.at;
  on->job.form = *form;
  on->job.form_bytes = bytes;
  on->job.makes_form = fresh;
}

/* How far off the job's array may begin for this word to hold where the launch's begins. */
static void limit(capture *on, const launch_array *array, int64_t at) {
  if (array->most_at == INT64_MAX) return;
  int64_t most = array->most_at - at;
  if (most < on->job.most_at) on->job.most_at = most;
}

static captured_array captured_of(capture *on, const launch_array *array) {
  int32_t origin = array->at.memory ? array->at.origin : ORIGIN_NONE;
  int64_t at = origin ? array->at.at - on->base[origin] : 0;
  if (array->at.memory && !origin) on->invalid = true;
  limit(on, array, at);
  return (captured_array){origin, (int16_t)array->word, (int16_t)array->shift, at};
}

static bool has_room(const captured_job *job, int32_t arrays, int32_t words) {
  return job->count < CAPTURED_LAUNCHES && job->array_count + arrays <= CAPTURED_ARRAYS &&
         job->block_words + words <= CAPTURED_WORDS;
}

/* The options are the caller's text, and are not needed once the kernel is found. */
void capture_launch(cvy_device *device, const launch *what, program_kernel *kernel,
                    const arguments *with) {
  capture *on = device->captured.capture;
  if (!on || on->invalid) return;
  captured_job *job = &on->job;
  size_t bytes = (size_t)with->words * (what->wide ? sizeof(int64_t) : sizeof(int32_t));
  int32_t words = (int32_t)((bytes + sizeof *on->blocks - 1) / sizeof *on->blocks);
  if (!has_room(job, with->count, words)) {
    on->invalid = true;
    return;
  }
  captured_launch *new = &on->launches[job->count++];
  *new = (captured_launch){.what = *what,
                           .kernel = kernel,
                           .words = with->words,
                           .first_group = with->first_group,
                           .stream = with->stream,
                           .count = with->count,
                           .arrays_at = job->array_count,
                           .block_at = job->block_words};
  new->what.options = NULL;
  for (int32_t i = 0; i < with->count; i++)
    on->arrays[job->array_count++] = captured_of(on, &with->array[i]);
  new->writes_form = on->arrays[job->array_count - 1].origin == ORIGIN_FORM;
  memcpy(on->blocks + job->block_words, with->block, bytes);
  job->block_words += words;
}
