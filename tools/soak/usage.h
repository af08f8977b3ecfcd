/* Notes what the process uses once everything has been seen, and what grows from then on. */
#ifndef SOAK_USAGE_H
#define SOAK_USAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct soak_usage {
  int warm, steps;                /* steps until everything has been seen; steps done */
  int64_t rss_before, rss_growth; /* KiB */
  int descriptors_before, descriptors_growth;
} soak_usage;

/* Is called after each step, and before the first with 0. */
void soak_usage_note(soak_usage *uses, int steps);
void soak_usage_end(soak_usage *uses);
/* Says whether more grew than may, with what and how much in `why`. Of a run that is too short to
 * tell it returns false. */
bool soak_usage_grew(const soak_usage *uses, char *why, size_t size);

#endif
