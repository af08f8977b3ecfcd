#include "images/folder.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "images/decode.h"

/* --------------------------------------------------------------------------------------- names */

static int visible(const struct dirent *entry) {
  return entry->d_name[0] != '.';
}

/* By their bytes, whatever the locale says: a checkpoint's images keep their places. */
static int by_bytes(const struct dirent **a, const struct dirent **b) {
  return strcmp((*a)->d_name, (*b)->d_name);
}

static char *join(const char *folder, const char *name) {
  size_t size = strlen(folder) + strlen(name) + 2;
  char *path = malloc(size);
  if (path) snprintf(path, size, "%s/%s", folder, name);
  return path;
}

static bool is_folder(const char *path) {
  struct stat about;
  return stat(path, &about) == 0 && S_ISDIR(about.st_mode);
}

/* Calls visit with each name's path until it returns false. */
static bool each_name(const char *folder, bool (*visit)(void *user, char *path, const char *name),
                      void *user) {
  struct dirent **names;
  int count = scandir(folder, &names, visible, by_bytes);
  bool good = count >= 0;
  if (!good) fprintf(stderr, "%s cannot be read: %s\n", folder, strerror(errno));
  for (int i = 0; i < count; i++) {
    char *path = good ? join(folder, names[i]->d_name) : NULL;
    good = good && path && visit(user, path, names[i]->d_name);
    free(names[i]);
  }
  if (count >= 0) free(names);
  return good;
}

/* ----------------------------------------------------------------------------------- collecting */

struct collection {
  struct image_folder *folder;
  int64_t every, limit;
  int64_t seen; /* images of the class */
  int64_t room[2];
};

static bool add_file(struct image_files *files, int64_t *room, char *path, int32_t label) {
  if (files->count == *room) {
    int64_t more = 2 * *room + 256;
    struct image_file *grown = realloc(files->file, (size_t)more * sizeof *grown);
    if (!grown) return false;
    files->file = grown;
    *room = more;
  }
  files->file[files->count++] = (struct image_file){path, label};
  return true;
}

/* Takes over the path. */
static bool visit_image(void *user, char *path, const char *name) {
  struct collection *c = user;
  (void)name;
  if (is_folder(path) || !decode_knows(path)) {
    free(path);
    return true;
  }
  bool test = ++c->seen % c->every == 0;
  struct image_files *files = test ? &c->folder->test : &c->folder->training;
  if (add_file(files, &c->room[test], path, c->folder->class_count)) return true;
  free(path);
  return false;
}

static bool visit_class(void *user, char *path, const char *name) {
  struct collection *c = user;
  struct image_folder *folder = c->folder;
  bool good = true;
  if (is_folder(path)) {
    char **grown =
        realloc(folder->classes, (size_t)(folder->class_count + 1) * sizeof *folder->classes);
    if (grown) folder->classes = grown;
    char *copy = grown ? strdup(name) : NULL;
    if (copy) folder->classes[folder->class_count] = copy;
    c->seen = 0;
    good = copy && each_name(path, visit_image, c);
    if (copy) folder->class_count++;
  }
  free(path);
  return good;
}

/* The first ones of each class in turn would be better than the first of all; so every class keeps
 * as many. */
static void shorten(struct image_files *files, int64_t limit, int32_t classes) {
  int64_t kept = 0, of_class = 0, most = (limit + classes - 1) / classes;
  for (int64_t i = 0; i < files->count; i++) {
    bool same = i > 0 && files->file[i].label == files->file[i - 1].label;
    of_class = same ? of_class + 1 : 1;
    if (limit == 0 || of_class <= most)
      files->file[kept++] = files->file[i];
    else
      free(files->file[i].path);
  }
  files->count = kept;
}

bool image_folder_read(struct image_folder *folder, const char *path, int64_t every,
                       int64_t limit) {
  struct collection c = {.folder = folder, .every = every, .limit = limit};
  *folder = (struct image_folder){.classes = NULL};
  if (!each_name(path, visit_class, &c)) return false;
  if (folder->class_count < 2 || !folder->training.count || !folder->test.count) {
    fprintf(stderr,
            "%s has %d classes, %lld images to train with and %lld for tests; a folder for each "
            "class is needed, with PNG or JPEG files\n",
            path, (int)folder->class_count, (long long)folder->training.count,
            (long long)folder->test.count);
    return false;
  }
  shorten(&folder->training, limit, folder->class_count);
  shorten(&folder->test, limit, folder->class_count);
  return true;
}

static void free_files(struct image_files *files) {
  for (int64_t i = 0; i < files->count; i++) free(files->file[i].path);
  free(files->file);
}

void image_folder_free(struct image_folder *folder) {
  for (int32_t i = 0; i < folder->class_count; i++) free(folder->classes[i]);
  free(folder->classes);
  free_files(&folder->training);
  free_files(&folder->test);
  *folder = (struct image_folder){.classes = NULL};
}
