/* What is captured of a job and replayed, without OpenCL: launches are noted instead
 * of enqueued. */
#include <stdlib.h>
#include <string.h>

#include "common/cmocka.h"
#include "ocl/engine/capture.h"
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
                           conv_args args, const bindings *arrays) {
  assert_ptr_equal(on, &device);
  assert_ptr_equal(kernel, &some_kernel);
  assert_int_equal(what->work_groups, 5);
  assert_int_equal(args.items, 77);
  noted[count_noted++] = *arrays;
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

static span array(uint64_t id) {
  return span_of(arrays_find(&device.memory.arrays, id)->piece);
}

/* A job whose operands are the arrays first, first + 1 and first + 2. */
static cvy_job job_of(uint64_t first, int64_t n) {
  return (cvy_job){
      .problem.conv.n = n, .in[0].id = first, .in[1].id = first + 1, .out[0].id = first + 2};
}

static job_arrays arrays_of(const cvy_job *job) {
  return (job_arrays){.in = {array(job->in[0].id), array(job->in[1].id)},
                      .out = {array(job->out[0].id)}};
}

static void note(const bindings *arrays) {
  conv_args args = {.items = 77};
  capture_launch(&device, &some_launch, &some_kernel, &args, arrays);
}

/* Does what launch code does: it asks for a form of b, makes it if it is fresh, and launches what
 * reads it. */
static bool capture_one(const cvy_job *job, bool with_form, int times) {
  capture new;
  job_arrays all = arrays_of(job);
  bindings of = bindings_of(&all);
  capture_begin(&device, &new, job, &all, NULL);
  bool fresh = false;
  if (with_form) {
    assert_int_equal(prepacked_find(&device, job->in[1].id, &some_form, UNIT, &of.b, &fresh),
                     CONVOY_OK);
    if (fresh) note(&(bindings){.a = all.in[1], .out = of.b});
  }
  for (int i = 0; i < times; i++) note(&of);
  if (!capture_end(&device)) return false;
  captured_keep(&device, job, &new.job);
  return true;
}

static bool replay(const cvy_job *job) {
  const captured_job *known = captured_find(&device, job);
  assert_non_null(known);
  job_arrays arrays = arrays_of(job);
  convoy_status status = CONVOY_ERR_DEVICE;
  count_noted = 0;
  bool done = captured_replay(&device, known, job, &arrays, (span){NULL, 0}, &status);
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
  assert_span(noted[0].a, array(4));
  assert_span(noted[0].b, array(5));
  assert_span(noted[0].out, array(6));
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
  assert_span(noted[0].a, array(5));
  assert_span(noted[0].out, noted[1].b);
  assert_true(noted[0].out.at != array(5).at);
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
  cvy_job aliased = job_of(1, 10);
  aliased.in[1] = aliased.in[0];
  assert_false(capture_one(&aliased, false, 1));
  cvy_job job = job_of(1, 10);
  assert_false(capture_one(&job, false, CAPTURED_LAUNCHES + 1));
  job_arrays arrays = arrays_of(&job);
  bindings foreign = {.a = array(7), .out = arrays.out[0]};
  capture_begin(&device, &new, &job, &arrays, NULL);
  note(&foreign);
  assert_false(capture_end(&device));
  capture_begin(&device, &new, &job, &arrays, NULL);
  capture_invalidate(&device);
  assert_false(capture_end(&device));
  assert_true(capture_one(&job, false, CAPTURED_LAUNCHES));
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
      each(any_number_of_jobs_stays_bounded),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
