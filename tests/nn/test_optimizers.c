/* Two steps of each optimizer, averages and clipping, by their formulas in float64. */
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "common/cmocka.h"
#include "convoy/convoy.h"

enum { COUNT = 3, PARAMETERS = 2, LISTS = 4, STEPS = 3 };
enum { W, G, FIRST, SECOND };

typedef struct training {
  convoy_context *context;
  convoy_tensor *list[LISTS][PARAMETERS], *rate, *step;
  double values[LISTS][PARAMETERS][COUNT]; /* by the formulas */
} training;

static void good(convoy_status status) {
  if (status) fail_msg("%s: %s", convoy_status_name(status), convoy_last_error());
}

static convoy_tensor *new_tensor(convoy_context *context, int64_t count) {
  convoy_tensor *made;
  good(convoy_tensor_new(context, 1, &count, &made));
  return made;
}

static void write(convoy_tensor *to, const double *values, int64_t count) {
  float rounded[COUNT];
  for (int64_t i = 0; i < count; i++) rounded[i] = (float)values[i];
  good(convoy_tensor_write(to, rounded, count));
}

static void set(training *t, int list, int step) {
  for (int p = 0; p < PARAMETERS; p++) {
    for (int i = 0; i < COUNT; i++)
      t->values[list][p][i] = (double)((step + 2) * (3 * p + i + 1) % 7 - 3) / 4;
    write(t->list[list][p], t->values[list][p], COUNT);
  }
}

static void begin(training *t, convoy_context *context) {
  *t = (training){.context = context};
  for (int l = 0; l < LISTS; l++)
    for (int p = 0; p < PARAMETERS; p++) t->list[l][p] = new_tensor(context, COUNT);
  t->rate = new_tensor(context, 1);
  t->step = new_tensor(context, 1);
  set(t, W, 5);
}

static void end(training *t) {
  for (int l = 0; l < LISTS; l++)
    for (int p = 0; p < PARAMETERS; p++) convoy_tensor_free(t->list[l][p]);
  convoy_tensor_free(t->rate);
  convoy_tensor_free(t->step);
}

static void check(training *t, const char *what) {
  float got[COUNT];
  for (int l = 0; l < LISTS; l++) {
    for (int p = 0; p < PARAMETERS; p++) {
      good(convoy_tensor_read(t->list[l][p], got, COUNT));
      for (int i = 0; i < COUNT; i++)
        if (!(fabs((double)got[i] - t->values[l][p][i]) <= 2e-6))
          fail_msg("%s: element %d of list %d is %.9g, not %.9g", what, i, l, (double)got[i],
                   t->values[l][p][i]);
    }
  }
}

/* ------------------------------------------------------------------------------------------ SGD */

static const convoy_sgd_options descents[] = {
    {sizeof(convoy_sgd_options), 0, 0.0, 0.0, 0.0},
    {sizeof(convoy_sgd_options), 0, 0.0, 0.0, 0.25},
    {sizeof(convoy_sgd_options), 0, 0.75, 0.5, 0.25},
    {sizeof(convoy_sgd_options), 1, 0.75, 0.0, 0.25},
};

static void descend(training *t, const convoy_sgd_options *o, double rate, int step) {
  for (int p = 0; p < PARAMETERS; p++) {
    for (int i = 0; i < COUNT; i++) {
      double *w = &t->values[W][p][i], *v = &t->values[FIRST][p][i];
      double d = t->values[G][p][i] + o->decay * *w;
      if (o->momentum != 0.0) *v = step ? o->momentum * *v + (1 - o->dampening) * d : d;
      if (o->momentum == 0.0)
        *w -= rate * d;
      else
        *w -= rate * (o->nesterov ? d + o->momentum * *v : *v);
    }
  }
}

static void sgd_is_what_it_says(void **state) {
  convoy_context *context = *state;
  for (size_t k = 0; k < sizeof descents / sizeof *descents; k++) {
    training t;
    begin(&t, context);
    for (int step = 0; step < STEPS; step++) {
      double rate = 0.5 / (1 + step);
      set(&t, G, step);
      write(t.rate, &rate, 1);
      good(convoy_sgd(context, &descents[k], PARAMETERS, t.list[W], t.list[G], t.list[FIRST],
                      t.rate, t.step, NULL));
      descend(&t, &descents[k], (double)(float)rate, step);
      check(&t, "SGD");
    }
    end(&t);
  }
}

/* ----------------------------------------------------------------------------------------- Adam */

static void adapt(training *t, const convoy_adam_options *o, bool decoupled, double rate,
                  int step) {
  double c1 = 1 - pow(o->beta1, step + 1), c2 = 1 - pow(o->beta2, step + 1);
  for (int p = 0; p < PARAMETERS; p++) {
    for (int i = 0; i < COUNT; i++) {
      double *w = &t->values[W][p][i], *m = &t->values[FIRST][p][i], *v = &t->values[SECOND][p][i];
      double d = t->values[G][p][i] + (decoupled ? 0.0 : o->decay * *w);
      *m = o->beta1 * *m + (1 - o->beta1) * d;
      *v = o->beta2 * *v + (1 - o->beta2) * d * d;
      if (decoupled) *w *= 1 - rate * o->decay;
      *w -= rate / c1 * *m / (sqrt(*v) / sqrt(c2) + o->epsilon);
    }
  }
}

static void adam_is_what_it_says(void **state) {
  convoy_context *context = *state;
  convoy_adam_options options = CONVOY_ADAM_INIT;
  options.decay = 0.125;
  options.epsilon = 1e-3;
  for (int decoupled = 0; decoupled < 2; decoupled++) {
    training t;
    begin(&t, context);
    for (int step = 0; step < STEPS; step++) {
      double rate = 0.25 / (1 + step);
      set(&t, G, step);
      write(t.rate, &rate, 1);
      good((decoupled ? convoy_adamw : convoy_adam)(context, &options, PARAMETERS, t.list[W],
                                                    t.list[G], t.list[FIRST], t.list[SECOND],
                                                    t.rate, t.step, NULL));
      adapt(&t, &options, decoupled, (double)(float)rate, step);
      check(&t, decoupled ? "AdamW" : "Adam");
    }
    end(&t);
  }
}

/* ---------------------------------------------------------------------------- averages, clipping
 */

static void averages_are_what_they_say(void **state) {
  convoy_context *context = *state;
  training t;
  begin(&t, context);
  set(&t, FIRST, 1);
  const double share = 0.125;
  write(t.rate, &share, 1);
  good(convoy_moving_average(context, t.rate, PARAMETERS, t.list[W], t.list[FIRST], NULL));
  for (int p = 0; p < PARAMETERS; p++)
    for (int i = 0; i < COUNT; i++)
      t.values[FIRST][p][i] += share * (t.values[W][p][i] - t.values[FIRST][p][i]);
  check(&t, "average");
  end(&t);
}

static void clipping_is_what_it_says(void **state) {
  convoy_context *context = *state;
  for (int k = 0; k < 2; k++) {
    training t;
    double norm = 0.0, most = k ? 0.5 : 100.0;
    float got;
    begin(&t, context);
    for (int p = 0; p < PARAMETERS; p++)
      for (int i = 0; i < COUNT; i++) norm += t.values[W][p][i] * t.values[W][p][i];
    norm = sqrt(norm);
    good(convoy_clip_gradients(context, most, PARAMETERS, t.list[W], t.step, NULL));
    good(convoy_tensor_read(t.step, &got, 1));
    assert_true(fabs((double)got - norm) <= 1e-6 * norm);
    for (int p = 0; p < PARAMETERS; p++)
      for (int i = 0; i < COUNT; i++) t.values[W][p][i] *= fmin(1, most / (norm + 1e-6));
    check(&t, "clipped");
    end(&t);
  }
}

static int open_cpu(void **state) {
  convoy_options options = CONVOY_OPTIONS_INIT;
  options.device = "cpu";
  return (int)convoy_open(&options, (convoy_context **)state);
}

static int close_cpu(void **state) {
  convoy_close(*state);
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(sgd_is_what_it_says),
      cmocka_unit_test(adam_is_what_it_says),
      cmocka_unit_test(averages_are_what_they_say),
      cmocka_unit_test(clipping_is_what_it_says),
  };
  return cmocka_run_group_tests(tests, open_cpu, close_cpu);
}
