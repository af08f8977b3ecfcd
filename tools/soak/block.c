/* Carries out the same programs on two contexts. */
#include "soak/block.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"

enum { MOST = 10 };

/* Inputs, then results. */
typedef struct step {
  const char *name;
  uint8_t operand[MOST];
} step;
static const step normalising[] = {
    {"statistics", {BLOCK_X, BLOCK_MEAN, BLOCK_VARIANCE}},
    {"normalise_numbers",
     {BLOCK_VARIANCE, BLOCK_EPSILON, BLOCK_GAMMA, BLOCK_DEVIATION, BLOCK_SCALE}},
    {"normalise_silu", {BLOCK_X, BLOCK_MEAN, BLOCK_SCALE, BLOCK_BETA, BLOCK_Y}},
    {"normalise_silu_sums",
     {BLOCK_X, BLOCK_MEAN, BLOCK_DEVIATION, BLOCK_GAMMA, BLOCK_BETA, BLOCK_DY, BLOCK_SUM,
      BLOCK_SUM_H}},
    {"normalise_silu_backward",
     {BLOCK_X, BLOCK_MEAN, BLOCK_DEVIATION, BLOCK_GAMMA, BLOCK_BETA, BLOCK_DY, BLOCK_SUM,
      BLOCK_SUM_H, BLOCK_SCALE, BLOCK_DX}},
};
enum { NORMALISING = sizeof normalising / sizeof normalising[0] };
static const step learning = {
    "momentum", {BLOCK_MOMENTUM, BLOCK_V, BLOCK_DW, BLOCK_W, BLOCK_RATE, BLOCK_V, BLOCK_W}};

static const soak_array of_net[BLOCK_OPERANDS] = {
    [BLOCK_X] = SOAK_Y, [BLOCK_DY] = SOAK_DY, [BLOCK_DW] = SOAK_DW};

static bool is_of_net(int which) {
  return which <= BLOCK_DW;
}

/* ----------------------------------------------------------------------------------- making */

static int shape_of(const soak_layer *layer, int which, int64_t *shape) {
  if (which == BLOCK_DW || which == BLOCK_V || which == BLOCK_W)
    return array_shape(&layer->about, ARRAY_W, shape);
  if (which == BLOCK_X || which == BLOCK_DY || which == BLOCK_Y || which == BLOCK_DX)
    return array_shape(&layer->about, ARRAY_Y, shape);
  if (which <= BLOCK_BETA) return array_shape(&layer->about, ARRAY_BIAS, shape);
  shape[0] = 1;
  return 1;
}

static float first_value(int which, int64_t i) {
  static const float numbers[BLOCK_OPERANDS] = {
      [BLOCK_EPSILON] = 1e-3f, [BLOCK_RATE] = 0.01f, [BLOCK_MOMENTUM] = 0.9f};
  if (which == BLOCK_GAMMA) return 1.0f + 0.1f * (float)i;
  if (which == BLOCK_BETA) return 0.2f - 0.1f * (float)i;
  if (which == BLOCK_W) return 0.05f * (float)(i % 7) - 0.15f;
  return numbers[which];
}

static bool make_tensor(convoy_context *context, const soak_block *block, int which,
                        convoy_tensor **out) {
  int64_t shape[CONVOY_MAX_DIMS];
  int dims = shape_of(&block->net->layer[0], which, shape);
  return convoy_tensor_new(context, dims, shape, out) == CONVOY_OK &&
         convoy_tensor_write(*out, block->host[which], block->count[which]) == CONVOY_OK;
}

static bool make_operand(soak_block *block, int which) {
  soak_layer *layer = &block->net->layer[0];
  int64_t shape[CONVOY_MAX_DIMS], count = 1;
  for (int d = shape_of(layer, which, shape); d > 0; d--) count *= shape[d - 1];
  block->count[which] = count;
  block->host[which] = malloc((size_t)count * sizeof(float));
  for (int64_t i = 0; block->host[which] && i < count; i++)
    block->host[which][i] = first_value(which, i);
  if (!block->host[which] || !make_tensor(block->net->cpu, block, which, &block->exact[which]))
    return false;
  block->tensor[which] = is_of_net(which) ? layer->tensor[of_net[which]] : NULL;
  return is_of_net(which) || make_tensor(block->net->device, block, which, &block->tensor[which]);
}

/* --------------------------------------------------------------------------------- carrying out */

static convoy_status apply(convoy_context *context, const step *what, convoy_tensor *const *from,
                           convoy_run *run) {
  const convoy_tensor *in[MOST];
  convoy_tensor *out[MOST];
  convoy_program *program;
  int inputs = 0, results = 0;
  convoy_status status = convoy_program_named(what->name, &program);
  if (status) return status;
  for (; convoy_program_input(program, inputs); inputs++) in[inputs] = from[what->operand[inputs]];
  for (; convoy_program_result(program, results); results++)
    out[results] = from[what->operand[inputs + results]];
  status = convoy_apply(context, program, in, out, run);
  convoy_program_free(program);
  return status;
}

bool soak_block_make(soak_block *block, soak_net *net) {
  convoy_run run = CONVOY_RUN_INIT;
  convoy_device_info info = {.struct_size = sizeof info};
  *block = (soak_block){.net = net};
  for (int i = 0; i < BLOCK_OPERANDS; i++)
    if (!make_operand(block, i)) return false;
  block->used = convoy_context_device(net->device, &info) == CONVOY_OK &&
                apply(net->device, &normalising[0], block->tensor, &run) == CONVOY_OK &&
                strcmp(run.device, info.id) == 0;
  return true;
}

void soak_block_free(soak_block *block) {
  for (int i = 0; i < BLOCK_OPERANDS; i++) {
    if (!is_of_net(i)) convoy_tensor_free(block->tensor[i]);
    convoy_tensor_free(block->exact[i]);
    free(block->host[i]);
  }
}

/* Reads what the device has, and counts what is another number on the CPU. A NaN is a NaN. */
static convoy_status compare(soak_block *block, int which, int64_t *wrong) {
  float *got = block->host[which];
  int64_t count = block->count[which];
  float *exact = malloc((size_t)count * sizeof *exact);
  if (!exact) return CONVOY_ERR_MEMORY;
  double start = seconds_now();
  convoy_status status =
      soak_timed(block->net, start, convoy_tensor_read(block->tensor[which], got, count));
  if (!status) status = convoy_tensor_read(block->exact[which], exact, count);
  for (int64_t i = 0; i < count && !status; i++)
    *wrong += !(got[i] == exact[i] || (isnan(got[i]) && isnan(exact[i])));
  free(exact);
  return status;
}

static convoy_status give_cpu(soak_block *block, int which) {
  const soak_layer *layer = &block->net->layer[0];
  return convoy_tensor_write(block->exact[which], layer->host[of_net[which]], block->count[which]);
}

/* The device does all steps before anything is read. */
static convoy_status carry_out(soak_block *block, const step *steps, int count) {
  convoy_status status = CONVOY_OK;
  for (int i = 0; i < count && !status; i++) {
    double start = seconds_now();
    status =
        soak_timed(block->net, start, apply(block->net->device, &steps[i], block->tensor, NULL));
  }
  for (int i = 0; i < count && !status; i++)
    status = apply(block->net->cpu, &steps[i], block->exact, NULL);
  return status;
}

convoy_status soak_block_part(soak_block *block, int64_t *wrong) {
  if (!block->used) return CONVOY_OK;
  convoy_status status = give_cpu(block, BLOCK_X);
  if (!status) status = give_cpu(block, BLOCK_DY);
  if (!status) status = carry_out(block, normalising, NORMALISING);
  for (int i = BLOCK_MEAN; i <= BLOCK_SUM_H && !status; i++) status = compare(block, i, wrong);
  for (int i = BLOCK_Y; i <= BLOCK_DX && !status; i++) status = compare(block, i, wrong);
  return status;
}

convoy_status soak_block_learn(soak_block *block, int64_t *wrong) {
  if (!block->used) return CONVOY_OK;
  convoy_status status = give_cpu(block, BLOCK_DW);
  if (!status) status = carry_out(block, &learning, 1);
  double start = seconds_now();
  if (!status) status = soak_timed(block->net, start, convoy_commit(block->tensor[BLOCK_V]));
  for (int i = BLOCK_V; i <= BLOCK_W && !status; i++) status = compare(block, i, wrong);
  return status;
}
