/* The devices that machines have had, as data and as text. Pure: no file, no clock.
 *
 * File: first line "convoy-devices 1", then one device per line,
 *   machine | ocl:0 | name | platform | driver | 2026-10-01 | 2026-11-23
 * with the machine's id ("-" if it has none) and the days on which it was first and last seen. Machines
 * that share a home folder share the file; each asks for its own devices only. */
#ifndef CVY_ROSTER_H
#define CVY_ROSTER_H

#include "backend.h"

typedef struct cvy_known {
  char machine[64], id[16], name[128], platform[128], driver[128];
  char first[12], last[12]; /* days */
} cvy_known;

enum { CVY_ROSTER = 256 };
typedef struct cvy_roster {
  cvy_known list[CVY_ROSTER];
  int32_t count;
  int32_t skipped; /* lines that were no devices */
} cvy_roster;

#define CVY_ROSTER_TEXT ((size_t)CVY_ROSTER * 512 + 64) /* bytes that hold any file */

/* Reads a whole file's text. Lines that are no devices are counted and skipped; a text that does not
 * begin with the version line gives none and counts as one; what does not fit is left out. */
void cvy_roster_parse(const char *text, cvy_roster *out);
/* The file's text; CVY_ROSTER_TEXT bytes suffice. */
void cvy_roster_format(const cvy_roster *roster, char *text, size_t size);

/* Notes that a machine has a device on a day; false if the roster says so already. A full one loses the
 * device that was seen last longest ago. */
bool cvy_roster_see(cvy_roster *roster, const char *machine, const convoy_device_info *info,
                    const char *day);
/* The device of the machine that bore the name last: as its id, or as part of its name. NULL: none. */
const cvy_known *cvy_roster_find(const cvy_roster *roster, const char *machine, const char *wanted);
/* Whether an entry is of the machine and the device not there any more: no device bears its name, or none
 * its id. (Where others do, it only has another number now.) */
bool cvy_known_gone(const cvy_known *known, const char *machine, const cvy_facts *there,
                    int32_t count);

#endif
