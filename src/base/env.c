/* Reading the environment. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#include "base/base.h"

bool cvy_is_privileged(void) {
  return getauxval(AT_SECURE) != 0;
}

const char *cvy_env(const char *name) {
  const char *value = cvy_is_privileged() ? NULL : getenv(name);
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

bool cvy_env_seconds(const char *name, double most, double *value) {
  const char *text = cvy_env(name);
  if (!text) return true;
  char *end;
  const double seconds = cvy_double(text, &end);
  if (end == text || *end || !(seconds >= 0 && seconds <= most)) {
    cvy_fail(CONVOY_ERR_ARGUMENT, "%s is \"%s\"; it may be 0 to %g", name, text, most);
    return false;
  }
  *value = seconds;
  return true;
}

static convoy_status refuse_word(const char *name, const char *word, size_t length,
                                 const char *const *words, int count) {
  char all[128];
  cvy_text text = cvy_text_in(all, sizeof all);
  for (int i = 0; i < count; i++) cvy_text_add(&text, "%s%s", i ? ", " : "", words[i]);
  return cvy_fail(CONVOY_ERR_ARGUMENT, "%s has \"%.*s\"; it may be all, none, or some of %s", name,
                  (int)(length < 64 ? length : 64), word, all);
}

convoy_status cvy_env_list(const char *name, const char *text, const char *const *words, int count,
                           uint32_t *out) {
  *out = (1u << count) - 1;
  if (!text || strcmp(text, "all") == 0) return CONVOY_OK;
  *out = 0;
  if (strcmp(text, "none") == 0) return CONVOY_OK;
  for (const char *at = text;; at++) {
    const size_t length = strcspn(at, ",");
    int i = 0;
    while (i < count && (strlen(words[i]) != length || strncmp(words[i], at, length) != 0)) i++;
    if (i == count) return refuse_word(name, at, length, words, count);
    *out |= 1u << i;
    at += length;
    if (!*at) return CONVOY_OK;
  }
}
