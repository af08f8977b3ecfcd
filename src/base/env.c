/* Reading the environment. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"

const char *cvy_env(const char *name) {
  const char *value = getenv(name);
  return value && *value ? value : NULL;
}

convoy_status cvy_env_check_names(void) {
  static const struct {
    const char *old, *now;
  } renamed[] = {
      {"CONVOY_BUILDERS", "CONVOY_COMPILE_WORKERS"},
      {"CONVOY_STRIKE_LIMIT", "CONVOY_FAULT_LIMIT"},
  };
  for (size_t i = 0; i < CVY_COUNT(renamed); i++) {
    if (!cvy_env(renamed[i].old)) continue;
    return cvy_fail(CONVOY_ERR_ARGUMENT, "%s is set, which is called %s since version 0.2",
                    renamed[i].old, renamed[i].now);
  }
  return CONVOY_OK;
}

/* The number behind a suffix K, M or G; 0 if the text is none of them. */
static int64_t suffix_factor(const char *suffix) {
  static const struct {
    char letter;
    int64_t factor;
  } suffixes[] = {{'K', 1 << 10}, {'M', 1 << 20}, {'G', 1 << 30}};
  if (!*suffix) return 1;
  for (size_t i = 0; i < CVY_COUNT(suffixes); i++)
    if ((suffix[0] & ~0x20) == suffixes[i].letter && !suffix[1]) return suffixes[i].factor;
  return 0;
}

bool cvy_env_int(const char *name, int64_t low, int64_t high, int64_t *value) {
  const char *text = cvy_env(name);
  if (!text) return true;
  char *end;
  errno = 0;
  long long number = strtoll(text, &end, 10);
  int64_t factor = suffix_factor(end), product;
  if (errno || end == text || !factor || __builtin_mul_overflow(number, factor, &product) ||
      product < low || product > high) {
    cvy_fail(CONVOY_ERR_ARGUMENT, "%s is \"%s\", not a number from %lld to %lld", name, text,
             (long long)low, (long long)high);
    return false;
  }
  *value = product;
  return true;
}
