/* There are known reasons why a machine's GPU is not seen, or not what it seems. */
#ifndef REPORT_TRAPS_H
#define REPORT_TRAPS_H

#include <stdio.h>
#include <sys/types.h>

/* Writes one line or two per trap found and returns how many there are. Looks at the environment
 * and at names and permissions of files, and opens no device. */
int traps_print(FILE *out);

/* Tests call these alone. They tell of cards among `root`/dev/dri and `root`/sys for which
 * `vendors`, a folder of *.icd files, holds no driver, and of the way into the group that a file
 * belongs to. */
int traps_find_undriven(FILE *out, const char *root, const char *vendors);
void traps_tell_group(FILE *out, const char *path, gid_t group);

#endif
