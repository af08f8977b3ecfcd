/* Running a candidate: on the device by core/exec/launch.c, on the CPU engine straight on host
 * memory. */
#include "core/tune/tunebench.h"

#include <math.h>
#include <string.h>

#include "core/exec/device.h"
#include "core/exec/launch.h"
#include "core/exec/values.h"
#include "os/os.h"

/* By their definition: enough that an engine that is its own reference cannot err unseen. */
enum { SAMPLES = 64 };
#define SAMPLE_TERMS 1e7

/* -------------------------------------------------------------------------------- operands */

/* Values in (-1, 1), never 0: a product that is left out shows. */
static void fill(float *values, int64_t count, uint32_t seed) {
  uint32_t state = seed;
  for (int64_t i = 0; i < count; i++) {
    state = state * 1664525u + 1013904223u;
    int32_t odd = (int32_t)(state >> 9) * 2 + 1;
    values[i] = (float)(odd - (1 << 23)) * 0x1p-23f;
  }
}

static convoy_status new_store(convoy_context *context, int64_t bytes, uint32_t seed,
                               cvy_store **out) {
  float *values;
  *out = cvy_store_new(context, bytes);
  if (!*out) return CONVOY_ERR_MEMORY;
  convoy_status status = cvy_values_new(*out, &values);
  if (status) return status;
  fill(values, bytes / (int64_t)sizeof(float), seed);
  cvy_store_publish(*out, values);
  return CONVOY_OK;
}

/* The node refers to its inputs from then on. */
static convoy_status make_node(convoy_context *context, const cvy_problem *problem,
                               cvy_node **out) {
  cvy_store *in[CVY_MOST_READ] = {NULL};
  convoy_status status = CONVOY_OK;
  for (int32_t i = 0; i < cvy_problem_reads(problem) && !status; i++)
    status = new_store(context, cvy_problem_input_bytes(problem, i), 1u + (uint32_t)i, &in[i]);
  if (!status) *out = cvy_node_new(problem, in);
  if (!status && !*out) status = CONVOY_ERR_MEMORY;
  for (int32_t i = 0; i < CVY_MOST_READ; i++) cvy_store_drop(in[i]);
  return status;
}

convoy_status cvy_bench_open(convoy_context *context, const cvy_problem *problem, cvy_bench *out) {
  *out = (cvy_bench){.context = context, .engine = cvy_context_engine(context)};
  cvy_values from = {{NULL}};
  convoy_status status = make_node(context, problem, &out->node);
  for (int32_t i = 0; i < cvy_problem_outputs(problem) && !status; i++)
    status = new_store(context, cvy_problem_output_bytes(problem, i), 0, &out->result[i]);
  if (status) return status;
  for (int32_t i = 0; i < out->node->inputs; i++) from.in[i] = out->node->input[i]->host;
  return cvy_expect(&context->chooser, &context->cpu, problem, &from, &out->expected);
}

void cvy_bench_close(cvy_bench *bench) {
  cvy_expected_free(&bench->expected);
  cvy_node_drop(bench->node);
  for (int32_t i = 0; i < CVY_MAX_OUTPUTS; i++) cvy_store_drop(bench->result[i]);
}

/* ---------------------------------------------------------------------------------- running */

static convoy_status check_interrupt(convoy_context *context) {
  if (!__atomic_exchange_n(&context->interrupt, 0, __ATOMIC_RELAXED)) return CONVOY_OK;
  return cvy_fail(CONVOY_ERR_INTERRUPTED, "convoy_interrupt() ended the tuning");
}

static convoy_status run_here(cvy_bench *bench, const cvy_choice *choice) {
  const cvy_engine *engine = bench->engine;
  const cvy_node *node = bench->node;
  cvy_job job;
  cvy_job_set(&job, &node->problem, choice->row, &choice->params);
  for (int32_t i = 0; i < cvy_problem_inputs(&node->problem); i++)
    job.in[i].host = node->input[i]->host;
  for (int32_t i = 0; i < node->outputs; i++) job.out[i].host = bench->result[i]->host;
  return engine->backend->execute(engine->device, &(cvy_command){CVY_RUN, .job = &job}, NULL, NULL);
}

/* Results that are looked at are filled with NaN before, so that what is not written shows. */
static convoy_status run_there(cvy_bench *bench, const cvy_choice *choice, bool looked_at) {
  cvy_store *out[CVY_MAX_OUTPUTS] = {NULL};
  convoy_status status = CONVOY_OK;
  for (int32_t i = 0; i < bench->node->outputs && !status; i++) {
    out[i] = cvy_store_new(bench->context, bench->result[i]->bytes);
    if (!out[i]) status = CONVOY_ERR_MEMORY;
  }
  bench->node->unproven = looked_at;
  if (!status) status = cvy_enqueue(bench->context, bench->node, choice, out);
  for (int32_t i = 0; i < bench->node->outputs && looked_at && !status; i++)
    status = cvy_read_back(out[i], bench->result[i]->host);
  for (int32_t i = 0; i < CVY_MAX_OUTPUTS; i++) cvy_store_drop(out[i]);
  return status;
}

static void poison(cvy_bench *bench) {
  for (int32_t o = 0; o < bench->node->outputs; o++) {
    float *values = bench->result[o]->host;
    int64_t count = bench->result[o]->bytes / (int64_t)sizeof(float);
    for (int64_t i = 0; i < count; i++) values[i] = NAN;
  }
}

/* Once; with a result that is looked at, into the bench's memory. */
static convoy_status run(cvy_bench *bench, const cvy_choice *choice, bool looked_at) {
  convoy_status status = check_interrupt(bench->context);
  if (status) return status;
  if (!bench->engine->backend->host_memory) return run_there(bench, choice, looked_at);
  if (looked_at) poison(bench);
  return run_here(bench, choice);
}

static bool samples_match(const cvy_bench *bench, const cvy_algorithm *row, int32_t output,
                          cvy_mismatch *found) {
  const cvy_problem *problem = &bench->node->problem;
  const cvy_store *result = bench->result[output];
  cvy_claim claim = {bench->expected.cpu, problem, bench->expected.from, output, result->host, row};
  cvy_samples samples = {.count = 0};
  cvy_array array = cvy_problem_output(problem, output);
  int64_t count = cvy_array_count(&array);
  double most = SAMPLE_TERMS / ((double)cvy_problem_terms(problem) + 1.0);
  cvy_sample_any(count, most < SAMPLES ? (int32_t)most + 1 : SAMPLES, 1, &samples);
  return cvy_check_samples(&claim, &samples, found);
}

convoy_status cvy_bench_check(cvy_bench *bench, const cvy_choice *choice, bool *right) {
  cvy_mismatch found;
  convoy_status status = run(bench, choice, true);
  if (status) return status;
  const cvy_algorithm *row = cvy_chosen(bench->engine, choice);
  *right = true;
  for (int32_t i = 0; i < bench->node->outputs && *right; i++)
    *right = cvy_expected_matches(&bench->expected, row, i, bench->result[i]->host, &found) &&
             samples_match(bench, row, i, &found);
  if (*right) return CONVOY_OK;
  cvy_log(CONVOY_LOG_WARNING, "%s is wrong: element %lld is %.9g, not %.9g", row->name,
          (long long)found.index, found.got, found.wanted);
  return CONVOY_OK;
}

convoy_status cvy_bench_time(cvy_bench *bench, const cvy_choice *choice, int batch,
                             double *seconds) {
  convoy_context *context = bench->context;
  double start = cvy_clock();
  convoy_status status = CONVOY_OK;
  for (int i = 0; i < batch && !status; i++) status = run(bench, choice, false);
  if (!status && !bench->engine->backend->host_memory) {
    status = cvy_await(context, context->last_ticket);
  }
  *seconds = (cvy_clock() - start) / batch;
  return status;
}
