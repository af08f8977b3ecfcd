/* The members of a result are in one table, for writing as for reading. */
#include "bench/result.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "common/json.h"

typedef enum member_kind { TEXT, INTEGER, NUMBER } member_kind;
typedef struct member {
  const char *key;
  member_kind kind;
  size_t offset, size;
} member;

#define AT(name) offsetof(bench_result, name), sizeof(((bench_result *)0)->name)
static const member members[] = {
    {"table", TEXT, AT(table)},
    {"shape", TEXT, AT(shape)},
    {"pass", TEXT, AT(pass)},
    {"device", TEXT, AT(device)},
    {"device_name", TEXT, AT(device_name)},
    {"driver", TEXT, AT(driver)},
    {"requested", TEXT, AT(requested)},
    {"algorithm", TEXT, AT(algorithm)},
    {"parameters", TEXT, AT(parameters)},
    {"status", TEXT, AT(status)},
    {"reason", TEXT, AT(reason)},
    {"problem", TEXT, AT(problem)},
    {"count", INTEGER, AT(count)},
    {"workspace_bytes", INTEGER, AT(workspace_bytes)},
    {"samples", INTEGER, AT(samples)},
    {"batch", INTEGER, AT(batch)},
    {"flops", NUMBER, AT(flops)},
    {"bytes", NUMBER, AT(bytes)},
    {"error", NUMBER, AT(error)},
    {"error_share", NUMBER, AT(error_share)},
    {"min_ms", NUMBER, AT(min_ms)},
    {"median_ms", NUMBER, AT(median_ms)},
    {"max_ms", NUMBER, AT(max_ms)},
    {"spread", NUMBER, AT(spread)},
    {"transfers_ms", NUMBER, AT(transfers_ms)},
    {"gflops", NUMBER, AT(gflops)},
    {"flops_share", NUMBER, AT(flops_share)},
    {"copy_share", NUMBER, AT(copy_share)},
    {"operations", INTEGER, AT(operations)},
    {"memory_bytes", INTEGER, AT(memory_bytes)},
    {"capture_ms", NUMBER, AT(capture_ms)},
    {"first_ms", NUMBER, AT(first_ms)},
    {"mean_ms", NUMBER, AT(mean_ms)},
    {"images_per_second", NUMBER, AT(images_per_second)},
    {"days", NUMBER, AT(days)},
};
enum { MEMBERS = sizeof members / sizeof members[0] };

static void write_text(json *to, const member *about, const void *from) {
  json_text(to, about->key, from);
}

static void write_integer(json *to, const member *about, const void *from) {
  json_integer(to, about->key, *(const int64_t *)from);
}

static void write_number(json *to, const member *about, const void *from) {
  json_number(to, about->key, *(const double *)from);
}

static void (*const writers[])(json *, const member *, const void *) = {
    [TEXT] = write_text, [INTEGER] = write_integer, [NUMBER] = write_number};

void bench_result_write(FILE *to, const bench_result *line) {
  json out = {.to = to};
  json_open(&out, NULL, '{');
  json_text(&out, "type", "line");
  for (int i = 0; i < MEMBERS; i++)
    writers[members[i].kind](&out, &members[i], (const char *)line + members[i].offset);
  json_close(&out, '}');
  json_end_line(&out);
}

static void take(const json_member *from, bench_result *out) {
  for (int i = 0; i < MEMBERS; i++) {
    const member *to = &members[i];
    if (strcmp(to->key, from->key) != 0) continue;
    char *at = (char *)out + to->offset;
    if (to->kind == TEXT && from->kind == JSON_TEXT) snprintf(at, to->size, "%s", from->text);
    if (to->kind == INTEGER && from->kind == JSON_NUMBER) *(int64_t *)at = (int64_t)from->number;
    if (to->kind == NUMBER && from->kind == JSON_NUMBER) *(double *)at = from->number;
  }
}

bool bench_result_read(const char *text, bench_result *out) {
  bool is_line = false;
  json_member one;
  *out = bench_result_new();
  while (json_next(&text, &one)) {
    if (strcmp(one.key, "type") == 0) is_line = strcmp(one.text, "line") == 0;
    take(&one, out);
  }
  return is_line;
}

bool bench_result_read_state(const char *text, char *why, size_t size) {
  bool said = false, complete = false;
  char reason[160] = "it has no end";
  json_member one;
  while (json_next(&text, &one)) {
    if (one.kind != JSON_TEXT) continue;
    if (strcmp(one.key, "state") == 0) {
      said = true;
      complete = strcmp(one.text, "complete") == 0;
    } else if (strcmp(one.key, "why") == 0) {
      snprintf(reason, sizeof reason, "%.150s", one.text);
    }
  }
  if (said) snprintf(why, size, "%s", complete ? "" : reason);
  return said;
}

bench_result bench_result_new(void) {
  bench_result out = {0};
  for (int i = 0; i < MEMBERS; i++)
    if (members[i].kind == NUMBER) *(double *)((char *)&out + members[i].offset) = NAN;
  return out;
}

bool bench_result_ok(const bench_result *line) {
  return strcmp(line->status, "ok") == 0;
}

bool bench_results_add(bench_results *list, const bench_result *line) {
  if (list->count == list->capacity) {
    int capacity = list->capacity ? 2 * list->capacity : 64;
    bench_result *grown = realloc(list->item, (size_t)capacity * sizeof *grown);
    if (!grown) return false;
    list->item = grown;
    list->capacity = capacity;
  }
  list->item[list->count++] = *line;
  return true;
}

void bench_results_free(bench_results *list) {
  free(list->item);
  *list = (bench_results){0};
}
