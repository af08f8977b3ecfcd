/* See arguments.h. */
#include "arguments.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool usage(const char *program) {
  fprintf(stderr,
          "usage: %s [--device cpu|pocl|ID] [--algorithm NAME] [--operation NAME]\n"
          "          [--shapes FILE | --shape TEXT] [--seed NUMBER]\n",
          program);
  return false;
}

bool arguments_read(int count, char **words, arguments *out) {
  const char *seed = "1";
  const struct {
    const char *name;
    const char **value;
  } known[] = {{"--device", &out->device},       {"--shapes", &out->shapes},
               {"--shape", &out->shape},         {"--algorithm", &out->algorithm},
               {"--operation", &out->operation}, {"--seed", &seed}};
  for (int i = 1; i < count; i += 2) {
    size_t k = 0;
    while (k < sizeof known / sizeof known[0] && strcmp(words[i], known[k].name) != 0) k++;
    if (k == sizeof known / sizeof known[0] || i + 1 == count) return usage(words[0]);
    *known[k].value = words[i + 1];
  }
  out->seed = strtoull(seed, NULL, 10);
  return true;
}
