/* What is captured of a job and replayed, without OpenCL: launches are noted instead
 * of enqueued. */
#include <stdlib.h>
#include <string.h>

#include "common/cmocka.h"
#include "ocl/engine/capture.h"
#include "ocl/engine/conv_arguments.h"
#include "ocl/engine/device.h"

enum { UNIT = 4096, MOST_NOTED = 32 };

static const cvy_algorithm some_row = {.name = "ocl.some"};
static const prepacked_form some_form = {&some_row, {1, 2, 3}};
static const launch some_launch = {.kernel = "some_kernel", .work_groups = 5, .items = 64};
static program_kernel some_kernel;
static cvy_device device;
static bindings noted[MOST_NOTED];
static int count_noted;

convoy_status launch_found(cvy_device *on, const launch *what, program_kernel *kernel,
                           const arguments *with) {
  const launch_array *array = with->array;
  bindings arrays = {.out = array[with->count - 1].at};
  assert_ptr_equal(on, &device);
  assert_ptr_equal(kernel, &some_kernel);
  assert_int_equal(what->work_groups, 5);
  if (with->count == 4) {
    int32_t words[CONV_ARGS_WORDS];
    arrays = (bindings){array[0].at, array[1].at, array[2].at, array[3].at};
    memcpy(words, with->block, sizeof words);
    assert_int_equal(with->words, CONV_ARGS_WORDS);
    assert_int_equal(words[offsetof(conv_args, items) / sizeof(conv_int)], 77);
  }
  noted[count_noted++] = arrays;
  return CONVOY_OK;
}

static void *give(void *user, int64_t bytes) {
  (void)user;
  return malloc((size_t)bytes);
}

static void take_back(void *user, void *block) {
  (void)user;
  free(block);
}

static int open_device(void **state) {
  (void)state;
  arena_source source = {NULL, give, take_back};
  arena_limits limits = {.alignment = 256, .block_bytes = 16 * UNIT, .most_bytes = 16 * UNIT};
  device = (cvy_device){.facts.info.memory_bytes = INT64_C(1) << 30};
  device.memory.arena = arena_new(&source, &limits);
  for (uint64_t id = 1; id <= 8; id++) {
    array_entry *entry = arrays_add(&device.memory.arrays, id);
    entry->bytes = UNIT;
    if (arena_take(device.memory.arena, UNIT, &entry->piece)) return 1;
  }
  count_noted = 0;
  return 0;
}

static int close_device(void **state) {
  (void)state;
  captured_close(&device);
  prepacked_forget_all(&device);
  arrays_clear(&device.memory.arrays);
  arena_free(device.memory.arena);
  return 0;
}

static span array(uint64_t id, int32_t origin) {
  return span_of(arrays_find(&device.memory.arrays, id)->piece, origin);
}

/* A job whose operands are the arrays first, first + 1 and first + 2. */
static cvy_job job_of(uint64_t first, int64_t n) {
  return (cvy_job){
      .problem.conv.n = n, .in[0].id = first, .in[1].id = first + 1, .out[0].id = first + 2};
}

static job_arrays arrays_of(const cvy_job *job) {
  return (job_arrays){.in = {array(job->in[0].id, ORIGIN_IN), array(job->in[1].id, ORIGIN_IN + 1)},
                      .out = {array(job->out[0].id, ORIGIN_OUT)}};
}

static void note(const bindings *arrays) {
  conv_args args = {.items = 77};
  conv_arguments with;
  conv_arguments_of(&args, false, arrays, &with);
  capture_launch(&device, &some_launch, &some_kernel, &with.all);
}

/* Does what launch code does: it asks for a form of b, makes it if it is fresh, and launches what
 * reads it. */
static bool capture_one(const cvy_job *job, bool with_form, int times) {
  capture new;
  job_arrays all = arrays_of(job);
  bindings of = bindings_of(&all);
  capture_begin(&device, &new, job, &(job_sizes){0}, &all, 0);
  bool fresh = false;
  if (with_form) {
    assert_int_equal(prepacked_find(&device, job->in[1].id, &some_form, UNIT, &of.b, &fresh),
                     CONVOY_OK);
    if (fresh) note(&(bindings){.a = all.in[1], .out = of.b});
  }
  for (int i = 0; i < times; i++) note(&of);
  if (!capture_end(&device)) return false;
  captured_keep(&device, job, captured_copy(&new.job));
  return true;
}

static bool replay(const cvy_job *job) {
  const captured_job *known = captured_find(&device, job);
  assert_non_null(known);
  job_arrays arrays = arrays_of(job);
  convoy_status status = CONVOY_ERR_DEVICE;
  count_noted = 0;
  bool done = captured_replay(&device, known, job, &arrays, &status);
  if (done) assert_int_equal(status, CONVOY_OK);
  return done;
}

static void assert_span(span is, span expected) {
  assert_ptr_equal(is.memory, expected.memory);
  assert_int_equal(is.at, expected.at);
}

static void a_job_is_found_by_all_but_its_operands(void **state) {
  (void)state;
  cvy_job one = job_of(1, 10), two = job_of(4, 10), other = job_of(1, 11);
  cvy_job tuned = one;
  tuned.params.value[11] = 3;
  assert_null(captured_find(&device, &one));
  assert_true(capture_one(&one, false, 1));
  assert_null(captured_find(&device, &other));
  assert_null(captured_find(&device, &tuned));
  assert_true(replay(&two));
  assert_int_equal(count_noted, 1);
  assert_span(noted[0].a, array(4, 0));
  assert_span(noted[0].b, array(5, 0));
  assert_span(noted[0].out, array(6, 0));
  assert_null(noted[0].bias.memory);
}

static void a_form_is_made_where_it_is_fresh(void **state) {
  (void)state;
  cvy_job one = job_of(1, 10), two = job_of(4, 10);
  assert_true(capture_one(&one, true, 1));
  assert_true(replay(&one));
  assert_int_equal(count_noted, 1);
  assert_true(replay(&two));
  assert_int_equal(count_noted, 2);
  assert_span(noted[0].a, array(5, 0));
  assert_span(noted[0].out, noted[1].b);
  assert_true(noted[0].out.at != array(5, 0).at);
}

static void a_form_that_was_there_is_made_by_the_launch_code(void **state) {
  (void)state;
  cvy_job first = job_of(1, 10), one = job_of(1, 11);
  assert_true(capture_one(&first, true, 1));
  assert_true(capture_one(&one, true, 1));
  assert_true(replay(&one));
  prepacked_forget(&device, arrays_find(&device.memory.arrays, 2));
  assert_false(replay(&one));
  assert_int_equal(count_noted, 0);
  /* The form is fresh again, and this time making it is captured. */
  assert_true(capture_one(&one, true, 1));
  prepacked_forget(&device, arrays_find(&device.memory.arrays, 2));
  assert_true(replay(&one));
  assert_int_equal(count_noted, 2);
}

static void what_depends_on_more_than_the_job_is_not_kept(void **state) {
  (void)state;
  capture new;
  cvy_job job = job_of(1, 10);
  assert_false(capture_one(&job, false, CAPTURED_LAUNCHES + 1));
  job_arrays arrays = arrays_of(&job);
  bindings foreign = {.a = array(7, ORIGIN_NONE), .out = arrays.out[0]};
  capture_begin(&device, &new, &job, &(job_sizes){0}, &arrays, 0);
  note(&foreign);
  assert_false(capture_end(&device));
  capture_begin(&device, &new, &job, &(job_sizes){0}, &arrays, 0);
  capture_invalidate(&device);
  assert_false(capture_end(&device));
  assert_true(capture_one(&job, false, CAPTURED_LAUNCHES));
}

/* Each launch is of the role an array has, not of where it lies. */
static void one_array_in_two_roles_is_a_model_for_two(void **state) {
  (void)state;
  cvy_job one = job_of(1, 10), two = job_of(4, 10);
  one.in[1] = one.in[0];
  assert_true(capture_one(&one, false, 1));
  assert_true(replay(&two));
  assert_span(noted[0].a, array(4, 0));
  assert_span(noted[0].b, array(5, 0));
}

static void words_are_as_wide_as_the_kernel_has_them(void **state) {
  (void)state;
  conv_args args = {.n = 3, .slope = -5, .items = INT64_C(1) << 40};
  conv_arguments with;
  bindings none = {.out = array(1, ORIGIN_OUT)};
  conv_arguments_of(&args, true, &none, &with);
  assert_memory_equal(with.words, &args, sizeof args);
  args.items = 77;
  conv_arguments_of(&args, false, &none, &with);
  const int32_t *narrow = (const int32_t *)with.all.block;
  assert_int_equal(narrow[0], 3);
  assert_int_equal(narrow[offsetof(conv_args, slope) / sizeof(conv_int)], -5);
  assert_int_equal(narrow[offsetof(conv_args, items) / sizeof(conv_int)], 77);
}

static void any_number_of_jobs_stays_bounded(void **state) {
  (void)state;
  int found = 0;
  for (int64_t n = 1; n <= 3000; n++) {
    cvy_job job = job_of(1, n);
    assert_true(capture_one(&job, false, 1));
    assert_non_null(captured_find(&device, &job));
  }
  for (int64_t n = 1; n <= 3000; n++) {
    cvy_job job = job_of(1, n);
    found += captured_find(&device, &job) != NULL;
  }
  assert_in_range(found, 1, 1024);
}

#define each(name) cmocka_unit_test_setup_teardown(name, open_device, close_device)

int main(void) {
  const struct CMUnitTest tests[] = {
      each(a_job_is_found_by_all_but_its_operands),
      each(a_form_is_made_where_it_is_fresh),
      each(a_form_that_was_there_is_made_by_the_launch_code),
      each(what_depends_on_more_than_the_job_is_not_kept),
      each(one_array_in_two_roles_is_a_model_for_two),
      each(words_are_as_wide_as_the_kernel_has_them),
      each(any_number_of_jobs_stays_bounded),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
