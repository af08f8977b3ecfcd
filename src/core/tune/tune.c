/* Tuning: good beginnings, the search, the verdict, and what is written down. */
#include "core/tune/tune.h"

#include <stdlib.h>
#include <string.h>

#include "core/exec/device.h"
#include "core/tune/params.h"
#include "core/tune/tunedisk.h"
#include "core/tune/tunesearch.h"
#include "os/os.h"

#define STANDARD_SECONDS 2.0
#define SEARCH_SHARE 0.8 /* of the time; the rest is for the finals */
enum { RECORDS_MOST = 6, SEEDS_MOST = 32 };

/* ------------------------------------------------------------------------------- beginnings */

/* Records made here, by what would run now: their programs are in use. */
static bool is_from_here(const cvy_search *search, const cvy_record *record) {
  cvy_record here;
  cvy_record_place(&search->bench->engine->facts, &here);
  return strcmp(record->device, here.device) == 0 && strcmp(record->driver, here.driver) == 0 &&
         !cvy_problem_same(&record->problem, &search->bench->node->problem);
}

static convoy_status note_programs_in_use(const cvy_records *records, cvy_search *search,
                                          uint64_t **out) {
  const cvy_engine *engine = search->bench->engine;
  *out = malloc(((size_t)records->count + 1) * sizeof(**out));
  if (!*out) return cvy_fail(CONVOY_ERR_MEMORY, "no memory for %d programs", (int)records->count);
  for (int32_t i = 0; i < records->count; i++) {
    const cvy_record *record = &records->list[i];
    int32_t row = cvy_row_named(engine->backend, record->algorithm);
    cvy_params params;
    if (row < 0 || !is_from_here(search, record)) continue;
    const cvy_algorithm *algorithm = engine->backend->algorithms[row];
    if (!cvy_params_parse(algorithm, record->params, &params)) continue;
    (*out)[search->in_use_count++] = cvy_programs_hash(algorithm, &params, &record->problem);
  }
  search->in_use = *out;
  return CONVOY_OK;
}

/* Candidates to begin with, the first is what is chosen untuned. */
typedef struct seeds {
  cvy_choice list[SEEDS_MOST];
  int count;
} seeds;

static bool add(seeds *all, const cvy_choice *choice) {
  for (int i = 0; i < all->count; i++) {
    if (cvy_choice_same(&all->list[i], choice)) return false;
  }
  if (all->count == SEEDS_MOST) return false;
  all->list[all->count++] = *choice;
  return true;
}

static void add_rows(const cvy_search *search, const char *forced, seeds *all) {
  const cvy_engine *engine = search->bench->engine;
  char unused[192];
  for (int32_t row = 0; engine->backend->algorithms[row]; row++) {
    cvy_text reason = cvy_text_in(unused, sizeof(unused));
    cvy_choice choice;
    if (forced[0] && strcmp(engine->backend->algorithms[row]->name, forced) != 0) continue;
    if (cvy_row_takes(engine, row, &search->bench->node->problem, &choice, &reason))
      add(all, &choice);
  }
}

/* The latest choices for other problems of this operation, and any for this one. */
static void add_records(const cvy_search *search, const cvy_records *records, const char *forced,
                        seeds *all) {
  int32_t operation = search->bench->node->problem.operation;
  int taken = 0;
  for (int32_t i = records->count - 1; i >= 0 && taken < RECORDS_MOST; i--) {
    const cvy_record *record = &records->list[i];
    cvy_choice choice;
    if (forced[0] && strcmp(record->algorithm, forced) != 0) continue;
    if (record->problem.operation != operation) continue;
    if (!cvy_record_runs(search->bench->engine, record, &search->bench->node->problem, &choice)) {
      continue;
    }
    taken += add(all, &choice);
  }
}

/* -------------------------------------------------------------------------------- the search */

static convoy_status find_seeds(convoy_context *context, const cvy_search *search, seeds *out) {
  const cvy_chooser *chooser = &context->chooser;
  const cvy_problem *problem = &search->bench->node->problem;
  cvy_choice choice;
  out->count = 0;
  convoy_status status = cvy_choose_untuned(chooser, search->bench->engine, problem, &choice);
  if (status) return status;
  add(out, &choice);
  if (!cvy_choose(&context->chooser, search->bench->engine, problem, &choice)) add(out, &choice);
  add_records(search, &chooser->records, chooser->forced, out);
  add_rows(search, chooser->forced, out);
  return CONVOY_OK;
}

/* The stack of jobs is built from its top: what is tried first is put there last. */
static convoy_status seed(convoy_context *context, cvy_search *search) {
  seeds all;
  convoy_status status = find_seeds(context, search, &all);
  if (status) return status;
  for (int i = all.count - 1; i >= 0; i--) cvy_search_announce(search, &all.list[i]);
  for (int i = 0; i < all.count; i++) cvy_search_try(search, &all.list[i]);
  return CONVOY_OK;
}

static void fill(const cvy_search *search, int place, convoy_tuned *out) {
  const cvy_trial *trial = &search->trial[place];
  const cvy_algorithm *algorithm = cvy_chosen(search->bench->engine, &trial->choice);
  out->kept = 1;
  out->milliseconds = 1e3 * trial->median;
  cvy_text_copy(out->algorithm, sizeof(out->algorithm), algorithm->name);
  cvy_params_text(algorithm, &trial->choice.params, out->parameters, sizeof(out->parameters));
}

static convoy_status write_down(convoy_context *context, const cvy_search *search,
                                const convoy_tuned *found) {
  const cvy_engine *engine = search->bench->engine;
  cvy_record record = {.milliseconds = found->milliseconds};
  cvy_problem_copy(&record.problem, &search->bench->node->problem);
  int32_t row = cvy_row_named(engine->backend, found->algorithm);
  record.hash = cvy_signature(engine, engine->backend->algorithms[row]);
  cvy_record_place(&engine->facts, &record);
  cvy_text_copy(record.algorithm, sizeof(record.algorithm), found->algorithm);
  cvy_text_copy(record.params, sizeof(record.params), found->parameters);
  convoy_status status = cvy_records_save(&record);
  if (status || !context->options.tune) return status;
  return cvy_chooser_learn(&context->chooser, &record);
}

static void report(const cvy_search *search, convoy_tuned *out) {
  const cvy_trial *untuned = &search->trial[0];
  out->tried = search->count;
  for (int i = 0; i < search->count; i++) out->failed += search->trial[i].failed;
  out->untuned_ms = untuned->failed ? 0.0 : 1e3 * untuned->median;
}

/* The candidates are there; what follows from them. */
static convoy_status conclude(convoy_context *context, cvy_search *search, convoy_tuned *out) {
  int finalists[CVY_FINALISTS];
  int count = cvy_search_finals(search, finalists);
  int chosen = cvy_search_decide(search, finalists, count);
  report(search, out);
  if (chosen >= 0) {
    fill(search, chosen, out);
    return write_down(context, search, out);
  }
  cvy_text reason = cvy_text_in(out->reason, sizeof(out->reason));
  cvy_text_add(&reason, count ? "repeated timing of one candidate differs too much to compare them"
                              : "no candidate's result is right");
  return CONVOY_OK;
}

static convoy_status search_with(convoy_context *context, cvy_search *search, convoy_tuned *out) {
  convoy_status status = seed(context, search);
  if (status) return status;
  cvy_search_descend(search);
  status = conclude(context, search, out);
  if (status || !search->stopped) return status;
  return cvy_fail(search->stopped, "%s", search->sentence);
}

/* ------------------------------------------------------------------------------------- entry */

/* What is not used as tuned after faults is not tuned. */
static convoy_status check_level(const convoy_context *context, const cvy_engine *engine,
                                 const cvy_problem *problem) {
  const cvy_fault_entry *why;
  if (cvy_chooser_level(&context->chooser, engine, problem, &why) == CVY_LEVEL_TUNED) {
    return CONVOY_OK;
  }
  return cvy_fail(CONVOY_ERR_UNSUPPORTED, "%s is not tuned for this class after faults, last: %s",
                  engine->facts.info.id, why->reason);
}

static convoy_status tune(convoy_context *context, cvy_bench *bench, double seconds,
                          convoy_tuned *out) {
  double start = context->call.start, most = 0.5 * context->options.wait_budget;
  cvy_search *search = calloc(1, sizeof(*search));
  if (!search) return cvy_fail(CONVOY_ERR_MEMORY, "no memory for tuning");
  if (seconds > most) seconds = most;
  search->bench = bench;
  search->end = start + SEARCH_SHARE * seconds;
  search->finish = start + seconds;
  uint64_t *in_use;
  convoy_status status = note_programs_in_use(&context->chooser.records, search, &in_use);
  if (!status) status = search_with(context, search, out);
  free(in_use);
  free(search);
  return status;
}

convoy_status cvy_tune(convoy_context *context, const cvy_problem *problem, double seconds,
                       convoy_tuned *out) {
  convoy_tuned found = {.struct_size = sizeof(found)};
  cvy_bench bench;
  if (!(seconds >= 0)) return cvy_fail(CONVOY_ERR_ARGUMENT, "seconds is %g", seconds);
  if (cvy_problem_empty(problem))
    return cvy_fail(CONVOY_ERR_SHAPE, "n is 0: there is nothing to time");
  convoy_status status = cvy_device_check(context);
  if (!status) status = cvy_records_check();
  if (!status) status = check_level(context, cvy_context_engine(context), problem);
  if (status) return status;
  context->call.interruptible = true;
  status = cvy_bench_open(context, problem, &bench);
  if (!status) status = tune(context, &bench, seconds > 0 ? seconds : STANDARD_SECONDS, &found);
  cvy_bench_close(&bench);
  if (!status) cvy_struct_out(out, &found, sizeof(found), sizeof(found));
  return status;
}
