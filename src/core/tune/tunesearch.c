/* Coordinate descent over an algorithm's parameters, with medians of few samples on the way and of
 * more at the end. */
#include "core/tune/tunesearch.h"

#include <stdlib.h>
#include <string.h>

#include "core/exec/device.h"
#include "core/tune/params.h"
#include "core/tune/precompile.h"
#include "os/os.h"

enum { QUICK_SAMPLES = 3, BATCH_MOST = 256, FURTHEST_STEP = 3 };
#define SAMPLE_SECONDS 0.002
#define HOPELESS 2.0  /* times the best: one sample is enough to know */
#define CONTENDER 1.1 /* times the best: worth checking */
#define NEAR 1.5      /* an algorithm whose start is within that of the best is looked into */
#define SAME 1.01
#define IN_USE_COSTS 1.03
#define UNUSABLE 0.25 /* spread of the samples of one candidate */

/* ----------------------------------------------------------------------------------- timing */

static int ascending(const void *a, const void *b) {
  double left = *(const double *)a, right = *(const double *)b;
  return (left > right) - (left < right);
}

static void summarize(cvy_trial *trial) {
  double sorted[CVY_SAMPLES];
  int n = trial->count;
  memcpy(sorted, trial->sample, sizeof(sorted));
  qsort(sorted, (size_t)n, sizeof(sorted[0]), ascending);
  trial->median = 0.5 * (sorted[(n - 1) / 2] + sorted[n / 2]);
  trial->spread = (sorted[n - 1 - n / 4] - sorted[n / 4]) / trial->median;
}

static convoy_status sample(cvy_search *search, cvy_trial *trial) {
  double seconds;
  convoy_status status = cvy_bench_time(search->bench, &trial->choice, trial->batch, &seconds);
  if (status) return status;
  trial->sample[trial->count++] = seconds;
  summarize(trial);
  return CONVOY_OK;
}

/* Runs per sample, so that one is long enough for the clock. Compiling is over then. */
static convoy_status find_batch(cvy_search *search, cvy_trial *trial) {
  double seconds;
  trial->batch = 1;
  convoy_status status = cvy_bench_time(search->bench, &trial->choice, 1, &seconds);
  for (int i = 0; i < 4 && !status && trial->batch < BATCH_MOST; i++) {
    status = cvy_bench_time(search->bench, &trial->choice, trial->batch, &seconds);
    if (seconds * trial->batch >= SAMPLE_SECONDS) break;
    double wanted = 1.2 * SAMPLE_SECONDS / (seconds > 1e-9 ? seconds : 1e-9) + 1.0;
    trial->batch = wanted < BATCH_MOST ? (int)wanted : BATCH_MOST;
  }
  return status;
}

/* ------------------------------------------------------------------------------- candidates */

/* The fastest that is right; -1: none yet. */
static int fastest(const cvy_search *search) {
  int best = -1;
  for (int i = 0; i < search->count; i++) {
    const cvy_trial *trial = &search->trial[i];
    if (!trial->checked || trial->failed) continue;
    if (best < 0 || trial->median < search->trial[best].median) best = i;
  }
  return best;
}

static double fastest_seconds(const cvy_search *search) {
  int best = fastest(search);
  return best < 0 ? 1e30 : search->trial[best].median;
}

static convoy_status time_and_check(cvy_search *search, cvy_trial *trial) {
  double best = fastest_seconds(search);
  convoy_status status = find_batch(search, trial);
  while (!status && trial->count < QUICK_SAMPLES) {
    status = sample(search, trial);
    if (trial->median > HOPELESS * best || cvy_clock() >= search->end) break;
  }
  if (status || trial->median > CONTENDER * best) return status;
  status = cvy_bench_check(search->bench, &trial->choice, &trial->checked);
  trial->failed = !trial->checked;
  return status;
}

/* A candidate that fails is left out; what ends the device or the tuning ends the search. */
static void judge(cvy_search *search, cvy_trial *trial, convoy_status status) {
  const cvy_bench *bench = search->bench;
  if (!status) return;
  trial->failed = true;
  bool usable = bench->engine->backend->host_memory || cvy_device_ready(bench->context);
  if (status != CONVOY_ERR_INTERRUPTED && usable) {
    cvy_log(CONVOY_LOG_INFO, "tuning leaves out %s: %s",
            cvy_chosen(bench->engine, &trial->choice)->name, cvy_last_error());
    return;
  }
  search->stopped = status;
  cvy_text_copy(search->sentence, sizeof(search->sentence), cvy_last_error());
}

static bool runs_in_use(const cvy_search *search, const cvy_choice *choice) {
  uint64_t hash = cvy_programs_hash(cvy_chosen(search->bench->engine, choice), &choice->params,
                                    &search->bench->node->problem);
  for (int32_t i = 0; i < search->in_use_count; i++) {
    if (search->in_use[i] == hash) return true;
  }
  return false;
}

static int find(const cvy_search *search, const cvy_choice *choice) {
  for (int i = 0; i < search->count; i++) {
    if (cvy_choice_same(&search->trial[i].choice, choice)) return i;
  }
  return -1;
}

static bool is_over(const cvy_search *search) {
  return search->stopped || search->count == CVY_TRIALS || cvy_clock() >= search->end;
}

static void tell(const cvy_search *search, const cvy_trial *trial) {
  char params[128], problem[CONVOY_PROBLEM_TEXT];
  const cvy_algorithm *algorithm = cvy_chosen(search->bench->engine, &trial->choice);
  if (!cvy_log_wanted(CONVOY_LOG_DEBUG)) return;
  cvy_problem_text(&search->bench->node->problem, problem, sizeof(problem));
  cvy_params_text(algorithm, &trial->choice.params, params, sizeof(params));
  cvy_log(CONVOY_LOG_DEBUG, "tuning %s: %s %s %s %.6g ms", problem, algorithm->name, params,
          trial->failed ? "failed" : "took", 1e3 * trial->median);
}

int cvy_search_try(cvy_search *search, const cvy_choice *choice) {
  int known = find(search, choice);
  if (known >= 0) return search->trial[known].failed ? -1 : known;
  if (is_over(search) && search->count) return -1;
  cvy_trial *trial = &search->trial[search->count++];
  *trial = (cvy_trial){.choice = *choice, .in_use = runs_in_use(search, choice)};
  judge(search, trial, time_and_check(search, trial));
  tell(search, trial);
  return trial->failed ? -1 : search->count - 1;
}

void cvy_search_announce(const cvy_search *search, const cvy_choice *choice) {
  bool compiles = !search->bench->engine->backend->host_memory;
  if (!compiles || find(search, choice) >= 0) return;
  cvy_precompile_choice(search->bench->context, &search->bench->node->problem, choice);
}

/* ----------------------------------------------------------------------------------- search */

/* The candidate one step of one parameter away; false if there is none. */
static bool neighbour(const cvy_search *search, const cvy_choice *from, int which, int steps,
                      cvy_choice *out) {
  const cvy_engine *engine = search->bench->engine;
  const cvy_problem *problem = &search->bench->node->problem;
  const cvy_algorithm *algorithm = cvy_chosen(engine, from);
  *out = *from;
  if (!cvy_params_step(algorithm, problem, &engine->facts, &from->params, which, steps,
                       &out->params)) {
    return false;
  }
  out->workspace =
      algorithm->workspace ? algorithm->workspace(problem, &engine->facts, &out->params) : 0;
  return out->workspace <= engine->facts.workspace_limit;
}

/* All that may be tried next: what comes first is put on the stack last. */
static void announce_around(const cvy_search *search, int steps, int at) {
  const cvy_choice *from = &search->trial[at].choice;
  int count = cvy_params_count(cvy_chosen(search->bench->engine, from));
  for (int turn = 2 * count - 1; turn >= 0; turn--) {
    cvy_choice next;
    if (neighbour(search, from, turn / 2, turn % 2 ? -steps : steps, &next)) {
      cvy_search_announce(search, &next);
    }
  }
}

/* One step of one parameter; true if that is better, and *at is there then. */
static bool step(cvy_search *search, int which, int steps, int *at) {
  cvy_choice next;
  if (!neighbour(search, &search->trial[*at].choice, which, steps, &next)) return false;
  int tried = cvy_search_try(search, &next);
  if (tried < 0 || !search->trial[tried].checked) return false;
  if (!(SAME * search->trial[tried].median < search->trial[*at].median)) return false;
  *at = tried;
  announce_around(search, steps, *at);
  return true;
}

/* Each parameter up and down, on as long as it gets better. What compiles nothing comes first. */
static bool sweep(cvy_search *search, int steps, int *at) {
  const cvy_algorithm *algorithm = cvy_chosen(search->bench->engine, &search->trial[*at].choice);
  int count = cvy_params_count(algorithm);
  bool better = false;
  announce_around(search, steps, *at);
  for (int turn = 0; turn < 2 * count && !is_over(search); turn++) {
    int which = turn % count;
    bool launch_only = algorithm->launch_params >> which & 1;
    if (launch_only != (turn < count)) continue;
    while (step(search, which, steps, at)) better = true;
    while (step(search, which, -steps, at)) better = true;
  }
  return better;
}

/* From one candidate to a place where nothing near is better; longer steps when short ones end. */
static void walk(cvy_search *search, int at) {
  int steps = 1;
  while (steps <= FURTHEST_STEP && !is_over(search)) {
    steps = sweep(search, steps, &at) ? 1 : steps + 1;
  }
}

/* The best candidate of a row; -1: none. */
static int best_of(const cvy_search *search, int32_t row) {
  int best = -1;
  for (int i = 0; i < search->count; i++) {
    const cvy_trial *trial = &search->trial[i];
    if (trial->choice.row != row || trial->failed) continue;
    if (best < 0 || trial->median < search->trial[best].median) best = i;
  }
  return best;
}

void cvy_search_descend(cvy_search *search) {
  const cvy_engine *engine = search->bench->engine;
  int first = fastest(search);
  if (first < 0) return;
  walk(search, first);
  for (int32_t row = 0; engine->backend->algorithms[row]; row++) {
    int at = best_of(search, row);
    if (at < 0 || row == search->trial[first].choice.row) continue;
    if (search->trial[at].median <= NEAR * fastest_seconds(search)) walk(search, at);
  }
}

/* ----------------------------------------------------------------------------------- finals */

static bool is_listed(const int list[], int count, int place) {
  for (int i = 0; i < count; i++) {
    if (list[i] == place) return true;
  }
  return false;
}

/* Adds the fastest not yet in the list. */
static int add_fastest(const cvy_search *search, bool in_use_only, int list[], int count) {
  int best = -1;
  for (int i = 0; i < search->count; i++) {
    const cvy_trial *trial = &search->trial[i];
    if (trial->failed || !trial->checked || is_listed(list, count, i)) continue;
    if (in_use_only && !trial->in_use) continue;
    if (best < 0 || trial->median < search->trial[best].median) best = i;
  }
  if (best >= 0) list[count++] = best;
  return count;
}

/* Interleaved, so that what the machine does meanwhile falls on all alike. */
int cvy_search_finals(cvy_search *search, int finalists[CVY_FINALISTS]) {
  int count = 0;
  if (!search->trial[0].failed) finalists[count++] = 0;
  count = add_fastest(search, true, finalists, count);
  while (count < CVY_FINALISTS) {
    int more = add_fastest(search, false, finalists, count);
    if (more == count) break;
    count = more;
  }
  for (int i = 0; i < count; i++) search->trial[finalists[i]].count = 0;
  for (int round = 0; round < CVY_SAMPLES && !search->stopped; round++) {
    if (round && cvy_clock() >= search->finish) break;
    for (int i = 0; i < count && !search->stopped; i++) {
      cvy_trial *trial = &search->trial[finalists[i]];
      judge(search, trial, sample(search, trial));
    }
  }
  return count;
}

int cvy_search_decide(const cvy_search *search, const int finalists[], int count) {
  int best = -1, chosen = -1;
  for (int i = 0; i < count; i++) {
    const cvy_trial *trial = &search->trial[finalists[i]];
    if (trial->failed) continue;
    if (best < 0 || trial->median < search->trial[best].median) best = finalists[i];
  }
  if (best < 0 || search->trial[best].spread > UNUSABLE) return -1;
  double most = search->trial[best].median;
  for (int i = 0; i < count; i++) {
    const cvy_trial *trial = &search->trial[finalists[i]];
    if (trial->failed || !trial->in_use || trial->median > IN_USE_COSTS * most) continue;
    if (chosen < 0 || trial->median < search->trial[chosen].median) chosen = finalists[i];
  }
  if (chosen >= 0) return chosen;
  const cvy_trial *untuned = &search->trial[0];
  double noise = 1.0 + untuned->spread / 2;
  bool same = untuned->median <= most * (noise > SAME ? noise : SAME);
  return !untuned->failed && same ? 0 : best;
}
