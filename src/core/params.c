/* Parameters as text, in plans, runs and tuning records. */
#include "core/params.h"

#include <stdlib.h>
#include <string.h>

static const cvy_param no_params[] = {{NULL, {0}}};

static const cvy_param *params_of(const cvy_algorithm *algorithm) {
  return algorithm->params ? algorithm->params : no_params;
}

void cvy_params_text(const cvy_algorithm *algorithm, const cvy_params *params, char *text,
                     size_t size) {
  cvy_text out = cvy_text_in(text, size);
  const cvy_param *list = params_of(algorithm);
  for (int i = 0; list[i].name; i++) {
    cvy_text_add(&out, "%s%s=%d", i ? " " : "", list[i].name, (int)params->value[i]);
  }
}

static bool has_value(const cvy_param *param, long value) {
  for (size_t i = 0; i < CVY_COUNT(param->values) && param->values[i]; i++) {
    if (param->values[i] == value) return true;
  }
  return false;
}

bool cvy_params_parse(const cvy_algorithm *algorithm, const char *text, cvy_params *out) {
  const cvy_param *list = params_of(algorithm);
  memset(out, 0, sizeof(*out));
  for (int i = 0; list[i].name; i++) {
    size_t length = strlen(list[i].name);
    if (i && *text++ != ' ') return false;
    if (strncmp(text, list[i].name, length) != 0 || text[length] != '=') return false;
    char *end;
    long value = strtol(text + length + 1, &end, 10);
    if (!has_value(&list[i], value)) return false;
    out->value[i] = (int32_t)value;
    text = end;
  }
  return *text == '\0';
}

uint64_t cvy_params_hash(const cvy_algorithm *algorithm) {
  uint64_t hash = cvy_hash(0, algorithm->name, strlen(algorithm->name));
  for (const cvy_param *param = params_of(algorithm); param->name; param++) {
    hash = cvy_hash(hash, param->name, strlen(param->name));
    hash = cvy_hash(hash, param->values, sizeof(param->values));
  }
  return hash;
}
