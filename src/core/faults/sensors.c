/* Temperature, load and clocks from sysfs. No file of /dev is opened, and the files of sysfs are read
 * by another process: behind them is the driver that may be hanging right now. */
#include "core/faults/sensors.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "os/os.h"

static const struct {
  const char *file, *name, *unit;
  double divisor;
} rows[] = {
    {"device/hwmon/hwmon*/temp1_input", "temperature", "C", 1e3},
    {"device/gpu_busy_percent", "load", "%", 1},
    {"device/hwmon/hwmon*/freq1_input", "clock", "MHz", 1e6},
    {"device/hwmon/hwmon*/power1_average", "power", "W", 1e6},
};

enum { MOST = 16 };

typedef struct found {
  size_t root; /* characters of the folder's name */
  int count, row;
  struct {
    char path[256];
    int row;
  } files[MOST];
} found;

static void add(void *user, const char *path, int index, int count) {
  found *all = user;
  (void)index;
  (void)count;
  if (all->count == MOST || strlen(path) >= sizeof(all->files[0].path)) return;
  strcpy(all->files[all->count].path, path);
  all->files[all->count++].row = all->row;
}

static void find(const char *root, found *all) {
  for (all->row = 0; all->row < (int)CVY_COUNT(rows); all->row++) {
    char pattern[512];
    cvy_text text = cvy_text_in(pattern, sizeof(pattern));
    cvy_text_add(&text, "%s/card[0-9]*/%s", root, rows[all->row].file);
    if (!text.overflow) cvy_paths_visit(pattern, add, all);
  }
}

/* The number behind the file's name. */
static bool value_of(const char *lines, const char *path, double *value) {
  char title[sizeof(((found *)NULL)->files[0].path) + 16];
  snprintf(title, sizeof(title), "%s:", path);
  const char *at = strstr(lines, title);
  if (!at) return false;
  char *end;
  *value = strtod(at + strlen(title), &end);
  return end != at + strlen(title);
}

void cvy_sensors(const char *root, char *text, size_t size) {
  char lines[4096];
  const char *paths[MOST];
  found all = {.root = strlen(root)};
  cvy_text out = cvy_text_in(text, size);
  find(root, &all);
  for (int i = 0; i < all.count; i++) paths[i] = all.files[i].path;
  cvy_file_peek(paths, all.count, 0.25, lines, sizeof(lines));
  for (int i = 0; i < all.count; i++) {
    double value;
    const char *card = paths[i] + all.root + 1;
    int row = all.files[i].row;
    if (!value_of(lines, paths[i], &value)) continue;
    cvy_text_add(&out, "%s%.*s %s %.0f %s", out.used ? ", " : "", (int)strcspn(card, "/"), card,
                 rows[row].name, value / rows[row].divisor, rows[row].unit);
  }
}
