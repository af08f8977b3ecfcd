/* isa_variants DEVICE FOLDER [--near | --row NAME | --tuned] TABLE|PLAN...: runs every layer of the
 * tables, forward and both gradients, and every operation of the plans, as `convoy graph` prints
 * them, through the real choice and the real engine on a pretended device, so that the programs and
 * launches it would make are written to FOLDER (see opencl.c). A table's name ends in .csv. With
 * --near also what the tuner tries first: each row, and each parameter one step from its
 * default; with --row that row alone, where it takes the problem; with --tuned what the records of
 * CONVOY_TUNE_FILE say, taken as a file that is shipped is: whatever driver and kernels they were
 * measured with. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend.h"
#include "common/csv.h"
#include "core/tune/choose.h"
#include "core/tune/params.h"
#include "core/tune/tunedisk.h"
#include "isa.h"
#include "problem/conv/conv.h"

/* No backend is opened by name here; the module's engine is called as the worker calls it. */
const cvy_backend *const cvy_backends[] = {NULL};
extern const cvy_module *cvy_module_entry(void);

typedef struct isa_run {
  cvy_engine engine;
  cvy_chooser chooser;
  bool near;
  uint64_t last_id;
} isa_run;

static int fail(const char *what) {
  fprintf(stderr, "isa_variants: %s: %s\n", what, cvy_module_entry()->last_error());
  return 1;
}

static bool give(const isa_run *all, const cvy_command *command) {
  return !all->engine.backend->execute(all->engine.device, command, NULL, NULL);
}

static bool make_array(isa_run *all, int64_t bytes, uint64_t *id) {
  *id = ++all->last_id;
  return give(all, &(cvy_command){CVY_ALLOCATE, .allocate = {*id, bytes}});
}

static bool make_arrays(isa_run *all, cvy_job *job) {
  const cvy_problem *p = &job->problem;
  bool good = true;
  for (int32_t i = 0; good && i < cvy_problem_reads(p); i++)
    good = make_array(all, cvy_problem_input_bytes(p, i), &job->in[i].id);
  for (int32_t i = 0; good && i < cvy_problem_outputs(p); i++)
    good = make_array(all, cvy_problem_output_bytes(p, i), &job->out[i].id);
  return good;
}

static bool perform(isa_run *all, const cvy_problem *p, const cvy_choice *choice) {
  cvy_job job = {.problem = *p, .algorithm = choice->row, .params = choice->params};
  uint64_t before = all->last_id;
  bool good = make_arrays(all, &job) && give(all, &(cvy_command){CVY_RUN, .job = &job});
  for (uint64_t id = before + 1; id <= all->last_id; id++)
    give(all, &(cvy_command){CVY_RELEASE, .release = {id}});
  return good;
}

/* The row with its defaults, and one step from them in every direction. */
static bool perform_near(isa_run *all, const cvy_problem *p, int32_t row) {
  static const int steps[] = {-1, 1};
  char unused[192];
  cvy_text reason = cvy_text_in(unused, sizeof unused);
  cvy_choice start;
  if (!cvy_row_takes(&all->engine, row, p, &start, &reason)) return true;
  if (!perform(all, p, &start)) return false;
  const cvy_algorithm *algorithm = cvy_chosen(&all->engine, &start);
  for (int which = 0; which < cvy_params_count(algorithm); which++) {
    for (int i = 0; i < 2; i++) {
      cvy_choice next = start;
      if (!cvy_params_step(algorithm, p, &all->engine.facts, &start.params, which, steps[i],
                           &next.params))
        continue;
      if (!perform(all, p, &next)) return false;
    }
  }
  return true;
}

static bool perform_all(isa_run *all, const cvy_problem *p) {
  cvy_choice choice;
  if (all->chooser.forced[0] && cvy_choose(&all->chooser, &all->engine, p, &choice)) return true;
  if (!all->near)
    return !cvy_choose(&all->chooser, &all->engine, p, &choice) && perform(all, p, &choice);
  for (int32_t row = 0; all->engine.backend->algorithms[row]; row++)
    if (!perform_near(all, p, row)) return false;
  return true;
}

static bool perform_layer(isa_run *all, const char *table, const layer *from) {
  for (int d = 0; d < 3; d++) {
    const struct problem *shape = &from->shape;
    cvy_problem p;
    char label[CONVOY_PROBLEM_TEXT + 256];
    if (cvy_conv_make(&shape->conv, (convoy_direction)d, shape->x_shape, shape->w_shape, 0.0f,
                      false, NULL, &p))
      return false;
    snprintf(label, sizeof label, "%s\t%s\t%s\t%lld\t%.0f\t%.0f", table, from->name,
             direction_roles[d].name, (long long)from->count, cvy_problem_flops(&p),
             cvy_problem_bytes(&p));
    isa_label(label);
    if (!perform_all(all, &p)) return false;
  }
  return true;
}

static bool perform_table(isa_run *all, const char *path) {
  char why[512] = "cannot be opened";
  layer_table table;
  FILE *from = fopen(path, "r");
  bool read = from && csv_read(from, path, &table, why, sizeof why);
  if (from) fclose(from);
  if (!read) {
    fprintf(stderr, "isa_variants: %s: %s\n", path, why);
    return false;
  }
  bool good = true;
  for (int i = 0; good && i < table.count; i++) {
    good = perform_layer(all, table.name, &table.layers[i]);
    if (!good) fail(table.layers[i].name);
  }
  csv_free(&table);
  return good;
}

/* The problem of a line "  12: v5 v6 = PROBLEM of v1 v2". NULL where the line is none, as what a
 * plan says beside its operations, or no command carries the operation out. */
static char *problem_of(char *line, long *number) {
  char *end, *last = NULL;
  *number = strtol(line, &end, 10);
  char *text = end > line && *end == ':' ? strstr(end, " = ") : NULL;
  if (!text) return NULL;
  text += strlen(" = ");
  for (char *at = text; (at = strstr(at, " of v")); at++) last = at;
  if (!last || strstr(last, ", by where they lie")) return NULL;
  *last = '\0';
  return text;
}

static bool perform_operation(isa_run *all, const char *plan, long number, const char *text) {
  char label[256];
  cvy_problem p;
  if (!cvy_problem_read(text, &p)) {
    fprintf(stderr, "isa_variants: %s: operation %ld is not understood: %s\n", plan, number, text);
    return false;
  }
  snprintf(label, sizeof label, "%s\t%ld\t%s\t1\t%.0f\t%.0f", plan, number,
           cvy_operation_of(&p)->name, cvy_problem_flops(&p), cvy_problem_bytes(&p));
  isa_label(label);
  return perform_all(all, &p) || fail(label) == 0;
}

static bool perform_plan(isa_run *all, const char *path) {
  static char line[1 << 16];
  FILE *from = fopen(path, "r");
  const char *name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
  bool good = true;
  int operations = 0;
  while (from && good && fgets(line, sizeof line, from)) {
    long number;
    const char *text = problem_of(line, &number);
    if (!text) continue;
    good = perform_operation(all, name, number, text);
    operations++;
  }
  if (from) fclose(from);
  if (operations == 0) fprintf(stderr, "isa_variants: %s: no operations of a plan\n", path);
  return good && operations > 0;
}

static bool perform_file(isa_run *all, const char *path) {
  const char *end = strrchr(path, '.');
  return end && strcmp(end, ".csv") == 0 ? perform_table(all, path) : perform_plan(all, path);
}

static bool open_engine(isa_run *all) {
  cvy_open_options options = {.workspace_limit = INT64_C(1) << 30, .dispatch = 1e9};
  all->engine.backend = cvy_module_entry()->engine;
  if (all->engine.backend->open(0, &options, &all->engine.device)) return false;
  all->engine.facts = *all->engine.backend->facts(all->engine.device);
  return true;
}

int main(int argc, char **argv) {
  static isa_run all;
  int first = 3;
  bool tuned = false;
  if (argc > 3 && strcmp(argv[3], "--near") == 0) {
    all.near = true;
    first = 4;
  } else if (argc > 3 && strcmp(argv[3], "--tuned") == 0) {
    tuned = true;
    first = 4;
  } else if (argc > 4 && strcmp(argv[3], "--row") == 0) {
    cvy_text_copy(all.chooser.forced, sizeof all.chooser.forced, argv[4]);
    first = 5;
  }
  if (argc <= first) {
    fputs("usage: isa_variants DEVICE FOLDER [--near | --row NAME | --tuned] TABLE|PLAN...\n",
          stderr);
    return 2;
  }
  if (!isa_begin(argv[1], argv[2])) {
    fprintf(stderr, "isa_variants: no device %s, or no folder %s\n", argv[1], argv[2]);
    return 2;
  }
  if (!open_engine(&all)) return fail("opening the device");
  if (tuned) cvy_records_load(&all.chooser.shipped);
  bool good = true;
  for (int i = first; good && i < argc; i++) good = perform_file(&all, argv[i]);
  cvy_records_free(&all.chooser.shipped);
  all.engine.backend->close(all.engine.device);
  return isa_end() && good ? 0 : 1;
}
