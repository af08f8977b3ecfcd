/* The CPU engine in place of the device that was asked for: since when, and why. No training shall
 * go on so for weeks after one line of log, so it is said again every hour. */
#ifndef CVY_FALLBACK_H
#define CVY_FALLBACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "convoy/convoy.h"

typedef struct cvy_fallback {
  bool active;
  double since, reported; /* cvy_clock */
  char device[128];       /* the one that was asked for */
  char why[320];
} cvy_fallback;

/* From now on the CPU computes; that has been reported. One that goes on keeps its beginning. */
void cvy_fallback_begin(convoy_context *context, const char *device, const char *why);
void cvy_fallback_end(convoy_context *context);
/* A public call begins: says it again, if an hour has passed. */
void cvy_fallback_remind(convoy_context *context);

/* Begun seconds of it; 0: the CPU is not used in place of another. */
int64_t cvy_fallback_seconds(const convoy_context *context);
/* What the context runs on, in one line. */
void cvy_context_describe(const convoy_context *context, char *text, size_t size);

#endif
