/* Loads the module as the worker does and runs problems on one of its devices. */
#include "engine.h"
#include "problem/conv/conv.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_DEVICES 16

static int skip(const char *why, const char *detail) {
  fprintf(stderr, "skipped: %s %s\n", why, detail);
  return 77;
}

static int32_t find_device(const cvy_backend *backend, const cvy_open_options *options,
                           const char *platform) {
  cvy_facts facts[MOST_DEVICES];
  int32_t count = 0;
  if (backend->list(options, facts, MOST_DEVICES, &count)) return -1;
  for (int32_t i = 0; i < count && i < MOST_DEVICES; i++)
    if (strstr(facts[i].info.platform, platform)) return i;
  return -1;
}

int test_engine_open(test_engine *engine, int64_t workspace_limit) {
  return test_engine_open_waiting(engine, workspace_limit, 0);
}

int test_engine_open_waiting(test_engine *engine, int64_t workspace_limit, double build_wait) {
  *engine = (test_engine){0};
  const char *platform = getenv("CONVOY_TEST_PLATFORM");
  if (!platform) platform = "Portable Computing Language";
  char path[4096];
  const char *folder = getenv("CONVOY_LIBEXEC");
  snprintf(path, sizeof path, "%s/convoy-ocl.so", folder ? folder : ".");
  engine->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!engine->library) return skip("no module:", dlerror());
  cvy_module_entry_fn *entry = NULL;
  *(void **)&entry = dlsym(engine->library, "cvy_module_entry");
  if (!entry) return 1;
  engine->module = entry();
  engine->backend = engine->module->engine;
  cvy_open_options options = {.workspace_limit = workspace_limit, .build_wait = build_wait};
  int32_t index = find_device(engine->backend, &options, platform);
  if (index < 0) return skip("no OpenCL platform", platform);
  if (engine->backend->open(index, &options, &engine->device)) {
    fprintf(stderr, "%s\n", engine->module->last_error());
    return 1;
  }
  return 0;
}

/* The module stays loaded: drivers do not like to be unloaded. */
void test_engine_close(test_engine *engine) {
  if (engine->device) engine->backend->close(engine->device);
  engine->device = NULL;
}

bool test_engine_takes(const test_engine *engine, const cvy_algorithm *row,
                       const cvy_problem *problem) {
  char reason[192];
  cvy_text text = cvy_text_in(reason, sizeof reason);
  return cvy_algorithm_does(row, problem) &&
         (!row->accepts || row->accepts(problem, engine->backend->facts(engine->device), &text));
}

float *test_engine_values(int64_t count, int seed) {
  float *out = malloc((size_t)count * sizeof *out);
  for (int64_t i = 0; out && i < count; i++)
    out[i] = (float)(((i + seed) * 7919 + 13) % 1009 - 504) / 512.0f;
  return out;
}

uint64_t test_engine_bytes(test_engine *engine, const void *bytes, int64_t count) {
  if (count == 0) return 0;
  uint64_t id = ++engine->last_id;
  command_allocate(engine->backend, engine->device, id, count, NULL);
  command_write(engine->backend, engine->device, id, bytes, count);
  return id;
}

uint64_t test_engine_array(test_engine *engine, const float *values, int64_t count) {
  return test_engine_bytes(engine, values, count * (int64_t)sizeof(float));
}

convoy_status test_engine_run_all(test_engine *engine, const cvy_problem *problem,
                                  int32_t algorithm, const cvy_params *params,
                                  const float *const *in, float *out) {
  int64_t bytes = cvy_problem_output_bytes(problem, 0);
  cvy_job job = {.problem = *problem, .algorithm = algorithm, .params = *params};
  for (int32_t i = 0; i < cvy_problem_inputs(problem); i++)
    job.in[i].id = test_engine_bytes(engine, in[i], cvy_problem_input_bytes(problem, i));
  job.out[0].id = test_engine_bytes(engine, out, bytes);
  uint64_t ticket = 0, fault = 0;
  convoy_status status = command_run(engine->backend, engine->device, &job, &ticket);
  if (!status) status = engine->backend->wait(engine->device, ticket, NULL, &fault);
  if (!status) status = command_read(engine->backend, engine->device, job.out[0].id, out, bytes);
  for (int32_t i = 0; i < CVY_MAX_INPUTS; i++)
    if (job.in[i].id) command_release(engine->backend, engine->device, job.in[i].id);
  command_release(engine->backend, engine->device, job.out[0].id);
  return status;
}

convoy_status test_engine_run(test_engine *engine, const cvy_problem *problem, int32_t algorithm,
                              const cvy_params *params, const float *a, const float *b,
                              const float *bias, float *out) {
  const float *const in[] = {a, b, bias};
  return test_engine_run_all(engine, problem, algorithm, params, in, out);
}
