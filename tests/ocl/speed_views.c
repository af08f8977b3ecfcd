/* What it costs a device that operands are parts of larger tensors: a layer's kernels back to back,
 * on arrays of their own, on parts that vectors of four may be in, and on others. The best of some
 * rounds, with the parameters that the engine chooses without tuning. Run by hand:
 *
 *   CONVOY_TEST_PLATFORM=NVIDIA CONVOY_LIBEXEC=build/release/convoy-libexec speed_views [ROUNDS] */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/now.h"
#include "engine.h"
#include "problem/conv/conv.h"
#include "problem/operation.h"
#include "problem/pooling/pooling.h"

enum { STEPS = 20, OPERANDS = 4, WAYS = 3 };

static const char *const texts[] = {
    "n16c3h640w640 k16r3s3 stride2 pad1 forward",
    "n16c16h160w160 k16r3s3 pad1 forward",
    "n16c16h160w160 k16r3s3 pad1 backward_data",
    "n16c16h160w160 k16r3s3 pad1 backward_weights",
    "n16c48h160w160 k32r1s1 forward",
    "n16c48h160w160 k32r1s1 backward_data",
    "n16c48h160w160 k32r1s1 backward_weights",
    "n16c64h40w40 k64r3s3 pad1 forward",
    "n16c64h40w40 k64r3s3 pad1 backward_data",
    "n16c64h40w40 k64r3s3 pad1 backward_weights",
    "n16c128h20w20 k128r3s3 pad1 forward",
    "n16c512h20w20 k256r1s1 forward",
    "n16c512h20w20 k256r1s1 backward_data",
    "n16c64h80w80 k128r3s3 stride2 pad1 backward_data",
    "n16c96h56w56 k96r3s3 pad1 groups96 forward",
    "n16c96h56w56 k96r3s3 pad1 groups96 backward_weights",
    "max_pool n16c128h20w20 r5s5 pad2",
    "max_pool_backward n16c128h20w20 r5s5 pad2",
    "y0 = x0 * sigmoid(x0) on n16c64h80w80",
    "y0 = (x0 - x1) * x2 on n16c64h80w80 x1:channel x2:channel",
};

static const struct {
  const char *name;
  int64_t aligned, more; /* the pitch is that of twice the channels, and so much more */
} ways[WAYS] = {{"own", 0, 0}, {"by 4", 2, 0}, {"by 1", 0, 1}};

static test_engine engine;
static uint64_t last_plan;

static void check(convoy_status status, const char *text) {
  if (status == CONVOY_OK) return;
  fprintf(stderr, "%s: %s\n", text, engine.module->last_error());
  exit(EXIT_FAILURE);
}

/* ---------------------------------------------------------------------------------- problems */

static cvy_array_view view_of(int64_t image, int way) {
  return (cvy_array_view){2 * image + ways[way].more, ways[way].aligned};
}

static void spread_program(cvy_program_problem *of, int way) {
  int64_t image = of->result[0].stride[0], pitch = view_of(image, way).pitch;
  of->result[0].stride[0] = pitch;
  for (int i = 0; i < of->program.inputs; i++)
    if (of->input[i].stride[0] == image) of->input[i].stride[0] = pitch;
}

static void spread_conv(cvy_problem *problem, int way) {
  problem->conv.x = view_of(cvy_conv_image(problem, CVY_X), way);
  problem->conv.y = view_of(cvy_conv_image(problem, CVY_Y), way);
}

static void spread_pool(cvy_problem *problem, int way) {
  cvy_pooling_problem *p = &problem->pooling;
  p->y = view_of(p->c * cvy_pooling_out_volume(problem), way);
  p->x = view_of(p->c * cvy_pooling_in_volume(problem), way);
  if (cvy_pooling_is_backward(problem)) p->dx = p->x;
}

static void set_way(cvy_problem *problem, int way) {
  if (way == 0) return;
  if (problem->operation == CVY_PROGRAM)
    spread_program(&problem->program, way);
  else if (problem->operation < CVY_CONV_OPERATIONS)
    spread_conv(problem, way);
  else
    spread_pool(problem, way);
}

/* ------------------------------------------------------------------------------------ timing */

static cvy_operand place_of(int32_t base, const cvy_array *array, int way) {
  bool moved = way && cvy_array_view_is_part(&array->view);
  return cvy_place(base, moved ? (int64_t)sizeof(float) << ways[way].aligned : 0);
}

static uint64_t new_array(const cvy_array *array, int seed) {
  int64_t count = cvy_array_reach(array) + 4;
  float *values = test_engine_values(count, seed);
  if (!values) exit(EXIT_FAILURE);
  uint64_t id = test_engine_array(&engine, values, count);
  free(values);
  return id;
}

/* The job's operands are places in arrays of their own. */
static int32_t bind(cvy_job *job, int way, cvy_base *bases) {
  int32_t count = 0;
  for (int32_t i = 0; i < cvy_problem_inputs(&job->problem); i++, count++) {
    const cvy_array array = cvy_problem_input(&job->problem, i);
    job->in[i] = place_of(count, &array, way);
    bases[count] = (cvy_base){.id = new_array(&array, i)};
  }
  const cvy_array array = cvy_problem_output(&job->problem, 0);
  job->out[0] = place_of(count, &array, way);
  bases[count++] = (cvy_base){.id = new_array(&array, 9)};
  return count;
}

static double run(uint64_t plan, const char *text) {
  uint64_t ticket, fault;
  double began = test_now();
  check(command_plan_run(engine.backend, engine.device, plan, 0, &ticket), text);
  check(engine.backend->wait(engine.device, ticket, NULL, &fault), text);
  return (test_now() - began) / STEPS;
}

/* Seconds, or 0 where the row does not take it. */
static double time_of(const char *text, int32_t row, int way, int rounds) {
  const cvy_backend *b = engine.backend;
  const cvy_algorithm *algorithm = b->algorithms[row];
  cvy_problem problem;
  cvy_params params = {{0}};
  cvy_base bases[OPERANDS] = {{0}};
  cvy_job job;
  if (!cvy_problem_read(text, &problem)) exit(EXIT_FAILURE);
  set_way(&problem, way);
  if (!cvy_problem_legal(&problem) || !test_engine_takes(&engine, algorithm, &problem)) return 0;
  if (algorithm->defaults) algorithm->defaults(&problem, b->facts(engine.device), &params);
  cvy_job_set(&job, &problem, row, &params);
  int32_t count = bind(&job, way, bases);
  uint64_t plan = ++last_plan;
  for (int s = 0; s < STEPS; s++) check(command_plan_job(b, engine.device, plan, &job), text);
  check(command_plan_bind(b, engine.device, plan, 0, count, bases), text);
  double best = run(plan, text);
  for (int r = 0; r < rounds; r++) {
    double seconds = run(plan, text);
    if (seconds < best) best = seconds;
  }
  check(command_plan_drop(b, engine.device, plan), text);
  for (int32_t i = 0; i < count; i++) command_release(b, engine.device, bases[i].id);
  return best;
}

int main(int argc, char **argv) {
  int rounds = argc > 1 ? atoi(argv[1]) : 10;
  int skipped = test_engine_open(&engine, INT64_C(1) << 30);
  if (skipped) return skipped;
  printf("%s\n", engine.backend->facts(engine.device)->info.name);
  for (int way = 0; way < WAYS; way++) printf("%9s us", ways[way].name);
  printf("\n");
  for (size_t t = 0; t < CVY_COUNT(texts); t++) {
    for (int32_t row = 0; engine.backend->algorithms[row]; row++) {
      double seconds[WAYS];
      for (int way = 0; way < WAYS; way++) seconds[way] = time_of(texts[t], row, way, rounds);
      if (seconds[0] == 0) continue;
      for (int way = 0; way < WAYS; way++) printf("%12.2f", 1e6 * seconds[way]);
      printf("  %s: %s\n", engine.backend->algorithms[row]->name, texts[t]);
      fflush(stdout);
    }
  }
  test_engine_close(&engine);
  return 0;
}
