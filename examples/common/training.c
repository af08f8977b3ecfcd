#include "common/training.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/progress.h"

/* Where a training stands, beside its tensors. The order of an epoch's images is not kept:
 * `shuffle` makes it again, and `step` says how far it is used up. */
struct position {
  struct plan plan;
  int64_t epoch, step;         /* step: within the epoch */
  struct random_state shuffle; /* as it was when the epoch began */
  struct random_state random;  /* as it is now */
};

struct trainer {
  const struct options *options;
  const struct lesson *lesson;
  struct classifier *classifier;
  struct batch_graph steps[2], tests[2]; /* for a full batch, and for the rest of the images */
  convoy_state *state;
  uint8_t *pixels; /* of the batch */
  int32_t *labels;
  int32_t *order; /* of the epoch */
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

float lesson_rate(const struct lesson *lesson, int64_t step, int64_t steps) {
  double warmed = fmin(1.0, (double)(step + 1) / fmax((double)lesson->warm_up, 1.0));
  double cooled = 0.5 * (1.0 + cos(3.14159265358979323846 * (double)step / (double)steps));
  return (float)(lesson->peak_rate * warmed * cooled);
}

/* --------------------------------------------------------------------------------- checkpoints */

static bool refuse(const char *path) {
  fprintf(stderr, "checkpoint %s is not used: %s\n", path, convoy_last_error());
  return false;
}

bool training_read_plan(convoy_context *context, const char *path, struct plan *made) {
  convoy_state *state;
  convoy_status status = convoy_state_new(context, &state);
  if (status) return done(status, "checkpoint");
  status = convoy_state_numbers(state, "plan", &made->seed, PLAN_NUMBERS);
  if (!status) status = convoy_state_load(state, path, CONVOY_STATE_EXTRA);
  if (status) refuse(path);
  convoy_state_free(state);
  return !status;
}

int training_settle_plan(convoy_context *context, struct options *options,
                         const struct plan *defaults, bool *resume) {
  struct plan made;
  *resume = options->resume && access(options->checkpoint, F_OK) == 0;
  if (options->resume && !*resume) printf("%s is not there yet: starting\n", options->checkpoint);
  if (*resume && !training_read_plan(context, options->checkpoint, &made)) return 1;
  return plan_settle(&options->plan, *resume ? &made : NULL, defaults) ? -1 : 2;
}

static convoy_status add_random(convoy_state *state, const char *name,
                                struct random_state *random) {
  return convoy_state_numbers(state, name, (int64_t *)random->word, 4);
}

static convoy_status add_graphs(struct trainer *t) {
  static const char *const names[] = {"steps", "steps.rest"};
  convoy_status status = CONVOY_OK;
  for (int i = 0; i < 2 && !status; i++)
    if (t->steps[i].graph) status = convoy_state_graph(t->state, names[i], t->steps[i].graph);
  return status;
}

/* Everything that decides what the next step computes. */
static bool list_state(struct trainer *t) {
  struct position *at = &t->at;
  convoy_status status = convoy_state_new(t->classifier->net.context, &t->state);
  if (!status) status = net_add_to_state(&t->classifier->net, t->state);
  if (!status) status = convoy_state_tensor(t->state, "loss", t->classifier->loss);
  if (!status) status = convoy_state_numbers(t->state, "plan", &at->plan.seed, PLAN_NUMBERS);
  if (!status) status = convoy_state_numbers(t->state, "epoch", &at->epoch, 1);
  if (!status) status = convoy_state_numbers(t->state, "step", &at->step, 1);
  if (!status) status = add_random(t->state, "shuffle", &at->shuffle);
  if (!status) status = add_random(t->state, "random", &at->random);
  if (!status) status = add_graphs(t);
  return done(status, "state");
}

static bool save(struct trainer *t) {
  t->saved = seconds_now();
  if (!t->options->checkpoint) return true;
  return done(convoy_state_save(t->state, t->options->checkpoint), "checkpoint");
}

static bool load(struct trainer *t) {
  if (convoy_state_load(t->state, t->options->checkpoint, 0)) return refuse(t->options->checkpoint);
  printf("resumed at epoch %lld, step %lld\n", (long long)t->at.epoch + 1, (long long)t->at.step);
  return true;
}

/* From the checkpoint, or anew. */
static bool start(struct trainer *t, bool resume) {
  const struct classifier *classifier = t->classifier;
  if (resume) return load(t);
  return !classifier->begin || done(classifier->begin(classifier), "weights");
}

/* ------------------------------------------------------------------------------- beginning */

/* Where the images fill no batch to the end, or no batch at all, a graph is left out. */
static bool capture(struct trainer *t, bool training, int64_t images, struct batch_graph *graphs) {
  int64_t batch = t->options->plan.batch, counts[2] = {images < batch ? 0 : batch, images % batch};
  for (int i = 0; i < 2; i++) {
    if (counts[i] == 0) continue;
    convoy_status status = classifier_capture(t->classifier, training, counts[i], &graphs[i]);
    if (!done(status, "capture")) return false;
  }
  return true;
}

static bool begin(struct trainer *t) {
  const int64_t *image = t->classifier->image, batch = t->options->plan.batch;
  t->at.plan = t->options->plan;
  random_seed(&t->at.random, (uint64_t)t->at.plan.seed);
  if (!capture(t, true, t->lesson->count, t->steps)) return false;
  if (!capture(t, false, t->lesson->tests, t->tests)) return false;
  t->pixels = malloc((size_t)(batch * image[0] * image[1] * image[2]));
  t->labels = malloc((size_t)batch * sizeof(int32_t));
  t->order = malloc((size_t)t->lesson->count * sizeof(int32_t));
  if (t->pixels && t->labels && t->order) return list_state(t);
  fputs("memory is exhausted\n", stderr);
  return false;
}

static void end_all(struct trainer *t) {
  convoy_state_free(t->state);
  for (int i = 0; i < 2; i++) {
    batch_graph_free(&t->steps[i]);
    batch_graph_free(&t->tests[i]);
  }
  free(t->pixels);
  free(t->labels);
  free(t->order);
}

static convoy_device_info device_of(const struct trainer *t) {
  convoy_device_info info = {.struct_size = sizeof info};
  convoy_context_device(t->classifier->net.context, &info);
  return info;
}

static void say_device(const struct trainer *t) {
  convoy_device_info info = device_of(t);
  printf("training on %s: %s (%s)\n", info.id, info.name, info.platform);
  fflush(stdout);
}

/* --------------------------------------------------------------------------------- running */

static bool read_loss(struct trainer *t, float *loss) {
  return done(convoy_tensor_read(t->classifier->loss, loss, 1), "loss");
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
  const struct batch_graph *graph = &t->steps[t->lesson->count - first < batch];
  struct random_state random = t->at.random;
  float rate = lesson_rate(t->lesson, step, t->per_epoch * t->epochs);
  if (!t->lesson->draw(t->lesson->images, t->order + first, graph->images, &random, t->pixels,
                       t->labels))
    return false;
  if (!done(convoy_tensor_write(t->classifier->net.rate, &rate, 1), "learning rate")) return false;
  if (!done(batch_graph_run(graph, t->pixels, t->labels), "step")) return false;
  t->at.random = random;
  t->at.step++;
  return show(t);
}

static bool run_tests(struct trainer *t, float *correct) {
  int64_t count = t->lesson->tests, batch = t->at.plan.batch;
  *correct = 0.0f;
  if (!done(convoy_tensor_write(t->classifier->correct, correct, 1), "evaluation")) return false;
  for (int64_t first = 0; first < count; first += batch) {
    const struct batch_graph *graph = &t->tests[count - first < batch];
    if (!t->lesson->test(t->lesson->images, first, graph->images, t->pixels, t->labels) ||
        !done(batch_graph_run(graph, t->pixels, t->labels), "evaluation"))
      return false;
  }
  return done(convoy_tensor_read(t->classifier->correct, correct, 1), "evaluation");
}

static bool evaluate(struct trainer *t) {
  float correct, loss;
  if (!run_tests(t, &correct) || !read_loss(t, &loss)) return false;
  t->accuracy = (double)correct / (double)t->lesson->tests;
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
  random_order(&shuffle, t->order, t->lesson->count);
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
  if (convoy_get_health(t->classifier->net.context, &health) || health.faults == 0) return;
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
  say_faults(t);
  printf("result: accuracy=%.4f device=%s seconds=%.1f\n", t->accuracy, device_of(t).id,
         seconds_now() - t->began);
  if (t->accuracy >= t->options->expect) return 0;
  fprintf(stderr, "accuracy %.4f is below the %g expected\n", t->accuracy, t->options->expect);
  return 3;
}

int train(const struct options *options, bool resume, struct classifier *classifier,
          const struct lesson *lesson) {
  struct trainer t = {
      .options = options, .lesson = lesson, .classifier = classifier, .accuracy = -1.0};
  t.per_epoch = (lesson->count + options->plan.batch - 1) / options->plan.batch;
  t.epochs = options->plan.epochs;
  t.began = t.saved = seconds_now();
  catch_signals();
  int status = 1;
  if (begin(&t) && start(&t, resume)) {
    say_device(&t);
    if (run(&t)) status = end(&t);
  }
  end_all(&t);
  return status;
}
