/* Loading a driver's library. It stays loaded: drivers do not like to be unloaded. */
#include "ocl/engine/driver/calls.h"

#include <dlfcn.h>
#include <string.h>

static void *open_first(const char *const *libraries, int how, const char **name) {
  void *library = NULL;
  for (; *libraries && !library; libraries++) {
    *name = *libraries;
    library = dlopen(*libraries, RTLD_NOW | RTLD_LOCAL | how);
  }
  return library;
}

bool driver_load(const char *const *libraries, const driver_symbol *symbols, void *calls) {
  const char *name = NULL;
  /* A framework in this process may have brought another version along: that is the one to share.
   */
  void *library = open_first(libraries, RTLD_NOLOAD, &name);
  if (!library) library = open_first(libraries, 0, &name);
  if (!library) return false;
  for (const driver_symbol *each = symbols; each->name; each++) {
    void *function = dlsym(library, each->name);
    if (!function && !each->optional) {
      cvy_log(CONVOY_LOG_WARNING, "%s has no %s and is not used", name, each->name);
      return false;
    }
    memcpy((char *)calls + each->place, &function, sizeof function);
  }
  return true;
}
