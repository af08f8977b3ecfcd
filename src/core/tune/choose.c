/* Choice: forced row, else the fastest valid record, else the first row that does not refuse. */
#include "core/tune/choose.h"

#include <string.h>

#include "base/build_id.h"
#include "core/tune/params.h"
#include "os/os.h"

const cvy_algorithm *cvy_chosen(const cvy_engine *engine, const cvy_choice *choice) {
  return engine->backend->algorithms[choice->row];
}

bool cvy_choice_same(const cvy_choice *a, const cvy_choice *b) {
  return a->row == b->row && memcmp(&a->params, &b->params, sizeof(a->params)) == 0;
}

int32_t cvy_row_named(const cvy_backend *backend, const char *name) {
  for (int32_t row = 0; backend->algorithms[row]; row++) {
    if (strcmp(backend->algorithms[row]->name, name) == 0) return row;
  }
  return -1;
}

static bool does(const cvy_algorithm *algorithm, const cvy_problem *problem, cvy_text *reason) {
  if (cvy_algorithm_does(algorithm, problem)) return true;
  cvy_text_add(reason, "it does not do this operation");
  return false;
}

static bool accepts(const cvy_algorithm *algorithm, const cvy_problem *problem,
                    const cvy_facts *facts, cvy_text *reason) {
  return does(algorithm, problem, reason) &&
         (!algorithm->accepts || algorithm->accepts(problem, facts, reason));
}

static void measure_workspace(const cvy_engine *engine, const cvy_problem *problem,
                              cvy_choice *choice) {
  const cvy_algorithm *algorithm = cvy_chosen(engine, choice);
  choice->workspace =
      algorithm->workspace ? algorithm->workspace(problem, &engine->facts, &choice->params) : 0;
}

bool cvy_row_takes(const cvy_engine *engine, int32_t row, const cvy_problem *problem,
                   cvy_choice *out, cvy_text *reason) {
  const cvy_algorithm *algorithm = engine->backend->algorithms[row];
  if (engine->crashes && cvy_crashes_bar(engine->crashes, algorithm->name)) {
    cvy_text_add(reason, "the machine went down during its first use here");
    return false;
  }
  if (engine->strict && algorithm->error_growth > 0) {
    cvy_text_add(reason,
                 "its error bound is %g times that of every result, options.winograd is off",
                 algorithm->error_growth);
    return false;
  }
  memset(out, 0, sizeof(*out));
  out->row = row;
  if (cvy_problem_empty(problem)) return does(algorithm, problem, reason);
  if (!accepts(algorithm, problem, &engine->facts, reason)) return false;
  if (algorithm->defaults) algorithm->defaults(problem, &engine->facts, &out->params);
  measure_workspace(engine, problem, out);
  return true;
}

bool cvy_record_runs(const cvy_engine *engine, const cvy_record *record, const cvy_problem *problem,
                     cvy_choice *out) {
  char unused[192];
  cvy_text reason = cvy_text_in(unused, sizeof(unused));
  int32_t row = cvy_row_named(engine->backend, record->algorithm);
  if (row < 0 || cvy_problem_empty(problem)) return false;
  if (!cvy_row_takes(engine, row, problem, out, &reason)) return false;
  const cvy_algorithm *algorithm = engine->backend->algorithms[row];
  if (!cvy_params_parse(algorithm, record->params, &out->params)) return false;
  if (algorithm->valid && !algorithm->valid(&out->params, problem, &engine->facts)) return false;
  measure_workspace(engine, problem, out);
  return out->workspace <= engine->facts.workspace_limit;
}

uint64_t cvy_signature(const cvy_engine *engine, const cvy_algorithm *algorithm) {
  uint64_t hash = cvy_params_hash(algorithm);
  return engine->backend->host_memory ? hash
                                      : cvy_hash(hash, cvy_kernels_id, strlen(cvy_kernels_id));
}

/* Whether what the record says was measured with what would run now. */
static bool is_current(const cvy_engine *engine, const cvy_record *record, const char *driver) {
  int32_t row = cvy_row_named(engine->backend, record->algorithm);
  return row >= 0 && strcmp(record->driver, driver) == 0 &&
         record->hash == cvy_signature(engine, engine->backend->algorithms[row]);
}

/* A card that is reached through two runtimes has records of both, under the drivers' names. */
static bool is_of_runtime(const cvy_record *record, int32_t runtime) {
  static const char *const begins[CVY_RUNTIMES] = {
      [CVY_RUNTIME_HIP] = "HIP ", [CVY_RUNTIME_CUDA] = "CUDA "};
  int32_t found = CVY_RUNTIME_OPENCL;
  for (int32_t i = 0; i < CVY_RUNTIMES; i++)
    if (begins[i] && strncmp(record->driver, begins[i], strlen(begins[i])) == 0) found = i;
  return found == runtime;
}

int32_t cvy_records_stale(const cvy_records *records, const cvy_engine *engine) {
  cvy_record here;
  int32_t count = 0;
  cvy_record_place(&engine->facts, &here);
  for (int32_t i = 0; i < records->count; i++) {
    const cvy_record *record = &records->list[i];
    count += strcmp(record->device, here.device) == 0 &&
             is_of_runtime(record, engine->facts.runtime) &&
             !is_current(engine, record, here.driver);
  }
  return count;
}

/* What records of problem `of` say for `problem`. Shipped ones come with the kernels they were made
 * with, and serve every driver: they are better than a guess. */
static bool from_records(const cvy_records *records, bool shipped, const cvy_engine *engine,
                         const cvy_problem *of, const cvy_problem *problem, cvy_choice *out) {
  if (!records->count) return false;
  cvy_record here;
  cvy_record_place(&engine->facts, &here);
  const cvy_record *best = NULL;
  for (int32_t i = 0; i < records->count; i++) {
    const cvy_record *record = &records->list[i];
    cvy_choice choice;
    if (strcmp(record->device, here.device) != 0) continue;
    if (!cvy_problem_same(&record->problem, of)) continue;
    if (!shipped && !is_current(engine, record, here.driver)) continue;
    if (best && best->milliseconds <= record->milliseconds) continue;
    if (!cvy_record_runs(engine, record, problem, &choice)) continue;
    best = record;
    *out = choice;
  }
  return best != NULL;
}

/* Records of the problem itself come first. But what is fast on arrays of their own is rarely slow
 * on parts of larger tensors. */
static bool measured(const cvy_chooser *chooser, const cvy_engine *engine,
                     const cvy_problem *problem, cvy_choice *out) {
  cvy_problem apart;
  if (from_records(&chooser->records, false, engine, problem, problem, out)) return true;
  if (from_records(&chooser->shipped, true, engine, problem, problem, out)) return true;
  cvy_problem_apart(problem, &apart);
  if (cvy_problem_equal(problem, &apart)) return false;
  return from_records(&chooser->records, false, engine, &apart, problem, out) ||
         from_records(&chooser->shipped, true, engine, &apart, problem, out);
}

convoy_status cvy_chooser_learn(cvy_chooser *chooser, const cvy_record *record) {
  cvy_choices_forget(&chooser->made);
  chooser->learned++;
  return cvy_records_put(&chooser->records, record);
}

/* Whether the row is one that may run at this level. */
static bool may_run_at(const cvy_algorithm *algorithm, cvy_level level, cvy_text *reason) {
  if (level == CVY_LEVEL_TUNED || algorithm->conservative) return true;
  cvy_text_add(reason, "not used after faults");
  return false;
}

/* Whether the row is worth its place in the order, for this problem. */
static bool pays(const cvy_algorithm *algorithm, const cvy_engine *engine,
                 const cvy_problem *problem, cvy_text *reason) {
  if (!algorithm->pays || cvy_problem_empty(problem)) return true;
  if (algorithm->pays(problem, &engine->facts)) return true;
  cvy_text_add(reason, "not expected to be the fastest");
  return false;
}

static convoy_status first_row(const cvy_engine *engine, const cvy_problem *problem,
                               cvy_level level, cvy_choice *out) {
  char reasons[400], about[CONVOY_PROBLEM_TEXT];
  cvy_text text = cvy_text_in(reasons, sizeof(reasons));
  for (int32_t row = 0; engine->backend->algorithms[row]; row++) {
    const cvy_algorithm *algorithm = engine->backend->algorithms[row];
    cvy_text_add(&text, "%s%s: ", row ? "; " : "", algorithm->name);
    if (!may_run_at(algorithm, level, &text)) continue;
    if (!cvy_row_takes(engine, row, problem, out, &text)) continue;
    if (pays(algorithm, engine, problem, &text)) return CONVOY_OK;
  }
  cvy_problem_text(problem, about, sizeof(about));
  return cvy_fail(CONVOY_ERR_UNSUPPORTED, "no algorithm of %s takes %s (%s)", engine->facts.info.id,
                  about, reasons);
}

static convoy_status forced_row(const cvy_engine *engine, int32_t row, const cvy_problem *problem,
                                cvy_choice *out) {
  char reason[192], about[CONVOY_PROBLEM_TEXT];
  cvy_text text = cvy_text_in(reason, sizeof(reason));
  if (cvy_row_takes(engine, row, problem, out, &text)) return CONVOY_OK;
  cvy_problem_text(problem, about, sizeof(about));
  return cvy_fail(CONVOY_ERR_UNSUPPORTED, "%s refuses %s: %s",
                  engine->backend->algorithms[row]->name, about, reason);
}

/* A row forced for the device does not bind the CPU engine that replaces it. */
static int32_t forced_here(const cvy_chooser *chooser, const cvy_engine *engine) {
  return chooser->forced[0] ? cvy_row_named(engine->backend, chooser->forced) : -1;
}

cvy_level cvy_chooser_level(const cvy_chooser *chooser, const cvy_engine *engine,
                            const cvy_problem *problem, const cvy_fault_entry **why) {
  *why = NULL;
  if (!chooser->fault_limit || !chooser->fault_table.count || engine->backend->host_memory ||
      forced_here(chooser, engine) >= 0) {
    return CVY_LEVEL_TUNED;
  }
  char shape_class[CVY_CLASS_TEXT];
  cvy_shape_class(problem, shape_class, sizeof(shape_class));
  return cvy_fault_table_level(&chooser->fault_table, engine->facts.info.name,
                               engine->facts.info.driver, shape_class, cvy_date(),
                               chooser->fault_limit, why);
}

convoy_status cvy_choose_untuned(const cvy_chooser *chooser, const cvy_engine *engine,
                                 const cvy_problem *problem, cvy_choice *out) {
  int32_t forced = forced_here(chooser, engine);
  return forced >= 0 ? forced_row(engine, forced, problem, out)
                     : first_row(engine, problem, CVY_LEVEL_TUNED, out);
}

convoy_status cvy_choose(cvy_chooser *chooser, const cvy_engine *engine, const cvy_problem *problem,
                         cvy_choice *out) {
  int32_t forced = forced_here(chooser, engine);
  if (forced >= 0) return forced_row(engine, forced, problem, out);

  const cvy_fault_entry *why;
  cvy_level level = cvy_chooser_level(chooser, engine, problem, &why);
  if (level == CVY_LEVEL_CPU) {
    return cvy_fail(CONVOY_ERR_UNSUPPORTED, "%s is not used for this class after faults, last: %s",
                    engine->facts.info.id, why->reason);
  }
  cvy_problem key;
  cvy_problem_bare(problem, &key);
  const cvy_choice *made = cvy_choices_find(&chooser->made, engine, &key, level);
  if (made) {
    *out = *made;
    return CONVOY_OK;
  }
  if (level != CVY_LEVEL_TUNED || !measured(chooser, engine, problem, out)) {
    convoy_status status = first_row(engine, problem, level, out);
    if (status) return status;
  }
  out->level = level;
  chooser->choices++;
  cvy_choices_keep(&chooser->made, engine, &key, out);
  return CONVOY_OK;
}
