/* Where Convoy keeps its files. */
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "os/os.h"

/* ---------------------------------------------------------------------------- relative names */

static pthread_once_t started = PTHREAD_ONCE_INIT;
static char start[4096];
static _Thread_local const char *given; /* to the first caller */

static void find_start(void) {
  if (given)
    cvy_text_copy(start, sizeof start, given);
  else if (!getcwd(start, sizeof start))
    start[0] = 0;
}

const char *cvy_start_folder(void) {
  pthread_once(&started, find_start);
  return start;
}

void cvy_start_in(const char *folder) {
  given = folder;
  pthread_once(&started, find_start);
  given = NULL;
}

convoy_status cvy_absolute(const char *name, char *path, size_t size) {
  const char *before = name[0] == '/' ? "" : cvy_start_folder();
  const char *slash = name[0] == '/' || strcmp(before, "/") == 0 ? "" : "/";
  if (name[0] != '/' && before[0] != '/')
    return cvy_fail(CONVOY_ERR_IO, "%s is relative to a folder that is not there any more", name);
  cvy_text text = cvy_text_in(path, size);
  cvy_text_add(&text, "%s%s%s", before, slash, name);
  if (!text.overflow) return CONVOY_OK;
  return cvy_fail(CONVOY_ERR_IO, "the path %.80s... has %zu bytes; %zu fit", name,
                  strlen(before) + strlen(slash) + strlen(name), size - 1);
}

/* ----------------------------------------------------------------------------------- folders */

typedef struct place {
  cvy_file_kind kind;
  const char *what, *own; /* own: variable that names it */
  const char *xdg, *in_xdg, *in_home;
} place;

static const place cache = {CVY_FILE_CODE,    "compiled programs", "CONVOY_CACHE_DIR",
                            "XDG_CACHE_HOME", "/convoy",           "/.cache/convoy"};
static const place tune = {CVY_FILE_TEXT,     "the tuning file",  "CONVOY_TUNE_FILE",
                           "XDG_CONFIG_HOME", "/convoy/tune.txt", "/.config/convoy/tune.txt"};
static const place state = {CVY_FILE_TEXT,      "faults and markers",
                            "CONVOY_STATE_DIR", "XDG_STATE_HOME",
                            "/convoy",          "/.local/state/convoy"};

/* By the XDG rule a variable that is not absolute is ignored. */
static convoy_status find(const place *of, const char *part, char *path, size_t size) {
  const char *own = cvy_env(of->own), *xdg = cvy_env(of->xdg), *home = cvy_env("HOME");
  char name[4096];
  cvy_text text = cvy_text_in(name, sizeof name);
  if (own)
    cvy_text_add(&text, "%s%s", own, part);
  else if (xdg && xdg[0] == '/')
    cvy_text_add(&text, "%s%s%s", xdg, of->in_xdg, part);
  else if (home)
    cvy_text_add(&text, "%s%s%s", home, of->in_home, part);
  else
    return cvy_fail(
        CONVOY_ERR_NOT_FOUND, "there is no place for %s: %s, %s and HOME are not %s", of->what,
        of->own, of->xdg,
        cvy_is_privileged() ? "heeded in a program with more rights than its caller" : "set");
  if (!text.overflow) return cvy_absolute(name, path, size);
  return cvy_fail(CONVOY_ERR_IO, "the path of %s has more than %zu bytes", of->what,
                  sizeof name - 1);
}

/* A user who may write to the outer folder may put another into the place of the inner one. */
static convoy_status find_checked(const place *of, const char *part, const char *file, char *path,
                                  size_t size) {
  convoy_status status = find(of, "", path, size);
  if (!status) status = cvy_folder_check(path, of->kind);
  if (!status && *part) status = find(of, part, path, size);
  if (!status && *part) status = cvy_folder_check(path, of->kind);
  if (status) return status;
  const size_t used = strlen(path);
  cvy_text text = cvy_text_in(path + used, size - used);
  cvy_text_add(&text, "%s", file);
  if (!text.overflow) return CONVOY_OK;
  return cvy_fail(CONVOY_ERR_IO, "the path of %s has %zu bytes; %zu fit", of->what,
                  used + strlen(file), size - 1);
}

convoy_status cvy_cache_path(const char *part, const char *file, char *path, size_t size) {
  return find_checked(&cache, part, file, path, size);
}

convoy_status cvy_state_path(const char *part, const char *file, char *path, size_t size) {
  return find_checked(&state, part, file, path, size);
}

convoy_status cvy_tune_path(char *path, size_t size) {
  return find(&tune, "", path, size);
}
