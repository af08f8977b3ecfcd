#include "train.h"

#include <convoy/convoy.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "batch.h"
#include "layers.h"
#include "net.h"
#include "progress.h"
#include "sgd.h"

struct trainer {
  const struct options *options;
  const struct image_set *training, *test;
  convoy_context *context;
  struct net net;
  float *momentum;
  uint8_t *labels; /* of the batch */
  int32_t *order;  /* of the epoch */
  int64_t per_epoch, epochs;
  struct position at;
  struct progress progress;
  double began, saved; /* when this run began, and when the last checkpoint was written */
  double accuracy;     /* of the last evaluation */
};

static volatile sig_atomic_t stop_signal;

static void remember_signal(int number) {
  stop_signal = number;
}

/* The first signal lets the running step end; a second one ends the program at once. */
static void catch_signals(void) {
  struct sigaction action = {.sa_flags = (int)SA_RESETHAND};
  sigemptyset(&action.sa_mask);
  action.sa_handler = remember_signal;
  sigaction(SIGINT, &action, NULL);
  sigaction(SIGTERM, &action, NULL);
}

static bool done(convoy_status status, const char *what) {
  if (!status) return true;
  fprintf(stderr, "%s: %s: %s\n", what, convoy_status_name(status), convoy_last_error());
  return false;
}

static int64_t steps_done(const struct trainer *t) {
  return t->at.epoch * t->per_epoch + t->at.step;
}

static bool asked_to_stop(const struct trainer *t) {
  return stop_signal || (t->options->steps > 0 && steps_done(t) >= t->options->steps);
}

/* ------------------------------------------------------------------------------- beginning */

static bool open_device(struct trainer *t) {
  convoy_options options = CONVOY_OPTIONS_INIT;
  options.device = t->options->device;
  if (!done(convoy_open(&options, &t->context), "device")) return false;
  if (!done(net_open(&t->net, t->context, t->options->plan.batch), "network")) return false;
  t->momentum = calloc((size_t)t->net.parameters, sizeof(float));
  t->labels = malloc((size_t)t->options->plan.batch);
  t->order = malloc((size_t)t->training->count * sizeof(int32_t));
  if (t->momentum && t->labels && t->order) return true;
  fputs("memory is exhausted\n", stderr);
  return false;
}

static void close_device(struct trainer *t) {
  free(t->momentum);
  free(t->labels);
  free(t->order);
  net_close(&t->net);
  convoy_close(t->context);
}

static bool take_position(struct trainer *t, const struct checkpoint *from) {
  if (!from) {
    t->at.plan = t->options->plan;
    random_seed(&t->at.random, (uint64_t)t->at.plan.seed);
    net_init(&t->net, &t->at.random);
    return true;
  }
  if (from->parameters != t->net.parameters) {
    fprintf(stderr, "the checkpoint has %lld parameters, this network %lld\n",
            (long long)from->parameters, (long long)t->net.parameters);
    return false;
  }
  t->at = from->position;
  memcpy(t->net.weights, from->weights, (size_t)from->parameters * sizeof(float));
  memcpy(t->momentum, from->momentum, (size_t)from->parameters * sizeof(float));
  printf("resumed at epoch %lld, step %lld\n", (long long)t->at.epoch + 1, (long long)t->at.step);
  return true;
}

static void say_device(const struct trainer *t) {
  convoy_device_info info = {.struct_size = sizeof info};
  convoy_context_device(t->context, &info);
  printf("training on %s: %s (%s)\n", info.id, info.name, info.platform);
  fflush(stdout);
}

/* --------------------------------------------------------------------------------- running */

static bool save(struct trainer *t) {
  t->saved = seconds_now();
  if (!t->options->checkpoint) return true;
  struct checkpoint now = {t->at, t->net.parameters, t->net.weights, t->momentum};
  return checkpoint_write(t->options->checkpoint, &now);
}

static bool run_step(struct trainer *t) {
  int64_t batch = t->at.plan.batch, step = steps_done(t);
  struct random_state random = t->at.random;
  batch_draw(t->training, t->order + t->at.step * batch, batch, &random, t->net.input, t->labels);
  if (!done(net_forward(&t->net, batch), "forward")) return false;
  double loss = softmax_loss(t->net.logits, t->labels, batch, CLASSES, t->net.dlogits);
  if (!done(net_backward(&t->net, batch), "backward")) return false;
  float rate = sgd_rate(step, t->per_epoch * t->epochs);
  sgd_step(rate, t->net.gradients, t->momentum, t->net.weights, t->net.parameters);
  t->at.random = random;
  t->at.step++;
  progress_step(&t->progress, step + 1, loss);
  return true;
}

static bool evaluate(struct trainer *t) {
  int64_t correct = 0, count = t->test->count, batch = t->at.plan.batch;
  for (int64_t first = 0; first < count; first += batch) {
    int64_t images = count - first < batch ? count - first : batch;
    batch_take(t->test, first, images, t->net.input);
    if (!done(net_forward(&t->net, images), "evaluation")) return false;
    correct += count_correct(t->net.logits, t->test->labels + first, images, CLASSES);
  }
  t->accuracy = (double)correct / (double)count;
  progress_clear(&t->progress);
  printf("epoch %lld step %lld: test accuracy %.4f\n", (long long)(t->at.epoch + (t->at.step > 0)),
         (long long)steps_done(t), t->accuracy);
  fflush(stdout);
  return true;
}

/* The rest of the epoch, or up to where the run is asked to stop. */
static bool run_epoch(struct trainer *t) {
  if (t->at.step == 0) t->at.shuffle = t->at.random;
  struct random_state shuffle = t->at.shuffle;
  random_order(&shuffle, t->order, t->training->count);
  if (t->at.step == 0) t->at.random = shuffle;
  while (t->at.step < t->per_epoch && !asked_to_stop(t)) {
    if (!run_step(t)) return false;
    if (seconds_now() - t->saved >= t->options->checkpoint_seconds) save(t);
  }
  return true;
}

static bool run(struct trainer *t) {
  progress_begin(&t->progress, t->at.plan.batch, steps_done(t), t->per_epoch, t->epochs);
  while (t->at.epoch < t->epochs && !asked_to_stop(t)) {
    if (!run_epoch(t)) return false;
    if (t->at.step < t->per_epoch) continue;
    if (!evaluate(t)) return false;
    t->at.epoch++;
    t->at.step = 0;
    save(t);
  }
  progress_clear(&t->progress);
  return true;
}

/* -------------------------------------------------------------------------------- the end */

/* A device that failed did not stop the training, but its owner should know. */
static void say_faults(const struct trainer *t) {
  convoy_health health = {.struct_size = sizeof health};
  if (convoy_get_health(t->context, &health) || health.faults == 0) return;
  printf("device faults: %lld; operations computed elsewhere because of them: %lld of %lld\n",
         (long long)health.faults, (long long)health.failovers, (long long)health.operations);
}

static int end_by_signal(struct trainer *t) {
  bool saved = save(t);
  const char *file = t->options->checkpoint;
  printf("stopped by signal %d after step %lld; %s%s\n", (int)stop_signal, (long long)steps_done(t),
         file && saved ? "checkpoint " : "nothing was saved", file && saved ? file : "");
  return 128 + (int)stop_signal;
}

static int end(struct trainer *t) {
  if (stop_signal) return end_by_signal(t);
  bool halfway = t->at.step > 0;
  bool good = !halfway || (save(t) && evaluate(t));
  if (!halfway && t->accuracy < 0.0) good = evaluate(t);
  if (!good) return 1;
  convoy_device_info info = {.struct_size = sizeof info};
  convoy_context_device(t->context, &info);
  say_faults(t);
  printf("result: accuracy=%.4f device=%s seconds=%.1f\n", t->accuracy, info.id,
         seconds_now() - t->began);
  if (t->accuracy >= t->options->expect) return 0;
  fprintf(stderr, "accuracy %.4f is below the %g expected\n", t->accuracy, t->options->expect);
  return 3;
}

int train(const struct options *options, const struct checkpoint *from,
          const struct image_set *training, const struct image_set *test) {
  struct trainer t = {.options = options, .training = training, .test = test, .accuracy = -1.0};
  t.per_epoch = training->count / options->plan.batch;
  t.epochs = options->plan.epochs;
  t.began = t.saved = seconds_now();
  catch_signals();
  int status = 1;
  if (open_device(&t) && take_position(&t, from)) {
    say_device(&t);
    if (run(&t)) status = end(&t);
  }
  close_device(&t);
  return status;
}
