/* The command line of a program that trains. */
#ifndef COMMON_OPTIONS_H
#define COMMON_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What decides the course of a training, and therefore stands in its checkpoint. */
struct plan {
  int64_t seed, epochs, batch;
  int64_t images; /* of the training and of the test set; 0: all */
  int64_t size;   /* of a side of the images */
  int64_t split;  /* every so many-th image is for tests; 0: they come apart */
};
enum { PLAN_NUMBERS = sizeof(struct plan) / sizeof(int64_t) };

struct options {
  struct plan plan; /* -1 where the command line says nothing */
  const char *device;
  const char *data;
  const char *checkpoint;
  double checkpoint_seconds;
  double expect; /* accuracy to reach, or fail */
  int64_t steps; /* stop after this many; 0: at the end */
  bool resume;
};

/* An option of a program beside those, in a struct that begins with struct options. */
enum option_kind { OPTION_TEXT, OPTION_COUNT, OPTION_NUMBER, OPTION_FLAG };
struct option_row {
  const char *name, *value; /* value: its name in the help */
  enum option_kind kind;
  size_t offset;
  const char *help;
};

/* What a program says of itself, and its own options; ends with a row without a name. */
struct command {
  const char *about;
  const struct option_row *rows;
};

/* Returns -1 to go on, else the exit status: 0 after --help, 2 for a wrong argument. What is not
 * set by an argument stays as it is, but for the plan and checkpoint_seconds. */
int options_parse(struct options *options, const struct command *command, int count,
                  char **arguments);

/* Fills what the command line left open in `wanted` from `made`, the plan of a checkpoint, or with
 * NULL from the defaults. Where both speak and disagree prints a sentence and returns false. */
bool plan_settle(struct plan *wanted, const struct plan *made, const struct plan *defaults);

#endif
