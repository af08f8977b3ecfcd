/* src/program/named.c: every program has a formula here, in float64 and with the C library's
 * functions, that it approximates; its gradients are what differences of the formula are. */
#include <math.h>
#include <string.h>

#include "common/cmocka.h"
#include "common/program64.h"
#include "program/named.h"
#include "program/random_program.h"

/* ------------------------------------------------------------- formulas, of inputs in their order
 */

static double sigmoid(double x) {
  return 1 / (1 + exp(-x));
}

static double clamp6(double x) {
  return fmin(fmax(x, 0), 6);
}

static void relu(const double *x, double *y) {
  y[0] = fmax(x[0], 0);
}

static void relu6(const double *x, double *y) {
  y[0] = clamp6(x[0]);
}

static void leaky_relu(const double *x, double *y) {
  y[0] = x[0] < 0 ? x[1] * x[0] : x[0];
}

static void sigmoid_of(const double *x, double *y) {
  y[0] = sigmoid(x[0]);
}

static void silu(const double *x, double *y) {
  y[0] = x[0] * sigmoid(x[0]);
}

static void tanh_of(const double *x, double *y) {
  y[0] = tanh(x[0]);
}

static void gelu(const double *x, double *y) {
  y[0] = x[0] * 0.5 * erfc(-x[0] / sqrt(2.0));
}

static void hardswish(const double *x, double *y) {
  y[0] = x[0] * clamp6(x[0] + 3) / 6;
}

static void hardsigmoid(const double *x, double *y) {
  y[0] = clamp6(x[0] + 3) / 6;
}

static void elu(const double *x, double *y) {
  y[0] = x[0] > 0 ? x[0] : x[1] * expm1(x[0]);
}

static void softplus(const double *x, double *y) {
  y[0] = log1p(exp(x[0]));
}

static void add(const double *x, double *y) {
  y[0] = x[0] + x[1];
}

static void subtract(const double *x, double *y) {
  y[0] = x[0] - x[1];
}

static void multiply(const double *x, double *y) {
  y[0] = x[0] * x[1];
}

static void divide(const double *x, double *y) {
  y[0] = x[0] / x[1];
}

static void maximum(const double *x, double *y) {
  y[0] = fmax(x[0], x[1]);
}

static void minimum(const double *x, double *y) {
  y[0] = fmin(x[0], x[1]);
}

static void add_relu(const double *x, double *y) {
  y[0] = fmax(x[0] + x[1], 0);
}

static void add_silu(const double *x, double *y) {
  y[0] = (x[0] + x[1]) * sigmoid(x[0] + x[1]);
}

static void square(const double *x, double *y) {
  y[0] = x[0] * x[0];
}

static void normalise_numbers(const double *x, double *y) { /* variance epsilon gamma */
  y[0] = 1 / sqrt(x[0] + x[1]);
  y[1] = x[2] / sqrt(x[0] + x[1]);
}

static double normalised(const double *x) { /* x mean scale shift */
  return (x[0] - x[1]) * x[2] + x[3];
}

static void normalise(const double *x, double *y) {
  y[0] = normalised(x);
}

static void normalise_rows(const double *x, double *y) { /* x mean deviation gamma beta */
  y[0] = (x[0] - x[1]) * x[2] * x[3] + x[4];
}

static void normalise_relu(const double *x, double *y) {
  y[0] = fmax(normalised(x), 0);
}

static void normalise_silu(const double *x, double *y) {
  y[0] = normalised(x) * sigmoid(normalised(x));
}

static void normalise_relu6(const double *x, double *y) {
  y[0] = clamp6(normalised(x));
}

static void normalise_add_relu(const double *x, double *y) {
  y[0] = fmax(normalised(x) + x[4], 0);
}

static double affine_of(const double *x) {
  return x[0] * x[1] + x[2];
}

static void affine(const double *x, double *y) {
  y[0] = affine_of(x);
}

static void affine_relu(const double *x, double *y) {
  y[0] = fmax(affine_of(x), 0);
}

static void affine_silu(const double *x, double *y) {
  y[0] = affine_of(x) * sigmoid(affine_of(x));
}

static void normalise_backward(const double *x, double *y) { /* dy a x mean deviation b scale */
  y[0] = x[6] * (x[0] - x[1] - x[5] * (x[2] - x[3]) * x[4]);
}

/* x mean deviation gamma beta dy: the gradient behind the activation, and the normalised x. */
static double behind_silu(const double *x, double *h) {
  *h = (x[0] - x[1]) * x[2];
  double t = *h * x[3] + x[4], s = sigmoid(t);
  return x[5] * (s + t * s * (1 - s));
}

static double behind_relu(const double *x, double *h) {
  *h = (x[0] - x[1]) * x[2];
  return *h * x[3] + x[4] > 0 ? x[5] : 0;
}

static void normalise_silu_backward(const double *x, double *y) { /* and a b scale */
  double h, d = behind_silu(x, &h);
  y[0] = (d - x[6] - h * x[7]) * x[8];
}

static void normalise_relu_backward(const double *x, double *y) {
  double h, d = behind_relu(x, &h);
  y[0] = (d - x[6] - h * x[7]) * x[8];
}

static void bce_with_logits(const double *x, double *y) { /* x target */
  y[0] = -(x[1] * log(sigmoid(x[0])) + (1 - x[1]) * log(sigmoid(-x[0])));
}

static void sgd(const double *x, double *y) { /* w rate g */
  y[0] = x[0] - x[1] * x[2];
}

static void momentum(const double *x, double *y) { /* momentum v g w rate */
  y[0] = x[0] * x[1] + x[2];
  y[1] = x[3] - x[4] * y[0];
}

static void sgd_decay(const double *x, double *y) { /* w rate g decay */
  y[0] = x[0] * (1 - x[1] * x[3]) - x[1] * x[2];
}

static void momentum_decay(const double *x, double *y) { /* g decay w momentum v gain rate */
  y[0] = x[3] * x[4] + x[5] * (x[0] + x[1] * x[2]);
  y[1] = x[2] - x[6] * y[0];
}

static void nesterov_decay(const double *x, double *y) {
  double d = x[0] + x[1] * x[2];
  y[0] = x[3] * x[4] + x[5] * d;
  y[1] = x[2] - x[6] * (d + x[3] * y[0]);
}

/* w g m v decay beta1 gain1 beta2 gain2 rate root epsilon */
static void adam(const double *x, double *y) {
  double d = x[1] + x[4] * x[0];
  y[0] = x[5] * x[2] + x[6] * d;
  y[1] = x[7] * x[3] + x[8] * d * d;
  y[2] = x[0] - x[9] * y[0] / (sqrt(y[1]) * x[10] + x[11]);
}

static void adamw(const double *x, double *y) { /* the same, keep in place of decay */
  y[0] = x[5] * x[2] + x[6] * x[1];
  y[1] = x[7] * x[3] + x[8] * x[1] * x[1];
  y[2] = x[0] * x[4] - x[9] * y[0] / (sqrt(y[1]) * x[10] + x[11]);
}

static void moving_average(const double *x, double *y) { /* a share w */
  y[0] = (1 - x[1]) * x[0] + x[1] * x[2];
}

static void itself(const double *x, double *y) {
  y[0] = x[0];
}

static void normalise_sums(const double *x, double *y) { /* dy x mean deviation */
  y[0] = x[0];
  y[1] = x[0] * (x[1] - x[2]) * x[3];
}

static void normalise_silu_sums(const double *x, double *y) {
  double h;
  y[0] = behind_silu(x, &h);
  y[1] = y[0] * h;
}

static void normalise_relu_sums(const double *x, double *y) {
  double h;
  y[0] = behind_relu(x, &h);
  y[1] = y[0] * h;
}

static void exponentials(const double *x, double *y) {
  y[0] = exp(x[0] - x[1]);
}

/* The names that inputs have in the formulas' order, so that no row's text can be read otherwise;
 * `positive`: inputs are, as epsilons and variances. Of reductions: what is reduced. */
static const struct formula {
  const char *name, *inputs;
  void (*of)(const double *x, double *y);
  bool positive;
} formulas[] = {
    {"relu", "x", relu, false},
    {"relu6", "x", relu6, false},
    {"leaky_relu", "x slope", leaky_relu, false},
    {"sigmoid", "x", sigmoid_of, false},
    {"silu", "x", silu, false},
    {"tanh", "x", tanh_of, false},
    {"gelu", "x", gelu, false},
    {"hardswish", "x", hardswish, false},
    {"hardsigmoid", "x", hardsigmoid, false},
    {"elu", "x alpha", elu, false},
    {"softplus", "x", softplus, false},
    {"add", "a b", add, false},
    {"subtract", "a b", subtract, false},
    {"multiply", "a b", multiply, false},
    {"divide", "a b", divide, true},
    {"maximum", "a b", maximum, false},
    {"minimum", "a b", minimum, false},
    {"scale", "a s", multiply, false},
    {"add_relu", "a b", add_relu, false},
    {"add_silu", "a b", add_silu, false},
    {"square", "x", square, false},
    {"normalise_numbers", "variance epsilon gamma", normalise_numbers, true},
    {"normalise", "x mean scale shift", normalise, false},
    {"normalise_rows", "x mean deviation gamma beta", normalise_rows, false},
    {"normalise_relu", "x mean scale shift", normalise_relu, false},
    {"normalise_silu", "x mean scale shift", normalise_silu, false},
    {"normalise_relu6", "x mean scale shift", normalise_relu6, false},
    {"normalise_add_relu", "x mean scale shift a", normalise_add_relu, false},
    {"affine", "x scale shift", affine, false},
    {"affine_relu", "x scale shift", affine_relu, false},
    {"affine_silu", "x scale shift", affine_silu, false},
    {"normalise_backward", "dy a x mean deviation b scale", normalise_backward, false},
    {"normalise_silu_backward", "x mean deviation gamma beta dy a b scale", normalise_silu_backward,
     false},
    {"normalise_relu_backward", "x mean deviation gamma beta dy a b scale", normalise_relu_backward,
     false},
    {"bce_with_logits", "x target", bce_with_logits, false},
    {"sgd", "w rate g", sgd, false},
    {"momentum", "momentum v g w rate", momentum, false},
    {"sgd_decay", "w rate g decay", sgd_decay, false},
    {"momentum_decay", "g decay w momentum v gain rate", momentum_decay, false},
    {"nesterov_decay", "g decay w momentum v gain rate", nesterov_decay, false},
    {"adam", "w g m v decay beta1 gain1 beta2 gain2 rate root epsilon", adam, true},
    {"adamw", "w g m v keep beta1 gain1 beta2 gain2 rate root epsilon", adamw, true},
    {"moving_average", "a share w", moving_average, false},
    {"statistics", "x", itself, false},
    {"channel_sum", "x", itself, false},
    {"total", "x", itself, false},
    {"square_total", "x", square, false},
    {"map_mean", "x", itself, false},
    {"normalise_sums", "dy x mean deviation", normalise_sums, false},
    {"normalise_silu_sums", "x mean deviation gamma beta dy", normalise_silu_sums, false},
    {"normalise_relu_sums", "x mean deviation gamma beta dy", normalise_relu_sums, false},
    {"channel_maximum", "x", itself, false},
    {"exponentials", "x m", exponentials, false},
};

/* ----------------------------------------------------------------------------------------- tests
 */

typedef struct row {
  const cvy_named_program *named;
  cvy_program program;
  cvy_reduction how;
  cvy_program_names names;
} row;

static row row_of(const char *name) {
  row r = {.named = cvy_named_find(name)};
  if (!r.named) fail_msg("there is no %s", name);
  if (cvy_named_parse(r.named, &r.program, &r.how, &r.names))
    fail_msg("%s: %s", name, cvy_last_error());
  return r;
}

static void all_have_a_formula(void **state) {
  (void)state;
  int drawn = 0;
  for (int i = 0; i < cvy_named_count; i++) {
    row r = row_of(cvy_named_programs[i].name);
    assert_ptr_equal(r.named, &cvy_named_programs[i]); /* no name twice */
    bool found = false;
    for (size_t k = 0; k < CVY_COUNT(formulas); k++)
      found |= !strcmp(formulas[k].name, r.named->name);
    drawn += cvy_program_uses_of(&r.program).random;
    if (!found && !cvy_program_uses_of(&r.program).random) fail_msg("%s has none", r.named->name);
  }
  assert_int_equal((int)CVY_COUNT(formulas) + drawn, cvy_named_count);
  assert_null(cvy_named_find("rel"));
}

static void inputs_are_in_the_order_of_the_formula(void **state) {
  (void)state;
  for (size_t i = 0; i < CVY_COUNT(formulas); i++) {
    row r = row_of(formulas[i].name);
    char names[512];
    cvy_text text = cvy_text_in(names, sizeof names);
    for (int k = 0; k < r.program.inputs; k++)
      cvy_text_add(&text, "%s%s", k ? " " : "", r.names.input[k]);
    if (strcmp(names, formulas[i].inputs))
      fail_msg("%s: '%s', not '%s'", formulas[i].name, names, formulas[i].inputs);
  }
}

/* Every name that a row lists is an input's. */
static void lists_name_inputs(void **state) {
  (void)state;
  for (int i = 0; i < cvy_named_count; i++) {
    row r = row_of(cvy_named_programs[i].name);
    const char *const lists[] = {r.named->numbers, r.named->gradients};
    for (int l = 0; l < 2; l++) {
      int words = lists[l][0] != '\0';
      for (const char *at = lists[l]; *at; at++) words += *at == ' ';
      uint32_t bits = cvy_named_inputs(lists[l], &r.program, &r.names);
      if (__builtin_popcount(bits) != words) fail_msg("%s: '%s'", r.named->name, lists[l]);
    }
  }
}

static void random_inputs(test_random *random, const struct formula *f, double *x) {
  for (int k = 0; k < CVY_PROGRAM_INPUTS; k++) {
    x[k] = (double)(float)((double)test_between(random, -30000, 30000) / 8192);
    if (f->positive) x[k] = (double)(float)(0.01 + fabs(x[k]) / 4);
  }
}

static void they_are_what_the_formulas_say(void **state) {
  (void)state;
  test_random random = {31};
  for (size_t i = 0; i < CVY_COUNT(formulas); i++) {
    row r = row_of(formulas[i].name);
    for (int round = 0; round < 2000; round++) {
      double x[CVY_PROGRAM_INPUTS], y[CVY_PROGRAM_RESULTS];
      float in[CVY_PROGRAM_INPUTS], out[CVY_PROGRAM_RESULTS];
      random_inputs(&random, &formulas[i], x);
      for (int k = 0; k < CVY_PROGRAM_INPUTS; k++) in[k] = (float)x[k];
      formulas[i].of(x, y);
      cvy_program_element(&r.program, in, NULL, out);
      for (int k = 0; k < r.program.results; k++) {
        double size = 1 + fabs(y[k]) + (formulas[i].positive ? 0 : fabs(x[0]));
        for (int n = 0; n < r.program.inputs; n++) size = fmax(size, fabs(x[n]));
        /* Products of several inputs are larger than what is left of them. */
        if (!(fabs((double)out[k] - y[k]) <= 2e-5 * size)) {
          fail_msg("%s: result %d is %.9g, by the formula %.9g", formulas[i].name, k,
                   (double)out[k], y[k]);
        }
      }
    }
  }
}

/* The gradient's program in float64 against differences of the formula. */
static int check_gradient(const row *r, const struct formula *f, int input, test_random *random) {
  static const double h = 1e-5;
  cvy_program_gradient gradient;
  double x[CVY_PROGRAM_INPUTS], y[CVY_PROGRAM_RESULTS], up[CVY_PROGRAM_RESULTS];
  double down[CVY_PROGRAM_RESULTS], in[CVY_PROGRAM_INPUTS], got[CVY_PROGRAM_RESULTS];
  const double above[] = {0.75, -1.25, 0.5, 2.0};
  uint32_t all = (1u << r->program.results) - 1, readable = (uint32_t)test_between(random, 0, 1);
  if (cvy_program_gradient_of(&r->program, 1u << input, all, readable * all, &gradient))
    fail_msg("%s: %s", f->name, cvy_last_error());
  random_inputs(random, f, x);
  f->of(x, y);
  const double *const sources[] = {x, y, above};
  for (int i = 0; i < gradient.program.inputs; i++)
    in[i] = sources[gradient.source[i].kind][gradient.source[i].number];
  test_program_element(&gradient.program, in, NULL, got);
  double middle = x[input], slope = 0, second = 0;
  x[input] = middle + h;
  f->of(x, up);
  x[input] = middle - h;
  f->of(x, down);
  for (int k = 0; k < r->program.results; k++) {
    slope += above[k] * (up[k] - down[k]) / (2 * h);
    second += fabs(above[k] * (up[k] - 2 * y[k] + down[k])) / (h * h);
  }
  if (second > 1e3) return 0; /* at a kink */
  if (fabs(got[0] - slope) > 1e-5 * (1 + fabs(slope)))
    fail_msg("%s: the gradient by %s is %.9g, of differences %.9g", f->name, r->names.input[input],
             got[0], slope);
  return 1;
}

static void gradients_are_what_differences_are(void **state) {
  (void)state;
  test_random random = {32};
  int checked = 0, wanted = 0;
  for (size_t i = 0; i < CVY_COUNT(formulas); i++) {
    row r = row_of(formulas[i].name);
    uint32_t of = cvy_named_inputs(r.named->gradients, &r.program, &r.names);
    for (int input = 0; input < r.program.inputs; input++) {
      for (int round = 0; round < 500 && (of >> input & 1); round++, wanted++)
        checked += check_gradient(&r, &formulas[i], input, &random);
    }
  }
  print_message("%d of %d gradients compared\n", checked, wanted);
  assert_true(wanted > 10000 && checked > wanted * 99 / 100);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(all_have_a_formula),
      cmocka_unit_test(inputs_are_in_the_order_of_the_formula),
      cmocka_unit_test(lists_name_inputs),
      cmocka_unit_test(they_are_what_the_formulas_say),
      cmocka_unit_test(gradients_are_what_differences_are),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
