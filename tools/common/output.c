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

/* Puts where links lead into the place of the path; what is there need not exist. */
static bool follow(char *path, size_t size) {
  enum { MOST_LINKS = 40 }; /* as many as the kernel follows */
  char text[4096];
  for (int links = 0; links <= MOST_LINKS; links++) {
    const ssize_t length = readlink(path, text, sizeof text - 1);
    if (length < 0) return true; /* it is none */
    text[length] = 0;
    const char *slash = text[0] == '/' ? NULL : strrchr(path, '/');
    const size_t kept = slash ? (size_t)(slash - path) + 1 : 0;
    errno = ENAMETOOLONG;
    if (kept + (size_t)length >= size) return false;
    strcpy(path + kept, text);
  }
  errno = ELOOP;
  return false;
}

/* What a link leads to is what is to be replaced. */
static bool find_names(const char *path, output *out) {
  const bool renamed = takes_another_name(path);
  const char *end = renamed ? ".incomplete" : "";
  errno = ENAMETOOLONG;
  if (strlen(path) >= sizeof out->path) return false;
  strcpy(out->path, path);
  if (renamed && !follow(out->path, sizeof out->path)) return false;
  errno = ENAMETOOLONG;
  const int length = snprintf(out->partial, sizeof out->partial, "%s%s", out->path, end);
  return length >= 0 && (size_t)length < sizeof out->partial;
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

static bool is_in_place(const output *file) {
  return strcmp(file->path, file->partial) == 0;
}

/* Who could not read the old file cannot read the new one. */
static void take_after(FILE *to, const char *path) {
  struct stat old;
  if (stat(path, &old) != 0) return;
  if (fchown(fileno(to), old.st_uid, old.st_gid) != 0) old.st_mode &= ~(mode_t)0070;
  fchmod(fileno(to), old.st_mode & 0777);
}

bool output_open(const char *command, const char *path, output *out) {
  *out = (output){NULL, "", ""};
  if (!find_names(path, out)) return complain(command, path);
  out->to = fopen(out->partial, "w");
  if (!out->to) return complain(command, out->partial);
  if (!is_in_place(out)) take_after(out->to, out->path);
  return true;
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
