/* Known reasons why a machine's GPU is not seen, or not what it seems. */
#ifndef TRAPS_H
#define TRAPS_H

#include <stdio.h>
#include <sys/types.h>

/* One line or two per trap found; returns how many. Looks at the environment and at names and
 * permissions of files; opens no device. */
int traps_print(FILE *out);

/* For tests: cards among `root`/dev/dri and `root`/sys for which `vendors`, a folder of *.icd files,
 * holds no driver; and the way into the group that a file belongs to. */
int traps_find_undriven(FILE *out, const char *root, const char *vendors);
void traps_tell_group(FILE *out, const char *path, gid_t group);

#endif
