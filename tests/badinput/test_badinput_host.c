/* Operations on host memory with one thing wrong at a time. */
#include <limits.h>
#include <stdio.h>

#include "common/array.h"
#include "common/random.h"
#include "shared_context.h"

/* A legal call: x [2][4][5][6], w [6][2][2][3], groups 2, y [2][6][4][4]. */
typedef struct call {
  convoy_context *context;
  const convoy_conv *conv;
  const int64_t *x_shape, *w_shape;
  const float *a, *b, *bias;
  const convoy_epilogue *epilogue;
  float beta;
  float *out;
  convoy_run *run;
} call;

typedef struct fixture {
  convoy_conv conv;
  int64_t x_shape[4], w_shape[4];
  test_array a, b, out; /* large enough for any role */
  convoy_epilogue epilogue;
  convoy_run run;
  call call;
} fixture;

#define COUNT (2 * 6 * 5 * 6)

static void set_up(fixture *f) {
  test_random random = {1};
  *f = (fixture){.conv = CONVOY_CONV_INIT(2),
                 .x_shape = {2, 4, 5, 6},
                 .w_shape = {6, 2, 2, 3},
                 .a = test_array_new(COUNT),
                 .b = test_array_new(COUNT),
                 .out = test_array_new(COUNT),
                 .epilogue = CONVOY_EPILOGUE_INIT,
                 .run = CONVOY_RUN_INIT};
  f->conv.groups = 2;
  test_fill_integers(&random, f->a.values, COUNT);
  test_fill_integers(&random, f->b.values, COUNT);
  test_fill_nan(f->out.values, COUNT);
  test_array_seal(&f->out);
  f->call = (call){context, &f->conv,     f->x_shape, f->w_shape,    f->a.values, f->b.values,
                   NULL,    &f->epilogue, 0.0f,       f->out.values, &f->run};
}

static void tear_down(fixture *f) {
  test_array_free(&f->a);
  test_array_free(&f->b);
  test_array_free(&f->out);
}

static convoy_status forward(const call *c) {
  return convoy_forward_host(c->context, c->conv, c->x_shape, c->a, c->w_shape, c->b, c->bias,
                             c->epilogue, c->out, c->run);
}

static convoy_status backward_data(const call *c) {
  return convoy_backward_data_host(c->context, c->conv, c->x_shape, c->a, c->w_shape, c->b, c->beta,
                                   c->out, c->run);
}

static convoy_status backward_weights(const call *c) {
  return convoy_backward_weights_host(c->context, c->conv, c->x_shape, c->a, c->w_shape, c->b,
                                      c->beta, c->out, c->run);
}

static convoy_status backward_bias(const call *c) {
  return convoy_backward_bias_host(c->context, c->conv, c->x_shape, c->w_shape, c->a, c->beta,
                                   c->out, c->run);
}

#define ALL 15u
#define NOT_BIAS 7u
#define BACKWARD 14u

static const struct {
  const char *name;
  convoy_status (*call)(const call *);
} operations[CONVOY_DIRECTIONS] = {{"forward", forward},
                                   {"backward_data", backward_data},
                                   {"backward_weights", backward_weights},
                                   {"backward_bias", backward_bias}};

/* What goes wrong, one function each. */
static void no_context(fixture *f) {
  f->call.context = NULL;
}
static void no_conv(fixture *f) {
  f->call.conv = NULL;
}
static void no_x_shape(fixture *f) {
  f->call.x_shape = NULL;
}
static void no_w_shape(fixture *f) {
  f->call.w_shape = NULL;
}
static void no_first(fixture *f) {
  f->call.a = NULL;
}
static void no_second(fixture *f) {
  f->call.b = NULL;
}
static void no_output(fixture *f) {
  f->call.out = NULL;
}
static void small_conv(fixture *f) {
  f->conv.struct_size = 8;
}
static void small_run(fixture *f) {
  f->run.struct_size = 12;
}
static void small_epilogue(fixture *f) {
  f->epilogue.struct_size = 5;
}
static void unknown_activation(fixture *f) {
  f->epilogue.activation = 9;
}
static void half_beta(fixture *f) {
  f->call.beta = 0.5f;
}
static void negative_beta(fixture *f) {
  f->call.beta = -1.0f;
}
static void rank_0(fixture *f) {
  f->conv.rank = 0;
}
static void rank_4(fixture *f) {
  f->conv.rank = 4;
}
static void other_dtype(fixture *f) {
  f->conv.dtype = 3;
}
static void transposed_7(fixture *f) {
  f->conv.transposed = 7;
}
static void no_groups(fixture *f) {
  f->conv.groups = 0;
}
static void three_groups(fixture *f) {
  f->conv.groups = 3;
}
static void no_stride(fixture *f) {
  f->conv.stride[1] = 0;
}
static void negative_dilation(fixture *f) {
  f->conv.dilation[0] = -2;
}
static void negative_padding(fixture *f) {
  f->conv.pad_end[0] = -1;
}
static void huge_padding(fixture *f) {
  f->conv.pad_begin[1] = INT64_MAX;
}
static void output_padding(fixture *f) {
  f->conv.output_padding[0] = 1;
}
static void negative_batch(fixture *f) {
  f->x_shape[0] = -2;
}
static void no_channels(fixture *f) {
  f->x_shape[1] = 0;
}
static void negative_height(fixture *f) {
  f->x_shape[2] = -5;
}
static void no_filter(fixture *f) {
  f->w_shape[3] = 0;
}
static void other_channels(fixture *f) {
  f->x_shape[1] = 8;
}
static void five_filters(fixture *f) {
  f->w_shape[0] = 5;
}
static void huge_width(fixture *f) {
  f->x_shape[3] = INT64_MAX;
}

static void overflowing_bytes(fixture *f) {
  f->x_shape[0] = INT_MAX;
  f->x_shape[2] = f->x_shape[3] = INT_MAX;
}

/* 5 + 0 - 6 = -1, and -1 / 2 is 0 in C. */
static void filter_too_high(fixture *f) {
  f->w_shape[2] = 6;
  f->conv.stride[0] = 2;
}

static void dilated_too_wide(fixture *f) {
  f->conv.dilation[1] = 7;
  f->conv.pad_begin[1] = 8;
}

static void transposed_to_nothing(fixture *f) {
  f->conv.transposed = 1;
  f->x_shape[1] = 6;
  f->conv.pad_begin[0] = f->conv.pad_end[0] = 3;
}

static void output_padding_too_large(fixture *f) {
  f->conv.transposed = 1;
  f->x_shape[1] = 6;
  f->conv.stride[0] = 2;
  f->conv.output_padding[0] = 2;
}

static const struct {
  const char *name;
  void (*spoil)(fixture *);
  unsigned directions;
  convoy_status status;
  const char *mentions;
} faults[] = {
    {"no context", no_context, ALL, CONVOY_ERR_ARGUMENT, "context"},
    {"no conv", no_conv, ALL, CONVOY_ERR_ARGUMENT, "conv"},
    {"no x_shape", no_x_shape, ALL, CONVOY_ERR_ARGUMENT, "x_shape"},
    {"no w_shape", no_w_shape, ALL, CONVOY_ERR_ARGUMENT, "w_shape"},
    {"no first operand", no_first, ALL, CONVOY_ERR_ARGUMENT, "NULL"},
    {"no second operand", no_second, NOT_BIAS, CONVOY_ERR_ARGUMENT, "NULL"},
    {"no output", no_output, ALL, CONVOY_ERR_ARGUMENT, "NULL"},
    {"small conv", small_conv, ALL, CONVOY_ERR_ARGUMENT, "8"},
    {"small run", small_run, ALL, CONVOY_ERR_ARGUMENT, "12"},
    {"small epilogue", small_epilogue, 1u, CONVOY_ERR_ARGUMENT, "5"},
    {"unknown activation", unknown_activation, 1u, CONVOY_ERR_ARGUMENT, "9"},
    {"half beta", half_beta, BACKWARD, CONVOY_ERR_ARGUMENT, "0.5"},
    {"negative beta", negative_beta, BACKWARD, CONVOY_ERR_ARGUMENT, "-1"},
    {"rank 0", rank_0, ALL, CONVOY_ERR_ARGUMENT, "0"},
    {"rank 4", rank_4, ALL, CONVOY_ERR_ARGUMENT, "4"},
    {"other dtype", other_dtype, ALL, CONVOY_ERR_ARGUMENT, "3"},
    {"transposed 7", transposed_7, ALL, CONVOY_ERR_ARGUMENT, "7"},
    {"no groups", no_groups, ALL, CONVOY_ERR_ARGUMENT, "0"},
    {"three groups", three_groups, ALL, CONVOY_ERR_SHAPE, "3"},
    {"no stride", no_stride, ALL, CONVOY_ERR_ARGUMENT, "stride of axis w"},
    {"negative dilation", negative_dilation, ALL, CONVOY_ERR_ARGUMENT, "-2"},
    {"negative padding", negative_padding, ALL, CONVOY_ERR_ARGUMENT, "-1"},
    {"huge padding", huge_padding, ALL, CONVOY_ERR_ARGUMENT, "9223372036854775807"},
    {"output padding", output_padding, ALL, CONVOY_ERR_ARGUMENT, "output_padding"},
    {"negative batch", negative_batch, ALL, CONVOY_ERR_SHAPE, "-2"},
    {"no channels", no_channels, ALL, CONVOY_ERR_SHAPE, "0"},
    {"negative height", negative_height, ALL, CONVOY_ERR_SHAPE, "-5"},
    {"no filter", no_filter, ALL, CONVOY_ERR_SHAPE, "0"},
    {"other channels", other_channels, ALL, CONVOY_ERR_SHAPE, "8"},
    {"five filters", five_filters, ALL, CONVOY_ERR_SHAPE, "5"},
    {"huge width", huge_width, ALL, CONVOY_ERR_SHAPE, "9223372036854775807"},
    {"overflowing bytes", overflowing_bytes, ALL, CONVOY_ERR_SHAPE, "2147483647"},
    {"filter too high, stride 2", filter_too_high, ALL, CONVOY_ERR_SHAPE, "6"},
    {"dilated too wide", dilated_too_wide, ALL, CONVOY_ERR_SHAPE, "15"},
    {"transposed to nothing", transposed_to_nothing, ALL, CONVOY_ERR_SHAPE, "0"},
    {"output padding too large", output_padding_too_large, ALL, CONVOY_ERR_ARGUMENT, "2"},
};

static void every_fault_is_refused_and_writes_nothing(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++)
    for (unsigned d = 0; d < CONVOY_DIRECTIONS; d++) {
      fixture f;
      char what[128];
      if (!(faults[i].directions >> d & 1)) continue;
      snprintf(what, sizeof what, "%s, %s", operations[d].name, faults[i].name);
      set_up(&f);
      faults[i].spoil(&f);
      expect_refusal(what, operations[d].call(&f.call), faults[i].status, faults[i].mentions);
      if (!test_array_unchanged(&f.out)) fail_msg("%s: the output was written", what);
      tear_down(&f);
    }
}

/* The fixture itself must be good, or the test above would prove nothing. */
static void the_unspoilt_call_works(void **state) {
  (void)state;
  for (unsigned d = 0; d < CONVOY_DIRECTIONS; d++) {
    fixture f;
    set_up(&f);
    if (operations[d].call(&f.call) != CONVOY_OK)
      fail_msg("%s: %s", operations[d].name, convoy_last_error());
    assert_false(test_array_unchanged(&f.out));
    assert_int_equal(f.run.attempts, 1);
    tear_down(&f);
  }
}

static void optional_arguments_may_be_absent(void **state) {
  (void)state;
  for (unsigned d = 0; d < CONVOY_DIRECTIONS; d++) {
    fixture f;
    set_up(&f);
    f.call.run = NULL;
    f.call.epilogue = NULL;
    if (operations[d].call(&f.call) != CONVOY_OK)
      fail_msg("%s: %s", operations[d].name, convoy_last_error());
    tear_down(&f);
  }
}

static void shapes_and_text_refuse_null(void **state) {
  (void)state;
  const convoy_conv conv = CONVOY_CONV_INIT(1);
  convoy_conv parsed;
  convoy_direction direction;
  const int64_t x[] = {1, 1, 4}, w[] = {1, 1, 2};
  int64_t y[CONVOY_MAX_DIMS], v[CONVOY_MAX_DIMS];
  char text[CONVOY_PROBLEM_TEXT];
  const convoy_status got[] = {
      convoy_output_shape(NULL, x, w, y),
      convoy_output_shape(&conv, NULL, w, y),
      convoy_output_shape(&conv, x, NULL, y),
      convoy_output_shape(&conv, x, w, NULL),
      convoy_parse_problem(NULL, &parsed, y, v, &direction),
      convoy_parse_problem("n1c1w4 k1s2 forward", NULL, y, v, &direction),
      convoy_parse_problem("n1c1w4 k1s2 forward", &parsed, NULL, v, &direction),
      convoy_parse_problem("n1c1w4 k1s2 forward", &parsed, y, NULL, &direction),
      convoy_parse_problem("n1c1w4 k1s2 forward", &parsed, y, v, NULL),
      convoy_format_problem(NULL, x, w, CONVOY_FORWARD, text, sizeof text),
      convoy_format_problem(&conv, NULL, w, CONVOY_FORWARD, text, sizeof text),
      convoy_format_problem(&conv, x, NULL, CONVOY_FORWARD, text, sizeof text),
      convoy_format_problem(&conv, x, w, CONVOY_FORWARD, NULL, sizeof text),
      convoy_format_problem(&conv, x, w, CONVOY_FORWARD, text, 0),
  };
  for (size_t i = 0; i < sizeof got / sizeof got[0]; i++)
    assert_int_equal(got[i], CONVOY_ERR_ARGUMENT);
  assert_true(convoy_flops(NULL, CONVOY_FORWARD, x, w) == 0.0);
  assert_true(convoy_flops(&conv, CONVOY_FORWARD, x, NULL) == 0.0);
  assert_true(convoy_flops(&conv, (convoy_direction)17, x, w) == 0.0);
  assert_true(convoy_flops(&conv, CONVOY_FORWARD, x, w) == 12.0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_unspoilt_call_works),
      cmocka_unit_test(optional_arguments_may_be_absent),
      cmocka_unit_test(every_fault_is_refused_and_writes_nothing),
      cmocka_unit_test(shapes_and_text_refuse_null),
  };
  return cmocka_run_group_tests(tests, open_context, close_context);
}
