/* Jobs for the CPU engine. */
#include "cpu/work.h"

#include <stdio.h>
#include <string.h>

#include "common/cmocka.h"
#include "problem/conv/conv.h"

const char *const cpu_directions[CONVOY_DIRECTIONS] = {"forward", "backward_data",
                                                       "backward_weights", "backward_bias"};

cvy_device *cpu_open(int32_t threads, int64_t limit) {
  cvy_open_options options = {.threads = threads, .workspace_limit = limit};
  cvy_device *device;
  assert_int_equal(cvy_backend_cpu.open(0, &options, &device), CONVOY_OK);
  return device;
}

cpu_work cpu_work_new(const char *shape, int direction, float beta, cpu_fill *fill) {
  char text[256];
  convoy_conv conv;
  convoy_direction parsed;
  int64_t x_shape[CONVOY_MAX_DIMS], w_shape[CONVOY_MAX_DIMS];
  cpu_work w = {0};
  test_random random = {7};
  snprintf(text, sizeof text, "%s %s", shape, cpu_directions[direction]);
  assert_int_equal(cvy_parse_problem(text, &conv, x_shape, w_shape, &parsed), CONVOY_OK);
  cvy_problem *p = &w.job.problem;
  assert_int_equal(cvy_conv_make(&conv, parsed, x_shape, w_shape, beta, false, NULL, p), CONVOY_OK);
  w.a = test_array_new(cvy_conv_count(p, cvy_conv_in(p, 0)));
  w.b = test_array_new(cvy_problem_inputs(p) > 1 ? cvy_conv_count(p, cvy_conv_in(p, 1)) : 1);
  w.out = test_array_new(cvy_conv_count(p, cvy_conv_out(p)));
  fill(&random, w.a.values, w.a.count);
  fill(&random, w.b.values, w.b.count);
  w.job.in[0].host = w.a.values, w.job.in[1].host = w.b.values, w.job.out[0].host = w.out.values;
  return w;
}

void cpu_work_free(cpu_work *work) {
  assert_true(test_array_intact(&work->out));
  test_array_free(&work->a);
  test_array_free(&work->b);
  test_array_free(&work->out);
}

bool cpu_choose(const cvy_device *device, cpu_work *work, int row) {
  const cvy_algorithm *algorithm = cvy_backend_cpu.algorithms[row];
  const cvy_facts *facts = cvy_backend_cpu.facts(device);
  char reason[256] = "";
  cvy_text text = cvy_text_in(reason, sizeof reason);
  if (!cvy_algorithm_does(algorithm, &work->job.problem)) return false;
  if (algorithm->accepts && !algorithm->accepts(&work->job.problem, facts, &text)) {
    assert_true(strlen(reason) > 10);
    return false;
  }
  work->job.algorithm = row;
  if (algorithm->defaults) algorithm->defaults(&work->job.problem, facts, &work->job.params);
  return true;
}

bool cpu_choose_named(const cvy_device *device, cpu_work *work, const char *name) {
  for (int row = 0; cvy_backend_cpu.algorithms[row]; row++)
    if (!strcmp(cvy_backend_cpu.algorithms[row]->name, name)) return cpu_choose(device, work, row);
  return false;
}

int32_t cpu_blas_threads(int32_t most) {
  const cvy_facts facts = {.info.compute_units = most};
  for (int row = 0; cvy_backend_cpu.algorithms[row]; row++) {
    const cvy_algorithm *algorithm = cvy_backend_cpu.algorithms[row];
    if (!strcmp(algorithm->name, "cpu.im2col") && !cvy_algorithm_serves(algorithm, &facts))
      return 1;
  }
  return most;
}

convoy_status cpu_run(cvy_device *device, cpu_work *work) {
  test_fill_nan(work->out.values, work->out.count);
  return command_run(&cvy_backend_cpu, device, &work->job, NULL);
}

static bool same_values(const cpu_work *a, const cpu_work *b) {
  for (int64_t i = 0; i < a->out.count; i++)
    if (!(a->out.values[i] == b->out.values[i])) return false;
  return true;
}

static bool equals_direct(cvy_device *device, const char *name, const char *shape, int direction) {
  cpu_work tested = cpu_work_new(shape, direction, 0, test_fill_integers);
  cpu_work direct = cpu_work_new(shape, direction, 0, test_fill_integers);
  bool equal = cpu_choose_named(device, &tested, name) &&
               cpu_choose_named(device, &direct, "cpu.direct") &&
               cpu_run(device, &tested) == CONVOY_OK && cpu_run(device, &direct) == CONVOY_OK &&
               same_values(&tested, &direct);
  if (!equal)
    fprintf(stderr, "%s is not cpu.direct: '%s %s'\n", name, shape, cpu_directions[direction]);
  cpu_work_free(&tested);
  cpu_work_free(&direct);
  return equal;
}

bool cpu_row_is_right(cvy_device *device, const char *name) {
  static const char *const shapes[] = {"n2c12h19w21 k10r3s3 stride2 pad1", "n1c64h24w24 k48r1s1",
                                       "n2c24h20w20 k24r3s3 pad1 groups2",
                                       "n1c64h24w24 k64r3s3 pad1"};
  bool right = true;
  for (size_t s = 0; s < CVY_COUNT(shapes); s++) {
    for (int d = CONVOY_FORWARD; d <= CONVOY_BACKWARD_WEIGHTS; d++)
      right = equals_direct(device, name, shapes[s], d) && right;
  }
  return right;
}
