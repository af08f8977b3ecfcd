/* What `convoy info` prints, also for the report. */
#ifndef REPORT_INFO_H
#define REPORT_INFO_H

#include <stdio.h>

/* Returns an exit status. */
int info_print(FILE *out);

#endif
