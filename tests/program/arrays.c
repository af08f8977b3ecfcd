#include "program/arrays.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const float guard = 12345.678f;

/* -------------------------------------------------------------------------------- the problem */

void test_random_extents(test_random *random, int64_t most, int64_t *extent) {
  static const int16_t shapes[][CVY_PROGRAM_AXES] = {
      /* limits of random extents */
      {4, 6, 1, 9, 9},   {3, 4, 2, 3, 5}, {2, 3, 1, 4, 200}, {1, 1, 1, 1, 2000},
      {6, 300, 1, 1, 1}, {5, 5, 1, 1, 7}, {1, 9, 1, 16, 20}, {2, 2, 2, 2, 130}};
  if (test_between(random, 0, 15) == 0) { /* more pieces than their lanes, over n alone */
    const int64_t tall[CVY_PROGRAM_AXES] = {test_between(random, 2200, 2600), 1, 1, 1, 2};
    memcpy(extent, tall, sizeof tall);
    return;
  }
  const int16_t *limit = shapes[test_between(random, 0, CVY_COUNT(shapes) - 1)];
  do {
    for (int axis = 0; axis < CVY_PROGRAM_AXES; axis++)
      extent[axis] = test_between(random, 1, limit[axis]);
  } while (cvy_program_count(extent) > most);
}

/* The strides of an array whose axes lie in this order in memory, with gaps. */
static cvy_program_view laid_out(const int *order, const int64_t *gap, convoy_dtype type,
                                 const int64_t *extent) {
  cvy_program_view view = {.type = (int32_t)type};
  int64_t stride = 1;
  for (int i = CVY_PROGRAM_AXES - 1; i >= 0; i--) {
    int axis = order[i];
    if (extent[axis] > 1) view.stride[axis] = stride;
    stride *= extent[axis] + gap[axis];
  }
  return view;
}

static void shuffle(test_random *random, int *order) {
  for (int i = 0; i < CVY_PROGRAM_AXES; i++) {
    int other = (int)test_between(random, 0, CVY_PROGRAM_AXES - 1), axis = order[i];
    order[i] = order[other];
    order[other] = axis;
  }
}

cvy_program_view test_random_result(test_random *random, const int64_t *extent) {
  int order[CVY_PROGRAM_AXES] = {0, 1, 2, 3, 4};
  int64_t gap[CVY_PROGRAM_AXES] = {0};
  int kind = (int)test_between(random, 0, 5);
  if (kind == 3) gap[1] = test_between(random, 1, 4);
  if (kind == 4) gap[1] = 4;
  if (kind == 5) shuffle(random, order);
  return laid_out(order, gap, CONVOY_FLOAT32, extent);
}

cvy_program_view test_random_view(test_random *random, convoy_dtype type, const int64_t *extent) {
  int order[CVY_PROGRAM_AXES] = {0, 1, 2, 3, 4};
  int64_t gap[CVY_PROGRAM_AXES] = {0};
  int kind = (int)test_between(random, 0, 9);
  if (kind < CVY_CLASS_STRIDED) {
    return cvy_program_view_of((cvy_program_class)kind, type, extent);
  }
  if (kind == 5) return cvy_program_view_of(CVY_CLASS_FULL, type, extent);
  if (kind == 6) gap[1] = test_between(random, 1, 8);
  if (kind == 7) shuffle(random, order);
  if (kind == 8) gap[test_between(random, 0, 4)] = test_between(random, 1, 2);
  cvy_program_view view = laid_out(order, gap, type, extent);
  if (kind == 9) view.stride[test_between(random, 0, 4)] = 0; /* the same along some axis */
  return view;
}

void test_arrays_views(test_random *random, const cvy_program *program, bool aligned,
                       test_arrays *out) {
  cvy_program_problem *problem = &out->problem;
  memset(problem, 0, sizeof *problem);
  problem->program = *program;
  do {
    test_random_extents(random, 3000, problem->extent);
    if (aligned && problem->extent[0] < 2000) problem->extent[4] = (problem->extent[4] + 3) / 4 * 4;
  } while (cvy_program_count(problem->extent) > 6000);
  if (cvy_program_uses_of(program).random) {
    problem->seed = test_next(random);
    problem->run = test_next(random);
    problem->node = test_next(random) >> 40;
  }
  for (int i = 0; i < program->inputs; i++) {
    int type = test_between(random, 0, 2) ? 0 : (int)test_between(random, 0, 2);
    problem->input[i] = test_random_view(random, (convoy_dtype)type, problem->extent);
    if (aligned && test_between(random, 0, 1))
      problem->input[i] = cvy_program_view_of(CVY_CLASS_FULL, (convoy_dtype)type, problem->extent);
  }
  for (int i = 0; i < program->results; i++)
    problem->result[i] = test_random_result(random, problem->extent);
  memset(&out->reduction, 0, sizeof out->reduction);
  out->results = program->results;
}

static void random_kinds(test_random *random, int values, cvy_reduction *how) {
  how->results = (uint8_t)test_between(random, 1, CVY_PROGRAM_RESULTS);
  for (int k = 0; k < how->results; k++) {
    how->result[k].kind = (uint8_t)test_between(random, 0, CVY_REDUCE_KINDS - 1);
    how->result[k].value = (uint8_t)test_between(random, 0, values - 1);
  }
}

void test_arrays_reduction(test_random *random, const cvy_program *program, bool aligned,
                           test_arrays *out) {
  cvy_reduce_problem *reduction = &out->reduction;
  int64_t kept[CVY_PROGRAM_AXES];
  test_arrays_views(random, program, aligned, out);
  reduction->how.axes = (uint8_t)test_between(random, 1, 31);
  if (test_between(random, 0, 1)) reduction->how.axes = 0x1d; /* all but the channels */
  random_kinds(random, program->results, &reduction->how);
  out->results = reduction->how.results;
  memset(out->problem.result, 0, sizeof out->problem.result);
  for (int axis = 0; axis < CVY_PROGRAM_AXES; axis++)
    kept[axis] = (reduction->how.axes >> axis & 1) ? 1 : out->problem.extent[axis];
  for (int k = 0; k < out->results; k++) out->problem.result[k] = test_random_result(random, kept);
  reduction->of = out->problem;
  reduction->piece = cvy_reduce_default_piece(out->problem.extent, reduction->how.axes,
                                              test_between(random, 1, 4) * 100);
  if (test_between(random, 0, 1)) /* as short as they can be */
    reduction->piece = CVY_REDUCE_GROUP * cvy_reduce_order_of(reduction).lanes;
}

/* --------------------------------------------------------------------------------- its memory */

/* Also of results, which have nothing along reduced axes. */
static int64_t reach_of(const cvy_program_view *view, const int64_t *extent) {
  int64_t last = 0;
  for (int axis = 0; axis < CVY_PROGRAM_AXES; axis++)
    if (extent[axis]) last += (extent[axis] - 1) * view->stride[axis];
  return last + 1;
}

static void give_memory(test_random *random, const test_arrays *all, const cvy_program_view *view,
                        bool aligned, test_operand *out) {
  out->offset = TEST_ARRAY_EDGE + test_between(random, 0, TEST_ARRAY_EDGE - 1);
  if (aligned) out->offset &= ~INT64_C(3);
  out->count = out->offset + reach_of(view, all->problem.extent) + TEST_ARRAY_EDGE;
  if (out->count > TEST_ARRAY_FLOATS) {
    fprintf(stderr, "%lld elements are too many\n", (long long)out->count);
    abort();
  }
}

static void fill_operand(test_random *random, int32_t type, bool tame, test_operand *out) {
  for (int64_t i = 0; i < out->count; i++) {
    if (type == CONVOY_UINT8)
      out->memory.byte[i] = (uint8_t)test_next(random);
    else if (type == CONVOY_INT32)
      out->memory.whole[i] = (int32_t)test_next(random) >> test_between(random, tame ? 20 : 0, 31);
    else
      out->memory.real[i] =
          tame ? (float)test_between(random, -999999, 999999) * 4e-6f : test_hostile(random);
  }
}

void test_arrays_memory(test_random *random, bool aligned, bool tame, test_arrays *out) {
  const cvy_program_problem *problem = &out->problem;
  for (int i = 0; i < problem->program.inputs; i++) {
    give_memory(random, out, &problem->input[i], aligned, &out->input[i]);
    fill_operand(random, problem->input[i].type, tame, &out->input[i]);
  }
  for (int k = 0; k < CVY_PROGRAM_RESULTS; k++) {
    give_memory(random, out, &problem->result[k], aligned, &out->result[k]);
    for (int64_t i = 0; i < out->result[k].count; i++) {
      out->result[k].memory.real[i] = out->expected[k][i] = guard;
      out->undefined[k][i] = false;
    }
  }
}

const void *test_operand_at(const test_operand *operand, int32_t type) {
  return operand->memory.byte + operand->offset * cvy_dtype_bytes(type);
}

void test_arrays_inputs(const test_arrays *all, const void **inputs) {
  for (int i = 0; i < all->problem.program.inputs; i++)
    inputs[i] = test_operand_at(&all->input[i], all->problem.input[i].type);
}

static void expect_reduced(test_arrays *out) {
  const cvy_reduce_problem *reduction = &out->reduction;
  const void *inputs[CVY_PROGRAM_INPUTS];
  cvy_program_problem kept = out->problem;
  test_arrays_inputs(out, inputs);
  for (int axis = 0; axis < CVY_PROGRAM_AXES; axis++)
    if (reduction->how.axes >> axis & 1) kept.extent[axis] = 1;
  out->elements = cvy_program_count(kept.extent);
  out->plain = 0;
  for (int64_t i = 0; i < out->elements; i++) {
    float results[CVY_PROGRAM_RESULTS];
    cvy_program_place place = cvy_program_place_of(&kept, i);
    bool plain = cvy_reduce_element(reduction, inputs, i, results);
    out->plain += plain;
    for (int k = 0; k < out->results; k++) {
      int64_t at = out->result[k].offset + cvy_program_offset(&kept.result[k], &place);
      out->expected[k][at] = results[k];
      out->undefined[k][at] = !plain;
    }
  }
}

void test_arrays_expect(test_arrays *out) {
  const cvy_program_problem *problem = &out->problem;
  const void *inputs[CVY_PROGRAM_INPUTS];
  if (out->reduction.how.axes) {
    expect_reduced(out);
    return;
  }
  test_arrays_inputs(out, inputs);
  out->elements = cvy_program_count(problem->extent);
  out->plain = 0;
  for (int64_t i = 0; i < out->elements; i++) {
    float results[CVY_PROGRAM_RESULTS], flushed[CVY_PROGRAM_RESULTS];
    cvy_program_place place = cvy_program_place_of(problem, i);
    bool plain = cvy_program_problem_element(problem, inputs, i, results, flushed);
    out->plain += plain;
    for (int k = 0; k < problem->program.results; k++) {
      int64_t at = out->result[k].offset + cvy_program_offset(&problem->result[k], &place);
      out->expected[k][at] = results[k];
      out->undefined[k][at] = !plain;
    }
  }
}

int test_arrays_wrong(const test_arrays *all, int result, const float *memory, const char *who) {
  int wrong = 0;
  for (int64_t i = 0; i < all->result[result].count; i++) {
    if (all->undefined[result][i] || test_same_bits(memory[i], all->expected[result][i])) continue;
    if (!wrong++) {
      static char text[CVY_PROGRAM_TEXT];
      cvy_reduction_text(&all->problem.program, &all->reduction.how, NULL, text, sizeof text);
      printf("%s: place %lld of result %d (its first element is at %lld) is %a, expected %a: %s\n",
             who, (long long)i, result, (long long)all->result[result].offset, (double)memory[i],
             (double)all->expected[result][i], text);
    }
  }
  return wrong;
}
