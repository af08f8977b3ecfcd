/* A training in a file: everything that decides what the next step computes. */
#ifndef FASHION_CHECKPOINT_H
#define FASHION_CHECKPOINT_H

#include <stdbool.h>
#include <stdint.h>

#include "options.h"
#include "random.h"

/* Where a training stands. The order of an epoch's images is not kept: `shuffle` makes it again, and
 * `step` says how far it is used up. */
struct position {
  struct plan plan;
  int64_t epoch, step;         /* step: within the epoch */
  struct random_state shuffle; /* as it was when the epoch began */
  struct random_state random;  /* as it is now */
};

struct checkpoint {
  struct position position;
  int64_t parameters;
  float *weights, *momentum; /* [parameters] */
};

/* Replaces the file as a whole or not at all. On failure prints a sentence and returns false; the
 * old file is still there then. */
bool checkpoint_write(const char *path, const struct checkpoint *checkpoint);

/* Reads a file that is whole and undamaged; prints why and returns false if it is not. */
bool checkpoint_read(const char *path, struct checkpoint *checkpoint);
void checkpoint_free(struct checkpoint *checkpoint);

#endif
