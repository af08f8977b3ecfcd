/* Keeping, counting and finding the times the machine went down. */
#include "core/downs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "os/os.h"

bool cvy_downs_add(const char *path, const cvy_marker *marker) {
  char folder[400], kept[600], text[CVY_MARKER_TEXT];
  const char *name = strrchr(path, '/');
  if (!cvy_state_folder(folder, sizeof(folder))) return false;
  cvy_marker_format(marker, text);
  snprintf(kept, sizeof(kept), "%s/downs/%.36s-%s", folder, marker->boot, name ? name + 1 : path);
  return cvy_file_write(kept, text, strlen(text)) == CONVOY_OK;
}

typedef struct search {
  const convoy_device_info *info;
  cvy_downs *out;
} search;

static void look(void *user, const char *path, int index, int count) {
  const search *in = user;
  cvy_marker marker;
  size_t bytes;
  (void)index;
  (void)count;
  char *text = cvy_file_read(path, &bytes);
  bool good = text && cvy_marker_parse(text, &marker);
  free(text);
  if (!good || strcmp(marker.device, in->info->name) != 0) return;
  if (strcmp(marker.driver, in->info->driver) != 0) return;
  cvy_downs *out = in->out;
  if (strcmp(marker.refreshed, out->latest.refreshed) >= 0) out->latest = marker;
  out->count++;
  if (!marker.algorithm[0] || cvy_downs_bar(out, marker.algorithm)) return;
  if (out->barred_count == CVY_MOST_BARRED) return;
  strcpy(out->barred[out->barred_count++], marker.algorithm);
}

void cvy_downs_load(const convoy_device_info *info, cvy_downs *out) {
  char folder[400], pattern[512];
  search in = {info, out};
  memset(out, 0, sizeof(*out));
  if (!cvy_state_folder(folder, sizeof(folder))) return;
  snprintf(pattern, sizeof(pattern), "%s/downs/*.txt", folder);
  cvy_paths_visit(pattern, look, &in);
}

bool cvy_downs_bar(const cvy_downs *downs, const char *algorithm) {
  for (int32_t i = 0; i < downs->barred_count; i++) {
    if (strcmp(downs->barred[i], algorithm) == 0) return true;
  }
  return false;
}
