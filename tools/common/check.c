/* Picks elements, and compares them with their exact values. */
#include "common/check.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ref/ref.h"

/* Bit d of the number of a corner chooses the first or last position along extent d. Corner 0 is
 * the first element, the last corner is the last one. */
static int64_t corner_index(const int64_t *shape, int dims, int corner) {
  int64_t index = 0;
  for (int d = 0; d < dims; d++) index = index * shape[d] + ((corner >> d) & 1 ? shape[d] - 1 : 0);
  return index;
}

static int64_t random_index(int64_t number, int64_t count) {
  uint64_t mixed = ((uint64_t)number + 1) * UINT64_C(0x9E3779B97F4A7C15);
  return (int64_t)((mixed ^ (mixed >> 29)) % (uint64_t)count);
}

static int64_t pick(const int64_t *shape, int dims, int64_t number, int64_t total) {
  if (number < (INT64_C(1) << dims)) return corner_index(shape, dims, (int)number);
  return random_index(number, total);
}

/* One element of a weight's gradient may sum millions of products, so threads share the points. */
typedef struct crew {
  const problem *about;
  const operands *data;
  reference *values;
  atomic_llong next;
} crew;

static void *fill_points(void *arg) {
  crew *work = arg;
  const problem *about = work->about;
  for (;;) {
    int64_t i = atomic_fetch_add(&work->next, 1);
    if (i >= work->values->count) return NULL;
    reference_point *point = &work->values->points[i];
    ref_element(&about->conv, about->direction, about->x_shape, about->w_shape, work->data->a,
                work->data->b, point->index, &point->value, &point->magnitude, &point->terms);
  }
}

static void fill_all(const problem *about, const operands *data, reference *values) {
  enum { MOST = 32 };
  crew work = {.about = about, .data = data, .values = values};
  long cores = sysconf(_SC_NPROCESSORS_ONLN);
  pthread_t thread[MOST];
  int started = 0;
  while (started < MOST && started + 1 < cores &&
         pthread_create(&thread[started], NULL, fill_points, &work) == 0)
    started++;
  fill_points(&work);
  for (int i = 0; i < started; i++) pthread_join(thread[i], NULL);
}

bool reference_make(const problem *about, const operands *data, int64_t most, reference *out) {
  int64_t shape[CONVOY_MAX_DIMS];
  int dims = array_shape(about, direction_roles[about->direction].out, shape);
  int64_t total = data->out_count;
  out->count = total < most ? total : most;
  out->points = malloc((size_t)(out->count ? out->count : 1) * sizeof *out->points);
  if (!out->points) return false;
  for (int64_t i = 0; i < out->count; i++)
    out->points[i].index = total <= most ? i : pick(shape, dims, i, total);
  fill_all(about, data, out);
  return true;
}

void reference_free(reference *values) {
  free(values->points);
  *values = (reference){0, NULL};
}

static int64_t count_not_finite(const float *values, int64_t count) {
  int64_t bad = 0;
  for (int64_t i = 0; i < count; i++) bad += !isfinite(values[i]);
  return bad;
}

/* A NaN is the worst error there is, and stays it. */
static void compare_point(const reference_point *point, double got, double factor, verdict *out) {
  double error = fabs(got - point->value);
  double bound = factor * (double)(point->terms + 2) * 0x1p-24 * point->magnitude;
  if (!(error <= bound)) out->wrong++;
  if (bound > 0.0 && !(error / bound <= out->share)) out->share = error / bound;
  if (out->index >= 0 && (isnan(out->error) || error <= out->error)) return;
  out->error = error;
  out->index = point->index;
  out->got = got;
  out->expected = point->value;
}

verdict reference_compare(const reference *values, const float *out, int64_t out_count,
                          double factor) {
  verdict result = {.index = -1};
  for (int64_t i = 0; i < values->count; i++) {
    const reference_point *point = &values->points[i];
    compare_point(point, (double)out[point->index], factor, &result);
  }
  result.not_finite = count_not_finite(out, out_count);
  return result;
}

/* convoy.h says under Accuracy: |y - exact| <= 4 (terms + 2) 2^-24 sum|a||b|, and more for some
 * rows. */
static const double promised_factor = 4.0;

bool reference_compare_promised(const problem *about, const operands *data, const reference *values,
                                const convoy_plan *plan, verdict *result) {
  if (!(plan->error_growth > 0)) {
    *result = reference_compare(values, data->out, data->out_count, promised_factor);
    return true;
  }
  reference wide = {values->count, malloc((size_t)(values->count + 1) * sizeof *wide.points)};
  if (!wide.points) return false;
  memcpy(wide.points, values->points, (size_t)values->count * sizeof *wide.points);
  for (int64_t i = 0; i < wide.count; i++) {
    reference_point *point = &wide.points[i];
    point->magnitude +=
        plan->error_growth * ref_wide_magnitude(&about->conv, about->direction, about->x_shape,
                                                about->w_shape, data->a, data->b, point->index,
                                                plan->error_reach);
  }
  *result = reference_compare(&wide, data->out, data->out_count, promised_factor);
  reference_free(&wide);
  return true;
}

bool verdict_good(const verdict *result) {
  return result->wrong == 0 && result->not_finite == 0;
}
