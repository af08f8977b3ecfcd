/* Where Convoy keeps its files, and where its own parts lie. */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/build_config.h"
#include "os/os.h"

static bool join(char *path, size_t size, const char *folder, const char *rest) {
  cvy_text text = cvy_text_in(path, size);
  cvy_text_add(&text, "%s%s", folder, rest);
  return !text.overflow;
}

/* The XDG rule: a variable that names the folder, else a folder in the home. */
static bool xdg(char *path, size_t size, const char *variable, const char *in_home) {
  const char *folder = cvy_env(variable);
  if (folder && folder[0] == '/') return join(path, size, folder, "/convoy");
  const char *home = cvy_env("HOME");
  return home && join(path, size, home, in_home);
}

bool cvy_cache_folder(char *path, size_t size) {
  const char *own = cvy_env("CONVOY_CACHE_DIR");
  if (own) return join(path, size, own, "");
  return xdg(path, size, "XDG_CACHE_HOME", "/.cache/convoy");
}

bool cvy_config_folder(char *path, size_t size) {
  return xdg(path, size, "XDG_CONFIG_HOME", "/.config/convoy");
}

bool cvy_state_folder(char *path, size_t size) {
  const char *own = cvy_env("CONVOY_STATE_DIR");
  if (own) return join(path, size, own, "");
  return xdg(path, size, "XDG_STATE_HOME", "/.local/state/convoy");
}

/* The folder the library lies in. */
static bool own_folder(char *path, size_t size) {
  Dl_info here;
  if (!dladdr((const void *)&cvy_libexec_folder, &here) || !here.dli_fname) return false;
  char *library = realpath(here.dli_fname, NULL);
  if (!library) return false;
  char *slash = strrchr(library, '/');
  if (slash) *slash = 0;
  bool good = slash && join(path, size, library, "");
  free(library);
  return good;
}

bool cvy_libexec_folder(char *path, size_t size) {
  const char *own = cvy_env("CONVOY_LIBEXEC");
  if (own) return join(path, size, own, "");
  char library[4096];
  return own_folder(library, sizeof library) && join(path, size, library, "/" CONVOY_LIBEXEC);
}

bool cvy_share_folder(const char *part, char *path, size_t size) {
  static const char *const ways[] = {"", "/..", "/../.."};
  char library[4096], folder[4096];
  if (!own_folder(library, sizeof library)) return false;
  for (size_t i = 0; i < CVY_COUNT(ways); i++) {
    cvy_text text = cvy_text_in(folder, sizeof folder);
    cvy_text_add(&text, "%s%s/share/convoy/%s", library, ways[i], part);
    if (!text.overflow && access(folder, R_OK) == 0) return join(path, size, folder, "");
  }
  return false;
}
