#include "train.h"

#include <convoy/convoy.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "batch.h"
#include "net.h"
#include "progress.h"

struct trainer {
  const struct options *options;
  const struct image_set *training, *test;
  convoy_context *context;
  struct net net;
  struct net_graph steps[2], tests[2]; /* for a full batch, and for the rest of the images */
  float *weights, *momentum;           /* of a checkpoint */
  uint8_t *pixels, *labels;            /* of the batch */
  int32_t *order;                      /* of the epoch */
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

/* Where the images fill no batch to the end, or no batch at all, a graph is left out. */
static bool capture(struct trainer *t, enum net_task task, int64_t images,
                    struct net_graph *graphs) {
  int64_t batch = t->options->plan.batch, counts[2] = {images < batch ? 0 : batch, images % batch};
  for (int i = 0; i < 2; i++) {
    if (counts[i] == 0) continue;
    if (!done(net_capture(&t->net, task, counts[i], &graphs[i]), "capture")) return false;
  }
  return true;
}

static bool open_device(struct trainer *t) {
  convoy_options options = CONVOY_OPTIONS_INIT;
  options.device = t->options->device;
  if (!done(convoy_open(&options, &t->context), "device")) return false;
  if (!done(net_open(&t->net, t->context), "network")) return false;
  if (!capture(t, NET_TRAIN, t->training->count, t->steps)) return false;
  if (!capture(t, NET_EVALUATE, t->test->count, t->tests)) return false;
  t->weights = calloc((size_t)net_size(), sizeof(float));
  t->momentum = calloc((size_t)net_size(), sizeof(float));
  t->pixels = malloc((size_t)t->options->plan.batch * IMAGE_PIXELS);
  t->labels = malloc((size_t)t->options->plan.batch);
  t->order = malloc((size_t)t->training->count * sizeof(int32_t));
  if (t->weights && t->momentum && t->pixels && t->labels && t->order) return true;
  fputs("memory is exhausted\n", stderr);
  return false;
}

static void close_device(struct trainer *t) {
  for (int i = 0; i < 2; i++) {
    net_graph_free(&t->steps[i]);
    net_graph_free(&t->tests[i]);
  }
  free(t->weights);
  free(t->momentum);
  free(t->pixels);
  free(t->labels);
  free(t->order);
  net_close(&t->net);
  convoy_close(t->context);
}

static bool take_position(struct trainer *t, const struct checkpoint *from) {
  if (!from) {
    t->at.plan = t->options->plan;
    random_seed(&t->at.random, (uint64_t)t->at.plan.seed);
    net_initial(&t->at.random, t->weights);
    return done(net_write(&t->net, t->weights, t->momentum), "weights");
  }
  if (from->parameters != net_size()) {
    fprintf(stderr, "the checkpoint has %lld parameters, this network %lld\n",
            (long long)from->parameters, (long long)net_size());
    return false;
  }
  t->at = from->position;
  if (!done(net_write(&t->net, from->weights, from->momentum), "weights")) return false;
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
  if (!done(net_read(&t->net, t->weights, t->momentum), "weights")) return false;
  struct checkpoint now = {t->at, net_size(), t->weights, t->momentum};
  return checkpoint_write(t->options->checkpoint, &now);
}

static bool read_loss(struct trainer *t, float *loss) {
  return done(convoy_tensor_read(t->net.loss, loss, 1), "loss");
}

static bool show(struct trainer *t) {
  float loss;
  if (!progress_due(&t->progress, steps_done(t))) return true;
  if (!read_loss(t, &loss)) return false;
  progress_show(&t->progress, steps_done(t), (double)loss);
  return true;
}

static bool run_step(struct trainer *t) {
  int64_t batch = t->at.plan.batch, step = steps_done(t), first = t->at.step * batch;
  int64_t left = t->training->count - first;
  const struct net_graph *graph = &t->steps[left < batch];
  struct random_state random = t->at.random;
  float rate = net_rate(step, t->per_epoch * t->epochs);
  batch_draw(t->training, t->order + first, graph->images, &random, t->pixels, t->labels);
  if (!done(convoy_tensor_write(t->net.rate, &rate, 1), "learning rate")) return false;
  if (!done(net_run(graph, t->pixels, t->labels), "step")) return false;
  t->at.random = random;
  t->at.step++;
  return show(t);
}

static bool evaluate(struct trainer *t) {
  int64_t count = t->test->count, batch = t->at.plan.batch;
  float correct = 0.0f, loss;
  if (!done(convoy_tensor_write(t->net.correct, &correct, 1), "evaluation")) return false;
  for (int64_t first = 0; first < count; first += batch) {
    const struct net_graph *graph = &t->tests[count - first < batch];
    const uint8_t *pixels = t->test->pixels + first * IMAGE_PIXELS;
    if (!done(net_run(graph, pixels, t->test->labels + first), "evaluation")) return false;
  }
  if (!done(convoy_tensor_read(t->net.correct, &correct, 1), "evaluation")) return false;
  if (!read_loss(t, &loss)) return false;
  t->accuracy = (double)correct / (double)count;
  progress_clear(&t->progress);
  printf("epoch %lld step %lld: ", (long long)(t->at.epoch + (t->at.step > 0)),
         (long long)steps_done(t));
  if (loss >= 0.0f) printf("loss %.5f, ", (double)loss);
  printf("test accuracy %.4f\n", t->accuracy);
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
  t.per_epoch = (training->count + options->plan.batch - 1) / options->plan.batch;
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
