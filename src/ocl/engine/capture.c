/* Takes down what launch code does for a job: its launches, and which of the job's arrays each was
 * given. What depends on more than the job cannot be captured and is left to the launch code. */
#include "ocl/engine/capture.h"

#include <string.h>

#include "ocl/engine/device.h"

static const arena_piece *piece_of(cvy_device *device, cvy_operand operand) {
  return arrays_find(&device->memory.arrays, operand.id)->piece;
}

void capture_begin(cvy_device *device, capture *new, const cvy_job *job, const job_arrays *arrays,
                   const arena_piece *scratch) {
  memset(new, 0, offsetof(capture, launches));
  new->packs = job->in[1].id;
  new->pieces[ORIGIN_SCRATCH] = scratch;
  new->job.scratch_bytes = scratch ? scratch->bytes : 0;
  new->job.launches = new->launches;
  for (int32_t i = 0; i < CVY_MAX_INPUTS && arrays->in[i].memory; i++)
    new->pieces[ORIGIN_IN + i] = piece_of(device, job->in[i]);
  for (int32_t i = 0; i < CVY_MAX_OUTPUTS && arrays->out[i].memory; i++)
    new->pieces[ORIGIN_OUT + i] = piece_of(device, job->out[i]);
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
                  const arena_piece *piece, bool fresh) {
  capture *on = device->captured.capture;
  if (!on) return;
  if (id != on->packs || on->pieces[ORIGIN_FORM]) on->invalid = true;
  on->pieces[ORIGIN_FORM] = piece;
  on->job.form = *form;
  on->job.form_bytes = bytes;
  on->job.makes_form = fresh;
}

static bool is_inside(const arena_piece *piece, span at) {
  int64_t byte = at.at * (int64_t)sizeof(float);
  return piece && piece->memory == at.memory && byte >= piece->at &&
         byte < piece->at + piece->bytes;
}

/* Which of the job's arrays a span lies in. One array in two roles could be either, so it is not
 * known. */
static captured_array array_of(capture *on, span at) {
  captured_array found = {0};
  if (!at.memory) return found;
  for (int32_t i = ORIGIN_IN; i < ORIGINS; i++) {
    if (!is_inside(on->pieces[i], at)) continue;
    if (found.origin) on->invalid = true;
    found = (captured_array){i, at.at - span_of(on->pieces[i]).at};
  }
  if (!found.origin) on->invalid = true;
  return found;
}

/* The options are the caller's text, and are not needed once the kernel is found. */
void capture_launch(cvy_device *device, const launch *what, program_kernel *kernel,
                    const conv_args *args, const bindings *arrays) {
  capture *on = device->captured.capture;
  if (!on || on->invalid) return;
  if (on->job.count == CAPTURED_LAUNCHES) {
    on->invalid = true;
    return;
  }
  captured_launch *new = &on->launches[on->job.count++];
  *new = (captured_launch){.what = *what,
                           .kernel = kernel,
                           .args = *args,
                           .a = array_of(on, arrays->a),
                           .b = array_of(on, arrays->b),
                           .bias = array_of(on, arrays->bias),
                           .out = array_of(on, arrays->out)};
  new->what.options = NULL;
}
