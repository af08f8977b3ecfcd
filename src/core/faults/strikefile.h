/* The record of strikes on disk: faults.txt in the state folder, shared by all processes. A record
 * that cannot be read or written costs one line of log, never an operation. */
#ifndef CVY_STRIKEFILE_H
#define CVY_STRIKEFILE_H

#include "core/faults/strikes.h"

/* The strike limit: CONVOY_STRIKE_LIMIT, else CVY_STRIKE_LIMIT. 0: no record is kept or obeyed. */
int32_t cvy_strike_limit(void);
/* What is recorded; empty if nothing is, or it cannot be read. */
void cvy_strikes_load(cvy_strikes *out);
/* Adds strikes to `mine` and to the file; what other processes have written comes along. */
void cvy_strikes_note(cvy_strikes *mine, const cvy_strike *what);

/* convoy_record, convoy_record_clear. */
convoy_status cvy_record_text(const char *device, char *text, size_t size);
convoy_status cvy_record_clear(const char *device);

#endif
