/* Options: one table says for each field its environment variable, its words or range, its default.
 */
#include "core/options.h"

#include <string.h>

#include "core/faults/fault_table.h"
#include "core/graph/passes.h"
#include "os/os.h"

typedef struct word {
  const char *text;
  int64_t value;
} word;

static const word switch_words[] = {
    {"1", CONVOY_ON}, {"on", CONVOY_ON}, {"0", CONVOY_NO}, {"off", CONVOY_NO}, {NULL, 0}};
static const word isolation_words[] = {{"process", CONVOY_ISOLATION_PROCESS},
                                       {"none", CONVOY_ISOLATION_NONE},
                                       {"caller", CONVOY_ISOLATION_CALLER},
                                       {NULL, 0}};
static const word verify_words[] = {{"sample", CONVOY_VERIFY_SAMPLE},
                                    {"all", CONVOY_VERIFY_ALL},
                                    {"off", CONVOY_VERIFY_OFF},
                                    {NULL, 0}};

/* A number option. 0 in the struct means: not given. */
typedef struct number {
  const char *field, *env;
  size_t given, given_bytes; /* where it is in convoy_options: 4 or 8 bytes */
  size_t out, out_bytes;     /* and in cvy_options: also a bool, which says whether it is on */
  int64_t high, fallback;
  const word *words; /* NULL: the environment holds a number */
  const char *allowed;
} number;

#define PLACES(field, to)                                                                        \
  offsetof(convoy_options, field), sizeof((convoy_options){0}.field), offsetof(cvy_options, to), \
      sizeof((cvy_options){.device = ""}.to)

static const char either[] = "0, 1, off or on";

static const number numbers[] = {
    {"isolation", "CONVOY_ISOLATION", PLACES(isolation, open.isolation), 3,
     CONVOY_ISOLATION_PROCESS, isolation_words, "process, none or caller"},
    {"failover", "CONVOY_FAILOVER", PLACES(failover, failover), 2, CONVOY_ON, switch_words, either},
    {"tune", "CONVOY_TUNE", PLACES(tune, tune), 2, CONVOY_ON, switch_words, either},
    {"verify", "CONVOY_VERIFY", PLACES(verify, verify), 3, CONVOY_VERIFY_SAMPLE, verify_words,
     "all, sample or off"},
    {"threads", "CONVOY_THREADS", PLACES(threads, open.threads), 4096, 0, NULL, NULL},
    {"workspace_limit", "CONVOY_WORKSPACE_LIMIT", PLACES(workspace_limit, open.workspace_limit),
     INT64_MAX, 1LL << 30, NULL, NULL},
    {"memory_limit", "CONVOY_MEMORY_LIMIT", PLACES(memory_limit, open.memory_limit), INT64_MAX, 0,
     NULL, NULL},
    {"nan_watch", "CONVOY_NAN_WATCH", PLACES(nan_watch, nan_watch), 2, CONVOY_NO, switch_words,
     either},
    {"history_limit", "CONVOY_HISTORY_LIMIT", PLACES(history_limit, history_limit), INT64_MAX,
     1LL << 30, NULL, NULL},
    {"winograd", "CONVOY_WINOGRAD", PLACES(winograd, winograd), 2, CONVOY_ON, switch_words, either},
    {"require_device", "CONVOY_REQUIRE_DEVICE", PLACES(require_device, require_device), 2,
     CONVOY_NO, switch_words, either},
};

static convoy_status from_words(const number *row, int64_t *value) {
  const char *text = cvy_env(row->env);
  if (!text) return CONVOY_OK;
  for (const word *each = row->words; each->text; each++) {
    if (strcmp(text, each->text) == 0) {
      *value = each->value;
      return CONVOY_OK;
    }
  }
  return cvy_fail(CONVOY_ERR_ARGUMENT, "%s is \"%s\"; it may be %s", row->env, text, row->allowed);
}

static convoy_status resolve_number(const number *row, int64_t given, int64_t *value) {
  if (given < 0 || given > row->high) {
    return cvy_fail(CONVOY_ERR_ARGUMENT, "options.%s is %lld; it may be 0 to %lld", row->field,
                    (long long)given, (long long)row->high);
  }
  *value = given ? given : row->fallback;
  if (given) return CONVOY_OK;
  if (row->words) return from_words(row, value);
  int64_t from_env = 0; /* 0 there means the same as in the struct */
  if (!cvy_env_int(row->env, 0, row->high, &from_env)) return CONVOY_ERR_ARGUMENT;
  if (from_env) *value = from_env;
  return CONVOY_OK;
}

static int64_t number_at(const void *at, size_t bytes) {
  return bytes == sizeof(int64_t) ? *(const int64_t *)at : *(const int32_t *)at;
}

static void set_number(void *at, size_t bytes, int64_t value) {
  if (bytes == sizeof(bool))
    *(bool *)at = value == CONVOY_ON;
  else if (bytes == sizeof(int32_t))
    *(int32_t *)at = (int32_t)value;
  else
    *(int64_t *)at = value;
}

static convoy_status resolve_numbers(const convoy_options *options, cvy_options *out) {
  for (size_t i = 0; i < CVY_COUNT(numbers); i++) {
    const number *row = &numbers[i];
    int64_t value = 0, given = number_at((const char *)options + row->given, row->given_bytes);
    convoy_status status = resolve_number(row, given, &value);
    if (status) return status;
    set_number((char *)out + row->out, row->out_bytes, value);
  }
  return CONVOY_OK;
}

#define MOST_SECONDS 1e6
#define MOST_COMPILE_WORKERS 64

static convoy_status resolve_budget(double given, double *out) {
  if (!(given >= 0 && given <= MOST_SECONDS)) {
    return cvy_fail(CONVOY_ERR_ARGUMENT, "options.device_wait_budget is %g; it may be 0 to %g",
                    given, MOST_SECONDS);
  }
  *out = given;
  if (!given && !cvy_env_seconds("CONVOY_DEVICE_WAIT_BUDGET", MOST_SECONDS, out))
    return CONVOY_ERR_ARGUMENT;
  if (!*out) *out = 60;
  return CONVOY_OK;
}

static convoy_status resolve_compile_workers(int32_t *out) {
  int64_t count = -1;
  bool legal = cvy_env_int("CONVOY_COMPILE_WORKERS", 0, MOST_COMPILE_WORKERS, &count);
  *out = (int32_t)count;
  return legal ? CONVOY_OK : CONVOY_ERR_ARGUMENT;
}

/* What is read where it is used, where a mistake could only be passed over. */
static convoy_status check_others(void) {
  int64_t limit;
  if (!cvy_env_int("CONVOY_FAULT_LIMIT", 0, CVY_FAULT_LIMIT_MOST, &limit))
    return CONVOY_ERR_ARGUMENT;
  convoy_status status = cvy_env_check_names();
  if (!status) status = cvy_log_check();
  for (const cvy_backend *const *each = cvy_backends; *each && !status; each++)
    if ((*each)->check) status = (*each)->check();
  return status;
}

/* A name without the blanks around it, which are not meant to be part of it; how long it is. */
static const char *trimmed(const char *text, size_t *length) {
  static const char blanks[] = " \t\n\v\f\r";
  text += strspn(text, blanks);
  *length = strlen(text);
  while (*length && strchr(blanks, text[*length - 1])) --*length;
  return text;
}

/* What is blank counts as not given. */
static convoy_status resolve_text(const char *field, const char *given, const char *env,
                                  const char *fallback, char *out, size_t size) {
  const char *const sources[] = {given, cvy_env(env), fallback};
  const char *text = "";
  size_t length = 0;
  for (size_t i = 0; i < CVY_COUNT(sources) && !length; i++) {
    if (sources[i]) text = trimmed(sources[i], &length);
  }
  if (length >= size) {
    return cvy_fail(CONVOY_ERR_ARGUMENT,
                    "the name for options.%s or %s has %zu characters; %zu fit", field, env, length,
                    size - 1);
  }
  cvy_text_copy(out, length + 1, text);
  return CONVOY_OK;
}

convoy_status cvy_options_resolve(const convoy_options *given, cvy_options *out) {
  convoy_options options = CONVOY_OPTIONS_INIT;
  if (given && !cvy_struct_in(&options, sizeof(options), given, CVY_FIRST_OPTIONS)) {
    return cvy_fail(CONVOY_ERR_ARGUMENT, "options.struct_size is %u, at least %d are needed",
                    (unsigned)given->struct_size, (int)CVY_FIRST_OPTIONS);
  }
  if (options.reserved != 0 || options.reserved2 != 0 || options.reserved3 != 0) {
    return cvy_fail(CONVOY_ERR_ARGUMENT,
                    "options.reserved is %d, reserved2 %d and reserved3 %d, not 0",
                    (int)options.reserved, (int)options.reserved2, (int)options.reserved3);
  }
  out->open = (cvy_open_options){.team = options.team};
  convoy_status status = resolve_numbers(&options, out);
  if (!status) status = resolve_compile_workers(&out->compile_workers);
  if (!status) status = cvy_passes_parse(cvy_env("CONVOY_GRAPH_PASSES"), &out->graph_passes);
  if (!status) status = check_others();
  if (!status) status = resolve_budget(options.device_wait_budget, &out->wait_budget);
  if (status) return status;
  status = resolve_text("device", options.device, "CONVOY_DEVICE", "auto", out->device,
                        sizeof(out->device));
  if (status) return status;
  return resolve_text("algorithm", options.algorithm, "CONVOY_ALGORITHM", "", out->algorithm,
                      sizeof(out->algorithm));
}
