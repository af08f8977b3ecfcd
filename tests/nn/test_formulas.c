/* Layers and losses are what their definitions say, called and captured, and their gradients what
 * differences of the definitions are. */
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "common/cmocka.h"
#include "common/random.h"
#include "nn/formulas.h"

typedef struct trial {
  const formula *f;
  convoy_context *context;
  convoy_tensor *in[INPUTS], *out, *dy, *gradient[INPUTS];
  double values[INPUTS][MOST], weights[MOST]; /* of the result's elements */
  const double *given[INPUTS];
  int64_t count[INPUTS + 1];
} trial;

static void good(convoy_status status) {
  if (status) fail_msg("%s: %s", convoy_status_name(status), convoy_last_error());
}

static convoy_tensor *tensor(const trial *t, int which, bool labels) {
  convoy_tensor *made;
  good(convoy_tensor_new_typed(t->context, labels ? CONVOY_INT32 : CONVOY_FLOAT32,
                               t->f->dims[which], t->f->shape[which], &made));
  return made;
}

static void write(convoy_tensor *to, const double *values, int64_t count, bool labels) {
  float reals[MOST];
  int32_t whole[MOST];
  for (int64_t i = 0; i < count; i++) {
    reals[i] = (float)values[i];
    whole[i] = (int32_t)values[i];
  }
  good(convoy_tensor_write(to, labels ? (void *)whole : (void *)reals, count));
}

/* Eighths, so that float32 has them as float64 does; labels are 0 to 3. */
static double draw(test_random *random, bool label) {
  return label ? (double)test_between(random, 0, 3) : (double)test_between(random, -24, 24) / 8;
}

static void begin(trial *t, const formula *f, convoy_context *context) {
  test_random random = {11};
  *t = (trial){.f = f, .context = context};
  for (int i = 0; i <= f->inputs; i++) {
    t->count[i] = 1;
    for (int axis = 0; axis < f->dims[i]; axis++) t->count[i] *= f->shape[i][axis];
  }
  for (int i = 0; i < f->inputs; i++) {
    bool labels = f->labelled && i == f->inputs - 1;
    for (int64_t k = 0; k < t->count[i]; k++) t->values[i][k] = draw(&random, labels);
    t->in[i] = tensor(t, i, labels);
    t->given[i] = t->values[i];
    write(t->in[i], t->values[i], t->count[i], labels);
    if (i < f->differentiable) t->gradient[i] = tensor(t, i, false);
  }
  t->out = tensor(t, f->inputs, false);
  t->dy = tensor(t, f->inputs, false);
  for (int64_t k = 0; k < t->count[f->inputs]; k++) t->weights[k] = draw(&random, false);
  write(t->dy, t->weights, t->count[f->inputs], false);
}

static void end(trial *t) {
  for (int i = 0; i < INPUTS; i++) {
    convoy_tensor_free(t->in[i]);
    convoy_tensor_free(t->gradient[i]);
  }
  convoy_tensor_free(t->out);
  convoy_tensor_free(t->dy);
}

static void check_near(const trial *t, const char *what, double got, double right, double share) {
  if (!(fabs(got - right) <= share * (1.0 + fabs(right))))
    fail_msg("%s: %s is %.9g, not %.9g", t->f->name, what, got, right);
}

static void read(convoy_tensor *from, float *values, int64_t count) {
  for (int64_t i = 0; i < count; i++) values[i] = NAN;
  good(convoy_tensor_read(from, values, count));
}

static void check_result(const trial *t, float *got) {
  double right[MOST];
  int64_t count = t->count[t->f->inputs];
  read(t->out, got, count);
  t->f->of(t->given, right);
  for (int64_t i = 0; i < count; i++) check_near(t, "a result", (double)got[i], right[i], 4e-6);
}

/* The sum of the results times dy's elements. */
static double objective(const trial *t) {
  double y[MOST], sum = 0.0;
  t->f->of(t->given, y);
  for (int64_t i = 0; i < t->count[t->f->inputs]; i++) sum += t->weights[i] * y[i];
  return sum;
}

static void check_gradient(trial *t, int which) {
  const double h = 1e-5;
  float got[MOST];
  read(t->gradient[which], got, t->count[which]);
  for (int64_t i = 0; i < t->count[which]; i++) {
    double *at = &t->values[which][i], middle = *at;
    *at = middle + h;
    double up = objective(t);
    *at = middle - h;
    double down = objective(t);
    *at = middle;
    check_near(t, "a gradient", (double)got[i], (up - down) / (2 * h), 2e-5);
  }
}

static void capture(trial *t, convoy_graph **graph) {
  good(convoy_capture_begin(t->context));
  good(t->f->call(t->context, t->in, t->out));
  good(convoy_gradients(t->context, t->out, t->dy, t->f->differentiable, t->in, t->gradient));
  good(convoy_capture_end(t->context, graph));
}

static void check_formula(const formula *f, convoy_context *context) {
  trial t;
  float called[MOST], run[MOST];
  convoy_graph *graph;
  begin(&t, f, context);
  good(f->call(context, t.in, t.out));
  check_result(&t, called);
  capture(&t, &graph);
  good(convoy_graph_run(graph, NULL));
  check_result(&t, run);
  assert_memory_equal(called, run, (size_t)t.count[f->inputs] * sizeof(float));
  for (int i = 0; i < f->differentiable; i++) check_gradient(&t, i);
  convoy_graph_free(graph);
  end(&t);
}

static void they_are_what_the_formulas_say(void **state) {
  (void)state;
  convoy_options options = CONVOY_OPTIONS_INIT;
  convoy_context *context;
  options.device = "cpu";
  good(convoy_open(&options, &context));
  for (int i = 0; i < formula_count; i++) check_formula(&formulas[i], context);
  convoy_close(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(they_are_what_the_formulas_say)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
