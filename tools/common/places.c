/* Finds folders by the environment, as src/os/folders.c does. */
#include "common/places.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *variable(const char *name) {
  const char *value = getenv(name);
  return value && *value ? value : NULL;
}

static bool join(char *out, size_t size, const char *folder, const char *rest) {
  int length = snprintf(out, size, "%s%s", folder, rest);
  return length > 0 && (size_t)length < size;
}

static bool find(char *out, size_t size, const char *xdg, const char *in_xdg, const char *in_home) {
  const char *folder = variable(xdg), *home = variable("HOME");
  if (folder && folder[0] == '/') return join(out, size, folder, in_xdg);
  return home && join(out, size, home, in_home);
}

bool places_state_folder(char *out, size_t size) {
  const char *own = variable("CONVOY_STATE_DIR");
  if (own) return join(out, size, own, "");
  return find(out, size, "XDG_STATE_HOME", "/convoy", "/.local/state/convoy");
}

bool places_tune_file(char *out, size_t size) {
  const char *own = variable("CONVOY_TUNE_FILE");
  if (own) return join(out, size, own, "");
  return find(out, size, "XDG_CONFIG_HOME", "/convoy/tune.txt", "/.config/convoy/tune.txt");
}

int places_check_writable(const char *path) {
  char folder[4096];
  if (snprintf(folder, sizeof folder, "%s", path) >= (int)sizeof folder) return ENAMETOOLONG;
  for (char *at = folder + 1; folder[0] && *at; at++) {
    if (*at != '/') continue;
    *at = 0;
    mkdir(folder, 0777); /* what fails here shows below */
    *at = '/';
  }
  struct stat about;
  if (stat(path, &about) == 0 && S_ISDIR(about.st_mode)) return EISDIR;
  char *slash = strrchr(folder, '/');
  if (slash) slash[1] = 0;
  return access(slash ? folder : ".", W_OK | X_OK) == 0 ? 0 : errno;
}

/* /home/ann is not in /home/anna. */
static bool is_home(const char *at, const char *home, size_t length) {
  return strncmp(at, home, length) == 0 && strchr("/:;, \"'", at[length]);
}

const char *places_without_home(const char *text, char *out, size_t size) {
  const char *home = variable("HOME");
  size_t length = home ? strlen(home) : 0, used = 0;
  while (length > 1 && home[length - 1] == '/') length--;
  while (*text && used + 1 < size) {
    bool found = length > 1 && is_home(text, home, length);
    out[used++] = found ? '~' : *text;
    text += found ? length : 1;
  }
  out[used] = 0;
  return out;
}
