/* Writes and reads JSON lines. Each has one object, with flat members where they are to be read
 * back. */
#ifndef COMMON_JSON_H
#define COMMON_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

typedef struct json {
  FILE *to;
  bool comma; /* a member was written before, at this depth */
} json;

/* `key` is NULL for the outermost object and inside arrays. */
void json_open(json *out, const char *key, char bracket);
void json_close(json *out, char bracket);
void json_text(json *out, const char *key, const char *value);
/* NaN and infinity, which JSON lacks, become null. */
void json_number(json *out, const char *key, double value);
void json_integer(json *out, const char *key, int64_t value);
void json_end_line(json *out);

typedef enum json_kind { JSON_TEXT, JSON_NUMBER, JSON_OTHER } json_kind;
typedef struct json_member {
  char key[64];
  json_kind kind;
  char text[512]; /* a longer text is cut */
  double number;
} json_member;

/* Reads the next member of a line's object. *at starts at the line and is moved on. Nested arrays
 * and objects, true, false and null come as JSON_OTHER. Returns false at the end, or where the line
 * is not JSON. */
bool json_next(const char **at, json_member *out);

#endif
