/* Times a training step of a table's convolutions on both sides turn about. */
#include "overhead/step.h"

#include <stdlib.h>

#include "common/clock.h"
#include "common/interrupt.h"

enum { DIRECTIONS = 3 }; /* forward and the gradients of data and weights */

/* ----------------------------------------------------------------------------- a step */

typedef convoy_status step_fn(const overhead_step *step, int side);

static convoy_status run_resident(const overhead_step *step, int side) {
  convoy_context *context = step->on->context[side];
  for (int i = 0; i < step->parts; i++) {
    overhead_part *part = &step->part[i];
    for (int64_t n = 0; n < part->count; n++) {
      convoy_status status = call_tensors(context, &part->about, &part->resident[side], NULL);
      if (status != CONVOY_OK) return status;
    }
  }
  return convoy_sync(context);
}

static convoy_status run_host(const overhead_step *step, int side) {
  convoy_context *context = step->on->context[side];
  for (int i = 0; i < step->parts; i++) {
    overhead_part *part = &step->part[i];
    for (int64_t n = 0; n < part->count; n++) {
      convoy_status status = call_host(context, &part->about, &part->data, 0.0f, NULL, NULL);
      if (status != CONVOY_OK) return status;
    }
  }
  return CONVOY_OK;
}

static convoy_status timed(step_fn *run, const overhead_step *step, int side, double *seconds) {
  interrupt_reaches(step->on->context[side]);
  double start = seconds_now();
  convoy_status status = run(step, side);
  *seconds = seconds_now() - start;
  interrupt_reaches(NULL);
  return interrupt_check(status);
}

/* Which side begins alternates, so that a drift of the device's clock favours neither. */
static convoy_status time_pair(step_fn *run, const overhead_step *step, int number,
                               double seconds[SIDES]) {
  convoy_status status = CONVOY_OK;
  for (int turn = 0; turn < SIDES && status == CONVOY_OK; turn++) {
    int side = (number + turn) % SIDES;
    status = timed(run, step, side, &seconds[side]);
  }
  return status;
}

/* After a signal the pairs that there are count. */
static convoy_status measure(step_fn *run, const overhead_step *step, int samples, paired *out) {
  double seconds[SIDES][OVERHEAD_SAMPLES_MOST], ratio[OVERHEAD_SAMPLES_MOST], pair[SIDES];
  convoy_status status = CONVOY_OK;
  int count = 0;
  while (count < samples && (status = time_pair(run, step, count, pair)) == CONVOY_OK) {
    for (int side = 0; side < SIDES; side++) seconds[side][count] = pair[side];
    ratio[count++] = pair[SIDE_PROCESS] / pair[SIDE_NONE];
  }
  if (status != CONVOY_OK && !(status == CONVOY_ERR_INTERRUPTED && count > 0)) return status;
  for (int side = 0; side < SIDES; side++) out->side[side] = stats_of(seconds[side], count);
  out->ratio = stats_of(ratio, count);
  return CONVOY_OK;
}

convoy_status overhead_resident(const overhead_step *step, int samples, paired *out) {
  return measure(run_resident, step, samples, out);
}

static convoy_status verify_seconds(const overhead_step *step, double *out) {
  convoy_health health = {.struct_size = sizeof health};
  convoy_status status = convoy_get_health(step->on->context[SIDE_PROCESS], &health);
  *out = 1e-9 * (double)health.verify_nanoseconds;
  return status;
}

convoy_status overhead_host(const overhead_step *step, int samples, paired *out, double *verified) {
  double before, after;
  convoy_status status = verify_seconds(step, &before);
  if (status == CONVOY_OK) status = measure(run_host, step, samples, out);
  if (status == CONVOY_OK) status = verify_seconds(step, &after);
  if (status != CONVOY_OK) return status;
  *verified = (after - before) / (out->side[SIDE_PROCESS].median * out->ratio.count);
  return CONVOY_OK;
}

/* ----------------------------------------------------------------------------- making */

static convoy_status make_part(const sides *on, const layer *from, int direction,
                               overhead_part *out) {
  out->about = from->shape;
  out->about.direction = (convoy_direction)direction;
  out->count = from->count;
  if (!operands_make(&out->about, fill_real, false, &out->data)) return CONVOY_ERR_MEMORY;
  convoy_status status = CONVOY_OK;
  for (int side = 0; side < SIDES && status == CONVOY_OK; side++)
    status = tensors_make(on->context[side], &out->about, &out->data, &out->resident[side]);
  return status;
}

static convoy_status run_once(const overhead_step *step) {
  convoy_status status = CONVOY_OK;
  for (int side = 0; side < SIDES && status == CONVOY_OK; side++) {
    status = run_resident(step, side);
    if (status == CONVOY_OK) status = run_host(step, side);
  }
  return status;
}

convoy_status overhead_step_make(const sides *on, const layer_table *table, overhead_step *out) {
  *out = (overhead_step){.on = on};
  out->part = calloc((size_t)(table->count * DIRECTIONS), sizeof *out->part);
  if (!out->part) return CONVOY_ERR_MEMORY;
  convoy_status status = CONVOY_OK;
  for (int i = 0; i < table->count * DIRECTIONS && status == CONVOY_OK; i++) {
    status =
        make_part(on, &table->layers[i / DIRECTIONS], i % DIRECTIONS, &out->part[out->parts++]);
  }
  if (status == CONVOY_OK) status = run_once(out);
  if (status != CONVOY_OK) overhead_step_free(out);
  return status;
}

void overhead_step_free(overhead_step *step) {
  for (int i = 0; i < step->parts; i++) {
    operands_free(&step->part[i].data);
    for (int side = 0; side < SIDES; side++) tensors_free(&step->part[i].resident[side]);
  }
  free(step->part);
  *step = (overhead_step){0};
}
