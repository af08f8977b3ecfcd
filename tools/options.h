/* Command line options, described by a table: one parser for all subcommands. */
#ifndef OPTIONS_H
#define OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

typedef enum option_kind {
  OPTION_FLAG,    /* bool */
  OPTION_TEXT,    /* const char * */
  OPTION_COUNT,   /* int, >= 1 */
  OPTION_SECONDS, /* double, >= 0 */
  OPTION_HOURS,   /* double, > 0 */
  OPTION_WORDS,   /* words, separated by commas */
  OPTION_FILES,   /* words: all arguments up to the next option */
  OPTION_KINDS
} option_kind;

/* Copies of the words given, so that argv stays as it was typed. Zero is empty. A copy of the struct
 * points into the text of the original. */
typedef struct words {
  int count;
  size_t used;
  const char *item[64];
  char text[4096];
} words;

/* Adds one word; false if there is no room left. */
bool words_add(words *list, const char *word, size_t length);

typedef struct option {
  const char *name;  /* "--device" */
  const char *value; /* how the help calls its value, NULL for flags */
  option_kind kind;
  void *target;
  const char *help;
} option;

typedef struct usage {
  const char *command;  /* "bench" */
  const char *summary;  /* one or more lines above the options */
  const char *examples; /* below them */
} usage;

/* Reads argv[1..] into the targets; the table ends with a NULL name. --help is answered here. False
 * when the program is to end now, with *exit_status. */
bool options_read(const usage *about, const option *table, int argc, char **argv, int *exit_status);

#endif
