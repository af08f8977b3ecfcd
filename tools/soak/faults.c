/* Says when and where faults strike: at a call of the coming step, by the number of calls that the
 * last one made. The layer in the worker carries them out. */
#include "soak/faults.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "convoy/convoy.h"

enum { ONE_IN = 6, SLOW_MILLISECONDS = 20 };

static bool want(soak_faults *faults, const char *name) {
  bool found = false;
  for (int i = FAULT_NONE + 1; i < FAULT_ACTIONS; i++) {
    if (strcmp(name, "all") != 0 && strcmp(name, fault_action_name((fault_action)i)) != 0) continue;
    faults->wanted[i] = found = true;
  }
  return found;
}

bool soak_faults_read(const words *names, soak_faults *out) {
  *out = (soak_faults){0};
  if (names->count == 1 && strcmp(names->item[0], "none") == 0) return true;
  for (int i = 0; i < names->count; i++) {
    if (want(out, names->item[i])) continue;
    fprintf(stderr, "convoy soak: there is no fault \"%s\"; there are none, all", names->item[i]);
    for (int a = FAULT_NONE + 1; a < FAULT_ACTIONS; a++)
      fprintf(stderr, ", %s", fault_action_name((fault_action)a));
    fputc('\n', stderr);
    return false;
  }
  return true;
}

bool soak_faults_wrong(const soak_faults *faults) {
  return faults->wanted[FAULT_WRONG] || faults->wanted[FAULT_ZERO];
}

bool soak_faults_any(const soak_faults *faults) {
  bool found = false;
  for (int i = 0; i < FAULT_ACTIONS; i++) found = found || faults->wanted[i];
  return found;
}

/* The layer lies beside the worker, which lies beside the library or where CONVOY_LIBEXEC says. */
static bool find_layer(char *path, size_t size) {
  const char *folder = getenv("CONVOY_LIBEXEC");
  Dl_info library;
  if (folder && *folder) {
    snprintf(path, size, "%s/convoy-faults.so", folder);
  } else if (dladdr((const void *)convoy_version, &library) && library.dli_fname) {
    const char *slash = strrchr(library.dli_fname, '/');
    int length = slash ? (int)(slash - library.dli_fname) : 0;
    snprintf(path, size, "%.*s%s" SOAK_LIBEXEC "/convoy-faults.so", length, library.dli_fname,
             slash ? "/" : "");
  } else {
    return false;
  }
  return access(path, R_OK) == 0;
}

/* Beside those that there are. */
static void add_layer(const char *path) {
  char layers[8400];
  const char *others = getenv("OPENCL_LAYERS");
  snprintf(layers, sizeof layers, "%s%s%s", path, others ? ":" : "", others ? others : "");
  setenv("OPENCL_LAYERS", layers, 1);
}

bool soak_faults_start(soak_faults *faults, const char *folder, uint64_t seed) {
  char path[4200];
  faults->random = seed;
  if (!soak_faults_any(faults)) return true;
  if (!find_layer(path, sizeof path)) {
    fprintf(stderr,
            "convoy soak: the fault layer is not there (%s); it is part of the build tree\n", path);
    return false;
  }
  add_layer(path);
  snprintf(path, sizeof path, "%s/faults", folder);
  setenv("CONVOY_FAULT_FILE", path, 1);
  faults->control = faults_control_open(path);
  if (!faults->control) fprintf(stderr, "convoy soak: cannot map %s\n", path);
  return faults->control != NULL;
}

static uint64_t below(soak_faults *faults, uint64_t end) {
  uint64_t *state = &faults->random;
  *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return (*state >> 33) % end;
}

/* Picks one of the entries called in the last step that the action fits, or -1. */
static int pick_entry(soak_faults *faults, const uint64_t *made, fault_action action) {
  int found[FAULTS_ENTRIES], count = 0;
  for (int i = 0; i < FAULTS_ENTRIES; i++)
    if (made[i] > 0 && fault_action_fits(action, faults->control->name[i])) found[count++] = i;
  return count ? found[below(faults, (uint64_t)count)] : -1;
}

static fault_action pick_action(soak_faults *faults) {
  fault_action action;
  do {
    action = (fault_action)below(faults, FAULT_ACTIONS);
  } while (!faults->wanted[action]);
  return action;
}

static void set_rule(soak_faults *faults, const uint64_t *made) {
  fault_action action = pick_action(faults);
  int entry = pick_entry(faults, made, action);
  if (entry < 0) return;
  char value[16] = "";
  if (action == FAULT_SLOW) snprintf(value, sizeof value, ":%d", SLOW_MILLISECONDS);
  if (action == FAULT_FAIL) snprintf(value, sizeof value, ":%d", below(faults, 2) ? -4 : -5);
  snprintf(faults->rule, sizeof faults->rule, "%s#%llu=%s%s", faults->control->name[entry],
           (unsigned long long)(faults->calls[entry] + 1 + below(faults, made[entry])),
           fault_action_name(action), value);
  faults_control_set(faults->control, faults->rule);
}

void soak_faults_arm(soak_faults *faults) {
  if (!faults->control) return;
  uint64_t made[FAULTS_ENTRIES];
  for (int i = 0; i < FAULTS_ENTRIES; i++) {
    uint64_t calls = atomic_load(&faults->control->calls[i]);
    made[i] = calls - faults->calls[i];
    faults->calls[i] = calls;
  }
  /* A rule under way is given up: its call did not come. */
  if (faults->rule[0]) faults_control_set(faults->control, "");
  faults->rule[0] = 0;
  if (below(faults, ONE_IN) == 0) set_rule(faults, made);
}

int soak_faults_struck(soak_faults *faults) {
  if (!faults->control) return 0;
  uint32_t struck = atomic_load(&faults->control->struck);
  int since = (int)(struck - faults->struck);
  faults->struck = struck;
  return since;
}

void soak_faults_end(soak_faults *faults) {
  if (faults->control) faults_control_close(faults->control);
  faults->control = NULL;
}
