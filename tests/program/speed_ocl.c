/* How long a device takes for batch norm with SiLU, both ways, over the maps of YOLOv8n: the
 * generated kernels back to back, the best of some rounds, each pass alone and all of them. Run by
 * hand:
 *
 *   CONVOY_TEST_PLATFORM=NVIDIA speed_program_ocl [BATCH [ROUNDS]] */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cl/sources.h"
#include "common/now.h"
#include "ocl/program_kernel.h"
#include "ocl/reduce_kernel.h"
#include "program/cl_device.h"
#include "program/passes.h"

enum { SOURCE = 1 << 16, MOST_PROGRAMS = 64, MOST_LAUNCHES = 2 * TEST_PASSES * TEST_MAPS };

typedef struct program {
  char *source;
  char options[64];
  cl_program built;
} program;

typedef struct kernel_launch {
  cl_kernel kernel;
  size_t items, group; /* group 0: the driver's choice */
  int pass, times;
} kernel_launch;

static test_cl cl;
static cl_mem arrays[TEST_ARRAYS], partial;
static program programs[MOST_PROGRAMS];
static kernel_launch launches[MOST_LAUNCHES];
static int program_count, launch_count;

/* Compiled once for each source and options. */
static cl_program program_of(const char *source, const char *options) {
  for (int i = 0; i < program_count; i++) {
    if (!strcmp(programs[i].source, source) && !strcmp(programs[i].options, options))
      return programs[i].built;
  }
  const char *const sources[] = {cvy_cl_program_words,
                                 cvy_cl_program_functions,
                                 cvy_cl_program_random,
                                 cvy_cl_program_arrays,
                                 cvy_cl_reduce_functions,
                                 cvy_cl_program_reduce,
                                 source};
  program *added = &programs[program_count++];
  if (program_count > MOST_PROGRAMS) exit(EXIT_FAILURE);
  added->source = strdup(source);
  snprintf(added->options, sizeof added->options, "%s", options);
  added->built = test_cl_build(&cl, sources, CVY_COUNT(sources), options);
  return added->built;
}

static void add_launch(cl_program built, const char *name, const cvy_kernel_block *block,
                       const cl_mem *memories, int count, int64_t items, int32_t group,
                       const kernel_launch *like) {
  char bytes[CVY_BLOCK_ARGUMENTS];
  cl_int status;
  kernel_launch *launch = &launches[launch_count++];
  *launch = *like;
  launch->kernel = clCreateKernel(built, name, &status);
  test_cl_check(status, name);
  launch->items = (size_t)(items + 255) / 256 * 256;
  launch->group = (size_t)group;
  if (group) launch->items = (size_t)(items + group - 1) / (size_t)group * (size_t)group;
  clSetKernelArg(launch->kernel, 0, cvy_block_bytes(block, bytes), bytes);
  for (int i = 0; i < count; i++)
    test_cl_check(clSetKernelArg(launch->kernel, (cl_uint)i + 1, sizeof(cl_mem), &memories[i]),
                  "clSetKernelArg");
}

static void check(convoy_status status) {
  if (status == CONVOY_OK) return;
  fprintf(stderr, "%s\n", cvy_last_error());
  exit(EXIT_FAILURE);
}

static void add_pass(const test_pass *pass, const kernel_launch *like) {
  static char text[SOURCE];
  static const int64_t offsets[CVY_PROGRAM_INPUTS + CVY_PROGRAM_RESULTS];
  cl_mem memories[CVY_PROGRAM_INPUTS + CVY_PROGRAM_RESULTS + 1], *results;
  cvy_text source = cvy_text_in(text, sizeof text);
  for (int i = 0; i < pass->inputs; i++) memories[i] = arrays[pass->operand[i]];
  results = memories + pass->inputs;
  if (!pass->reduces) {
    cvy_program_launch launch;
    check(cvy_program_launch_of(&pass->program, offsets, &source, &launch));
    for (int k = 0; k < pass->results; k++) results[k] = arrays[pass->operand[pass->inputs + k]];
    add_launch(program_of(text, launch.options), "program", &launch.block, memories,
               pass->inputs + pass->results, launch.items, CVY_PROGRAM_GROUP, like);
    return;
  }
  cvy_reduce_launch launch;
  check(cvy_reduce_launch_of(&pass->reduction, offsets, &source, &launch));
  cl_program built = program_of(text, launch.options);
  if (launch.combined) *results++ = partial;
  for (int k = 0; k < pass->results; k++) results[k] = arrays[pass->operand[pass->inputs + k]];
  add_launch(built, "reduce", &launch.block, memories,
             pass->inputs + (launch.combined ? 1 : pass->results), launch.items, launch.group,
             like);
  if (launch.combined) {
    add_launch(built, "combine", &launch.block, results - 1, pass->results + 1, launch.combined,
               CVY_REDUCE_COMBINE, like);
  }
}

static void open_arrays(int batch) {
  for (int a = 0; a < TEST_ARRAYS; a++) {
    int64_t count = test_array_count((test_array)a, batch);
    float *values = malloc((size_t)count * 4);
    if (!values) exit(EXIT_FAILURE);
    for (int64_t i = 0; i < count; i++) values[i] = (float)(i * 7919 % 1009) / 512.0f + 0.01f;
    arrays[a] = test_cl_buffer(&cl, (size_t)count * 4, values);
    free(values);
  }
  partial = test_cl_buffer(&cl, (size_t)1 << 24, NULL);
}

/* Seconds of the launches of a pass, -1: of all. */
static double time_of(int pass, int *count) {
  double start = test_now();
  *count = 0;
  for (int i = 0; i < launch_count; i++) {
    const kernel_launch *l = &launches[i];
    if (pass >= 0 && l->pass != pass) continue;
    for (int t = 0; t < l->times; t++, ++*count) {
      test_cl_check(clEnqueueNDRangeKernel(cl.queue, l->kernel, 1, NULL, &l->items,
                                           l->group ? &l->group : NULL, 0, NULL, NULL),
                    "clEnqueueNDRangeKernel");
    }
  }
  test_cl_check(clFinish(cl.queue), "clFinish");
  return test_now() - start;
}

int main(int argc, char **argv) {
  int batch = argc > 1 ? atoi(argv[1]) : 16, rounds = argc > 2 ? atoi(argv[2]) : 9;
  double bytes[TEST_PASSES] = {0}, all = 0;
  if (!test_cl_open(&cl)) return EXIT_FAILURE;
  open_arrays(batch);
  for (int m = 0; m < TEST_MAPS; m++) {
    for (int p = 0; p < TEST_PASSES; p++) {
      test_pass pass;
      test_pass_of(&test_maps[m], batch, p, true, &pass);
      add_pass(&pass, &(kernel_launch){.pass = p, .times = test_maps[m].times});
      bytes[p] += test_maps[m].times * test_pass_bytes(&pass);
      all += test_maps[m].times * test_pass_bytes(&pass);
    }
  }
  printf("%s, batch %d, %d programs\n", cl.name, batch, program_count);
  for (int p = -1; p < TEST_PASSES; p++) {
    double best = 1e9;
    int count = 0;
    for (int round = 0; round < rounds; round++) {
      double took = time_of(p, &count);
      if (took < best) best = took;
    }
    printf("%-10s %8.3f ms, %6.0f GB/s, %d launches\n", p < 0 ? "all" : test_pass_names[p],
           best * 1e3, (p < 0 ? all : bytes[p]) * 1e-9 / best, count);
  }
  test_cl_close(&cl);
  return EXIT_SUCCESS;
}
