/* What `convoy info` prints, also for the report. */
#ifndef INFO_H
#define INFO_H

#include <stdio.h>

/* Returns an exit status. */
int info_print(FILE *out);

#endif
