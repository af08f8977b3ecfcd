/* Known reasons why a machine's GPU is not seen, or not what it seems. */
#ifndef TRAPS_H
#define TRAPS_H

#include <stdio.h>

/* One line or two per trap found; returns how many. Looks at the environment and at names and
 * permissions of files; opens no device. */
int traps_print(FILE *out);

#endif
