/* Version and build information, written once. */
#include "core/build_info.h"

#include <pthread.h>

#include "base/build_config.h"
#include "base/build_id.h"
#include "core/devices.h"

static char version[64];
static char build_info[2048];

static void add_part(cvy_text *text, const char *name, bool have, const char *why) {
  cvy_text_add(text, "%s: %s, %s\n", name, have ? "yes" : "no", why);
}

/* As the environment has it; what is wrong with other options is said when a context is opened. */
static void add_team(cvy_text *text) {
  cvy_options options = {0};
  int32_t threads = cvy_options_resolve(NULL, &options) ? 0 : options.open.threads;
  cvy_text_add(text, "CPU engine: ");
  cvy_cpu_backend()->team(threads, text);
  cvy_text_add(text, "\n");
}

static void write_texts(void) {
  cvy_text text = cvy_text_in(version, sizeof(version));
  cvy_text_add(&text, "%d.%d.%d (%s)", CONVOY_VERSION_MAJOR, CONVOY_VERSION_MINOR,
               CONVOY_VERSION_PATCH, cvy_build_id);

  text = cvy_text_in(build_info, sizeof(build_info));
  add_part(&text, "OpenCL module", CONVOY_HAVE_OPENCL, CONVOY_WHY_OPENCL);
  add_part(&text, "CLBlast", CONVOY_HAVE_CLBLAST, CONVOY_WHY_CLBLAST);
  add_part(&text, "OpenBLAS", CONVOY_HAVE_OPENBLAS, CONVOY_WHY_OPENBLAS);
  add_part(&text, "OpenMP", CONVOY_HAVE_OPENMP, CONVOY_WHY_OPENMP);
  add_team(&text);
  cvy_open_options options = {.isolation = CONVOY_ISOLATION_PROCESS, .workspace_limit = 1LL << 30};
  cvy_facts cpu;
  int32_t count;
  bool listed = cvy_cpu_backend()->list(&options, &cpu, 1, &count) == CONVOY_OK;
  add_part(&text, "instruction sets", listed, listed ? cpu.info.platform : cvy_last_error());
}

static void write_once(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, write_texts);
}

const char *cvy_version(void) {
  write_once();
  return version;
}

const char *cvy_build_info(void) {
  write_once();
  return build_info;
}
