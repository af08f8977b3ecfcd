/* One context used from several threads at once: results, refusals and their sentences stay with the
 * thread that asked. The sanitizer builds look for races meanwhile. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/random.h"
#include "expect.h"

#define THREADS 4
#define ROUNDS 40
#define CHANNELS 3
#define WIDTH 9
#define X_COUNT (2 * CHANNELS * WIDTH)
#define W_COUNT (CHANNELS * CHANNELS)

typedef struct job {
  convoy_context *context;
  int number;
  char complaint[256]; /* cmocka asserts only on the main thread */
} job;

static const convoy_conv conv = CONVOY_CONV_INIT(1);
static const int64_t x_shape[] = {2, CHANNELS, WIDTH}, w_shape[] = {CHANNELS, CHANNELS, 1};

static void complain(job *j, const char *what) {
  if (j->complaint[0] == '\0')
    snprintf(j->complaint, sizeof j->complaint, "thread %d: %s (%s)", j->number, what,
             convoy_last_error());
}

/* A 1x1 convolution with `factor` times the unit matrix. */
static void scaled_unit(float *w, float factor) {
  for (int i = 0; i < W_COUNT; i++) w[i] = i % (CHANNELS + 1) == 0 ? factor : 0.0f;
}

static void require_scaled(job *j, const char *what, const float *x, const float *y, float factor) {
  for (int i = 0; i < X_COUNT; i++)
    if (!(y[i] == factor * x[i])) complain(j, what);
}

static void on_host(job *j, const float *x, float factor) {
  float w[W_COUNT], y[X_COUNT];
  scaled_unit(w, factor);
  if (convoy_forward_host(j->context, &conv, x_shape, x, w_shape, w, NULL, NULL, y, NULL))
    complain(j, "host call failed");
  else
    require_scaled(j, "host call gave another thread's result", x, y, factor);
}

static void on_tensors(job *j, const float *x, float factor) {
  convoy_tensor *t[3] = {NULL};
  const int64_t *const shapes[] = {x_shape, w_shape, x_shape};
  float w[W_COUNT], y[X_COUNT];
  scaled_unit(w, factor);
  for (int i = 0; i < 3; i++)
    if (convoy_tensor_new(j->context, 3, shapes[i], &t[i])) complain(j, "no tensor");
  if (convoy_tensor_write(t[0], x, X_COUNT) || convoy_tensor_write(t[1], w, W_COUNT) ||
      convoy_forward(j->context, &conv, t[0], t[1], NULL, NULL, t[2], NULL) ||
      convoy_tensor_read(t[2], y, X_COUNT))
    complain(j, "tensor call failed");
  else
    require_scaled(j, "tensors gave another thread's result", x, y, factor);
  for (int i = 0; i < 3; i++) convoy_tensor_free(t[i]);
}

static void refused(job *j, const float *x) {
  const int64_t wrong[] = {CHANNELS, 100 + j->number, 1};
  char expected[16];
  float y[X_COUNT];
  snprintf(expected, sizeof expected, "%d", 100 + j->number);
  if (convoy_forward_host(j->context, &conv, x_shape, x, wrong, x, NULL, NULL, y, NULL) !=
      CONVOY_ERR_SHAPE)
    complain(j, "a wrong shape was accepted");
  else if (strstr(convoy_last_error(), expected) == NULL)
    complain(j, "the sentence is another thread's");
}

static void *work(void *argument) {
  job *j = argument;
  test_random random = {(uint64_t)j->number};
  float x[X_COUNT];
  for (int round = 0; round < ROUNDS; round++) {
    test_fill_integers(&random, x, X_COUNT);
    on_host(j, x, (float)(j->number + 1));
    on_tensors(j, x, (float)(j->number + 1));
    refused(j, x);
  }
  return NULL;
}

static void run_threads(convoy_context *const contexts[THREADS]) {
  pthread_t threads[THREADS];
  job jobs[THREADS] = {{0}};
  for (int i = 0; i < THREADS; i++) {
    jobs[i] = (job){.context = contexts[i], .number = i};
    assert_int_equal(pthread_create(&threads[i], NULL, work, &jobs[i]), 0);
  }
  for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
  for (int i = 0; i < THREADS; i++)
    if (jobs[i].complaint[0] != '\0') fail_msg("%s", jobs[i].complaint);
}

static void one_context_serves_many_threads(void **state) {
  (void)state;
  convoy_context *context = open_cpu();
  run_threads((convoy_context *const[THREADS]){context, context, context, context});
  convoy_close(context);
}

static void contexts_do_not_disturb_each_other(void **state) {
  (void)state;
  convoy_context *contexts[THREADS];
  for (int i = 0; i < THREADS; i++) contexts[i] = open_cpu();
  run_threads(contexts);
  for (int i = 0; i < THREADS; i++) convoy_close(contexts[i]);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(one_context_serves_many_threads),
      cmocka_unit_test(contexts_do_not_disturb_each_other),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
