/* The parser of the rules. */
#include "rules.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef enum value_kind { VALUE_NONE, VALUE_OPTIONAL, VALUE_NEEDED } value_kind;

static const struct {
  const char *name;
  value_kind value;
  int standard;
} actions[FAULT_ACTIONS] = {
    [FAULT_NONE] = {"none", VALUE_NONE, 0},   [FAULT_HANG] = {"hang", VALUE_NONE, 0},
    [FAULT_STALL] = {"stall", VALUE_NONE, 0}, [FAULT_FAIL] = {"fail", VALUE_OPTIONAL, -5},
    [FAULT_SLOW] = {"slow", VALUE_NEEDED, 0}, [FAULT_CRASH] = {"crash", VALUE_NONE, 0},
    [FAULT_ABORT] = {"abort", VALUE_NONE, 0}, [FAULT_KILL] = {"kill", VALUE_NONE, 0},
    [FAULT_STOP] = {"stop", VALUE_NONE, 0},   [FAULT_WRONG] = {"wrong", VALUE_NONE, 0},
    [FAULT_ZERO] = {"zero", VALUE_NONE, 0},
};

const char *fault_action_name(fault_action action) {
  return actions[action].name;
}

/* Of a driver that is stood in for (tests/standin/gpu.h) commands have no name in common. */
static const char *const makes_data[] = {"clEnqueueNDRangeKernel",
                                         "clEnqueueReadBuffer",
                                         "clEnqueueWriteBuffer",
                                         "clEnqueueCopyBuffer",
                                         "clEnqueueFillBuffer",
                                         "gpu_launch",
                                         "gpu_read",
                                         "gpu_write",
                                         "gpu_copy",
                                         "gpu_fill"};

bool fault_action_fits(fault_action action, const char *entry) {
  bool stalls = action == FAULT_STALL;
  if (!stalls && action != FAULT_WRONG && action != FAULT_ZERO) return true;
  if (stalls && strncmp(entry, "clEnqueue", 9) == 0) return true;
  bool found = stalls && strcmp(entry, "gpu_event_record") == 0;
  for (size_t i = 0; i < sizeof makes_data / sizeof makes_data[0]; i++)
    found = found || strcmp(makes_data[i], entry) == 0;
  return found;
}

static fault_action find_action(const char *name, size_t length) {
  for (int i = FAULT_NONE + 1; i < FAULT_ACTIONS; i++)
    if (strlen(actions[i].name) == length && memcmp(actions[i].name, name, length) == 0)
      return (fault_action)i;
  return FAULT_NONE;
}

/* A number that ends where the text does. */
static bool read_number(const char *text, long long least, long long most, long long *out) {
  char *end;
  *out = strtoll(text, &end, 10);
  return end != text && *end == 0 && *out >= least && *out <= most;
}

/* What stands before '='; cuts `text` up. */
static const char *read_entry(char *text, fault_rule *out) {
  char *number = strchr(text, '#');
  out->first = 1;
  out->later = !number;
  if (number) {
    *number++ = 0;
    const size_t length = strlen(number);
    out->later = length > 0 && number[length - 1] == '+';
    if (out->later) number[length - 1] = 0;
    long long first;
    if (!read_number(number, 1, INT64_MAX, &first)) return "after '#' comes the number of a call";
    out->first = (uint64_t)first;
  }
  const size_t length = strlen(text);
  const bool named = memcmp(text, "cl", 2) == 0 || memcmp(text, "gpu_", 4) == 0;
  if (length < 3 || length >= sizeof out->entry || !named)
    return "a rule begins with the name of an OpenCL function, or of one of tests/standin/gpu.h";
  memcpy(out->entry, text, length + 1);
  return NULL;
}

static const char *read_action(const char *text, fault_rule *out) {
  const size_t length = strcspn(text, ":");
  out->action = find_action(text, length);
  if (out->action == FAULT_NONE)
    return "after '=' comes hang, stall, fail, slow, crash, abort, kill, stop, wrong or zero";
  out->value = actions[out->action].standard;
  const value_kind kind = actions[out->action].value;
  if (!text[length]) return kind == VALUE_NEEDED ? "slow needs milliseconds, as in slow:50" : NULL;
  if (kind == VALUE_NONE) return "only fail and slow take a value";
  const bool code = out->action == FAULT_FAIL;
  long long value;
  if (!read_number(text + length + 1, code ? -2000 : 1, code ? -1 : 3600000, &value))
    return code ? "an error code is a number below 0" : "milliseconds are a number above 0";
  out->value = (int)value;
  return NULL;
}

static const char *read_rule(char *text, fault_rule *out) {
  char *action = strchr(text, '=');
  if (!action) return "a rule needs '='";
  *action++ = 0;
  const char *fault = read_entry(text, out);
  return fault ? fault : read_action(action, out);
}

int fault_rules_read(const char *text, fault_rule *out, int most, char *why, size_t size) {
  int count = 0;
  for (const char *at = text; *at; count++) {
    char rule[128];
    const size_t length = strcspn(at, ",");
    const char *fault = NULL;
    if (count == most || length >= sizeof rule) {
      fault = count == most ? "too many rules" : "too long for a rule";
    } else {
      memcpy(rule, at, length);
      rule[length] = 0;
      fault = read_rule(rule, &out[count]);
    }
    if (fault) {
      snprintf(why, size, "rule %d, '%.*s': %s", count + 1, (int)(length < 100 ? length : 100), at,
               fault);
      return -1;
    }
    at += length + (at[length] == ',');
  }
  return count;
}
