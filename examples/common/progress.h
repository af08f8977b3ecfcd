/* Shows how a training goes on: a bar on a terminal, else a line now and then. All on stderr, so
 * that stdout holds results only. */
#ifndef COMMON_PROGRESS_H
#define COMMON_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct progress {
  bool terminal;
  int64_t images;       /* per step */
  int64_t first, steps; /* where this run began, and all steps of the training */
  int64_t per_epoch;
  double began, shown; /* when; seconds */
};

/* Seconds of a clock that is never set. */
double seconds_now(void);

void progress_begin(struct progress *progress, int64_t images, int64_t first, int64_t per_epoch,
                    int64_t epochs);

/* Whether step `done` of the whole training is to be shown: to know the loss is to wait for it. */
bool progress_due(const struct progress *progress, int64_t done);
void progress_show(struct progress *progress, int64_t done, double loss);

/* Frees the line of the bar for other output. */
void progress_clear(const struct progress *progress);

#endif
