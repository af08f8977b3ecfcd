/* The generated kernels of programs over arrays and of reductions: on a device every element has
 * the bits of the definition, whatever the classes, types, strides, extents and alignment, and
 * nothing else is written.
 *
 *   test_program_arrays_ocl [PROBLEMS [PER_PROGRAM [FIRST]]]
 *
 * On another device: CONVOY_TEST_PLATFORM=NVIDIA. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ocl/program_kernel.h"
#include "ocl/reduce_kernel.h"
#include "program/arrays.h"
#include "program/cl_bundle.h"

enum { MOST_PER_PROGRAM = 256, SKIPPED = 77, FORMS = 6, OPERANDS = 17, PARTIAL_AT = 20 };

static test_arrays all;

/* Problem number `number`, the same each time: every second one is a reduction. */
static void make(int number) {
  test_random random = {1000 + (uint64_t)number};
  cvy_program program;
  bool aligned = number / 2 % 2, tame = number % 8 > 1;
  if (number % 2) {
    test_random_program(&random, tame ? TEST_TAME : TEST_ANY, (int)test_between(&random, 1, 12),
                        &program);
    test_arrays_reduction(&random, &program, aligned, &all);
  } else {
    test_random_program(&random, TEST_ANY, (int)test_between(&random, 1, 24), &program);
    test_arrays_views(&random, &program, aligned, &all);
  }
  test_arrays_memory(&random, aligned, number % 2 && tame, &all);
}

static void offsets_of(int64_t *offsets) {
  for (int i = 0; i < all.problem.program.inputs; i++) *offsets++ = all.input[i].offset;
  for (int k = 0; k < all.results; k++) *offsets++ = all.result[k].offset;
  *offsets = PARTIAL_AT;
}

/* A launch of either kind. */
typedef struct launch {
  int64_t items, combined, partial;
  size_t group; /* 0: any */
  int32_t width;
  char options[64];
  cvy_kernel_block block;
} launch;

static convoy_status launch_of(cvy_text *source, launch *out) {
  static cvy_program_launch program;
  static cvy_reduce_launch reduce;
  int64_t offsets[OPERANDS];
  offsets_of(offsets);
  memset(out, 0, sizeof *out);
  if (all.reduction.how.axes) {
    convoy_status status = cvy_reduce_launch_of(&all.reduction, offsets, source, &reduce);
    *out = (launch){.items = reduce.items,
                    .combined = reduce.combined,
                    .partial = reduce.partial,
                    .group = (size_t)reduce.group,
                    .width = reduce.width,
                    .block = reduce.block};
    memcpy(out->options, reduce.options, sizeof out->options);
    return status;
  }
  convoy_status status = cvy_program_launch_of(&all.problem, offsets, source, &program);
  *out = (launch){.items = program.items, .width = program.width, .block = program.block};
  memcpy(out->options, program.options, sizeof out->options);
  return status;
}

/* Which of the programs a kernel goes to: they differ in options. */
static int form_of(const launch *l) {
  return (l->width > 1) + (l->width > 4) + 3 * (l->block.word_bytes == 8);
}

/* So many items from work-group `first` on. */
static void enqueue_part(const test_cl *cl, cl_kernel kernel, const launch *l, size_t first,
                         size_t items, size_t group) {
  char bytes[CVY_BLOCK_ARGUMENTS];
  cvy_kernel_block block = l->block;
  block.word[CVY_BLOCK_FIRST_GROUP] = (int64_t)first;
  test_cl_check(clSetKernelArg(kernel, 0, cvy_block_bytes(&block, bytes), bytes), "arguments");
  test_cl_check(clEnqueueNDRangeKernel(cl->queue, kernel, 1, NULL, &items, &group, 0, NULL, NULL),
                "clEnqueueNDRangeKernel");
}

/* In two launches, as long ones are cut. */
static void enqueue(const test_cl *cl, cl_kernel kernel, const launch *l, const cl_mem *memories,
                    int count, int64_t items, size_t group) {
  size_t unit = group ? group : 64, groups = (size_t)(items + 63) / 64 * 64 / unit;
  size_t half = groups / 2;
  for (int i = 0; i < count; i++)
    test_cl_check(clSetKernelArg(kernel, (cl_uint)i + 1, sizeof(cl_mem), &memories[i]), "argument");
  if (half) enqueue_part(cl, kernel, l, 0, half * unit, unit);
  enqueue_part(cl, kernel, l, half, (groups - half) * unit, unit);
  clReleaseKernel(kernel);
}

static void run(const test_cl *cl, const test_bundle *bundle, int number, const launch *l) {
  const cvy_program *program = &all.problem.program;
  int inputs = program->inputs, results = all.results;
  cl_mem memory[OPERANDS + 1], *result = memory + inputs;
  cl_kernel kernel =
      test_bundle_kernel(bundle, all.reduction.how.axes ? "reduce" : "program", number);
  for (int i = 0; i < inputs; i++)
    memory[i] = test_cl_buffer(cl, (size_t)all.input[i].count * 4, &all.input[i].memory);
  if (l->combined) *result++ = test_cl_buffer(cl, (size_t)(PARTIAL_AT + l->partial) * 4, NULL);
  for (int k = 0; k < results; k++)
    result[k] = test_cl_buffer(cl, (size_t)all.result[k].count * 4, &all.result[k].memory);
  enqueue(cl, kernel, l, memory, inputs + (l->combined ? 1 : results), l->items, l->group);
  if (l->combined) {
    enqueue(cl, test_bundle_kernel(bundle, "combine", number), l, result - 1, results + 1,
            l->combined, CVY_REDUCE_COMBINE);
  }
  for (int k = 0; k < results; k++) {
    test_cl_check(
        clEnqueueReadBuffer(cl->queue, result[k], CL_TRUE, 0, (size_t)all.result[k].count * 4,
                            all.result[k].memory.real, 0, NULL, NULL),
        "clEnqueueReadBuffer");
  }
  for (const cl_mem *m = memory; m < result + results; m++) clReleaseMemObject(*m);
}

static int run_bundle(const test_cl *cl, int first, int count, int64_t *elements, int64_t *plain) {
  static launch launches[MOST_PER_PROGRAM];
  static char scratch[1 << 16];
  test_bundle bundles[FORMS];
  int wrong = 0;
  for (int form = 0; form < FORMS; form++) test_bundle_open(&bundles[form]);
  for (int i = 0; i < count; i++) {
    launch *l = &launches[i];
    cvy_text text = cvy_text_in(scratch, sizeof scratch);
    make(first + i);
    if (launch_of(&text, l)) {
      fprintf(stderr, "%s\n", cvy_last_error());
      exit(EXIT_FAILURE);
    }
    if (i % 5 == 4) { /* as with large arrays: the source is the same */
      l->block.word_bytes = 8;
      strcpy(strstr(l->options, "-DWORD"), "-DWORD_BYTES=8");
    }
    test_bundle_begin(&bundles[form_of(l)], i);
    cvy_text_add(&bundles[form_of(l)].source, "%s", scratch);
  }
  for (int i = 0; i < count; i++) {
    test_bundle *bundle = &bundles[form_of(&launches[i])];
    if (!bundle->program) test_bundle_build(cl, bundle, launches[i].options);
  }
  for (int i = 0; i < count; i++) {
    char who[96];
    make(first + i);
    test_arrays_expect(&all);
    run(cl, &bundles[form_of(&launches[i])], i, &launches[i]);
    snprintf(who, sizeof who, "problem %d, %s", first + i, launches[i].options);
    for (int k = 0; k < all.results; k++)
      wrong += test_arrays_wrong(&all, k, all.result[k].memory.real, who);
    *elements += all.elements;
    *plain += all.plain;
  }
  for (int form = 0; form < FORMS; form++) test_bundle_close(&bundles[form]);
  return wrong;
}

int main(int argc, char **argv) {
  int problems = argc > 1 ? atoi(argv[1]) : 400, per_program = argc > 2 ? atoi(argv[2]) : 100;
  int first = argc > 3 ? atoi(argv[3]) : 0;
  int wrong = 0;
  int64_t elements = 0, plain = 0;
  test_cl cl;
  if (per_program < 1 || per_program > MOST_PER_PROGRAM) return EXIT_FAILURE;
  if (!test_cl_open(&cl)) return SKIPPED;
  for (int done = 0; done < problems; done += per_program) {
    int count = problems - done < per_program ? problems - done : per_program;
    wrong += run_bundle(&cl, first + done, count, &elements, &plain);
  }
  printf("%s: %d problems, %lld elements, %lld plain, %d wrong\n", cl.name, problems,
         (long long)elements, (long long)plain, wrong);
  test_cl_close(&cl);
  return wrong || plain < elements * 3 / 4 ? EXIT_FAILURE : EXIT_SUCCESS;
}
