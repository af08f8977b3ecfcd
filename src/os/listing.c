/* What is in a folder, in an order that does not depend on the file system. */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "os/os.h"

typedef struct names {
  char **list;
  int count, capacity;
} names;

static bool add(names *all, const char *name) {
  if (all->count == all->capacity) {
    const int capacity = all->capacity ? 2 * all->capacity : 16;
    char **list = realloc(all->list, (size_t)capacity * sizeof *list);
    if (!list) return false;
    all->list = list;
    all->capacity = capacity;
  }
  all->list[all->count] = strdup(name);
  return all->list[all->count++] != NULL;
}

/* 0, or why not all of them. */
static int collect(DIR *from, cvy_name_fn *wanted, names *all) {
  for (;;) {
    errno = 0;
    const struct dirent *entry = readdir(from);
    if (!entry) return errno;
    if (wanted(entry->d_name) && !add(all, entry->d_name)) return ENOMEM;
  }
}

static int by_bytes(const void *a, const void *b) {
  return strcmp(*(char *const *)a, *(char *const *)b);
}

static void visit_all(const char *folder, const names *all, cvy_visit_fn *visit, void *user) {
  char path[4096];
  for (int i = 0; i < all->count; i++) {
    cvy_text text = cvy_text_in(path, sizeof path);
    cvy_text_add(&text, "%s/%s", folder, all->list[i]);
    if (!text.overflow) visit(user, path, i, all->count);
  }
}

convoy_status cvy_folder_visit(const char *folder, cvy_name_fn *wanted, cvy_visit_fn *visit,
                               void *user) {
  names all = {0};
  DIR *from = opendir(folder);
  int why = from ? collect(from, wanted, &all) : errno;
  if (from) closedir(from);
  if (all.count) qsort(all.list, (size_t)all.count, sizeof *all.list, by_bytes);
  if (!why) visit_all(folder, &all, visit, user);
  for (int i = 0; i < all.count; i++) free(all.list[i]);
  free(all.list);
  if (!why || why == ENOENT) return CONVOY_OK;
  return cvy_fail(CONVOY_ERR_IO, "cannot read the folder %s: %s", folder, strerror(why));
}
