/* Keeping, counting and finding crashes: the times the machine went down. */
#include "core/faults/crashes.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "core/faults/marker_files.h"
#include "os/os.h"

bool cvy_crashes_add(const char *path, const cvy_marker *marker) {
  char file[400], kept[4096], text[CVY_MARKER_TEXT];
  const char *name = strrchr(path, '/');
  snprintf(file, sizeof(file), "/%.36s-%s", marker->boot, name ? name + 1 : path);
  cvy_marker_format(marker, text);
  convoy_status status = cvy_state_path("/downs", file, kept, sizeof(kept));
  if (!status) status = cvy_file_write(kept, text, strlen(text));
  return status == CONVOY_OK;
}

enum { MOST_READ = 1000 }; /* the time it takes is the trainer's; two close the device */

/* What to do with each that is kept. */
typedef struct visitor {
  void (*act)(const struct visitor *visitor, const char *path, const cvy_marker *marker);
  const convoy_device_info *info;
  cvy_crashes *crashes;
  const char *device;
  cvy_text *text;
} visitor;

static void act_on(void *user, const char *path, const cvy_marker *marker) {
  const visitor *with = user;
  with->act(with, path, marker);
}

static void for_all(int most, visitor with) {
  cvy_markers_visit("/downs", most, act_on, &with);
}

static void count_one(const visitor *with, const char *path, const cvy_marker *marker) {
  cvy_crashes *crashes = with->crashes;
  (void)path;
  if (strcmp(marker->device, with->info->name) != 0) return;
  if (strcmp(marker->driver, with->info->driver) != 0) return;
  if (strcmp(marker->refreshed, crashes->latest.refreshed) >= 0) crashes->latest = *marker;
  crashes->count++;
  if (!marker->algorithm[0] || cvy_crashes_bar(crashes, marker->algorithm)) return;
  if (crashes->barred_count == CVY_MOST_BARRED) return;
  strcpy(crashes->barred[crashes->barred_count++], marker->algorithm);
}

void cvy_crashes_load(const convoy_device_info *info, cvy_crashes *out) {
  memset(out, 0, sizeof(*out));
  for_all(MOST_READ, (visitor){.act = count_one, .info = info, .crashes = out});
}

static bool meant(const visitor *with, const cvy_marker *marker) {
  return !with->device || strstr(marker->device, with->device);
}

static void describe_one(const visitor *with, const char *path, const cvy_marker *marker) {
  (void)path;
  if (!meant(with, marker)) return;
  char line[1200];
  cvy_text text = cvy_text_in(line, sizeof(line));
  cvy_text_add(&text,
               "%s, driver %s: in use when the machine went down, last seen %s, step %lld%s%s\n",
               marker->device, marker->driver, marker->refreshed, (long long)marker->step,
               marker->first_use[0] ? ", first use of " : "", marker->first_use);
  if (with->text->used + text.used < with->text->size) cvy_text_add(with->text, "%s", line);
}

void cvy_crashes_describe(const char *device, cvy_text *text) {
  for_all(MOST_READ, (visitor){.act = describe_one, .device = device, .text = text});
}

static void forget_one(const visitor *with, const char *path, const cvy_marker *marker) {
  if (meant(with, marker)) cvy_file_remove(path);
}

void cvy_crashes_forget(const char *device) {
  for_all(INT_MAX, (visitor){.act = forget_one, .device = device});
}

bool cvy_crashes_bar(const cvy_crashes *crashes, const char *algorithm) {
  for (int32_t i = 0; i < crashes->barred_count; i++) {
    if (strcmp(crashes->barred[i], algorithm) == 0) return true;
  }
  return false;
}
