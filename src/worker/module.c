/* Loads the module with the OpenCL engine, in the worker or in this process. */
#include "worker/module.h"

#include <dlfcn.h>
#include <string.h>

#include "base/build_id.h"
#include "os/os.h"

/* The module has a log of its own; its lines go where this side's lines go. */
static void forward(void *user, convoy_log_level level, const char *line) {
  (void)user;
  cvy_log(level, "%s", line);
}

static convoy_status check(const char *path, const cvy_module *module) {
  if (strcmp(module->build_id, cvy_build_id) == 0) return CONVOY_OK;
  return cvy_fail(CONVOY_ERR_DEVICE, "%s is of build %s, not of build %s", path, module->build_id,
                  cvy_build_id);
}

convoy_status cvy_module_load(const char *path, const cvy_module **out) {
  void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!handle) return cvy_fail(CONVOY_ERR_DEVICE, "cannot load the OpenCL module: %s", dlerror());
  void *symbol = dlsym(handle, "cvy_module_entry");
  if (!symbol) return cvy_fail(CONVOY_ERR_DEVICE, "%s has no cvy_module_entry", path);
  cvy_module_entry_fn *entry;
  memcpy(&entry, &symbol, sizeof entry); /* POSIX's way from object to function pointer */
  const cvy_module *module = entry();
  convoy_status status = check(path, module);
  if (status) return status;
  module->set_log(forward, NULL, CONVOY_LOG_DEBUG);
  module->start_in(cvy_start_folder());
  *out = module;
  return CONVOY_OK;
}
