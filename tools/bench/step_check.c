#include "bench/step_check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Programs are the same to the bit everywhere; sums and convolutions are added up in other orders,
 * and each layer hands on, and enlarges, what that moves. In gradients a ReLU whose input is moved
 * across zero opens or closes a gate, which counts for much in a small map. */
typedef enum { MADE, STATISTIC, PARAMETER, VELOCITY, PARTS } compared_kind;
static const double bounds[PARTS] = {
    [MADE] = 1e-3, [STATISTIC] = 1e-3, [PARAMETER] = 0.1, [VELOCITY] = 0.1};

/* What is 0 but for rounding, as the gradient of a shift which the next batch norm takes away, or
 * the mean of what a batch norm has centred, is measured by this part of the largest of its kind.
 */
static const double least = 1e-3;

/* -------------------------------------------------------------------------------- what is compared
 */

typedef struct place {
  convoy_tensor *tensor;
  compared_kind of;
  const char *name;
} place;

/* The i-th; false past the end. The sum of maps times their gradients cancels, and is left out: the
 * maps are there. */
static bool place_at(const bench_step *step, int i, place *out) {
  const struct net_step *of = &step->step;
  for (int k = 0; k < NET_OUTPUTS; k++)
    if (of->outputs[k] && i-- == 0) return *out = (place){of->outputs[k], MADE, "its output"}, true;
  if (of->labels && i-- == 0) return *out = (place){of->loss, MADE, "the loss"}, true;
  if (i >= 2 * step->net.count) return false;
  const struct net_parameter *parameter = &step->net.parameters[i / 2];
  compared_kind value = parameter->trained ? PARAMETER : STATISTIC;
  *out = i % 2 ? (place){parameter->velocity, VELOCITY, parameter->name}
               : (place){parameter->value, value, parameter->name};
  return true;
}

static convoy_status read(convoy_tensor *tensor, float **values, int64_t *count) {
  int64_t shape[CONVOY_MAX_DIMS];
  int32_t dims;
  *count = 1;
  convoy_status status = convoy_tensor_shape(tensor, shape, &dims);
  for (int32_t d = 0; d < dims && !status; d++) *count *= shape[d];
  float *room = status ? NULL : malloc((size_t)*count * sizeof *room + 1);
  if (!room) return status ? status : CONVOY_ERR_MEMORY;
  status = convoy_tensor_read(tensor, room, *count);
  if (status)
    free(room);
  else
    *values = room;
  return status;
}

/* --------------------------------------------------------------------------------- the reference
 */

static double norm_of(const float *a, const float *b, int64_t count) {
  double sum = 0.0;
  for (int64_t i = 0; i < count; i++) {
    double apart = (double)a[i] - (b ? (double)b[i] : 0.0);
    sum += apart * apart;
  }
  return sqrt(sum);
}

static void find_scales(const bench_step *step, step_reference *out) {
  place at;
  double largest[PARTS] = {0.0};
  float rate = 0.0f;
  convoy_tensor_read(step->net.rate, &rate, 1);
  for (int i = 0; place_at(step, i, &at); i++) {
    step_array *one = &out->array[i];
    one->scale = norm_of(one->value, NULL, one->count);
    largest[at.of] = fmax(largest[at.of], one->scale);
  }
  largest[PARAMETER] = (double)rate * largest[VELOCITY];
  for (int i = 0; place_at(step, i, &at); i++)
    out->array[i].scale = fmax(out->array[i].scale, least * largest[at.of]);
}

convoy_status step_reference_make(const bench_step *step, step_reference *out) {
  place at;
  int count = 0;
  convoy_status status = CONVOY_OK;
  while (place_at(step, count, &at)) count++;
  *out = (step_reference){count, calloc((size_t)count + 1, sizeof *out->array)};
  if (!out->array) return CONVOY_ERR_MEMORY;
  for (int i = 0; place_at(step, i, &at) && !status; i++)
    if (at.tensor) status = read(at.tensor, &out->array[i].value, &out->array[i].count);
  if (status)
    step_reference_free(out);
  else
    find_scales(step, out);
  return status;
}

void step_reference_free(step_reference *reference) {
  for (int i = 0; i < reference->count; i++) free(reference->array[i].value);
  free(reference->array);
  *reference = (step_reference){0, NULL};
}

/* ------------------------------------------------------------------------------------ comparing */

static convoy_status distance_of(const step_array *wanted, convoy_tensor *tensor, double *out) {
  float *values;
  int64_t count;
  convoy_status status = read(tensor, &values, &count);
  if (status) return status;
  double apart = norm_of(values, wanted->value, count);
  *out = apart > 0.0 ? apart / wanted->scale : apart; /* nothing may be all that there is */
  free(values);
  return CONVOY_OK;
}

convoy_status step_compare(const step_reference *reference, const bench_step *step,
                           step_verdict *out) {
  place at;
  convoy_status status = CONVOY_OK;
  *out = (step_verdict){.share = -1.0};
  for (int i = 0; place_at(step, i, &at) && !status; i++) {
    double distance = 0.0, bound = bounds[at.of];
    if (!at.tensor) continue;
    status = distance_of(&reference->array[i], at.tensor, &distance);
    if (status || distance / bound <= out->share || isnan(out->share)) continue;
    *out = (step_verdict){distance, bound, distance / bound, ""}; /* a NaN, too */
    const char *prefix = at.of == VELOCITY ? "the gradient of " : "";
    snprintf(out->of, sizeof out->of, "%s%s", prefix, at.name);
  }
  return status;
}
