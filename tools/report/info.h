/* Prints what `convoy info` does, for the report too. */
#ifndef REPORT_INFO_H
#define REPORT_INFO_H

#include <stdio.h>

/* Returns an exit status. */
int info_print(FILE *out);

#endif
