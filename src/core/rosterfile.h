/* The roster on disk: devices.txt in the state folder, shared by all processes. It tells a device that is
 * gone from a name that was never any device's. One that cannot be read or written costs one line of
 * log, and later that distinction: then only the devices there are have names. */
#ifndef CVY_ROSTERFILE_H
#define CVY_ROSTERFILE_H

#include "core/roster.h"

/* Remembers what a listing has shown; nothing is written where it shows nothing new. */
void cvy_roster_note(const cvy_facts *facts, int32_t count);
/* The device that this machine has had and that bore the name last; false: none is remembered. */
bool cvy_roster_recall(const char *wanted, cvy_known *out);
/* Names those that this machine has had besides the ones there are, "ocl:0 (name) until 2026-11-20", with
 * commas between. */
void cvy_roster_name_gone(const cvy_facts *there, int32_t count, cvy_text *text);

#endif
