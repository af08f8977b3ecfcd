/* A file that a command writes for hours: until it is whole it has another name and says so itself. */
#ifndef OUTPUT_H
#define OUTPUT_H

#include <stdbool.h>
#include <stdio.h>

#include "json.h"

typedef struct output {
  FILE *to; /* NULL: there is none */
  char path[4096], partial[4096];
} output;

/* Opens `path`.incomplete for writing; what is no regular file, or lies in /dev or /proc, itself. False
 * with a complaint on stderr in the name of the command. */
bool output_open(const char *command, const char *path, output *out);
/* Whether that would write over the file `other`. */
bool output_replaces(const char *path, const char *other);
/* With `whole` the file gets its name, in the place of an older one. Else that one stays as it is,
 * and stderr says where the part is; nothing at all is left of one in which nothing was written. False:
 * it could not be written. */
bool output_close(const char *command, output *file, bool whole);

/* The state of a file, "INCOMPLETE" near its beginning until it is replaced by "complete". */
typedef struct output_state {
  FILE *in;
  long at; /* -1: it cannot be replaced, the end must tell */
  bool quoted;
} output_state;
output_state output_begin_text(FILE *to);
output_state output_begin_json(json *to); /* a member "state" */
void output_finish(const output_state *state);

/* The last line of JSON lines: {"type": "end", "state": "complete"}, or "INCOMPLETE" and why. Members
 * may be added before it is closed. */
void output_end_json(json *to, const char *why_not);

#endif
