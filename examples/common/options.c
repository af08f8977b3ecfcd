#include "common/options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct option_row common[] = {
    {"--device", "NAME", OPTION_TEXT, offsetof(struct options, device),
     "auto, cpu, ocl, ocl:1 or part of a device's name (default: CONVOY_DEVICE, else auto)"},
    {"--data", "DIR", OPTION_TEXT, offsetof(struct options, data), "folder with the images"},
    {"--epochs", "N", OPTION_COUNT, offsetof(struct options, plan.epochs),
     "how often each image is seen"},
    {"--batch", "N", OPTION_COUNT, offsetof(struct options, plan.batch),
     "images per step (default 64)"},
    {"--seed", "N", OPTION_COUNT, offsetof(struct options, plan.seed),
     "weights, order and flips follow from it (default 1)"},
    {"--images", "N", OPTION_COUNT, offsetof(struct options, plan.images),
     "use only the first N images of each set (default 0: all)"},
    {"--steps", "N", OPTION_COUNT, offsetof(struct options, steps),
     "stop after step N of the training (default 0: at its end)"},
    {"--checkpoint", "FILE", OPTION_TEXT, offsetof(struct options, checkpoint),
     "written after each epoch, by time, at --steps, and on SIGINT or SIGTERM"},
    {"--checkpoint-seconds", "S", OPTION_NUMBER, offsetof(struct options, checkpoint_seconds),
     "time between two checkpoints (default 60)"},
    {"--resume", NULL, OPTION_FLAG, offsetof(struct options, resume),
     "go on from the checkpoint; with no such file, start"},
    {"--expect", "A", OPTION_NUMBER, offsetof(struct options, expect),
     "exit with 3 if the final test accuracy is below A"},
    {NULL, NULL, OPTION_TEXT, 0, NULL},
};

static void print_rows(const struct option_row *row) {
  for (; row->name; row++)
    printf("  %s%s%s\n      %s\n", row->name, row->value ? " " : "", row->value ? row->value : "",
           row->help);
}

static void print_help(const struct command *command) {
  printf("%s\n\n", command->about);
  print_rows(common);
  print_rows(command->rows);
  puts(
      "\nExit status: 0 done, 1 failed, 2 wrong arguments, 3 accuracy below --expect,\n"
      "130 or 143 ended by SIGINT or SIGTERM, after a checkpoint.");
}

static const struct option_row *find_row(const struct option_row *row, const char *name) {
  while (row->name && strcmp(row->name, name) != 0) row++;
  return row->name ? row : NULL;
}

/* Stores `text` in its field; false if it is not a value of the row's kind. */
static bool store(const struct option_row *row, struct options *options, const char *text) {
  char *end = NULL;
  char *field = (char *)options + row->offset;
  if (row->kind == OPTION_TEXT) {
    *(const char **)field = text;
    return true;
  }
  if (row->kind == OPTION_COUNT) {
    long long value = strtoll(text, &end, 10);
    *(int64_t *)field = value;
    return end != text && *end == 0 && value >= 0 && value <= INT32_MAX;
  }
  double value = strtod(text, &end);
  *(double *)field = value;
  return end != text && *end == 0 && value >= 0.0;
}

/* Takes the argument at *index and its value; false, with a sentence, if either is wrong. */
static bool take(struct options *options, const struct command *command, int count,
                 char **arguments, int *index) {
  const char *name = arguments[*index];
  const struct option_row *row = find_row(common, name);
  if (!row) row = find_row(command->rows, name);
  if (!row) {
    fprintf(stderr, "unknown argument %s; --help lists them\n", name);
    return false;
  }
  if (row->kind == OPTION_FLAG) {
    *(bool *)((char *)options + row->offset) = true;
    return true;
  }
  const char *value = *index + 1 < count ? arguments[++*index] : "";
  if (store(row, options, value)) return true;
  fprintf(stderr, "%s %s: a %s is needed\n", name, value,
          row->kind == OPTION_COUNT ? "whole number from 0 to 2147483647" : "number >= 0");
  return false;
}

/* What no single argument shows to be wrong. */
static const char *contradiction(const struct options *options) {
  if (options->plan.batch == 0 || options->plan.epochs == 0) {
    return "--batch and --epochs must be at least 1";
  }
  if (options->resume && !options->checkpoint) return "--resume needs --checkpoint FILE";
  return NULL;
}

int options_parse(struct options *options, const struct command *command, int count,
                  char **arguments) {
  options->plan = (struct plan){-1, -1, -1, -1, -1, -1};
  options->checkpoint_seconds = 60.0;
  for (int i = 1; i < count; i++) {
    if (strcmp(arguments[i], "--help") == 0) {
      print_help(command);
      return 0;
    }
    if (!take(options, command, count, arguments, &i)) return 2;
  }
  const char *wrong = contradiction(options);
  if (!wrong) return -1;
  fprintf(stderr, "%s\n", wrong);
  return 2;
}

static bool settle(const char *name, int64_t *wanted, int64_t made, bool binding) {
  if (*wanted < 0) *wanted = made;
  if (!binding || *wanted == made) return true;
  fprintf(stderr, "the checkpoint was made with %s %lld; it cannot go on with %lld\n", name,
          (long long)made, (long long)*wanted);
  return false;
}

bool plan_settle(struct plan *wanted, const struct plan *made, const struct plan *defaults) {
  bool binding = made != NULL;
  if (!made) made = defaults;
  return settle("--seed", &wanted->seed, made->seed, binding) &&
         settle("--epochs", &wanted->epochs, made->epochs, binding) &&
         settle("--batch", &wanted->batch, made->batch, binding) &&
         settle("--images", &wanted->images, made->images, binding) &&
         settle("--size", &wanted->size, made->size, binding) &&
         settle("--split", &wanted->split, made->split, binding);
}
