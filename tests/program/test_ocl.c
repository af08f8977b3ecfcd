/* The OpenCL C of programs: on a device, programs give the bits of their definition.
 *
 *   test_program_ocl [PROGRAMS [PER_KERNEL [WIDTH]]]
 *
 * Many programs go into one kernel, which computes all of them from the same inputs. */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cl/sources.h"
#include "program/cl_device.h"
#include "program/elements.h"

enum { ITEMS = 256, MOST_PER_KERNEL = 256, SKIPPED = 77, SOURCE = 1 << 22 };

static const char tail_format[] =
    "#if PROGRAM_WIDTH == 4\n"
    "#define LOAD(at) vload4(0, at)\n"
    "#define STORE(value, at) vstore4(value, 0, at)\n"
    "#define LANES (float4)(0.0f, 1.0f, 2.0f, 3.0f)\n"
    "#else\n"
    "#define LOAD(at) *(at)\n"
    "#define STORE(value, at) *(at) = (value)\n"
    "#define LANES 0.0f\n"
    "#endif\n";

static char source[SOURCE];

/* A program in a kernel: loads, the call, stores. Element i is at place (i, i + 1, ... i + 4). */
static void write_call(const cvy_program *program, int number, cvy_text *to) {
  cvy_program_uses uses = cvy_program_uses_of(program);
  cvy_text_add(to, "  {\n    real y0, y1, y2, y3, y4, y5, y6, y7;\n    program_%d_(", number);
  for (int i = 0; i < program->inputs; i++) cvy_text_add(to, "x%d, ", i);
  if (uses.axes || uses.random) cvy_text_add(to, "&at, ");
  for (int i = 0; i < program->results; i++) cvy_text_add(to, "%s&y%d", i ? ", " : "", i);
  cvy_text_add(to, ");\n");
  for (int i = 0; i < program->results; i++) {
    cvy_text_add(to, "    STORE(y%d, out + %d + i);\n", i,
                 (number * CVY_PROGRAM_RESULTS + i) * ITEMS);
  }
  cvy_text_add(to, "  }\n");
}

static void write_source(const cvy_program *programs, int count, cvy_text *to) {
  char name[32];
  for (int i = 0; i < count; i++) {
    snprintf(name, sizeof name, "program_%d_", i);
    cvy_program_function(&programs[i], name, to);
  }
  cvy_text_add(to, "%s", tail_format);
  cvy_text_add(to,
               "kernel void test(global const float *in, global float *out, uint4 stream,\n"
               "                 ulong first) {\n"
               "  const int i = get_global_id(0) * PROGRAM_WIDTH;\n"
               "  const real p = LANES + (float)i;\n"
               "  const program_place at = {p, p + 1.0f, p + 2.0f, p + 3.0f, p + 4.0f, stream,\n"
               "                            first + i};\n");
  for (int i = 0; i < 5; i++)
    cvy_text_add(to, "  const real x%d = LOAD(in + %d + i);\n", i, i * ITEMS);
  for (int i = 0; i < count; i++) write_call(&programs[i], i, to);
  cvy_text_add(to, "}\n");
  if (to->overflow) {
    fprintf(stderr, "the source is too long\n");
    exit(EXIT_FAILURE);
  }
}

static void compute(const test_cl *cl, const cvy_program *programs, int count, int width,
                    const float *in, const cvy_program_place *place, float *out) {
  size_t bytes = (size_t)count * CVY_PROGRAM_RESULTS * ITEMS * sizeof(float);
  size_t items = (size_t)(ITEMS / width);
  char options[64];
  cl_int status;
  cvy_text text = cvy_text_in(source, sizeof source);
  write_source(programs, count, &text);
  const char *const sources[] = {cvy_cl_program_words, cvy_cl_program_functions,
                                 cvy_cl_program_random, source};
  snprintf(options, sizeof options, "-DPROGRAM_WIDTH=%d", width);
  cl_program built = test_cl_build(cl, sources, 4, options);
  cl_kernel kernel = clCreateKernel(built, "test", &status);
  test_cl_check(status, "clCreateKernel");
  cl_mem from = test_cl_buffer(cl, 5 * ITEMS * sizeof(float), in);
  cl_mem to = test_cl_buffer(cl, bytes, NULL);
  clSetKernelArg(kernel, 0, sizeof from, &from);
  clSetKernelArg(kernel, 1, sizeof to, &to);
  clSetKernelArg(kernel, 2, sizeof place->stream, &place->stream);
  clSetKernelArg(kernel, 3, sizeof place->index, &place->index);
  status = clEnqueueNDRangeKernel(cl->queue, kernel, 1, NULL, &items, NULL, 0, NULL, NULL);
  test_cl_check(status, "clEnqueueNDRangeKernel");
  status = clEnqueueReadBuffer(cl->queue, to, CL_TRUE, 0, bytes, out, 0, NULL, NULL);
  test_cl_check(status, "clEnqueueReadBuffer");
  clReleaseMemObject(from);
  clReleaseMemObject(to);
  clReleaseKernel(kernel);
  clReleaseProgram(built);
}

/* How many elements differ from the definition; the first is told. */
static int compare(const cvy_program *program, const float *in, const cvy_program_place *first,
                   const float *out, int64_t *plain) {
  int wrong = 0;
  for (int i = 0; i < ITEMS; i++) {
    float inputs[CVY_PROGRAM_INPUTS], expected[CVY_PROGRAM_RESULTS];
    cvy_program_place place = {.axis = {i, i + 1, i + 2, i + 3, i + 4},
                               .index = first->index + (uint64_t)i,
                               .stream = first->stream};
    for (int k = 0; k < program->inputs; k++) inputs[k] = in[k * ITEMS + i];
    if (!cvy_program_element(program, inputs, &place, expected)) continue;
    ++*plain;
    for (int k = 0; k < program->results; k++) {
      float got = out[k * ITEMS + i];
      if (test_same_bits(got, expected[k])) continue;
      if (!wrong++) {
        char text[CVY_PROGRAM_TEXT];
        cvy_program_text(program, NULL, text, sizeof text);
        printf("y%d[%d] is %a, expected %a, of", k, i, (double)got, (double)expected[k]);
        for (int x = 0; x < program->inputs; x++) printf(" %a", (double)inputs[x]);
        printf(": %s\n", text);
      }
    }
  }
  return wrong;
}

static void make_program(test_random *random, int number, cvy_program *out) {
  static const char *const first[] = {
      "y = a / b",
      "y = exp(a); z = log(a)",
      "y = tanh(a); z = erf(a)",
      "y = sqrt(a); z = rsqrt(a)",
      "y = a*b + c; z = a*b - c",
      "y = fma(a, b, c)",
      "y = min(a, b); z = max(a, b)",
      "y = sigmoid(a); z = a*sigmoid(a)",
      "y = random(); z = random(); u = index(w)",
      "y = 1 / a",
      "y = floor(a); z = abs(a); u = -a",
      "y = a < b; z = a <= b; u = a == b; v = a != b",
      "y = a < b ? c : a; z = a != b ? c : a; u = a ? b : c",
  };
  if (number < (int)CVY_COUNT(first)) {
    if (cvy_program_parse(first[number], out, NULL)) abort();
    return;
  }
  int longest = test_between(random, 0, 9) ? 24 : 90;
  test_random_program(random, TEST_ANY, (int)test_between(random, 1, longest), out);
}

int main(int argc, char **argv) {
  int programs = argc > 1 ? atoi(argv[1]) : 400, per_kernel = argc > 2 ? atoi(argv[2]) : 50;
  int only = argc > 3 ? atoi(argv[3]) : 0, wrong = 0;
  int64_t plain = 0, instructions = 0;
  test_cl cl;
  test_random random = {41};
  if (per_kernel < 1 || per_kernel > MOST_PER_KERNEL) return EXIT_FAILURE;
  if (!test_cl_open(&cl)) return SKIPPED;
  float *out = malloc(sizeof(float) * MOST_PER_KERNEL * CVY_PROGRAM_RESULTS * ITEMS);
  cvy_program *list = malloc(sizeof(cvy_program) * MOST_PER_KERNEL);
  if (!out || !list) return EXIT_FAILURE;
  for (int done = 0; done < programs;) {
    float in[5 * ITEMS];
    int count = programs - done < per_kernel ? programs - done : per_kernel;
    int width = only ? only : done / per_kernel % 2 ? 4 : 1;
    cvy_program_place place = test_random_place(&random); /* of the first element */
    for (int i = 0; i < 5 * ITEMS; i++) in[i] = test_hostile(&random);
    for (int i = 0; i < count; i++) {
      make_program(&random, done + i, &list[i]);
      instructions += list[i].instructions;
    }
    compute(&cl, list, count, width, in, &place, out);
    for (int i = 0; i < count; i++)
      wrong += compare(&list[i], in, &place, out + i * CVY_PROGRAM_RESULTS * ITEMS, &plain);
    done += count;
  }
  printf("%s: %d programs, %lld instructions, %lld plain elements, %d wrong\n", cl.name, programs,
         (long long)instructions, (long long)plain, wrong);
  free(out);
  free(list);
  test_cl_close(&cl);
  return wrong || plain < (int64_t)programs * ITEMS * 3 / 4 ? EXIT_FAILURE : EXIT_SUCCESS;
}
