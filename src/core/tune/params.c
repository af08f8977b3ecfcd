/* Parameters as text, in plans, runs and tuning records, and their neighbours for the tuner. */
#include "core/tune/params.h"

#include <stdlib.h>
#include <string.h>

#include "core/tune/tunefile.h"

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

uint64_t cvy_programs_hash(const cvy_algorithm *algorithm, const cvy_params *params,
                           const cvy_problem *problem) {
  uint64_t hash = cvy_hash(0, algorithm->name, strlen(algorithm->name));
  hash = cvy_hash(hash, &problem->operation, sizeof(problem->operation));
  const cvy_param *list = params_of(algorithm);
  for (int i = 0; list[i].name; i++) {
    if (algorithm->launch_params >> i & 1) continue;
    hash = cvy_hash(hash, &params->value[i], sizeof(params->value[i]));
    if (!(algorithm->space_params >> i & 1) || params->value[i] != 2) continue;
    hash = cvy_problem_space_hash(problem, hash);
  }
  return hash;
}

/* ------------------------------------------------------------------------------ neighbours */

int cvy_params_count(const cvy_algorithm *algorithm) {
  int count = 0;
  while (params_of(algorithm)[count].name) count++;
  return count;
}

/* Moves a value by places in its list; false if the list ends before. */
static bool move(const cvy_param *param, int steps, int32_t *value) {
  int count = 0, at = -1;
  for (; count < (int)CVY_COUNT(param->values) && param->values[count]; count++) {
    if (param->values[count] == *value) at = count;
  }
  if (at < 0 || at + steps < 0 || at + steps >= count) return false;
  *value = param->values[at + steps];
  return true;
}

typedef struct parameter_use {
  const cvy_algorithm *algorithm;
  const cvy_problem *problem;
  const cvy_facts *facts;
} parameter_use;

static bool runs(const parameter_use *at, const cvy_params *params) {
  return !at->algorithm->valid || at->algorithm->valid(params, at->problem, at->facts);
}

/* Tile and share of a work-item must divide each other: one changes with the other. */
static bool repair(const parameter_use *at, int kept, cvy_params *params) {
  const cvy_param *list = params_of(at->algorithm);
  int count = cvy_params_count(at->algorithm), furthest = (int)CVY_COUNT(list->values);
  for (int distance = 1; distance < furthest; distance++) {
    for (int i = 0; i < 2 * count; i++) {
      int other = i / 2;
      cvy_params moved = *params;
      if (other == kept) continue;
      if (!move(&list[other], i % 2 ? distance : -distance, &moved.value[other])) continue;
      if (!runs(at, &moved)) continue;
      *params = moved;
      return true;
    }
  }
  return false;
}

bool cvy_params_step(const cvy_algorithm *algorithm, const cvy_problem *problem,
                     const cvy_facts *facts, const cvy_params *from, int which, int steps,
                     cvy_params *out) {
  const parameter_use at = {algorithm, problem, facts};
  *out = *from;
  if (!move(&params_of(algorithm)[which], steps, &out->value[which])) return false;
  return runs(&at, out) || repair(&at, which, out);
}
