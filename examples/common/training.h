/* The training: epochs, evaluation, checkpoints, and stopping in between without losing
 * anything. */
#ifndef COMMON_TRAINING_H
#define COMMON_TRAINING_H

#include "common/classifier.h"
#include "common/options.h"
#include "common/random.h"

/* Where the images come from, and how a network is to learn them. */
struct lesson {
  const void *images; /* for the functions */
  int64_t count, tests;
  /* Images order[0 .. count - 1] of the training set, changed at random, and their labels. False,
   * with a sentence, if they cannot be had. */
  bool (*draw)(const void *images, const int32_t *order, int64_t count, struct random_state *random,
               uint8_t *pixels, int32_t *labels);
  /* Images first .. first + count - 1 of the test set. */
  bool (*test)(const void *images, int64_t first, int64_t count, uint8_t *pixels, int32_t *labels);
  double peak_rate;
  int64_t warm_up; /* steps */
};

/* Learning rate of step `step` out of `steps`: it warms up and then falls like a cosine. */
float lesson_rate(const struct lesson *lesson, int64_t step, int64_t steps);

/* The plan that a checkpoint was made with; false with a sentence if it cannot be read. */
bool training_read_plan(convoy_context *context, const char *path, struct plan *made);

/* Settles the plan of options->plan with that of the checkpoint, if there is one to go on from,
 * which *resume then says. Returns -1 to go on, else the exit status. */
int training_settle_plan(convoy_context *context, struct options *options,
                         const struct plan *defaults, bool *resume);

/* Trains by options->plan, from the beginning or from the checkpoint. Returns the program's exit
 * status. */
int train(const struct options *options, bool resume, struct classifier *classifier,
          const struct lesson *lesson);

#endif
