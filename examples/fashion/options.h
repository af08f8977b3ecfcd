/* The command line of train_fashion. */
#ifndef FASHION_OPTIONS_H
#define FASHION_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

/* What decides the course of a training, and therefore stands in its checkpoint. */
struct plan {
  int64_t seed, epochs, batch;
  int64_t images; /* of the training and of the test set; 0: all */
};

struct options {
  struct plan plan; /* -1 where the command line says nothing */
  const char *device;
  const char *data;
  const char *checkpoint;
  double checkpoint_seconds;
  double expect; /* accuracy to reach, or fail */
  int64_t steps; /* stop after this many; 0: at the end */
  bool resume, compare_devices;
};

/* Returns -1 to go on, else the exit status: 0 after --help, 2 for a wrong argument. */
int options_parse(struct options *options, int count, char **arguments);

/* Fills what the command line left open in `wanted` from `made`, the plan of a checkpoint, or with
 * NULL from the defaults. Where both speak and disagree prints a sentence and returns false. */
bool plan_settle(struct plan *wanted, const struct plan *made);

#endif
