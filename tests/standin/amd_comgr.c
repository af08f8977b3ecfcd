/* libamd_comgr of the tests: one step after the other, as documented for version 2, and an image of
 * the stand-ins at the end. What it hands out stays: it does not count who holds on to it. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "images.h"

typedef struct handle {
  uint64_t handle;
} handle;

typedef struct data {
  int kind;
  size_t bytes;
  char *text;
} data;

typedef struct set {
  data *only;
} set;

typedef struct info {
  char options[4096];
} info;

enum { FINE, FAILED, BAD_ARGUMENT };
enum { SOURCE = 1, LOG = 5, BIT_CODE = 6, RELOCATABLE = 7, EXECUTABLE = 8, OPENCL_1_2 = 1 };

static int hand_out(void *object, handle *out) {
  *out = (handle){(uintptr_t)object};
  return object ? FINE : FAILED;
}

static void *object_of(handle of) {
  return (void *)(uintptr_t)of.handle;
}

void amd_comgr_get_version(size_t *major, size_t *minor) {
  *major = 2;
  *minor = 8;
}

int amd_comgr_create_data(int kind, handle *out) {
  data *new = calloc(1, sizeof *new);
  if (new) new->kind = kind;
  return hand_out(new, out);
}
int amd_comgr_release_data(handle of) {
  return of.handle ? FINE : BAD_ARGUMENT;
}
int amd_comgr_set_data(handle of, size_t bytes, const char *from) {
  data *to = object_of(of);
  to->text = calloc(1, bytes + 1);
  if (!to->text) return FAILED;
  memcpy(to->text, from, bytes);
  to->bytes = bytes;
  return FINE;
}
int amd_comgr_set_data_name(handle of, const char *name) {
  return of.handle && name ? FINE : BAD_ARGUMENT;
}
int amd_comgr_get_data(handle of, size_t *bytes, char *to) {
  const data *from = object_of(of);
  *bytes = from->bytes;
  if (to) memcpy(to, from->text, from->bytes);
  return FINE;
}

int amd_comgr_create_data_set(handle *out) {
  return hand_out(calloc(1, sizeof(set)), out);
}
int amd_comgr_destroy_data_set(handle of) {
  free(object_of(of));
  return FINE;
}
int amd_comgr_data_set_add(handle to, handle of) {
  set *in = object_of(to);
  if (in->only) return BAD_ARGUMENT;
  in->only = object_of(of);
  return FINE;
}
int amd_comgr_action_data_count(handle of, int kind, size_t *out) {
  const set *in = object_of(of);
  *out = in->only && in->only->kind == kind;
  return FINE;
}
int amd_comgr_action_data_get_data(handle of, int kind, size_t index, handle *out) {
  const set *in = object_of(of);
  if (index || !in->only || in->only->kind != kind) return BAD_ARGUMENT;
  return hand_out(in->only, out);
}

int amd_comgr_create_action_info(handle *out) {
  return hand_out(calloc(1, sizeof(info)), out);
}
int amd_comgr_destroy_action_info(handle of) {
  free(object_of(of));
  return FINE;
}
int amd_comgr_action_info_set_language(handle of, int language) {
  return of.handle && language == OPENCL_1_2 ? FINE : BAD_ARGUMENT;
}
int amd_comgr_action_info_set_isa_name(handle of, const char *name) {
  return of.handle && strcmp(name, "amdgcn-amd-amdhsa--gfx1010:xnack-") == 0 ? FINE : BAD_ARGUMENT;
}
/* Those that are not AMD's alone are kept for the compiler behind. */
int amd_comgr_action_info_set_option_list(handle of, const char **options, size_t count) {
  info *to = object_of(of);
  for (size_t i = 0; i < count; i++) {
    if (strcmp(options[i], "-O3") == 0 || strstr(options[i], "__OPENCL_VERSION__")) continue;
    if (strlen(to->options) + strlen(options[i]) + 2 > sizeof to->options) return FAILED;
    strcat(to->options, options[i]);
    strcat(to->options, " ");
  }
  return FINE;
}
int amd_comgr_action_info_set_logging(handle of, bool logs) {
  return of.handle && logs ? FINE : BAD_ARGUMENT;
}

static const struct {
  int action, from, to;
} actions[] = {{1, SOURCE, SOURCE},
               {15, SOURCE, BIT_CODE},
               {6, BIT_CODE, RELOCATABLE},
               {9, RELOCATABLE, EXECUTABLE}};

/* A source that begins with #error is one that does not compile. */
static int perform(int kind, const info *with, const data *from, data *to) {
  static const char complaint[] = "program.cl:1:2: error: as asked for\n";
  const bool bad = strncmp(from->text, "#error", 6) == 0;
  to->kind = bad ? LOG : kind;
  to->bytes = bad ? strlen(complaint) : from->bytes;
  if (!bad && kind == EXECUTABLE)
    to->text = image_write(with->options, from->text, &to->bytes);
  else
    to->text = strdup(bad ? complaint : from->text);
  return bad || !to->text ? FAILED : FINE;
}

int amd_comgr_do_action(int action, handle with, handle input, handle output) {
  const set *in = object_of(input);
  set *out = object_of(output);
  for (size_t i = 0; i < sizeof actions / sizeof actions[0]; i++) {
    if (actions[i].action != action) continue;
    if (!in->only || in->only->kind != actions[i].from) return BAD_ARGUMENT;
    out->only = calloc(1, sizeof *out->only);
    return out->only ? perform(actions[i].to, object_of(with), in->only, out->only) : FAILED;
  }
  return BAD_ARGUMENT;
}
