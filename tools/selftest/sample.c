/* Makes data and exact values, and calls in every way. */
#include "selftest/sample.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A slope of 1/2 keeps whole numbers exact. */
static const convoy_epilogue leaky = {sizeof leaky, CONVOY_LEAKY_RELU, 0.5f, 0};

static convoy_status run_plain(convoy_context *context, sample *what, convoy_run *run) {
  operands data = what->data;
  data.bias = NULL;
  operands_poison(&data);
  return call_host(context, &what->shape, &data, 0.0f, NULL, run);
}

static convoy_status run_full(convoy_context *context, sample *what, convoy_run *run) {
  bool forward = what->shape.direction == CONVOY_FORWARD;
  memcpy(what->data.out, what->old, (size_t)what->data.out_count * sizeof(float));
  return call_host(context, &what->shape, &what->data, forward ? 0.0f : 1.0f,
                   forward ? &leaky : NULL, run);
}

static convoy_status run_tensors(convoy_context *context, sample *what, convoy_run *run) {
  tensors resident;
  convoy_status status = tensors_make(context, &what->shape, &what->data, &resident);
  if (status != CONVOY_OK) return status;
  status = call_tensors(context, &what->shape, &resident, run);
  operands_poison(&what->data);
  if (status == CONVOY_OK)
    status = convoy_tensor_read(resident.out, what->data.out, what->data.out_count);
  tensors_free(&resident);
  return status;
}

const sample_way sample_ways[SAMPLE_WAYS] = {
    {"host memory", run_plain, false},
    {"host memory with bias or beta", run_full, true},
    {"tensors", run_tensors, false},
};

static float *copy_of(const float *values, int64_t count) {
  float *out = malloc((size_t)count * sizeof *out);
  if (out) memcpy(out, values, (size_t)count * sizeof *out);
  return out;
}

/* Turns the plain values into those of the full form. */
static void complete(sample *what) {
  int64_t volume = 1;
  for (int i = 0; i < what->shape.conv.rank; i++) volume *= what->shape.y_shape[2 + i];
  for (int64_t i = 0; i < what->full.count; i++) {
    reference_point *point = &what->full.points[i];
    if (what->shape.direction == CONVOY_FORWARD) {
      int64_t channel = point->index / volume % what->shape.y_shape[1];
      point->value += (double)what->data.bias[channel];
      if (point->value < 0.0) point->value *= (double)leaky.slope;
    } else {
      point->value += (double)what->old[point->index];
    }
  }
}

void sample_free(sample *what) {
  free(what->old);
  reference_free(&what->plain);
  reference_free(&what->full);
  operands_free(&what->data);
}

bool sample_make(sample *what) {
  bool forward = what->shape.direction == CONVOY_FORWARD;
  if (!operands_make(&what->shape, fill_integer, forward, &what->data)) return false;
  int64_t all = what->data.out_count;
  what->old = copy_of(what->data.out, all);
  if (!what->old || !reference_make(&what->shape, &what->data, all, &what->plain) ||
      !reference_make(&what->shape, &what->data, all, &what->full)) {
    sample_free(what);
    return false;
  }
  complete(what);
  return true;
}

static bool compare(const sample *what, const reference *exact, const convoy_plan *plan,
                    verdict *result) {
  if (plan->error_growth > 0)
    return reference_compare_promised(&what->shape, &what->data, exact, plan, result);
  *result = reference_compare(exact, what->data.out, what->data.out_count, 0.0);
  return true;
}

outcome sample_check(sample *what, const device *where, const convoy_plan *plan, int way) {
  outcome out = {.why = "the device was lost before"};
  if (!where->context) return out;
  const sample_way *how = &sample_ways[way];
  convoy_run run = CONVOY_RUN_INIT;
  out.status = how->run(where->context, what, &run);
  if (out.status != CONVOY_OK) {
    snprintf(out.why, sizeof out.why, "%s", convoy_last_error());
    return out;
  }
  if (!call_as_asked(&run, where->info.id, plan->algorithm, out.why, sizeof out.why)) return out;
  verdict result;
  if (!compare(what, how->full ? &what->full : &what->plain, plan, &result)) {
    snprintf(out.why, sizeof out.why, "out of memory");
    return out;
  }
  snprintf(out.why, sizeof out.why, "%lld of %lld elements wrong; [%lld] = %.9g, not %.9g",
           (long long)result.wrong, (long long)what->data.out_count, (long long)result.index,
           result.got, result.expected);
  out.good = verdict_good(&result);
  return out;
}
