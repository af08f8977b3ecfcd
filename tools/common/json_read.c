/* Reads JSON, as far as reading our own lines back takes it. */
#include <stdlib.h>
#include <string.h>

#include "common/json.h"

static const char *skip_space(const char *at) {
  return at + strspn(at, " \t\r\n");
}

/* Returns the place behind the closing quote of a string that starts at `at`, or NULL. */
static const char *skip_string(const char *at) {
  for (at++; *at && *at != '"'; at++)
    if (*at == '\\' && at[1]) at++;
  return *at ? at + 1 : NULL;
}

/* Copies a string's characters; of the escapes only those that json.c writes are turned back. */
static const char *read_string(const char *at, char *to, size_t size) {
  const char *end = skip_string(at);
  if (!end) return NULL;
  size_t used = 0;
  for (at++; at < end - 1 && used + 1 < size; at++) {
    unsigned code = (unsigned char)*at;
    if (*at == '\\' && sscanf(at, "\\u%4x", &code) == 1)
      at += 5;
    else if (*at == '\\')
      code = (unsigned char)*++at;
    to[used++] = (char)code;
  }
  to[used] = 0;
  return end;
}

/* Returns the place behind a nested array or object, by counting brackets outside of strings. */
static const char *skip_nested(const char *at) {
  int depth = 0;
  while (at && *at) {
    if (*at == '"') {
      at = skip_string(at);
      continue;
    }
    if (*at == '{' || *at == '[') depth++;
    if (*at == '}' || *at == ']') depth--;
    at++;
    if (depth == 0) return at;
  }
  return NULL;
}

static const char *read_value(const char *at, json_member *out) {
  out->text[0] = 0;
  out->number = 0.0;
  if (*at == '"') {
    out->kind = JSON_TEXT;
    return read_string(at, out->text, sizeof out->text);
  }
  out->kind = JSON_OTHER;
  if (*at == '{' || *at == '[') return skip_nested(at);
  char *end = NULL;
  out->number = strtod(at, &end);
  if (end != at) {
    out->kind = JSON_NUMBER;
    return end;
  }
  size_t word = strspn(at, "abcdefghijklmnopqrstuvwxyz");
  return word ? at + word : NULL;
}

bool json_next(const char **at, json_member *out) {
  const char *from = skip_space(*at);
  if (*from != '{' && *from != ',') return false;
  from = skip_space(from + 1);
  if (*from != '"') return false;
  from = read_string(from, out->key, sizeof out->key);
  if (!from) return false;
  from = skip_space(from);
  if (*from != ':') return false;
  from = read_value(skip_space(from + 1), out);
  if (!from) return false;
  *at = from;
  return true;
}
