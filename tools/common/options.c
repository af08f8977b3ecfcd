/* Parses "--name value" and "--name=value". */
#include "common/options.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/exit_status.h"

/* This is what is left to read. `value` is the text behind '=' of the option at hand, or NULL. */
typedef struct cursor {
  int at, argc;
  char **argv;
  const char *value;
} cursor;

static const char *take_value(cursor *from) {
  if (from->value) return from->value;
  if (from->at + 1 >= from->argc) return NULL;
  return from->argv[++from->at];
}

bool words_add(words *list, const char *word, size_t length) {
  int most = (int)(sizeof list->item / sizeof list->item[0]);
  if (list->count >= most || length >= sizeof list->text - list->used) return false;
  char *to = list->text + list->used;
  memcpy(to, word, length);
  to[length] = 0;
  list->used += length + 1;
  list->item[list->count++] = to;
  return true;
}

static bool read_flag(cursor *from, void *target) {
  *(bool *)target = true;
  return from->value == NULL;
}

static bool read_text(cursor *from, void *target) {
  const char *text = take_value(from);
  *(const char **)target = text;
  return text && *text;
}

static bool read_count(cursor *from, void *target) {
  const char *text = take_value(from);
  char *end = NULL;
  long value = text ? strtol(text, &end, 10) : 0;
  *(int *)target = (int)value;
  return text && end != text && *end == 0 && value >= 1 && value <= 1000000;
}

static bool read_seconds(cursor *from, void *target) {
  const char *text = take_value(from);
  char *end = NULL;
  double value = text ? strtod(text, &end) : 0.0;
  *(double *)target = value;
  return text && end != text && *end == 0 && isfinite(value) && value >= 0.0;
}

static bool read_hours(cursor *from, void *target) {
  return read_seconds(from, target) && *(double *)target > 0.0;
}

static bool read_words(cursor *from, void *target) {
  const char *text = take_value(from);
  while (text) {
    size_t length = strcspn(text, ",");
    if (length == 0 || !words_add(target, text, length)) return false;
    if (text[length] == 0) return true;
    text += length + 1;
  }
  return false;
}

static bool read_files(cursor *from, void *target) {
  const char *text = take_value(from);
  if (!text || !words_add(target, text, strlen(text))) return false;
  while (!from->value && from->at + 1 < from->argc && from->argv[from->at + 1][0] != '-') {
    text = from->argv[++from->at];
    if (!words_add(target, text, strlen(text))) return false;
  }
  return true;
}

static bool (*const readers[OPTION_KINDS])(cursor *, void *) = {
    [OPTION_FLAG] = read_flag,       [OPTION_TEXT] = read_text,   [OPTION_COUNT] = read_count,
    [OPTION_SECONDS] = read_seconds, [OPTION_HOURS] = read_hours, [OPTION_WORDS] = read_words,
    [OPTION_FILES] = read_files,
};

static const char *const wanted[OPTION_KINDS] = {
    [OPTION_FLAG] = "no value",
    [OPTION_TEXT] = "a text",
    [OPTION_COUNT] = "a whole number from 1 to 1000000",
    [OPTION_SECONDS] = "seconds, 0 or more",
    [OPTION_HOURS] = "hours, more than 0",
    [OPTION_WORDS] = "words separated by commas, at most 64",
    [OPTION_FILES] = "one or more names, at most 64",
};

static const option *find(const option *table, const char *argument, size_t length) {
  for (; table->name; table++)
    if (strlen(table->name) == length && memcmp(table->name, argument, length) == 0) return table;
  return NULL;
}

static void print_help(const usage *about, const option *table) {
  printf("usage: convoy %s [OPTION...]\n\n%s\n\noptions:\n", about->command, about->summary);
  for (; table->name; table++) {
    char head[64];
    snprintf(head, sizeof head, "%s %s", table->name, table->value ? table->value : "");
    printf("  %-26s %s\n", head, table->help);
  }
  printf("  %-26s %s\n\n%s", "--help", "this text", about->examples);
  fputs(
      "\nexit status: 0 fine, 1 something failed or was wrong, 2 bad usage, 3 no such device,\n"
      "130 or 143 ended by Ctrl-C or SIGTERM\n",
      stdout);
}

static bool refuse(const usage *about, const char *argument, const char *what, int *exit_status) {
  fprintf(stderr, "convoy %s: %s: %s; see `convoy %s --help`\n", about->command, argument, what,
          about->command);
  *exit_status = EXIT_USAGE;
  return false;
}

bool options_read(const usage *about, const option *table, int argc, char **argv,
                  int *exit_status) {
  for (cursor from = {1, argc, argv, NULL}; from.at < argc; from.at++) {
    const char *argument = argv[from.at];
    if (strcmp(argument, "--help") == 0 || strcmp(argument, "-h") == 0) {
      print_help(about, table);
      *exit_status = EXIT_FINE;
      return false;
    }
    size_t length = strcspn(argument, "=");
    const option *known = find(table, argument, length);
    if (!known) return refuse(about, argument, "there is no such option", exit_status);
    from.value = argument[length] ? argument + length + 1 : NULL;
    if (!readers[known->kind](&from, known->target)) {
      char what[96];
      snprintf(what, sizeof what, "wants %s", wanted[known->kind]);
      return refuse(about, known->name, what, exit_status);
    }
  }
  return true;
}
