/* Gives a file its name when it is whole, and replaces the word near its beginning. */
#include "common/output.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char incomplete[] = "INCOMPLETE", complete[] = "complete";

/* ------------------------------------------------------------------------------------ names */

static bool complain(const char *command, const char *path) {
  fprintf(stderr, "convoy %s: %s: %s\n", command, path, strerror(errno));
  return false;
}

/* /dev/stdout may be a regular file, but one that is written by others too. */
static bool takes_another_name(const char *path) {
  struct stat about;
  if (strncmp(path, "/dev/", 5) == 0 || strncmp(path, "/proc/", 6) == 0) return false;
  return stat(path, &about) != 0 || S_ISREG(about.st_mode);
}

/* What a link leads to is what is to be replaced. */
static bool find_names(const char *path, output *out) {
  bool renamed = takes_another_name(path);
  char *real = renamed ? realpath(path, NULL) : NULL;
  const char *name = real ? real : path;
  int length = snprintf(out->path, sizeof out->path, "%s", name);
  if (length >= 0 && (size_t)length < sizeof out->path) {
    length =
        snprintf(out->partial, sizeof out->partial, "%s%s", name, renamed ? ".incomplete" : "");
  }
  free(real);
  if (length >= 0 && (size_t)length < sizeof out->partial) return true;
  errno = ENAMETOOLONG;
  return false;
}

static bool is_same(const char *a, const char *b) {
  struct stat one, other;
  return strcmp(a, b) == 0 || (stat(a, &one) == 0 && stat(b, &other) == 0 &&
                               one.st_dev == other.st_dev && one.st_ino == other.st_ino);
}

bool output_replaces(const char *path, const char *other) {
  output names;
  return find_names(path, &names) && (is_same(names.path, other) || is_same(names.partial, other));
}

bool output_open(const char *command, const char *path, output *out) {
  *out = (output){NULL, "", ""};
  if (!find_names(path, out)) return complain(command, path);
  out->to = fopen(out->partial, "w");
  return out->to ? true : complain(command, out->partial);
}

static bool is_in_place(const output *file) {
  return strcmp(file->path, file->partial) == 0;
}

static void tell_incomplete(const char *command, const output *file, bool empty) {
  if (empty) {
    unlink(file->partial);
  } else {
    fprintf(stderr, "convoy %s: INCOMPLETE: what there is lies in %s; %s %s\n", command,
            file->partial, file->path,
            access(file->path, F_OK) == 0 ? "is left as it was" : "is not written");
  }
}

bool output_close(const char *command, output *file, bool whole) {
  if (!file->to) return true;
  bool empty = ftell(file->to) == 0;
  bool broken = ferror(file->to) != 0;
  bool written = fclose(file->to) == 0 && !broken;
  file->to = NULL;
  if (!written) complain(command, file->partial);
  if (is_in_place(file)) return written;
  if (!whole || !written || empty) {
    tell_incomplete(command, file, empty);
    return written;
  }
  return rename(file->partial, file->path) == 0 || complain(command, file->path);
}

/* ------------------------------------------------------------------------------------ state */

output_state output_begin_text(FILE *to) {
  long at = ftell(to);
  fputs(incomplete, to);
  return (output_state){to, at, false};
}

output_state output_begin_json(json *to) {
  json_text(to, "state", incomplete);
  long end = ftell(to->to);
  return (output_state){to->to, end < 0 ? -1 : end - (long)strlen(incomplete) - 2, true};
}

void output_finish(const output_state *state) {
  const char *quote = state->quoted ? "\"" : "";
  if (state->at < 0 || fseek(state->in, state->at, SEEK_SET) != 0) return;
  fprintf(state->in, "%s%s%s%*s", quote, complete, quote,
          (int)(strlen(incomplete) - strlen(complete)), "");
  fseek(state->in, 0, SEEK_END);
}

void output_end_json(json *to, const char *why_not) {
  json_open(to, NULL, '{');
  json_text(to, "type", "end");
  json_text(to, "state", why_not ? incomplete : complete);
  if (why_not) json_text(to, "why", why_not);
}
