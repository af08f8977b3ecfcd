/* Four steps lead from source to an executable code object: OpenCL's declarations are added, bit
 * code with the device's library, a relocatable object, and the linked one. */
#include "ocl/engine/hip/comgr.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "ocl/engine/driver/calls.h"

/* Handles, as comgr has them: each in a structure of its own, which is passed by value. */
typedef struct comgr_handle {
  uint64_t handle;
} comgr_handle;

typedef struct comgr_calls {
  void (*version)(size_t *major, size_t *minor);
  int (*create_data)(int kind, comgr_handle *out);
  int (*release_data)(comgr_handle data);
  int (*set_data)(comgr_handle data, size_t bytes, const char *from);
  int (*set_name)(comgr_handle data, const char *name);
  int (*get_data)(comgr_handle data, size_t *bytes, char *to);
  int (*create_set)(comgr_handle *out);
  int (*destroy_set)(comgr_handle set);
  int (*add)(comgr_handle set, comgr_handle data);
  int (*count)(comgr_handle set, int kind, size_t *out);
  int (*data_at)(comgr_handle set, int kind, size_t index, comgr_handle *out);
  int (*create_info)(comgr_handle *out);
  int (*destroy_info)(comgr_handle info);
  int (*set_language)(comgr_handle info, int language);
  int (*set_isa)(comgr_handle info, const char *name);
  int (*set_options)(comgr_handle info, const char **options, size_t count);
  int (*set_logging)(comgr_handle info, bool logs);
  int (*perform)(int action, comgr_handle info, comgr_handle input, comgr_handle output);
} comgr_calls;

#define SYMBOL(name, member) \
  { "amd_comgr_" name, offsetof(comgr_calls, member), false }
static const driver_symbol symbols[] = {SYMBOL("get_version", version),
                                        SYMBOL("create_data", create_data),
                                        SYMBOL("release_data", release_data),
                                        SYMBOL("set_data", set_data),
                                        SYMBOL("set_data_name", set_name),
                                        SYMBOL("get_data", get_data),
                                        SYMBOL("create_data_set", create_set),
                                        SYMBOL("destroy_data_set", destroy_set),
                                        SYMBOL("data_set_add", add),
                                        SYMBOL("action_data_count", count),
                                        SYMBOL("action_data_get_data", data_at),
                                        SYMBOL("create_action_info", create_info),
                                        SYMBOL("destroy_action_info", destroy_info),
                                        SYMBOL("action_info_set_language", set_language),
                                        SYMBOL("action_info_set_isa_name", set_isa),
                                        SYMBOL("action_info_set_option_list", set_options),
                                        SYMBOL("action_info_set_logging", set_logging),
                                        SYMBOL("do_action", perform),
                                        {NULL, 0, false}};
#undef SYMBOL

static const char *const libraries[] = {"libamd_comgr.so.3", "libamd_comgr.so.2", "libamd_comgr.so",
                                        NULL};

enum { DATA_SOURCE = 1, DATA_LOG = 5, DATA_EXECUTABLE = 8, LANGUAGE_OPENCL_1_2 = 1 };
enum { OLDEST_MAJOR = 2, NEWEST_MAJOR = 3, STEPS = 4 };

/* The steps' numbers, in versions 2 and 3. */
static const int actions[][STEPS] = {{1, 15, 6, 9}, {1, 12, 4, 7}};

static comgr_calls calls;
static const int *steps; /* NULL: it is not there, or of a version that is not known */
static size_t version[2];

static void load(void) {
  if (!driver_load(libraries, symbols, &calls)) return;
  calls.version(&version[0], &version[1]);
  if (version[0] >= OLDEST_MAJOR && version[0] <= NEWEST_MAJOR) {
    steps = actions[version[0] - OLDEST_MAJOR];
    return;
  }
  cvy_log(CONVOY_LOG_WARNING, "libamd_comgr has version %zu.%zu, not %d or %d, and is not used",
          version[0], version[1], OLDEST_MAJOR, NEWEST_MAJOR);
}

bool comgr_is_there(uint64_t *hash) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, load);
  if (steps) *hash = cvy_hash(*hash, version, sizeof version);
  return steps != NULL;
}

/* --------------------------------------------------------------------------------- compilation */

/* What one compilation has made, to be given back. */
typedef struct work {
  comgr_handle info, source, set[STEPS + 1];
  char *text, *options;
} work;

enum { MOST_OPTIONS = 64 };

static char *join(const program_source *source) {
  size_t bytes = 1;
  for (size_t i = 0; source->parts[i]; i++) bytes += strlen(source->parts[i]);
  char *text = calloc(1, bytes), *end = text;
  for (size_t i = 0; text && source->parts[i]; i++) end = stpcpy(end, source->parts[i]);
  return text;
}

/* What OpenCL's driver adds to the options for its compiler, which is the same one. */
static const char *const driver_options[] = {"-O3", "-D__OPENCL_VERSION__=120"};

/* These, and the words of a copy of the options. */
static size_t split(char *options, const char **words) {
  size_t count = CVY_COUNT(driver_options);
  char *rest;
  memcpy(words, driver_options, sizeof driver_options);
  for (char *word = strtok_r(options, " ", &rest); word && count < MOST_OPTIONS;
       word = strtok_r(NULL, " ", &rest))
    words[count++] = word;
  return count;
}

static int describe(work *with, const char *isa) {
  const char *words[MOST_OPTIONS];
  int code = calls.create_info(&with->info);
  if (!code) code = calls.set_language(with->info, LANGUAGE_OPENCL_1_2);
  if (!code) code = calls.set_isa(with->info, isa);
  if (!code) code = calls.set_options(with->info, words, split(with->options, words));
  return code ? code : calls.set_logging(with->info, true);
}

static int give_source(work *with) {
  int code = calls.create_data(DATA_SOURCE, &with->source);
  if (!code) code = calls.set_data(with->source, strlen(with->text), with->text);
  if (!code) code = calls.set_name(with->source, "program.cl");
  for (int i = 0; i <= STEPS && !code; i++) code = calls.create_set(&with->set[i]);
  return code ? code : calls.add(with->set[0], with->source);
}

/* Options are the compiler's: the steps behind it take none. */
static int perform(work *with) {
  int code = 0;
  for (int i = 0; i < STEPS && !code; i++) {
    if (i == 2) code = calls.set_options(with->info, NULL, 0);
    if (!code) code = calls.perform(steps[i], with->info, with->set[i], with->set[i + 1]);
  }
  return code;
}

/* The first data of a kind in a set, malloc'ed and ended by 0; NULL: there is none. */
static char *take(comgr_handle set, int kind, size_t *bytes) {
  comgr_handle data;
  size_t count = 0;
  char *copy = NULL;
  if (!set.handle || calls.count(set, kind, &count) || !count) return NULL;
  if (calls.data_at(set, kind, 0, &data)) return NULL;
  if (!calls.get_data(data, bytes, NULL)) copy = calloc(1, *bytes + 1);
  if (copy && calls.get_data(data, bytes, copy)) {
    free(copy);
    copy = NULL;
  }
  calls.release_data(data);
  return copy;
}

static void give_back(work *with) {
  for (int i = 0; i <= STEPS; i++)
    if (with->set[i].handle) calls.destroy_set(with->set[i]);
  if (with->source.handle) calls.release_data(with->source);
  if (with->info.handle) calls.destroy_info(with->info);
  free(with->text);
  free(with->options);
}

static convoy_status fail(const work *with, const char *isa, const program_source *source,
                          const char *options, int code) {
  char *log = NULL;
  size_t bytes;
  for (int i = STEPS; i > 0 && !log; i--) log = take(with->set[i], DATA_LOG, &bytes);
  cvy_log(CONVOY_LOG_DEBUG, "building %s (%s):\n%s", source->name, options, log ? log : "");
  for (char *c = log; c && *c; c++)
    if (*c == '\n' || *c == '\r') *c = ' ';
  convoy_status status =
      cvy_fail(CONVOY_ERR_DEVICE, "%s does not compile with '%s' for %s: comgr's status %d: %.300s",
               source->name, options, isa, code, log && *log ? log : "no log");
  free(log);
  return status;
}

convoy_status comgr_compile(const char *isa, const program_source *source, const char *options,
                            void **object, size_t *bytes) {
  work with = {.text = join(source), .options = strdup(options)};
  convoy_status status = CONVOY_OK;
  *object = NULL;
  if (with.text && with.options) {
    int code = describe(&with, isa);
    if (!code) code = give_source(&with);
    if (!code) code = perform(&with);
    if (!code) *object = take(with.set[STEPS], DATA_EXECUTABLE, bytes);
    if (!*object) status = fail(&with, isa, source, options, code);
  } else {
    status = cvy_fail(CONVOY_ERR_MEMORY, "no host memory to compile %s", source->name);
  }
  give_back(&with);
  return status;
}
