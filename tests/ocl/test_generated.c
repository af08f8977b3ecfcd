/* Launches of generated kernels, over an OpenCL that computes nothing and has memory of any size:
 * what they are given, what is planned again, and how many programs are kept. */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cl/conv_args.h"
#include "common/cmocka.h"
#include "common/commands.h"
#include "ocl/engine/device.h"
#include "ocl/engine/launch.h"
#include "problem/program/program.h"

extern const cvy_module *cvy_module_entry(void);

/* ---------------------------------------------------------------------------- the OpenCL */

static char thing;
static int live_programs, most_programs;
static size_t block_bytes;        /* of the last launch */
static unsigned char block[1024]; /* its first argument */
static int dead_kernels_used, launched;

struct _cl_program {
  int number;
};
struct _cl_kernel {
  bool dead;
};

static cl_int answer(const void *from, size_t bytes, size_t size, void *to, size_t *needed) {
  if (needed) *needed = bytes;
  if (!to) return CL_SUCCESS;
  if (size < bytes) return CL_INVALID_VALUE;
  memcpy(to, from, bytes);
  return CL_SUCCESS;
}

cl_int clGetPlatformIDs(cl_uint room, cl_platform_id *out, cl_uint *count) {
  if (room && out) out[0] = (cl_platform_id)&thing;
  if (count) *count = 1;
  return CL_SUCCESS;
}

cl_int clGetPlatformInfo(cl_platform_id platform, cl_platform_info what, size_t size, void *to,
                         size_t *needed) {
  (void)platform;
  const char *text = what == CL_PLATFORM_VERSION ? "OpenCL 2.1" : "nothing";
  return answer(text, strlen(text) + 1, size, to, needed);
}

cl_int clGetDeviceIDs(cl_platform_id platform, cl_device_type type, cl_uint room, cl_device_id *out,
                      cl_uint *count) {
  (void)platform, (void)type;
  if (room && out) out[0] = (cl_device_id)&thing;
  if (count) *count = 1;
  return CL_SUCCESS;
}

cl_int clGetDeviceInfo(cl_device_id id, cl_device_info what, size_t size, void *to,
                       size_t *needed) {
  (void)id;
  const struct {
    cl_device_info what;
    cl_ulong value;
    size_t bytes;
  } numbers[] = {
      {CL_DEVICE_TYPE, CL_DEVICE_TYPE_GPU, sizeof(cl_device_type)},
      {CL_DEVICE_VENDOR_ID, 1, sizeof(cl_uint)},
      {CL_DEVICE_MAX_COMPUTE_UNITS, 100, sizeof(cl_uint)},
      {CL_DEVICE_MAX_CLOCK_FREQUENCY, 2000, sizeof(cl_uint)},
      {CL_DEVICE_MEM_BASE_ADDR_ALIGN, 1024, sizeof(cl_uint)},
      {CL_DEVICE_GLOBAL_MEM_SIZE, UINT64_C(128) << 30, sizeof(cl_ulong)},
      {CL_DEVICE_MAX_MEM_ALLOC_SIZE, UINT64_C(100) << 30, sizeof(cl_ulong)},
      {CL_DEVICE_LOCAL_MEM_SIZE, 48 << 10, sizeof(cl_ulong)},
      {CL_DEVICE_MAX_WORK_GROUP_SIZE, 1024, sizeof(size_t)},
      {CL_DEVICE_PLATFORM, (cl_ulong)(uintptr_t)&thing, sizeof(cl_platform_id)},
  };
  for (size_t i = 0; i < CVY_COUNT(numbers); i++) {
    if (numbers[i].what == what)
      return answer(&numbers[i].value, numbers[i].bytes, size, to, needed);
  }
  return what == CL_DEVICE_NAME || what == CL_DRIVER_VERSION || what == CL_DEVICE_EXTENSIONS
             ? answer("nothing", sizeof "nothing", size, to, needed)
             : CL_INVALID_VALUE;
}

cl_program clCreateProgramWithSource(cl_context context, cl_uint count, const char **parts,
                                     const size_t *lengths, cl_int *code) {
  (void)context, (void)count, (void)parts, (void)lengths;
  if (++live_programs > most_programs) most_programs = live_programs;
  *code = CL_SUCCESS;
  return calloc(1, sizeof(struct _cl_program));
}

cl_int clBuildProgram(cl_program program, cl_uint count, const cl_device_id *ids,
                      const char *options, void(CL_CALLBACK *notify)(cl_program, void *),
                      void *user) {
  (void)program, (void)count, (void)ids, (void)options, (void)notify, (void)user;
  return CL_SUCCESS;
}

cl_int clReleaseProgram(cl_program program) {
  free(program);
  live_programs--;
  return CL_SUCCESS;
}

cl_program clCreateProgramWithBinary(cl_context context, cl_uint count, const cl_device_id *ids,
                                     const size_t *bytes, const unsigned char **binaries,
                                     cl_int *states, cl_int *code) {
  (void)context, (void)count, (void)ids, (void)bytes, (void)binaries, (void)states;
  *code = CL_INVALID_BINARY;
  return NULL;
}

cl_int clGetProgramInfo(cl_program program, cl_program_info what, size_t size, void *to,
                        size_t *needed) {
  (void)program, (void)what, (void)size, (void)to, (void)needed;
  return CL_INVALID_VALUE;
}

cl_int clGetProgramBuildInfo(cl_program program, cl_device_id id, cl_program_build_info what,
                             size_t size, void *to, size_t *needed) {
  (void)program, (void)id, (void)what;
  return answer("", 1, size, to, needed);
}

/* Kernels stay to be recognised when they are released. */
cl_kernel clCreateKernel(cl_program program, const char *name, cl_int *code) {
  static struct _cl_kernel all[1 << 14];
  static int count;
  (void)program, (void)name;
  *code = CL_SUCCESS;
  return &all[count++];
}

cl_int clReleaseKernel(cl_kernel kernel) {
  kernel->dead = true;
  return CL_SUCCESS;
}

cl_int clSetKernelArg(cl_kernel kernel, cl_uint index, size_t bytes, const void *value) {
  dead_kernels_used += kernel->dead;
  if (index > 0) return CL_SUCCESS;
  block_bytes = bytes;
  memcpy(block, value, bytes);
  return CL_SUCCESS;
}

cl_int clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel, cl_uint dims,
                              const size_t *offset, const size_t *global, const size_t *local,
                              cl_uint waits, const cl_event *events, cl_event *done) {
  (void)queue, (void)dims, (void)offset, (void)global, (void)local, (void)waits, (void)events;
  dead_kernels_used += kernel->dead;
  launched++;
  if (done) *done = (cl_event)&thing;
  return CL_SUCCESS;
}

/* -------------------------------------------------------------------------------- the device */

static const cvy_backend *engine;
static cvy_device *device;
static uint64_t last_id;

static int open_device(void **state) {
  (void)state;
  cvy_open_options options = {.workspace_limit = INT64_C(16) << 30};
  engine = cvy_module_entry()->engine;
  live_programs = most_programs = 0;
  return engine->open(0, &options, &device) != CONVOY_OK;
}

static int close_device(void **state) {
  (void)state;
  engine->close(device);
  return live_programs != 0 || dead_kernels_used != 0;
}

static uint64_t new_array(int64_t bytes) {
  uint64_t id = ++last_id;
  if (command_allocate(engine, device, id, bytes, NULL)) fail_msg("%s", cvy_last_error());
  return id;
}

static void problem_of(const char *text, cvy_problem *out) {
  cvy_program_names names;
  if (cvy_program_read_named(text, out, &names)) fail_msg("%s: %s", text, cvy_last_error());
}

static cvy_job job_for(const cvy_problem *problem) {
  cvy_job job = {.problem = *problem};
  while (!cvy_algorithm_does(engine->algorithms[job.algorithm], problem)) job.algorithm++;
  const cvy_algorithm *row = engine->algorithms[job.algorithm];
  if (row->defaults) row->defaults(problem, engine->facts(device), &job.params);
  for (int32_t i = 0; i < cvy_problem_inputs(&job.problem); i++)
    job.in[i].id = new_array(cvy_problem_input_bytes(&job.problem, i));
  for (int32_t k = 0; k < cvy_problem_outputs(&job.problem); k++)
    job.out[k].id = new_array(cvy_problem_output_bytes(&job.problem, k));
  return job;
}

static cvy_job job_of(const char *text) {
  cvy_problem problem;
  problem_of(text, &problem);
  return job_for(&problem);
}

static void release(const cvy_job *job) {
  for (int i = 0; i < CVY_MAX_INPUTS; i++) command_release(engine, device, job->in[i].id);
  for (int k = 0; k < CVY_MAX_OUTPUTS; k++) command_release(engine, device, job->out[k].id);
}

static void run(const cvy_job *job) {
  launched = 0;
  if (command_run(engine, device, job, NULL)) fail_msg("%s", cvy_last_error());
}

/* Generators write into this room: as long as it is as it was, nothing was planned. */
static void mark(void) {
  strcpy(device->generated.room, "as it was");
}

static bool was_planned(void) {
  return strcmp(device->generated.room, "as it was") != 0;
}

static uint64_t word(int number, int bytes) {
  uint64_t value = 0;
  memcpy(&value, block + (size_t)number * (size_t)bytes, (size_t)bytes);
  return value;
}

static uint64_t byte_of(uint64_t id) {
  return (uint64_t)arrays_find(&device->memory.arrays, id)->piece->at;
}

/* ------------------------------------------------------------------------------------- cases */

/* Words of "x0 + x1" over one loop: first_group, items, in0, in1, out0. */
static const char *const sum_text = "y0 = x0 + x1 on n1000 x1:full:uint8";

static void a_job_that_comes_again_is_replayed(void **state) {
  (void)state;
  cvy_job one = job_of(sum_text), two = job_of(sum_text);
  run(&one);
  assert_int_equal(block_bytes, 5 * 4);
  mark();
  run(&two);
  assert_false(was_planned());
  assert_int_equal(launched, 1);
  assert_int_equal(word(0, 4), 0); /* work-groups before this part of the launch */
  assert_int_equal(word(1, 4), 125);
  assert_int_equal(word(2, 4), byte_of(two.in[0].id) / 4);
  assert_int_equal(word(3, 4), byte_of(two.in[1].id));
  assert_int_equal(word(4, 4), byte_of(two.out[0].id) / 4);
  cvy_job other = job_of("y0 = x0 + x1 on n1008 x1:full:uint8");
  run(&other);
  assert_true(was_planned());
  assert_int_equal(live_programs, 1); /* extents are not compiled in */
}

static void a_reduction_of_pieces_is_replayed(void **state) {
  (void)state;
  const char *text = "y0 = sum over n of x0; y1 = maximum over n of x0 on n4096c8 piece=64";
  cvy_job one = job_of(text), two = job_of(text);
  run(&one);
  assert_int_equal(launched, 2);
  mark();
  run(&two);
  assert_false(was_planned());
  assert_int_equal(launched, 2);
  assert_int_equal(command_build(engine, device, &one), CONVOY_OK);
}

static void which_random_numbers_changes_nothing(void **state) {
  (void)state;
  cvy_job job = job_of("y0 = x0 * random(1) on n1000");
  unsigned char first[sizeof block];
  run(&job);
  memcpy(first, block, block_bytes);
  mark();
  for (uint64_t step = 1; step < 2000; step++) {
    job.problem.program.run = step;
    run(&job);
    assert_false(was_planned());
  }
  cvy_program_stream stream = cvy_program_stream_of(0, 1999, 0);
  assert_memory_not_equal(first, block, block_bytes);
  assert_memory_equal(block + block_bytes - sizeof stream, &stream, sizeof stream);
  job.problem.program.run = 0;
  run(&job);
  assert_memory_equal(first, block, block_bytes);
}

/* So many bytes behind the beginning of a block. */
static uint64_t array_behind(int64_t bytes) {
  uint64_t room = new_array(bytes + (1 << 20)), id = ++last_id;
  if (command_part(engine, device, id, room, bytes, 1 << 20)) fail_msg("%s", cvy_last_error());
  command_release(engine, device, room);
  return id;
}

static void arrays_far_off_take_wider_words(void **state) {
  (void)state;
  cvy_job near = job_of(sum_text);
  run(&near);
  assert_int_equal(block_bytes, 5 * 4);
  cvy_job far = job_of(sum_text);
  far.in[1].id = array_behind(INT64_C(5) << 30);
  assert_true(byte_of(far.in[1].id) >= UINT64_C(5) << 30);
  mark();
  run(&far);
  assert_true(was_planned());
  assert_int_equal(block_bytes, 5 * 8);
  assert_int_equal(word(3, 8), byte_of(far.in[1].id));
  assert_int_equal(live_programs, 2);
  mark();
  run(&near); /* wide words serve everywhere */
  assert_false(was_planned());
  assert_int_equal(word(3, 8), byte_of(near.in[1].id));
}

static void arrays_of_many_elements_take_wider_words(void **state) {
  (void)state;
  cvy_job job = job_of("y0 = x0 * 2 on n70000c70000");
  run(&job);
  assert_int_equal(block_bytes, 4 * 8);
  assert_int_equal(word(1, 8), UINT64_C(70000) * 70000 / 8);
  mark();
  run(&job);
  assert_false(was_planned());
}

/* Also where only what lies beyond an edge, in the rest of a tile, has numbers above 2^31. */
static void large_products_take_wider_words(void **state) {
  (void)state;
  static const struct {
    const char *text;
    size_t word_bytes;
  } cases[] = {{"matmul a100x100 b100x100", 4},      {"matmul a46330x30000 b30000x64", 4},
               {"matmul a46338x46338 b46338x64", 8}, {"matmul a64x46338 b46338x46338", 8},
               {"matmul a46338x64 b64x46338", 8},    {"matmul a70000x70000 b70000x64", 8}};
  for (size_t i = 0; i < CVY_COUNT(cases); i++) {
    cvy_problem problem;
    if (!cvy_problem_read(cases[i].text, &problem)) fail_msg("%s", cases[i].text);
    cvy_job job = job_for(&problem);
    run(&job);
    assert_int_equal(block_bytes, CONV_ARGS_WORDS * cases[i].word_bytes);
    release(&job);
  }
}

static void thousands_of_programs_stay_bounded(void **state) {
  (void)state;
  enum { PROGRAMS = 3 * MOST_GENERATED };
  char text[96];
  uint64_t ticket = 0, fault = 0;
  cvy_job first = job_of("y0 = x0 * 0.25 on n1000");
  for (int i = 0; i < PROGRAMS; i++) {
    /* Kernels of large ones are watched. */
    snprintf(text, sizeof text, "y0 = x0 * %d.5 on n%d", i, i % 7 ? 1000 : 100000000);
    cvy_job job = job_of(text);
    if (i % MOST_GENERATED == 0) run(&first); /* it came before, its kernel is forgotten */
    run(&job);
    run(&job);
    release(&job);
    assert_true(live_programs <= MOST_GENERATED);
    assert_int_equal(dead_kernels_used, 0);
  }
  assert_int_equal(most_programs, MOST_GENERATED);
  assert_int_equal(device->generated.count, live_programs);
  assert_int_equal(command_run(engine, device, &first, &ticket), CONVOY_OK);
  assert_int_equal(engine->wait(device, ticket, NULL, &fault), CONVOY_OK);
}

/* A kernel that is compiled ahead of time is that of the job. */
static void what_is_prepared_is_what_runs(void **state) {
  (void)state;
  cvy_usage usage;
  cvy_job job = job_of(sum_text);
  assert_int_equal(command_build(engine, device, &job), CONVOY_OK);
  assert_int_equal(device->generated.count, 1);
  run(&job);
  assert_int_equal(device->generated.count, 1);
  engine->usage(device, &usage);
  assert_int_equal(usage.bytes_peak, usage.bytes);
}

/* Every operand with strides of its own along five axes, and every axis read: with words of 8
 * bytes, which memory of this size may need, that is more than devices take. */
static void too_many_arguments_are_refused(void **state) {
  (void)state;
  char text[1200], buffer[192];
  cvy_text to = cvy_text_in(text, sizeof text), reason = cvy_text_in(buffer, sizeof buffer);
  cvy_problem problem;
  cvy_facts facts = *engine->facts(device);
  cvy_text_add(&to, "y0 = index(n) + index(c) + index(z) + index(h) + index(w) + random(0)");
  for (int i = 0; i < 12; i++) cvy_text_add(&to, " + x%d", i);
  for (int k = 1; k < 4; k++) cvy_text_add(&to, "; y%d = x%d", k, k);
  cvy_text_add(&to, " on n2c3z4h5w6");
  for (int i = 0; i < 12; i++) cvy_text_add(&to, " x%d:strides=2000,500,100,16,2", i);
  problem_of(text, &problem);
  const cvy_algorithm *const *row = engine->algorithms;
  while (!cvy_algorithm_does(*row, &problem)) row++;
  assert_false((*row)->accepts(&problem, &facts, &reason));
  assert_non_null(strstr(buffer, "bytes of arguments, devices take 1024"));
  facts.max_allocation_bytes = INT64_C(2) << 30;
  assert_true((*row)->accepts(&problem, &facts, &reason));
}

/* Nothing would be written, and what memory held before would be taken for results. */
static void a_launch_of_nothing_is_refused(void **state) {
  (void)state;
  const launch what = {.kernel = "reduce", .items = 64};
  const arguments with = {0};
  assert_int_equal(launch_kernel(device, &what, &with), CONVOY_ERR_UNSUPPORTED);
  assert_non_null(strstr(cvy_last_error(), "reduce: 0 work-groups"));
}

#define each(name) cmocka_unit_test_setup_teardown(name, open_device, close_device)

int main(void) {
  const struct CMUnitTest tests[] = {
      each(a_job_that_comes_again_is_replayed),       each(a_reduction_of_pieces_is_replayed),
      each(which_random_numbers_changes_nothing),     each(arrays_far_off_take_wider_words),
      each(arrays_of_many_elements_take_wider_words), each(large_products_take_wider_words),
      each(thousands_of_programs_stay_bounded),       each(what_is_prepared_is_what_runs),
      each(too_many_arguments_are_refused),           each(a_launch_of_nothing_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
