/* What the process uses once everything has been seen, and what grows from then on. */
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

/* After each step, and before the first with 0. */
void soak_usage_note(soak_usage *uses, int steps);
void soak_usage_end(soak_usage *uses);
/* Whether more grew than may, with what and how much in `why`. A run that is too short to tell gives
 * false. */
bool soak_usage_grew(const soak_usage *uses, char *why, size_t size);

#endif
