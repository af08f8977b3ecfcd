#include "common/progress.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define BAR_WIDTH 30
#define BAR_SECONDS 0.1
#define LINE_SECONDS 10.0

double seconds_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

void progress_begin(struct progress *progress, int64_t images, int64_t first, int64_t per_epoch,
                    int64_t epochs) {
  memset(progress, 0, sizeof *progress);
  progress->terminal = isatty(STDERR_FILENO);
  progress->images = images;
  progress->first = first;
  progress->per_epoch = per_epoch;
  progress->steps = per_epoch * epochs;
  progress->began = progress->shown = seconds_now();
}

static void print_bar(int64_t step, int64_t steps) {
  int full = (int)(BAR_WIDTH * step / steps);
  fputs(" [", stderr);
  for (int i = 0; i < BAR_WIDTH; i++) fputc(i < full ? '#' : '.', stderr);
  fputs("]", stderr);
}

bool progress_due(const struct progress *progress, int64_t done) {
  double pause = progress->terminal ? BAR_SECONDS : LINE_SECONDS;
  return done == progress->steps || seconds_now() - progress->shown >= pause;
}

void progress_show(struct progress *progress, int64_t done, double loss) {
  int64_t per_epoch = progress->per_epoch, epoch = (done - 1) / per_epoch;
  int64_t step = done - epoch * per_epoch;
  progress->shown = seconds_now();
  double rate = (double)(done - progress->first) / (progress->shown - progress->began);
  int64_t left = (int64_t)((double)(progress->steps - done) / rate);
  fprintf(stderr, "%sepoch %lld/%lld", progress->terminal ? "\r" : "", (long long)epoch + 1,
          (long long)(progress->steps / per_epoch));
  if (progress->terminal) print_bar(step, per_epoch);
  fprintf(stderr, " step %lld/%lld  loss %.3f  %.0f images/s  ETA %lld:%02lld", (long long)step,
          (long long)per_epoch, loss, rate * (double)progress->images, (long long)left / 60,
          (long long)left % 60);
  fputs(progress->terminal ? "\033[K" : "\n", stderr);
}

void progress_clear(const struct progress *progress) {
  if (progress->terminal) fputs("\r\033[K", stderr);
}
