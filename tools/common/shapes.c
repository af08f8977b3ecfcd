/* Tables are installed in share/convoy/shapes, beside bin/; the build tree has the same folder
 * beside the tool. */
#include "common/shapes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/exit_status.h"

enum { PATH_BYTES = 4096 };

static const char *const folders[] = {"share/convoy/shapes", "../share/convoy/shapes"};
enum { FOLDERS = sizeof folders / sizeof folders[0] };

/* Finds the folder that the tool lies in. */
static bool own_folder(char *out, size_t size) {
  ssize_t length = readlink("/proc/self/exe", out, size - 1);
  if (length <= 0) return false;
  out[length] = 0;
  char *slash = strrchr(out, '/');
  if (slash) *slash = 0;
  return slash != NULL;
}

static FILE *open_installed(const char *name) {
  char own[PATH_BYTES], path[PATH_BYTES + 512];
  if (strchr(name, '/') || strlen(name) > 200 || !own_folder(own, sizeof own)) return NULL;
  const char *end = strstr(name, ".csv") ? "" : ".csv";
  FILE *found = NULL;
  for (int i = 0; !found && i < FOLDERS; i++) {
    snprintf(path, sizeof path, "%s/%s/%s%s", own, folders[i], name, end);
    found = fopen(path, "r");
  }
  return found;
}

bool shapes_read(const char *name, layer_table *out, char *why, size_t why_size) {
  FILE *from = fopen(name, "r");
  int reason = errno;
  if (!from) from = open_installed(name);
  if (!from) {
    snprintf(why, why_size, "%s: %s, and no installed table has that name", name, strerror(reason));
    return false;
  }
  bool good = csv_read(from, name, out, why, why_size);
  fclose(from);
  return good;
}

/* ------------------------------------------------------------------------------------ texts */

bool shapes_parse(const char *text, problem *out) {
  *out = (problem){.conv = CONVOY_CONV_INIT(2)};
  return convoy_parse_problem(text, &out->conv, out->x_shape, out->w_shape, &out->direction) ==
             CONVOY_OK &&
         convoy_output_shape(&out->conv, out->x_shape, out->w_shape, out->y_shape) == CONVOY_OK;
}

/* The name is the text without its direction, which is a column of its own. */
static bool read_text(const char *text, layer *out) {
  out->count = 1;
  if (!shapes_parse(text, &out->shape)) return false;
  size_t direction = strlen(direction_roles[out->shape.direction].name);
  snprintf(out->name, sizeof out->name, "%.*s", (int)(strlen(text) - direction - 1), text);
  return true;
}

static int read_texts(const char *command, const words *texts, layer_table *out) {
  snprintf(out->name, sizeof out->name, "shape");
  out->directed = true;
  out->layers = calloc((size_t)texts->count, sizeof *out->layers);
  for (; out->layers && out->count < texts->count; out->count++) {
    const char *text = texts->item[out->count];
    if (read_text(text, &out->layers[out->count])) continue;
    fprintf(stderr, "convoy %s: --shape '%s': %s\n", command, text, convoy_last_error());
    return EXIT_USAGE;
  }
  return out->layers ? EXIT_FINE : EXIT_FAILED;
}

/* ------------------------------------------------------------------------------------- both */

static int refuse_pass(const char *command, const char *name, const char *why) {
  fprintf(stderr, "convoy %s: --pass %s: %s; there are", command, name, why);
  for (int i = 0; i < CONVOY_DIRECTIONS; i++)
    fprintf(stderr, "%s %s", i ? "," : "", direction_roles[i].name);
  fputc('\n', stderr);
  return EXIT_USAGE;
}

static int read_passes(const char *command, const words *names, passes *out) {
  static const passes standard = {3,
                                  {CONVOY_FORWARD, CONVOY_BACKWARD_DATA, CONVOY_BACKWARD_WEIGHTS}};
  if (names->count == 0) *out = standard;
  for (int i = 0; i < names->count; i++) {
    const char *name = names->item[i];
    int direction = direction_find(name);
    if (direction < 0) return refuse_pass(command, name, "there is no such pass");
    if (out->count == CONVOY_DIRECTIONS) return refuse_pass(command, name, "one too many");
    out->item[out->count++] = (convoy_direction)direction;
  }
  return EXIT_FINE;
}

static int read_files(const char *command, const words *files, shapes *out) {
  char why[512];
  for (int i = 0; i < files->count; i++) {
    if (!shapes_read(files->item[i], &out->tables[i], why, sizeof why)) {
      fprintf(stderr, "convoy %s: %s\n", command, why);
      return EXIT_USAGE;
    }
    out->table_count++;
  }
  return EXIT_FINE;
}

int shapes_open(const char *command, const words *files, const words *texts,
                const words *pass_names, shapes *out) {
  *out = (shapes){.tables = calloc((size_t)files->count + 1, sizeof *out->tables)};
  if (!out->tables) return EXIT_FAILED;
  if (pass_names->count > 0 && files->count == 0) {
    fprintf(stderr, "convoy %s: --pass is for --shapes; the text of --shape names its pass\n",
            command);
    return EXIT_USAGE;
  }
  int status = read_passes(command, pass_names, &out->asked);
  if (status == EXIT_FINE) status = read_files(command, files, out);
  if (status == EXIT_FINE && texts->count > 0)
    status = read_texts(command, texts, &out->tables[out->table_count++]);
  return status;
}

void shapes_close(shapes *all) {
  for (int t = 0; t < all->table_count; t++) csv_free(&all->tables[t]);
  free(all->tables);
  *all = (shapes){0};
}

passes shapes_passes(const shapes *all, const layer_table *table, const layer *from) {
  return table->directed ? (passes){1, {from->shape.direction}} : all->asked;
}

int shapes_problems_of(const shapes *all, const layer_table *table) {
  return table->count * shapes_passes(all, table, table->layers).count;
}

int shapes_problems(const shapes *all) {
  int count = 0;
  for (int t = 0; t < all->table_count; t++) count += shapes_problems_of(all, &all->tables[t]);
  return count;
}
