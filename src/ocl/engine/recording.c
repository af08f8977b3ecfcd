/* Writes down what launch code does for a job: its launches, and which of the job's arrays each was given.
 * What depends on more than the job cannot be written down and is left to the launch code. */
#include <string.h>

#include "ocl/engine/engine.h"

void recording_begin(cvy_device *device, recording *new, const cvy_job *job, const bindings *arrays,
                     const arena_piece *scratch) {
  const struct {
    uint64_t id;
    const void *memory;
  } operands[] = {[ORIGIN_A] = {job->a.id, arrays->a.memory},
                  [ORIGIN_B] = {job->b.id, arrays->b.memory},
                  [ORIGIN_BIAS] = {job->bias.id, arrays->bias.memory},
                  [ORIGIN_OUT] = {job->out.id, arrays->out.memory}};
  memset(new, 0, offsetof(recording, launches));
  new->b = job->b.id;
  new->pieces[ORIGIN_SCRATCH] = scratch;
  new->recipe.scratch_bytes = scratch ? scratch->bytes : 0;
  for (size_t i = ORIGIN_A; i < CVY_COUNT(operands); i++)
    if (operands[i].memory) new->pieces[i] = arrays_find(&device->arrays, operands[i].id)->piece;
  device->recording = new;
}

bool recording_end(cvy_device *device) {
  const recording *ended = device->recording;
  device->recording = NULL;
  return !ended->spoilt;
}

void recording_spoil(cvy_device *device) {
  if (device->recording) device->recording->spoilt = true;
}

void recording_form(cvy_device *device, uint64_t id, const derived_form *form, int64_t bytes,
                    const arena_piece *piece, bool fresh) {
  recording *on = device->recording;
  if (!on) return;
  if (id != on->b || on->pieces[ORIGIN_FORM]) on->spoilt = true;
  on->pieces[ORIGIN_FORM] = piece;
  on->recipe.form = *form;
  on->recipe.form_bytes = bytes;
  on->recipe.makes_form = fresh;
}

static bool is_inside(const arena_piece *piece, span at) {
  const int64_t byte = at.at * (int64_t)sizeof(float);
  return piece && piece->memory == at.memory && byte >= piece->at &&
         byte < piece->at + piece->bytes;
}

/* One array in two roles could be either. */
static recipe_array array_of(recording *on, span at) {
  recipe_array found = {0};
  if (!at.memory) return found;
  for (int32_t i = ORIGIN_A; i < ORIGINS; i++) {
    if (!is_inside(on->pieces[i], at)) continue;
    if (found.origin) on->spoilt = true;
    found = (recipe_array){i, at.at - span_of(on->pieces[i]).at};
  }
  if (!found.origin) on->spoilt = true;
  return found;
}

void recording_launch(cvy_device *device, const launch *what, program_kernel *kernel,
                      const conv_args *args, const bindings *arrays) {
  recording *on = device->recording;
  if (!on || on->spoilt) return;
  if (on->recipe.count == RECIPE_LAUNCHES) {
    on->spoilt = true;
    return;
  }
  on->launches[on->recipe.count++] = (recipe_launch){.what = *what,
                                                     .kernel = kernel,
                                                     .args = *args,
                                                     .a = array_of(on, arrays->a),
                                                     .b = array_of(on, arrays->b),
                                                     .bias = array_of(on, arrays->bias),
                                                     .out = array_of(on, arrays->out)};
  on->launches[on->recipe.count - 1].what.options = NULL; /* the caller's text */
}
