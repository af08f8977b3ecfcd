/* Keeping, counting and finding the times the machine went down. */
#include "core/downs.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "core/markers.h"
#include "os/os.h"

bool cvy_downs_add(const char *path, const cvy_marker *marker) {
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
typedef struct errand {
  void (*act)(const struct errand *errand, const char *path, const cvy_marker *marker);
  const convoy_device_info *info;
  cvy_downs *downs;
  const char *device;
  cvy_text *text;
} errand;

static void act_on(void *user, const char *path, const cvy_marker *marker) {
  const errand *with = user;
  with->act(with, path, marker);
}

static void for_all(int most, errand with) {
  cvy_markers_visit("/downs", most, act_on, &with);
}

static void count_one(const errand *with, const char *path, const cvy_marker *marker) {
  cvy_downs *downs = with->downs;
  (void)path;
  if (strcmp(marker->device, with->info->name) != 0) return;
  if (strcmp(marker->driver, with->info->driver) != 0) return;
  if (strcmp(marker->refreshed, downs->latest.refreshed) >= 0) downs->latest = *marker;
  downs->count++;
  if (!marker->algorithm[0] || cvy_downs_bar(downs, marker->algorithm)) return;
  if (downs->barred_count == CVY_MOST_BARRED) return;
  strcpy(downs->barred[downs->barred_count++], marker->algorithm);
}

void cvy_downs_load(const convoy_device_info *info, cvy_downs *out) {
  memset(out, 0, sizeof(*out));
  for_all(MOST_READ, (errand){.act = count_one, .info = info, .downs = out});
}

static bool meant(const errand *with, const cvy_marker *marker) {
  return !with->device || strstr(marker->device, with->device);
}

static void describe_one(const errand *with, const char *path, const cvy_marker *marker) {
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

void cvy_downs_describe(const char *device, cvy_text *text) {
  for_all(MOST_READ, (errand){.act = describe_one, .device = device, .text = text});
}

static void forget_one(const errand *with, const char *path, const cvy_marker *marker) {
  if (meant(with, marker)) cvy_file_remove(path);
}

void cvy_downs_forget(const char *device) {
  for_all(INT_MAX, (errand){.act = forget_one, .device = device});
}

bool cvy_downs_bar(const cvy_downs *downs, const char *algorithm) {
  for (int32_t i = 0; i < downs->barred_count; i++) {
    if (strcmp(downs->barred[i], algorithm) == 0) return true;
  }
  return false;
}
