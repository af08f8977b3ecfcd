/* Operations of nothing. In the text of a problem of each operation every number becomes 0 in turn.
 * Where that is a problem, each row of the device's table that does the operation is asked for a
 * plan and computes it, at once and in two runs of a graph, into outputs that were NaN or that it
 * adds to: results are those of the definition, and nobody fails. Where it is none, whoever reads
 * such texts refuses it with the 0 in its sentence. Which rows take what has elements as well is
 * theirs to say; what has none they all take. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cmocka.h"
#include "common/device.h"
#include "convoy/operations.h"
#include "core/context.h"
#include "core/operation.h"
#include "problem/operation.h"

static const char *const texts[] = {
    "n2c6h9w7 k4r3s2 stride2,3 pad1:0,2:1 dil2,1 groups2 forward",
    "n2c16h6w5 k16r3s3 pad1 forward",
    "n2c4h6w5 k4r3s3 pad1 groups4 forward",
    "n3c5h3w4 k6r3s4 forward",
    "n1c3w11 k5s4 stride2 pad3:1 forward",
    "n2c6h9w7 k4r3s2 groups2 backward_data",
    "n2c16h6w5 k16r3s3 pad1 backward_data",
    "n1c3h4w5 k2r3s3 stride2 backward_data",
    "n2c6h9w7 k4r3s2 groups2 backward_weights",
    "n2c16h6w5 k16r3s3 pad1 backward_weights",
    "n2c4h6w5 k4r3s3 pad1 groups4 backward_weights",
    "n3c5h3w4 k6r3s4 backward_weights",
    "n1c2z3h4w5 k3t2r3s2 pad1 backward_weights",
    "n2c6h9w7 k4r3s2 groups2 backward_bias",
    "y0 = max(x0, 0) * x1 on n2c3z4h5w6",
    "y0 = sum over n c z h w of x0 on n2c3z4h8w8",
    "y0 = variance over n c h w of x0 on n2c3h8w8",
    "y0 = mean over h w of x0 on n2c3h8w8",
    "y0 = maximum over n c of x0; y1 = minimum over n c of x0 on n2c3h4w8",
    "y0 = maximum over w of x0 on n2c3h4w8",
    "y0 = sum over n c h of x0 on n300c3h8w3",
    "matmul a3x4x5 b3x5x6",
    "matmul a3x4x5 b3x5x6 sum",
    "matmul a7x9 b9x8",
    "max_pool n2c3h7w9 r3s3 stride2 pad1",
    "max_pool_backward n2c3h7w9 r3s3 stride2 pad1",
    "average_pool n2c3h7w9 r3s3 stride2 pad1",
    "average_pool_backward n2c3h7w9 r3s3 stride2 pad1",
    "copy x60 from20 by20,5,1 y2,4,5",
    "copy x24 from4 by6,1 y6,4 take1,4 at3,0",
    "concatenate n3 w7,1,20",
    "resample_nearest n2c3h4w5 h8w9",
    "resample_nearest_backward n2c3h4w5 h8w9",
    "resample_linear n2c3h4w5 h8w9",
    "resample_linear_backward n2c3h4w5 h8w9",
};

enum { MOST_ROWS = 32 };
static convoy_context *context;
static int ran[MOST_ROWS], refused[MOST_ROWS], of_nothing;

/* ------------------------------------------------------------------------------ what it is of */

typedef struct operands {
  convoy_tensor *in[CVY_MAX_INPUTS], *out[CVY_MAX_OUTPUTS];
  float *value[CVY_MOST_READ]; /* of the inputs, behind them what is added to */
} operands;

static convoy_tensor *new_tensor(cvy_array array) {
  convoy_tensor *tensor;
  int64_t count = cvy_array_count(&array);
  assert_int_equal(array.dtype, CONVOY_FLOAT32);
  assert_int_equal(convoy_tensor_new(context, 1, &count, &tensor), CONVOY_OK);
  return tensor;
}

static float *integers(int64_t count) {
  float *values = malloc((size_t)(count + 1) * sizeof *values);
  assert_non_null(values);
  for (int64_t i = 0; i < count; i++) values[i] = (float)((i * 7 + 3) % 9 - 4);
  return values;
}

static void make(const cvy_problem *problem, operands *all) {
  *all = (operands){{NULL}, {NULL}, {NULL}};
  for (int32_t i = 0; i < cvy_problem_reads(problem); i++) {
    cvy_array array = cvy_problem_input(problem, i);
    all->value[i] = integers(cvy_array_count(&array));
    if (i == cvy_problem_inputs(problem)) continue;
    all->in[i] = new_tensor(array);
    assert_int_equal(convoy_tensor_write(all->in[i], all->value[i], all->in[i]->count), CONVOY_OK);
  }
  for (int32_t k = 0; k < cvy_problem_outputs(problem); k++)
    all->out[k] = new_tensor(cvy_problem_output(problem, k));
}

static void drop(operands *all) {
  for (int i = 0; i < CVY_MAX_INPUTS; i++) convoy_tensor_free(all->in[i]);
  for (int k = 0; k < CVY_MAX_OUTPUTS; k++) convoy_tensor_free(all->out[k]);
  for (int i = 0; i < CVY_MOST_READ; i++) free(all->value[i]);
}

/* NaN, or what is added to. */
static void prepare(const cvy_problem *problem, const operands *all) {
  for (int32_t k = 0; k < cvy_problem_outputs(problem); k++) {
    int64_t count = all->out[k]->count;
    float *values = integers(count);
    for (int64_t i = 0; i < count && !(problem->accumulate && k == 0); i++) values[i] = NAN;
    assert_int_equal(convoy_tensor_write(all->out[k], values, count), CONVOY_OK);
    free(values);
  }
}

static bool is_right(const cvy_problem *problem, float got, cvy_element wanted) {
  if (isnan(wanted.value)) return isnan(got);
  if ((double)got == wanted.value) return true;
  return fabs((double)got - wanted.value) <= cvy_problem_bound(problem, wanted.magnitude);
}

static void check(const cvy_problem *problem, const operands *all, const char *what) {
  cvy_values from = {{NULL}};
  for (int i = 0; i < CVY_MOST_READ; i++) from.in[i] = all->value[i];
  for (int32_t k = 0; k < cvy_problem_outputs(problem); k++) {
    int64_t count = all->out[k]->count;
    float *got = integers(count);
    if (convoy_tensor_read(all->out[k], got, count)) fail_msg("%s: %s", what, convoy_last_error());
    for (int64_t i = 0; i < count; i++) {
      cvy_element wanted = cvy_problem_element(problem, &from, k, i);
      if (!is_right(problem, got[i], wanted))
        fail_msg("%s: element %lld of output %d is %g, not %g", what, (long long)i, (int)k,
                 (double)got[i], wanted.value);
    }
    free(got);
  }
}

/* ---------------------------------------------------------------------------------- ways to it */

static convoy_status operate(const cvy_problem *problem, const operands *all) {
  convoy_status status = cvy_enter(context);
  if (status) return status;
  const convoy_tensor *const *in = (const convoy_tensor *const *)all->in;
  return cvy_leave(context, cvy_operate_tensors(context, problem, in, all->out, NULL));
}

static void at_once(const cvy_problem *problem, const operands *all, const char *what) {
  prepare(problem, all);
  if (operate(problem, all)) fail_msg("%s: %s", what, convoy_last_error());
  check(problem, all, what);
}

static void in_a_graph(const cvy_problem *problem, const operands *all, const char *what) {
  convoy_graph *graph;
  prepare(problem, all);
  assert_int_equal(convoy_capture_begin(context), CONVOY_OK);
  if (operate(problem, all)) fail_msg("%s, captured: %s", what, convoy_last_error());
  assert_int_equal(convoy_capture_end(context, &graph), CONVOY_OK);
  for (int run = 0; run < 2; run++) {
    prepare(problem, all);
    if (convoy_graph_run(graph, NULL)) fail_msg("%s, run %d: %s", what, run, convoy_last_error());
    check(problem, all, what);
  }
  convoy_graph_free(graph);
}

static bool plan(const cvy_problem *problem, const char *row, const char *what) {
  convoy_plan found = {.struct_size = sizeof found};
  assert_int_equal(cvy_enter(context), CONVOY_OK);
  if (cvy_leave(context, cvy_plan_problem(context, row, problem, &found)))
    fail_msg("%s: %s", what, convoy_last_error());
  assert_true(found.accepted || found.reason[0]);
  assert_true(found.workspace_bytes >= 0);
  return found.accepted;
}

/* --------------------------------------------------------------------------------------- rows */

static bool takes(int32_t row, const cvy_problem *problem) {
  char reason[192];
  cvy_text text = cvy_text_in(reason, sizeof reason);
  cvy_choice choice;
  return cvy_row_takes(cvy_context_engine(context), row, problem, &choice, &text);
}

static void run_row(int32_t row, const cvy_problem *problem, const char *text) {
  const char *name = cvy_context_engine(context)->backend->algorithms[row]->name;
  char what[256];
  operands all;
  snprintf(what, sizeof what, "%s: %s%s", name, text, problem->accumulate ? ", added" : "");
  plan(problem, name, what);
  assert_int_equal(convoy_set_algorithm(context, name), CONVOY_OK);
  make(problem, &all);
  at_once(problem, &all, what);
  in_a_graph(problem, &all, what);
  drop(&all);
  ran[row]++;
}

static void run_rows(const cvy_problem *problem, const char *text) {
  const cvy_algorithm *const *rows = cvy_context_engine(context)->backend->algorithms;
  assert_int_equal(convoy_set_algorithm(context, NULL), CONVOY_OK);
  assert_true(plan(problem, NULL, text));
  of_nothing += cvy_problem_empty(problem);
  for (int32_t row = 0; rows[row]; row++) {
    assert_true(row < MOST_ROWS);
    if (!cvy_algorithm_does(rows[row], problem)) continue;
    bool accepts = takes(row, problem);
    if (!accepts && cvy_problem_empty(problem))
      fail_msg("%s refuses %s, of which nothing is to be computed", rows[row]->name, text);
    refused[row] += !accepts;
    if (accepts) run_row(row, problem, text);
  }
}

/* ------------------------------------------------------------------------------------- numbers */

/* The text with its number `which` 0; false: it has fewer. */
static bool set_zero(const char *text, int which, char *out) {
  const char *at = text + strcspn(text, "0123456789");
  for (; which > 0 && *at; which--) {
    at += strspn(at, "0123456789");
    at += strcspn(at, "0123456789");
  }
  if (!*at) return false;
  sprintf(out, "%.*s0%s", (int)(at - text), text, at + strspn(at, "0123456789"));
  return true;
}

static void each_number_may_be_none(void **state) {
  (void)state;
  for (size_t t = 0; t < CVY_COUNT(texts); t++) {
    char text[128];
    cvy_problem problem;
    if (!cvy_problem_read(texts[t], &problem)) fail_msg("%s", texts[t]);
    for (int number = 0; set_zero(texts[t], number, text); number++) {
      if (!cvy_problem_read(text, &problem)) continue;
      run_rows(&problem, text);
      problem.accumulate = 1;
      if (cvy_problem_legal(&problem)) run_rows(&problem, text);
    }
  }
  assert_true(of_nothing > 40);
}

static void every_row_had_its_turn(void **state) {
  (void)state;
  const cvy_algorithm *const *rows = cvy_context_engine(context)->backend->algorithms;
  for (int32_t row = 0; rows[row]; row++) {
    print_message("%s: %d, refuses %d\n", rows[row]->name, ran[row], refused[row]);
    assert_true(ran[row] > 0);
  }
}

/* ------------------------------------------------------------------------------ what is no problem
 */

static convoy_status read_conv(const char *text) {
  convoy_conv conv;
  convoy_direction direction;
  int64_t x[CONVOY_MAX_DIMS], w[CONVOY_MAX_DIMS];
  return convoy_parse_problem(text, &conv, x, w, &direction);
}

static convoy_status read_pool(const char *text) {
  convoy_pool what;
  convoy_window window;
  int64_t x[CONVOY_MAX_DIMS], y[CONVOY_MAX_DIMS];
  return convoy_parse_pool(text, &what, &window, x, y);
}

static convoy_status read_resampling(const char *text) {
  convoy_resampling how;
  int32_t backward;
  int64_t x[CONVOY_MAX_DIMS], y[CONVOY_MAX_DIMS];
  return convoy_parse_resample(text, &backward, &how, x, y);
}

/* Those whose numbers may not all be 0. */
static const struct {
  const char *text;
  convoy_status (*read)(const char *text);
  int illegal; /* so many of them may not */
} strict[] = {
    {"n2c6h9w7 k4r3s2 stride2,3 pad1:1,2:2 dil2,1 groups2 forward", read_conv, 11},
    {"n2c4z5h6w7 k3t2r3s2 backward_weights", read_conv, 8},
    {"max_pool n2c3h7w9 r3s3 stride2 pad1", read_pool, 6},
    {"average_pool_backward n2c3h7w9 r3s3 stride2,1", read_pool, 7},
    {"resample_linear n2c3h4w5 h8w9", read_resampling, 5},
};

static void other_zeros_are_refused(void **state) {
  (void)state;
  for (size_t t = 0; t < CVY_COUNT(strict); t++) {
    char text[128];
    int illegal = 0;
    if (strict[t].read(strict[t].text)) fail_msg("%s", convoy_last_error());
    for (int number = 0; set_zero(strict[t].text, number, text); number++) {
      convoy_status status = strict[t].read(text);
      if (!status) continue;
      if (status != CONVOY_ERR_ARGUMENT && status != CONVOY_ERR_SHAPE)
        fail_msg("%s: %s", text, convoy_status_name(status));
      if (!strchr(convoy_last_error(), '0')) fail_msg("%s: %s", text, convoy_last_error());
      illegal++;
    }
    if (illegal != strict[t].illegal) fail_msg("%s: %d are refused", strict[t].text, illegal);
  }
}

int main(int count, char **arguments) {
  convoy_device_info info;
  setenv("CONVOY_FAULT_LIMIT", "0", 1);
  setenv("CONVOY_TUNE", "off", 1);
  int status = test_open(count > 1 ? arguments[1] : NULL, &context, &info);
  if (status) return status;
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(each_number_may_be_none),
      cmocka_unit_test(every_row_had_its_turn),
      cmocka_unit_test(other_zeros_are_refused),
  };
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  convoy_close(context);
  return failed;
}
