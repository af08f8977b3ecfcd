/* What is verified when.
 *
 * First use. Before an algorithm's result on a shape class is used for the first time in a process,
 * its output is filled with NaN, the operation runs on its actual operands, and the whole result is
 * compared with the CPU engine's. Where that would take the CPU more than WHOLE_FLOPS, the result's
 * 32 corners and up to 224 other elements are computed by their definition instead, as many as
 * DEFINITION_TERMS allow and at least FEWEST: unlike a scaled-down problem they see the addresses
 * that are really used.
 *
 * Sampling. A device that lies in a share s = 1 % of a result's elements escapes one random element
 * with probability 1 - s. With e = ELEMENTS / every elements per operation, all of n = 5,000
 * operations escape with (1 - s)^(e n). At the lowest rate, 4 elements of every 16th operation, e n
 * = 1,250 and 0.99^1250 < 0.00001: far more than the 99 % promised, which leaves room for lies that
 * come in clusters. The rate goes up to 4 elements of every operation as long as sampling takes
 * less than BUDGET of the time, and down when it takes more; which operations of a rate are sampled
 * follows from their number alone. What costs more than its own elements, fetching operands that
 * only the device has, is left out above the budget: results computed from such operands then come
 * with less.
 *
 * Reductions. Of a result of few elements, each computed from much, even a few by their definition
 * take longer than all of them by the CPU engine, which is then asked instead, in first uses and
 * for samples: that finds any lie in the result. What takes more than CHEAP_FLOPS either way, sums
 * over many thousands of numbers, is left out above the budget, too.
 *
 * A result is judged by what it was computed from; operands that only the device has are fetched
 * and so judged first. What never reaches the host, nor anything computed from it, is not looked
 * at. */
#include "core/verify/verification.h"

#include <math.h>
#include <stdatomic.h>
#include <string.h>

#include "core/exec/store.h"
#include "os/os.h"

enum { ELEMENTS = 4, TAPPED = 60, SELDOMEST = 16, FEWEST = 48, DEEPEST = 16 };
#define WHOLE_FLOPS 2e8
#define ENGINE_SPEED 64.0    /* what the CPU engine computes in the time of one by definition */
#define EXCERPT_TERMS 1.6e6  /* of an excerpt by definition: a millisecond or two */
#define CHEAP_FLOPS 1e5      /* of the CPU engine's: some tens of microseconds */
#define DEFINITION_TERMS 1e7 /* also of a whole result that only the definition can judge */
#define BUDGET \
  0.005 /* below the 1 % promised: the rate follows with delay, and looking costs too */
#define LOOK_BACK 2.0 /* seconds after which older time counts half */

void cvy_verification_start(cvy_verification *verification) {
  verification->every = 1;
  verification->since = cvy_clock();
}

/* ------------------------------------------------------------------------------- first uses */

/* What has been found right in this process, by hash. A use may lie in any place of its row. With a
 * single one, two uses out of a hundred that met there would be tested anew in every step, in turn:
 * that took three quarters of a step's time. A row that is full loses its oldest. */
enum { PROVEN_ROWS = 512, PROVEN_PLACES = 8 };
static _Atomic uint64_t proven[PROVEN_ROWS][PROVEN_PLACES];
static _Atomic uint32_t proven_next[PROVEN_ROWS];

static uint64_t hash_text(uint64_t seed, const char *text) {
  return cvy_hash(seed, text, strlen(text) + 1);
}

static uint64_t use_hash(const cvy_engine *engine, const cvy_problem *problem,
                         const cvy_choice *choice) {
  char shape_class[CVY_CLASS_TEXT];
  cvy_shape_class(problem, shape_class, sizeof shape_class);
  uint64_t hash = hash_text(0, engine->facts.info.name);
  hash = hash_text(hash, engine->facts.info.driver);
  hash = hash_text(hash, cvy_chosen(engine, choice)->name);
  hash = hash_text(hash, shape_class);
  return cvy_hash(hash, &choice->params, sizeof choice->params);
}

static bool is_proven(uint64_t use) {
  for (int i = 0; i < PROVEN_PLACES; i++) {
    _Atomic uint64_t *place = &proven[use % PROVEN_ROWS][i];
    if (atomic_load_explicit(place, memory_order_relaxed) == use) return true;
  }
  return false;
}

void cvy_verification_number(convoy_context *context, cvy_node *node, const cvy_choice *choice,
                             cvy_store *const out[]) {
  int64_t number = ++context->verification.operations;
  for (int32_t i = 0; i < node->outputs; i++) out[i]->number = number;
  node->choice = *choice;
  node->unjudged = node->outputs;
  node->unproven = context->options.verify != CONVOY_VERIFY_OFF &&
                   !is_proven(use_hash(&context->device, &node->problem, choice));
}

static void prove(const convoy_context *context, const cvy_node *node) {
  uint64_t use = use_hash(&context->device, &node->problem, &node->choice);
  uint64_t row = use % PROVEN_ROWS;
  uint32_t next = atomic_fetch_add_explicit(&proven_next[row], 1, memory_order_relaxed);
  atomic_store_explicit(&proven[row][next % PROVEN_PLACES], use, memory_order_relaxed);
}

/* --------------------------------------------------------------------------- what it may cost */

static double elapsed(const cvy_verification *verification, double now) {
  return now - verification->since;
}

/* First uses, and results of which all is verified, are no part of the budget: they come once, or
 * were asked for. Neither is the look for suspects, which every result gets: of small results it is
 * the larger part, and would leave nothing for samples. */
static void spend(cvy_verification *verification, double began) {
  double now = cvy_clock();
  verification->spent += now - began;
  if (elapsed(verification, now) > LOOK_BACK) {
    verification->since += 0.5 * elapsed(verification, now);
    verification->spent *= 0.5;
  }
  double share = verification->spent / fmax(elapsed(verification, now), 1e-9);
  if (share > BUDGET && verification->every < SELDOMEST) verification->every *= 2;
  if (share < 0.5 * BUDGET && verification->every > 1) verification->every /= 2;
}

static bool can_afford(const cvy_verification *verification) {
  return verification->spent < BUDGET * elapsed(verification, cvy_clock());
}

static bool operands_here(const cvy_node *node) {
  for (int32_t i = 0; i < node->inputs; i++)
    if (!node->input[i]->host) return false;
  return true;
}

/* Whether the CPU engine makes the whole result sooner than the definition makes so many elements,
 * and nearly all of it will have the engine's bits. What is linear is judged wholly by two runs, on
 * copies of its operands: too much for a sample. */
static bool is_sooner_whole(const cvy_problem *problem, int32_t elements) {
  double definition = (double)elements * (double)cvy_problem_terms(problem);
  return !cvy_operation_of(problem)->absolute &&
         cvy_problem_flops(problem) <= ENGINE_SPEED * definition;
}

/* What is linear is worth its elements' price whatever it is: the promise above is for it. */
static bool is_cheap(const cvy_problem *problem) {
  double definition = (double)ELEMENTS * (double)cvy_problem_terms(problem);
  return cvy_operation_of(problem)->absolute || ENGINE_SPEED * definition <= CHEAP_FLOPS ||
         cvy_problem_flops(problem) <= CHEAP_FLOPS;
}

static bool is_sampled(const cvy_store *store) {
  const cvy_verification *verification = &store->context->verification;
  if (store->tapped) return true;
  if (cvy_hash(0, &store->number, sizeof store->number) % (uint64_t)verification->every)
    return false;
  const cvy_node *node = store->history;
  return (operands_here(node) && is_cheap(&node->problem)) || can_afford(verification);
}

/* ----------------------------------------------------------------------------------- planning */

/* Where the CPU engine's result says enough, a whole one costs what the engine takes. */
static double whole_flops(const cvy_problem *problem) {
  const cvy_operation *row = cvy_operation_of(problem);
  return row->absolute || !row->bound ? WHOLE_FLOPS : DEFINITION_TERMS;
}

static void plan_first_use(const cvy_store *store, int64_t count, cvy_verification_plan *out) {
  const cvy_problem *problem = &store->history->problem;
  double terms = DEFINITION_TERMS / (double)cvy_problem_terms(problem);
  out->whole =
      cvy_problem_flops(problem) <= whole_flops(problem) || is_sooner_whole(problem, FEWEST);
  if (out->whole) return;
  cvy_sample_corners(problem, store->output, &out->samples);
  int32_t more = terms > CVY_MOST_SAMPLES ? CVY_MOST_SAMPLES : (int32_t)terms;
  if (more < FEWEST) more = FEWEST;
  cvy_sample_any(count, more - out->samples.count, (uint64_t)store->number, &out->samples);
}

/* What a graph's run computed on its way has left the device; of such runs single operations are
 * verified whose operands were kept for it (graph/taps.h). */
static bool has_operands(const cvy_node *node) {
  for (int32_t i = 0; i < node->inputs; i++)
    if (!cvy_store_is_there(node->input[i])) return false;
  return true;
}

bool cvy_verification_applies(const cvy_store *store) {
  int32_t verify = store->context->options.verify;
  if (verify == CONVOY_VERIFY_OFF || !store->number || !store->bytes) return false;
  if (store->history->composite) return false;
  return verify == CONVOY_VERIFY_ALL || has_operands(store->history);
}

bool cvy_verification_may_tap(const convoy_context *context) {
  return context->options.verify == CONVOY_VERIFY_SAMPLE && can_afford(&context->verification);
}

/* First uses, and what was asked for. */
static bool is_unlimited(const cvy_store *store) {
  return store->history->unproven || store->context->options.verify == CONVOY_VERIFY_ALL;
}

bool cvy_verification_plan_for(const cvy_store *store, const float *values,
                               cvy_verification_plan *out) {
  cvy_verification *verification = &store->context->verification;
  cvy_array array = cvy_problem_output(&store->history->problem, store->output);
  int64_t count = cvy_array_count(&array);
  if (verification->nesting == 1) verification->unlimited = is_unlimited(store);
  out->whole = store->context->options.verify == CONVOY_VERIFY_ALL;
  out->samples.count = 0;
  if (out->whole) return true;
  if (store->history->unproven) {
    plan_first_use(store, count, out);
    return true;
  }
  if (verification->nesting > DEEPEST) return false; /* the stack has an end */
  cvy_sample_suspects(&array, values, (uint64_t)store->number, &out->samples);
  int32_t more = store->tapped ? TAPPED : ELEMENTS;
  if (is_sampled(store)) cvy_sample_any(count, more, (uint64_t)store->number, &out->samples);
  out->whole = is_sooner_whole(&store->history->problem, out->samples.count);
  return out->samples.count > 0;
}

/* ------------------------------------------------------------------------------------ judging */

double cvy_verification_begin(convoy_context *context) {
  context->verification.nesting++;
  return cvy_clock();
}

void cvy_verification_end(convoy_context *context, double began) {
  if (--context->verification.nesting == 0)
    context->health.verify_nanoseconds += (int64_t)((cvy_clock() - began) * 1e9);
}

/* What is fetched for one result is judged meanwhile, on its budget; where that one has none, each
 * counts for itself. */
void cvy_verification_charge(const cvy_store *store, double began, double judging) {
  cvy_verification *verification = &store->context->verification;
  if (is_unlimited(store)) return;
  if (verification->nesting == 1)
    spend(verification, began);
  else if (verification->unlimited)
    spend(verification, judging);
}

convoy_status cvy_verification_judge(const cvy_store *store, const float *values,
                                     const float *const in[], const cvy_verification_plan *plan,
                                     bool *right, cvy_mismatch *found) {
  convoy_context *context = store->context;
  const cvy_node *node = store->history;
  cvy_claim claim = {.cpu = &context->cpu,
                     .problem = &node->problem,
                     .output = store->output,
                     .result = values,
                     .row = cvy_chosen(&context->device, &node->choice)};
  for (int32_t i = 0; i < node->inputs; i++) claim.from.in[i] = in[i];
  context->health.verified++;
  if (plan->whole) return cvy_check_whole(&context->chooser, &context->cpu, &claim, right, found);
  *right = cvy_check_samples(&claim, &plan->samples, found);
  return CONVOY_OK;
}

/* As many as it may take, and at least what a tap is for. */
static int32_t elements_worth(const cvy_problem *problem) {
  double elements = EXCERPT_TERMS / (double)cvy_problem_terms(problem);
  if (elements > CVY_MOST_SAMPLES) return CVY_MOST_SAMPLES;
  return elements > TAPPED ? (int32_t)elements : TAPPED;
}

static convoy_status judge_result(convoy_context *context, const cvy_carried_out *what,
                                  cvy_claim *claim, bool *right, cvy_mismatch *found) {
  const cvy_array array = cvy_problem_output(claim->problem, claim->output);
  int32_t elements = elements_worth(claim->problem);
  cvy_samples samples = {.count = 0};
  context->health.verified++;
  if (is_sooner_whole(claim->problem, elements))
    return cvy_check_whole(&context->chooser, &context->cpu, claim, right, found);
  cvy_sample_suspects(&array, claim->result, (uint64_t)what->number, &samples);
  cvy_sample_any(cvy_array_count(&array), elements, (uint64_t)what->number, &samples);
  *right = cvy_check_samples(claim, &samples, found);
  return CONVOY_OK;
}

convoy_status cvy_verification_judge_excerpt(convoy_context *context, const cvy_carried_out *what,
                                             const cvy_excerpt *excerpt, const float *const in[],
                                             const float *const out[], bool *right,
                                             cvy_mismatch *found) {
  cvy_claim claim = {.cpu = &context->cpu,
                     .problem = &excerpt->problem,
                     .row = cvy_chosen(&context->device, what->choice)};
  convoy_status status = CONVOY_OK;
  *right = true;
  for (int32_t i = 0; i < cvy_problem_reads(&excerpt->problem); i++) claim.from.in[i] = in[i];
  for (int32_t i = 0; i < cvy_problem_outputs(&excerpt->problem) && *right && !status; i++) {
    claim.output = i;
    claim.result = out[i];
    status = judge_result(context, what, &claim, right, found);
  }
  return status;
}

void cvy_verification_spend(convoy_context *context, double began) {
  if (context->verification.nesting == 1) spend(&context->verification, began);
}

void cvy_verification_prove(const convoy_context *context, cvy_node *node) {
  if (node->unproven && --node->unjudged == 0) prove(context, node);
}

void cvy_verification_right(convoy_context *context, const cvy_carried_out *what) {
  cvy_verification *verification = &context->verification;
  if (what->number < verification->verified) return;
  verification->verified = what->number;
  verification->verified_ticket = what->ticket;
  cvy_problem_copy(&verification->verified_problem, what->problem);
}

/* All that was computed since the last verified operation is suspect; at least this one is. */
uint64_t cvy_verification_wrong(const convoy_context *context, const cvy_carried_out *what,
                                const cvy_mismatch *found) {
  const cvy_verification *verification = &context->verification;
  bool later = verification->verified >= what->number;
  int64_t first = later ? what->number : verification->verified + 1;
  char problem[CONVOY_PROBLEM_TEXT], known[CONVOY_PROBLEM_TEXT];
  char last[CONVOY_PROBLEM_TEXT + 64] = "none was verified before";
  cvy_problem_text(what->problem, problem, sizeof problem);
  cvy_text text = cvy_text_in(last, sizeof last);
  if (verification->verified) {
    cvy_problem_text(&verification->verified_problem, known, sizeof known);
    cvy_text_add(&text, "%lld (%s) was the last verified", (long long)verification->verified,
                 known);
  }
  cvy_fail(CONVOY_ERR_WRONG,
           "element %lld of %s is %.9g, not %.9g; suspect are operations %lld to %lld, %s",
           (long long)found->index, problem, found->got, found->wanted, (long long)first,
           (long long)verification->operations, last);
  return later ? what->ticket : verification->verified_ticket + 1;
}
