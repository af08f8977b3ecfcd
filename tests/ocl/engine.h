/* What the tests of the OpenCL engine share: the module, one of its devices, and running one
 * problem on it. CONVOY_TEST_PLATFORM in the environment is a part of the platform's name; without
 * it the platform is PoCL's. */
#ifndef TEST_OCL_ENGINE_H
#define TEST_OCL_ENGINE_H

#include "common/commands.h"

typedef struct test_engine {
  void *library;
  const cvy_module *module;
  const cvy_backend *backend;
  cvy_device *device;
  uint64_t last_id;
} test_engine;

/* 0, or 77 with a line on stderr when there is no such platform or no module. */
int test_engine_open(test_engine *engine, int64_t workspace_limit);
/* The same with a limit in seconds for waiting for another process's compiler. */
int test_engine_open_waiting(test_engine *engine, int64_t workspace_limit, double build_wait);
void test_engine_close(test_engine *engine);

/* Whether an algorithm takes the problem on this device. */
bool test_engine_takes(const test_engine *engine, const cvy_algorithm *row,
                       const cvy_problem *problem);

/* Values between -1 and 1 that differ from neighbour to neighbour, malloc'ed. NULL: no memory. */
float *test_engine_values(int64_t count, int seed);
/* A new device array of these bytes; 0, the array that is absent, if there are none. */
uint64_t test_engine_bytes(test_engine *engine, const void *bytes, int64_t count);
/* The same of floats. */
uint64_t test_engine_array(test_engine *engine, const float *values, int64_t count);

/* Runs a job with host arrays: allocates, writes, runs, reads `out`, releases. */
convoy_status test_engine_run(test_engine *engine, const cvy_problem *problem, int32_t algorithm,
                              const cvy_params *params, const float *a, const float *b,
                              const float *bias, float *out);
/* The same with as many inputs as the problem has. */
convoy_status test_engine_run_all(test_engine *engine, const cvy_problem *problem,
                                  int32_t algorithm, const cvy_params *params,
                                  const float *const *in, float *out);

#endif
