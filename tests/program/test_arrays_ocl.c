/* The generated kernels of programs over arrays: on a device every element has the bits of the
 * definition, whatever the classes, types, strides, extents and alignment, and nothing else is
 * written.
 *
 *   test_program_arrays_ocl [PROBLEMS [PER_PROGRAM]]
 *
 * On another device: CONVOY_TEST_PLATFORM=NVIDIA. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ocl/program_kernel.h"
#include "program/arrays.h"
#include "program/cl_bundle.h"

enum { MOST_PER_PROGRAM = 256, SKIPPED = 77, FORMS = 4, OPERANDS = 16 };

static test_arrays all;

/* Problem number `number`, the same each time. */
static void make(int number) {
  test_random random = {1000 + (uint64_t)number};
  cvy_program program;
  bool aligned = number % 2;
  test_random_program(&random, TEST_ANY, (int)test_between(&random, 1, 24), &program);
  test_arrays_views(&random, &program, aligned, &all);
  test_arrays_memory(&random, aligned, false, &all);
}

static int offsets_of(int64_t *offsets) {
  int count = 0;
  for (int i = 0; i < all.problem.program.inputs; i++) offsets[count++] = all.input[i].offset;
  for (int k = 0; k < all.problem.program.results; k++) offsets[count++] = all.result[k].offset;
  return count;
}

/* Which of the programs a kernel goes to: they differ in options. */
static int form_of(const cvy_program_launch *launch) {
  return (launch->width == 4) + 2 * (launch->block.word_bytes == 8);
}

static void run(const test_cl *cl, cl_kernel kernel, const cvy_program_launch *launch) {
  const cvy_program *program = &all.problem.program;
  cl_mem memory[OPERANDS];
  cl_uint argument = 0;
  char block[CVY_BLOCK_ARGUMENTS];
  size_t size = cvy_block_bytes(&launch->block, block);
  size_t items = (size_t)(launch->items + 63) / 64 * 64;
  test_cl_check(clSetKernelArg(kernel, argument++, size, block), "arguments");
  for (int i = 0; i < program->inputs; i++)
    memory[i] = test_cl_buffer(cl, (size_t)all.input[i].count * 4, &all.input[i].memory);
  for (int k = 0; k < program->results; k++)
    memory[program->inputs + k] =
        test_cl_buffer(cl, (size_t)all.result[k].count * 4, &all.result[k].memory);
  for (int i = 0; i < program->inputs + program->results; i++)
    test_cl_check(clSetKernelArg(kernel, argument++, sizeof(cl_mem), &memory[i]), "clSetKernelArg");
  test_cl_check(clEnqueueNDRangeKernel(cl->queue, kernel, 1, NULL, &items, NULL, 0, NULL, NULL),
                "clEnqueueNDRangeKernel");
  for (int k = 0; k < program->results; k++) {
    test_cl_check(clEnqueueReadBuffer(cl->queue, memory[program->inputs + k], CL_TRUE, 0,
                                      (size_t)all.result[k].count * 4, all.result[k].memory.real, 0,
                                      NULL, NULL),
                  "clEnqueueReadBuffer");
  }
  for (int i = 0; i < program->inputs + program->results; i++) clReleaseMemObject(memory[i]);
}

static int run_bundle(const test_cl *cl, int first, int count, int64_t *elements, int64_t *plain) {
  static cvy_program_launch launches[MOST_PER_PROGRAM];
  test_bundle bundles[FORMS];
  int wrong = 0;
  for (int form = 0; form < FORMS; form++) test_bundle_open(&bundles[form]);
  for (int i = 0; i < count; i++) {
    int64_t offsets[OPERANDS];
    cvy_program_launch *launch = &launches[i];
    static char scratch[1 << 16];
    cvy_text text = cvy_text_in(scratch, sizeof scratch);
    make(first + i);
    offsets_of(offsets);
    if (cvy_program_launch_of(&all.problem, offsets, &text, launch)) {
      fprintf(stderr, "%s\n", cvy_last_error());
      exit(EXIT_FAILURE);
    }
    if (i % 4 == 3) { /* as with large arrays: the source is the same */
      launch->block.word_bytes = 8;
      strcpy(strstr(launch->options, "-DWORD"), "-DWORD_BYTES=8");
    }
    test_bundle *bundle = &bundles[form_of(launch)];
    test_bundle_begin(bundle, i);
    cvy_text_add(&bundle->source, "%s", scratch);
  }
  for (int i = 0; i < count; i++) {
    test_bundle *bundle = &bundles[form_of(&launches[i])];
    if (!bundle->program) test_bundle_build(cl, bundle, launches[i].options);
  }
  for (int i = 0; i < count; i++) {
    make(first + i);
    test_arrays_expect(&all);
    cl_kernel kernel = test_bundle_kernel(&bundles[form_of(&launches[i])], "program", i);
    run(cl, kernel, &launches[i]);
    clReleaseKernel(kernel);
    for (int k = 0; k < all.problem.program.results; k++) {
      char who[64];
      snprintf(who, sizeof who, "problem %d, %s", first + i, launches[i].options);
      wrong += test_arrays_wrong(&all, k, all.result[k].memory.real, who);
    }
    *elements += all.elements;
    *plain += all.plain;
  }
  for (int form = 0; form < FORMS; form++) test_bundle_close(&bundles[form]);
  return wrong;
}

int main(int argc, char **argv) {
  int problems = argc > 1 ? atoi(argv[1]) : 400, per_program = argc > 2 ? atoi(argv[2]) : 100;
  int wrong = 0;
  int64_t elements = 0, plain = 0;
  test_cl cl;
  if (per_program < 1 || per_program > MOST_PER_PROGRAM) return EXIT_FAILURE;
  if (!test_cl_open(&cl)) return SKIPPED;
  for (int done = 0; done < problems; done += per_program) {
    int count = problems - done < per_program ? problems - done : per_program;
    wrong += run_bundle(&cl, done, count, &elements, &plain);
  }
  printf("%s: %d problems, %lld elements, %lld plain, %d wrong\n", cl.name, problems,
         (long long)elements, (long long)plain, wrong);
  test_cl_close(&cl);
  return wrong || plain < elements * 3 / 4 ? EXIT_FAILURE : EXIT_SUCCESS;
}
