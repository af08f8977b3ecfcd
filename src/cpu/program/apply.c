/* The elements of an index space, shared out to threads. */
#include "cpu/program/apply.h"

#include "cpu/program/values.h"

enum {
  UNIT = 4096, /* elements that are worth a thread */
  SCRATCH = CVY_VALUES_SCRATCH + CVY_PROGRAM_RESULTS * CVY_VALUES_BLOCK /* floats of a thread */
};

typedef struct job {
  const cvy_program_call *call;
  cvy_program_values values;
  uint32_t scattered; /* bits of the results that are no piece of memory in a run */
} job;

int64_t cvy_program_apply_workspace(const cvy_program_problem *problem, int32_t threads) {
  (void)problem;
  return (int64_t)threads * SCRATCH * (int64_t)sizeof(float);
}

static void find_scattered(job *j) {
  const cvy_program_nest *nest = &j->values.nest;
  for (int k = 0; k < j->values.plan.results; k++) {
    const int64_t *stride = nest->result[k];
    bool direct = j->values.by_rows ? stride[nest->axes - 1] == 1 || nest->count == 1
                                    : cvy_program_in_one_piece(nest, stride);
    if (!direct) j->scattered |= 1u << k;
  }
}

static void run_one(const job *j, const cvy_program_cursor *first, int64_t count, float *scratch) {
  const cvy_program_nest *nest = &j->values.nest;
  float *result[CVY_PROGRAM_RESULTS];
  for (int k = 0; k < j->values.plan.results; k++) {
    result[k] = (j->scattered >> k & 1)
                    ? scratch + CVY_VALUES_SCRATCH + (int64_t)k * CVY_VALUES_BLOCK
                    : j->call->out[k] + cvy_program_nest_offset(nest, nest->result[k], first);
  }
  cvy_program_values_run(&j->values, first, count, result, scratch);
  for (int k = 0; k < j->values.plan.results; k++) {
    if (j->scattered >> k & 1)
      cvy_program_scatter(nest, nest->result[k], j->call->out[k], first, count, result[k]);
  }
}

static void run_units(void *arg, int64_t begin, int64_t end, int32_t slot) {
  const job *j = arg;
  float *scratch = (float *)j->call->workspace + (int64_t)slot * SCRATCH;
  int64_t last = end * UNIT < j->values.nest.count ? end * UNIT : j->values.nest.count;
  cvy_program_cursor at = cvy_program_nest_at(&j->values.nest, begin * UNIT);
  while (at.number < last) {
    int64_t count = cvy_program_values_length(&j->values, &at, last - at.number);
    if (j->scattered && count > CVY_VALUES_BLOCK) count = CVY_VALUES_BLOCK;
    run_one(j, &at, count, scratch);
    cvy_program_nest_go_on(&j->values.nest, &at, count);
  }
}

void cvy_program_apply_arrays(const cvy_program_call *call) {
  cvy_program_nest nest;
  job j = {.call = call};
  if (cvy_program_count(call->problem->extent) == 0) return;
  cvy_program_nest_of(call->problem, call->problem->program.results, 0, &nest);
  cvy_program_values_open(call->problem, &nest, call->in, call->simd, &j.values);
  find_scattered(&j);
  cvy_parallel_for(call->threads, (nest.count + UNIT - 1) / UNIT, run_units, &j);
}
