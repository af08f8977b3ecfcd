/* Writes the progress line, with rate and time left. */
#include "common/progress.h"

#include <stdio.h>
#include <unistd.h>

#include "common/clock.h"

progress progress_start(int total, bool force) {
  return (progress){force || isatty(STDERR_FILENO), 0, total, seconds_now()};
}

void progress_show(const progress *line, const char *what) {
  if (!line->shown) return;
  double passed = seconds_now() - line->start;
  double rate = passed > 0.0 ? line->done / passed : 0.0;
  fprintf(stderr, "\r\033[K%d/%d", line->done, line->total);
  if (line->done > 0) {
    int left = (int)((line->total - line->done) / rate);
    fprintf(stderr, "  %.2f/s  %d:%02d left", rate, left / 60, left % 60);
  }
  fprintf(stderr, "  %.60s", what);
  fflush(stderr);
}

void progress_step(progress *line) {
  line->done++;
}

void progress_clear(const progress *line) {
  if (line->shown) fputs("\r\033[K", stderr);
}
