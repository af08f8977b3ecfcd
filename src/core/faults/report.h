/* What a fault leaves behind: a file with the last commands to the device, its state, what happened
 * and what was done about it. */
#ifndef CVY_REPORT_H
#define CVY_REPORT_H

#include "convoy/convoy.h"

/* The last commands of a context to its device. */
#define CVY_NOTES 64
typedef struct cvy_note {
  const char *what, *algorithm; /* of static storage */
  uint64_t ticket;
  int64_t bytes;
  double at; /* cvy_clock */
} cvy_note;
typedef struct cvy_ring {
  cvy_note notes[CVY_NOTES]; /* a ring: note number n lies at n % CVY_NOTES */
  uint64_t count;            /* ever written */
} cvy_ring;

void cvy_note_command(cvy_ring *ring, const char *what, const char *algorithm, uint64_t ticket,
                      int64_t bytes);

/* Writes the report of a fault that has just been dealt with; of all reports the newest are kept.
 * That it cannot be written is one line of log per context. */
void cvy_report_fault(convoy_context *context, convoy_status status, const char *sentence);

#endif
