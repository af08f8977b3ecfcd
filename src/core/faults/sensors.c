/* Temperature, load and clocks from sysfs. No file of /dev is opened, and the files of sysfs are
 * read by another process: behind them is the driver that may be hanging right now. */
#include "core/faults/sensors.h"

#include <stdio.h>
#include <string.h>

#include "os/os.h"

static const struct {
  const char *file, *name, *unit;
  double divisor;
} rows[] = {
    {"temp1_input", "temperature", "C", 1e3},
    {"gpu_busy_percent", "load", "%", 1},
    {"freq1_input", "clock", "MHz", 1e6},
    {"power1_average", "power", "W", 1e6},
};

enum { MOST = 16, ROWS = CVY_COUNT(rows) };

typedef struct sensor_files {
  size_t root; /* characters of the folder's name */
  int count;
  struct {
    char path[256];
    int row;
  } files[MOST];
} sensor_files;

/* ROWS: none. */
static int row_of(const char *name) {
  int row = 0;
  while (row < ROWS && strcmp(rows[row].file, name) != 0) row++;
  return row;
}

static bool is_sensor(const char *name) {
  return row_of(name) < ROWS;
}

static void add(void *user, const char *path, int index, int count) {
  sensor_files *all = user;
  (void)index;
  (void)count;
  if (all->count == MOST || strlen(path) >= sizeof(all->files[0].path)) return;
  strcpy(all->files[all->count].path, path);
  all->files[all->count++].row = row_of(strrchr(path, '/') + 1);
}

/* One of the folders hwmon0, hwmon1, ... */
static bool is_monitor(const char *name) {
  return cvy_text_is(name, "hwmon+");
}

static void add_monitor(void *user, const char *path, int index, int count) {
  (void)index;
  (void)count;
  cvy_folder_visit(path, is_sensor, add, user);
}

/* Not its outputs, card0-DP-1 and the like. */
static bool is_card(const char *name) {
  return cvy_text_is(name, "card+");
}

static void add_card(void *user, const char *path, int index, int count) {
  char device[512], monitors[512];
  (void)index;
  (void)count;
  snprintf(device, sizeof(device), "%s/device", path);
  snprintf(monitors, sizeof(monitors), "%s/device/hwmon", path);
  cvy_folder_visit(monitors, is_monitor, add_monitor, user);
  cvy_folder_visit(device, is_sensor, add, user);
}

/* The number behind the file's name. */
static bool value_of(const char *lines, const char *path, double *value) {
  char title[sizeof(((sensor_files *)NULL)->files[0].path) + 16];
  snprintf(title, sizeof(title), "%s:", path);
  const char *at = strstr(lines, title);
  if (!at) return false;
  char *end;
  *value = cvy_double(at + strlen(title), &end);
  return end != at + strlen(title);
}

void cvy_sensors(const char *root, char *text, size_t size) {
  char lines[4096];
  const char *paths[MOST];
  sensor_files all = {.root = strlen(root)};
  cvy_text out = cvy_text_in(text, size);
  cvy_folder_visit(root, is_card, add_card, &all);
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
