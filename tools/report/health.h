/* Tells what is recorded of devices' faults, for `convoy health` and `convoy report`. */
#ifndef REPORT_HEALTH_H
#define REPORT_HEALTH_H

#include <stdio.h>

/* Writes what is recorded of devices in whose name `name` occurs (NULL: all), and where reports of
 * faults lie. Returns an exit status. */
int health_print(FILE *out, const char *name);

/* Writes the newest report of a fault, if there is one. */
void health_print_newest(FILE *out);

#endif
