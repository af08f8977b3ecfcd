/* A line on stderr that says how far a long run is. */
#ifndef COMMON_PROGRESS_H
#define COMMON_PROGRESS_H

#include <stdbool.h>

typedef struct progress {
  bool shown;
  int done, total;
  double start;
} progress;

/* The line is shown only if stderr is a terminal, or with `force`. */
progress progress_start(int total, bool force);
/* Says what is worked on now. */
void progress_show(const progress *line, const char *what);
void progress_step(progress *line);
/* Wipes the line, so that other output can take its place. That is due at the end too. */
void progress_clear(const progress *line);

#endif
