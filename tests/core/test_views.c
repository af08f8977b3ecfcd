/* Problems whose operands are parts of larger tensors, as plans will have them, go through core as
 * others do: on the device and elsewhere, judged element by element, in pieces where memory is
 * short, and watched for NaN. What lies in the gaps is NaN, and stays. */
#include <math.h>
#include <string.h>

#include "common/cmocka.h"
#include "common/part.h"
#include "common/random.h"
#include "core/fake.h"
#include "core/heard.h"
#include "core/open.h"
#include "core/operation.h"
#include "core/verify/check.h"

static const char *const texts[] = {
    "n6c2w40 k3s4 forward, x 100 apart by 4, y 121 apart by 1",
    "n6c2w40 k3s4 backward_data, x 90 apart by 2, y 121 apart by 1, added to what is there",
    "n6c2w40 k3s4 backward_weights, x 100 apart by 4, y 120 apart by 4",
    "n6c2w40 k3s4 backward_data, y 121 apart by 1",
    "max_pool_backward n6c3w20 s2 stride2, x 61 apart by 1, y 40 apart by 4, dx 62 apart by 2",
    "max_pool_backward n6c3w20 s3, y 60 apart by 4, dx 62 apart by 2, added to what is there",
    "average_pool_backward n6c3w20 s2, y 60 apart by 4, dx 61 apart by 1, added to what is there",
    "resample_nearest n6c2w20 w40, x 50 apart by 2, y 84 apart by 4",
    "resample_nearest_backward n6c2w20 w40, x 61 apart by 1, y 84 apart by 4",
    "resample_linear n6c2w20 w40, x 61 apart by 1, y 82 apart by 2",
    "y0 = max(x0 * x1, 1) on n6c2w40 x0:strides=90,40,0,0,1 x1:channel y0:strides=121,40,0,0,1",
    "y0 = x0 - 3 on n6c2w40 y0:strides=101,40,0,0,1",
    "y0 = sum over w of x0 on n6c4w40 x0:strides=170,40,0,0,1 y0:strides=11,1,0,0,0",
};

/* The operands of a text's problem; those that the CPU's result is computed from are the same. */
typedef struct operands {
  cvy_problem problem;
  test_part in[CVY_MOST_READ], out;
} operands;

static test_part part_of(cvy_array array) {
  int64_t count = cvy_array_count(&array), images = array.per_image ? array.extent[0] : 1;
  return test_part_new(images, count / images, array.view.pitch,
                       test_part_offset((int)array.view.aligned));
}

static void fill(test_random *random, test_part *part) {
  float values[2000];
  assert_true(part->images * part->image <= 2000);
  test_fill_integers(random, values, part->images * part->image);
  test_part_put(part, values);
}

static operands operands_of(const char *text) {
  test_random random = {51};
  operands all;
  memset(&all, 0, sizeof all);
  if (!cvy_problem_read(text, &all.problem)) fail_msg("%s", text);
  for (int32_t i = 0; i < cvy_problem_inputs(&all.problem); i++) {
    all.in[i] = part_of(cvy_problem_input(&all.problem, i));
    fill(&random, &all.in[i]);
  }
  all.out = part_of(cvy_problem_output(&all.problem, 0));
  if (all.problem.accumulate) fill(&random, &all.out);
  return all;
}

static void free_operands(operands *all) {
  for (int32_t i = 0; i < cvy_problem_inputs(&all->problem); i++) {
    assert_true(test_part_intact(&all->in[i]));
    test_part_free(&all->in[i]);
  }
  assert_true(test_part_intact(&all->out));
  test_part_free(&all->out);
}

static convoy_status operate(convoy_context *context, const operands *all) {
  const float *in[CVY_MAX_INPUTS] = {NULL};
  float *out[CVY_MAX_OUTPUTS] = {all->out.begin};
  for (int32_t i = 0; i < cvy_problem_inputs(&all->problem); i++) in[i] = all->in[i].begin;
  convoy_status status = cvy_enter(context);
  if (status) return status;
  status = cvy_operate_host(context, &all->problem, in, out, NULL);
  return cvy_leave(context, status);
}

/* By the definition. */
static void check_results(const operands *before, const operands *after) {
  cvy_values from = {{NULL}};
  cvy_array array = cvy_problem_output(&before->problem, 0);
  int32_t inputs = cvy_problem_inputs(&before->problem);
  for (int32_t i = 0; i < inputs; i++) from.in[i] = before->in[i].begin;
  from.in[inputs] = before->out.begin;
  for (int64_t i = 0; i < cvy_array_count(&array); i++) {
    double wanted = cvy_problem_element(&before->problem, &from, 0, i).value;
    assert_true((double)after->out.begin[cvy_array_place(&array, i)] == wanted);
  }
}

static void run_all(convoy_context *context) {
  for (size_t i = 0; i < CVY_COUNT(texts); i++) {
    operands before = operands_of(texts[i]), all = operands_of(texts[i]);
    assert_int_equal(operate(context, &all), CONVOY_OK);
    check_results(&before, &all);
    free_operands(&before);
    free_operands(&all);
  }
}

static void all_devices_leave_gaps_alone(void **state) {
  (void)state;
  fake_reset();
  convoy_context *cpu = open_named("cpu", CONVOY_NO);
  run_all(cpu);
  convoy_close(cpu);
  convoy_context *device = open_verified("fake", CONVOY_VERIFY_ALL, CONVOY_NO);
  run_all(device);
  assert_true(fake_seen.runs >= (int64_t)CVY_COUNT(texts));
  assert_int_equal(health_of(device).wrong_results, 0);
  convoy_close(device);
}

/* An element behind a gap is judged by what is there, not by its number. */
static void lies_behind_gaps_are_found(void **state) {
  (void)state;
  for (size_t i = 0; i < CVY_COUNT(texts); i++) {
    operands before = operands_of(texts[i]), all = operands_of(texts[i]);
    cvy_array array = cvy_problem_output(&all.problem, 0);
    fake_reset();
    convoy_context *device = open_verified("fake", CONVOY_VERIFY_ALL, CONVOY_ON);
    fake.lie = FAKE_WRONG;
    fake.lie_element = cvy_array_count(&array) - 2;
    assert_int_equal(operate(device, &all), CONVOY_OK);
    assert_int_equal(health_of(device).wrong_results, 1);
    check_results(&before, &all);
    convoy_close(device);
    free_operands(&before);
    free_operands(&all);
  }
}

/* Suspects are looked for among elements only: a gap's NaN is none. */
static void samples_are_elements(void **state) {
  (void)state;
  operands all = operands_of(texts[0]);
  cvy_array array = cvy_problem_output(&all.problem, 0);
  cvy_samples samples = {.count = 0};
  float values[2000];
  for (int i = 0; i < 2000; i++) values[i] = 1.0f;
  test_part_put(&all.out, values);
  cvy_sample_suspects(&array, all.out.begin, 1, &samples);
  assert_int_equal(samples.count, 0);
  all.out.begin[cvy_array_place(&array, 300)] = NAN;
  cvy_sample_suspects(&array, all.out.begin, 1, &samples);
  assert_int_equal(samples.count, 1);
  assert_int_equal(samples.index[0], 300);
  free_operands(&all);
}

/* The device has room for an image or two. */
static void pieces_lie_as_the_whole(void **state) {
  (void)state;
  for (size_t i = 0; i < CVY_COUNT(texts); i++) {
    operands before = operands_of(texts[i]), all = operands_of(texts[i]);
    fake_reset();
    fake.capacity = 3000;
    convoy_context *device = open_named("fake", CONVOY_ON);
    assert_int_equal(operate(device, &all), CONVOY_OK);
    assert_true(fake_seen.runs > 1);
    assert_int_equal(health_of(device).downgrades, 1);
    assert_int_equal(health_of(device).failovers, 0);
    check_results(&before, &all);
    convoy_close(device);
    free_operands(&before);
    free_operands(&all);
  }
}

static convoy_context *open_watching(heard *all) {
  convoy_options options = CONVOY_OPTIONS_INIT;
  convoy_context *context;
  options.device = "cpu";
  options.nan_watch = CONVOY_ON;
  options.threads = 1;
  *all = (heard){0};
  assert_int_equal(convoy_open(&options, &context), CONVOY_OK);
  assert_int_equal(convoy_set_event_callback(context, hear_nonfinite, all), CONVOY_OK);
  return context;
}

static void the_watch_overlooks_gaps(void **state) {
  (void)state;
  heard all;
  operands with = operands_of(texts[0]);
  cvy_array x = cvy_problem_input(&with.problem, 0);
  convoy_context *context = open_watching(&all);
  assert_int_equal(operate(context, &with), CONVOY_OK);
  assert_int_equal(all.count, 0);
  with.in[0].begin[cvy_array_place(&x, 333)] = INFINITY;
  assert_int_equal(operate(context, &with), CONVOY_OK);
  assert_int_equal(all.count, 1);
  assert_non_null(strstr(all.message, "x[333] is inf"));
  assert_non_null(strstr(all.message, "y 121 apart by 1"));
  convoy_close(context);
  free_operands(&with);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(all_devices_leave_gaps_alone), cmocka_unit_test(lies_behind_gaps_are_found),
      cmocka_unit_test(samples_are_elements),         cmocka_unit_test(pieces_lie_as_the_whole),
      cmocka_unit_test(the_watch_overlooks_gaps),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
