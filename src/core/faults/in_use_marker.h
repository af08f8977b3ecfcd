/* The text of an in-use marker. It may have been written by another version, or by a program that
 * is not Convoy. */
#ifndef CVY_IN_USE_MARKER_H
#define CVY_IN_USE_MARKER_H

#include "base/base.h"

#define CVY_MARKER_TEXT 2048 /* bytes that hold any marker as text */
typedef struct cvy_marker {
  char machine[64], boot[64];
  char space[32]; /* cvy_pid_namespace */
  int process;
  uint64_t born;                 /* cvy_process_born */
  char device[128], driver[128]; /* names */
  char since[24], refreshed[24];
  char told[24]; /* when its worker got SIGTERM, "": it did not */
  int64_t step;
  char last[64];       /* the last command to the device */
  char first_use[576]; /* the kernel that runs for the first time, "" */
  char algorithm[32];  /* its algorithm */
  char cards[512];     /* cvy_sensors */
} cvy_marker;

/* Line ends in names become spaces. */
void cvy_marker_format(const cvy_marker *marker, char text[CVY_MARKER_TEXT]);
/* False unless the text is a marker with at least boot, process and device. */
bool cvy_marker_parse(const char *text, cvy_marker *out);

#endif
