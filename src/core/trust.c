/* What is verified when.
 *
 * First use. Before an algorithm's result on a shape class is used for the first time in a process, its
 * output is filled with NaN, the operation runs on its actual operands, and the whole result is compared
 * with the CPU engine's. Where that would take the CPU more than WHOLE_FLOPS, the result's 32 corners and
 * up to 224 other elements are computed by their definition instead, as many as DEFINITION_TERMS allow
 * and at least FEWEST: unlike a scaled-down problem they see the addresses that are really used.
 *
 * Sampling. A device that lies in a share s = 1 % of a result's elements escapes one random element with
 * probability 1 - s. With e = ELEMENTS / every elements per operation, all of n = 5,000 operations escape
 * with (1 - s)^(e n). At the lowest rate, 4 elements of every 16th operation, e n = 1,250 and
 * 0.99^1250 < 0.00001: far more than the 99 % promised, which leaves room for lies that come in
 * clusters. The rate goes up to 4 elements of
 * every operation as long as sampling takes less than BUDGET of the time, and down when it takes more;
 * which operations of a rate are sampled follows from their number alone. What costs more than its own
 * elements, fetching operands that only the device has, is left out above the budget: results computed from
 * such operands then come with less.
 *
 * A result is judged by what it was computed from; operands that only the device has are fetched and so
 * judged first. What never reaches the host, nor anything computed from it, is not looked at. */
#include "core/trust.h"

#include <math.h>
#include <stdatomic.h>
#include <string.h>

#include "core/device.h"
#include "core/strikefile.h"
#include "core/verify.h"
#include "os/os.h"

enum { ELEMENTS = 4, SELDOMEST = 16, FEWEST = 48 };
#define WHOLE_FLOPS 2e8
#define DEFINITION_TERMS 1e7
#define BUDGET \
  0.005 /* below the 1 % promised: the rate follows with delay, and looking costs too */
#define LOOK_BACK 2.0 /* seconds after which older time counts half */

/* ------------------------------------------------------------------------------- first uses */

/* What has been found right in this process, by hash. A use may lie in any place of its row. With a
 * single one, two uses out of a hundred that met there would be tested anew in every step, in turn: that
 * took three quarters of a step's time. A row that is full loses its oldest. */
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

void cvy_trust_number(convoy_context *context, const cvy_op *op, const cvy_choice *choice,
                      cvy_store *out) {
  out->number = ++context->trust.operations;
  out->choice = *choice;
  out->unproven = context->options.verify != CONVOY_VERIFY_OFF &&
                  !is_proven(use_hash(&context->device, &op->problem, choice));
}

static void prove(const cvy_store *store) {
  uint64_t use = use_hash(&store->context->device, &store->history.problem, &store->choice);
  uint64_t row = use % PROVEN_ROWS;
  uint32_t next = atomic_fetch_add_explicit(&proven_next[row], 1, memory_order_relaxed);
  atomic_store_explicit(&proven[row][next % PROVEN_PLACES], use, memory_order_relaxed);
}

/* --------------------------------------------------------------------------- what it may cost */

static double elapsed(const cvy_trust *trust, double now) {
  return now - trust->since;
}

/* First uses, and results of which all is verified, are no part of the budget: they come once, or were
 * asked for. Neither is the look for suspects, which every result gets: of small results it is the
 * larger part, and would leave nothing for samples. */
static void spend(cvy_trust *trust, double began) {
  double now = cvy_clock();
  trust->spent += now - began;
  if (elapsed(trust, now) > LOOK_BACK) {
    trust->since += 0.5 * elapsed(trust, now);
    trust->spent *= 0.5;
  }
  double share = trust->spent / fmax(elapsed(trust, now), 1e-9);
  if (share > BUDGET && trust->every < SELDOMEST) trust->every *= 2;
  if (share < 0.5 * BUDGET && trust->every > 1) trust->every /= 2;
}

static bool can_afford(const cvy_trust *trust) {
  return trust->spent < BUDGET * elapsed(trust, cvy_clock());
}

static bool operands_here(const cvy_op *op) {
  for (int i = 0; i < CVY_OP_INPUTS; i++) {
    const cvy_store *input = cvy_op_input(op, i);
    if (input && !input->host) return false;
  }
  return true;
}

static bool is_sampled(const cvy_store *store) {
  const cvy_trust *trust = &store->context->trust;
  if (cvy_hash(0, &store->number, sizeof store->number) % (uint64_t)trust->every) return false;
  return operands_here(&store->history) || can_afford(trust);
}

/* ---------------------------------------------------------------------------------- judging */

typedef struct plan {
  bool whole;
  cvy_picks picks;
} plan;

static void plan_first_use(const cvy_store *store, int64_t count, plan *out) {
  const cvy_problem *problem = &store->history.problem;
  double terms = DEFINITION_TERMS / (double)cvy_problem_terms(problem);
  out->whole = cvy_problem_flops(problem) <= WHOLE_FLOPS;
  if (out->whole) return;
  cvy_pick_corners(problem, &out->picks);
  int32_t more = terms > CVY_PICKS ? CVY_PICKS : (int32_t)terms;
  if (more < FEWEST) more = FEWEST;
  cvy_pick_any(count, more - out->picks.count, (uint64_t)store->number, &out->picks);
}

static void make_plan(const cvy_store *store, const float *values, plan *out) {
  int64_t count = store->bytes / (int64_t)sizeof(float);
  out->whole = store->context->options.verify == CONVOY_VERIFY_ALL;
  out->picks.count = 0;
  if (out->whole) return;
  if (store->unproven) {
    plan_first_use(store, count, out);
    return;
  }
  cvy_pick_suspects(values, count, (uint64_t)store->number, &out->picks);
  if (is_sampled(store)) cvy_pick_any(count, ELEMENTS, (uint64_t)store->number, &out->picks);
}

static const float *host_of(const cvy_store *store) {
  return store ? store->host : NULL;
}

static convoy_status fetch_operands(const cvy_op *op) {
  for (int i = 0; i < CVY_OP_INPUTS; i++) {
    cvy_store *input = cvy_op_input(op, i);
    convoy_status status = input ? cvy_store_fetch(input) : CONVOY_OK;
    if (status) return status;
  }
  return CONVOY_OK;
}

static convoy_status judge(cvy_store *store, const float *values, const plan *p, bool *right,
                           cvy_mismatch *found) {
  convoy_context *context = store->context;
  const cvy_op *op = &store->history;
  convoy_status status = fetch_operands(op);
  if (status) return status;
  /* An operand turned out wrong, or the device failed: what was computed from it went along. */
  if (!store->array) return cvy_fail(CONVOY_ERR_WRONG, "it was computed from a wrong result");
  const cvy_claim claim = {&op->problem,
                           {host_of(op->a), host_of(op->b), host_of(op->bias), host_of(op->prior)},
                           values,
                           cvy_chosen(&context->device, &store->choice)};
  context->health.verified++;
  if (p->whole) {
    return cvy_verify_whole(&context->chooser, &context->cpu, &claim, right, found);
  }
  *right = cvy_verify_picks(&claim, &p->picks, found);
  return CONVOY_OK;
}

static void note_right(const cvy_store *store) {
  cvy_trust *trust = &store->context->trust;
  if (store->unproven) prove(store);
  if (store->number < trust->verified) return;
  trust->verified = store->number;
  trust->verified_ticket = store->ticket;
  trust->verified_problem = store->history.problem;
}

/* All that was computed since the last verified operation is suspect; at least this one is. */
static convoy_status note_wrong(cvy_store *store, const cvy_mismatch *found) {
  convoy_context *context = store->context;
  const cvy_trust *trust = &context->trust;
  bool later = trust->verified >= store->number;
  int64_t first = later ? store->number : trust->verified + 1;
  char problem[CONVOY_PROBLEM_TEXT], known[CONVOY_PROBLEM_TEXT];
  char last[CONVOY_PROBLEM_TEXT + 64] = "none was verified before";
  cvy_problem_text(&store->history.problem, problem, sizeof problem);
  cvy_text text = cvy_text_in(last, sizeof last);
  if (trust->verified) {
    cvy_problem_text(&trust->verified_problem, known, sizeof known);
    cvy_text_add(&text, "%lld (%s) was the last verified", (long long)trust->verified, known);
  }
  cvy_fail(CONVOY_ERR_WRONG,
           "element %lld of %s is %.9g, not %.9g; suspect are operations %lld to %lld, %s",
           (long long)found->index, problem, found->got, found->wanted, (long long)first,
           (long long)trust->operations, last);
  return cvy_device_wrong(store, later ? store->ticket : trust->verified_ticket + 1);
}

static convoy_status verify(cvy_store *store, const float *values) {
  cvy_trust *trust = &store->context->trust;
  plan p;
  make_plan(store, values, &p);
  if (!p.whole && p.picks.count == 0) return CONVOY_OK;
  bool budgeted = trust->nesting == 1 && !store->unproven && !p.whole, right = true;
  cvy_mismatch found;
  double began = cvy_clock();
  convoy_status status = judge(store, values, &p, &right, &found);
  if (budgeted) spend(trust, began);
  if (status) return status;
  if (!right) return note_wrong(store, &found);
  note_right(store);
  return CONVOY_OK;
}

convoy_status cvy_trust_result(cvy_store *store, const float *values) {
  convoy_context *context = store->context;
  if (context->options.verify == CONVOY_VERIFY_OFF || !store->number || !store->bytes) {
    return CONVOY_OK;
  }
  double began = cvy_clock();
  context->trust.nesting++;
  convoy_status status = verify(store, values);
  if (--context->trust.nesting == 0) {
    context->health.verify_nanoseconds += (int64_t)((cvy_clock() - began) * 1e9);
  }
  return status;
}

/* ---------------------------------------------------------------------------------- strikes */

void cvy_trust_begin(convoy_context *context) {
  context->trust.every = 1;
  context->trust.since = cvy_clock();
  context->chooser.strike_limit = context->options.failover ? cvy_strike_limit() : 0;
  if (context->chooser.strike_limit) cvy_strikes_load(&context->chooser.strikes);
}

/* True the first time. The oldest of many is forgotten, and told again. */
static bool is_news(cvy_trust *trust, const char *shape_class, cvy_rung rung) {
  uint64_t hash = cvy_hash(hash_text(0, shape_class), &rung, sizeof rung);
  for (size_t i = 0; i < CVY_COUNT(trust->told); i++) {
    if (trust->told[i] == hash) return false;
  }
  trust->told[(size_t)trust->told_next++ % CVY_COUNT(trust->told)] = hash;
  return true;
}

bool cvy_trust_allows(convoy_context *context, const cvy_op *op) {
  const cvy_strike *why;
  const cvy_engine *engine = &context->device;
  cvy_rung rung = cvy_chooser_rung(&context->chooser, engine, &op->problem, &why);
  if (rung == CVY_RUNG_TUNED) return true;
  char shape_class[CVY_CLASS_TEXT], example[CVY_EXAMPLE_TEXT];
  cvy_shape_class(&op->problem, shape_class, sizeof shape_class);
  if (is_news(&context->trust, shape_class, rung)) {
    cvy_class_example(&op->problem, example, sizeof example);
    cvy_report(
        context, CONVOY_EVENT_DOWNGRADE, CONVOY_OK, "",
        "%s for problems like %s on %s: %s failed %d times, last: %s (`convoy health --clear` "
        "forgives)",
        rung == CVY_RUNG_CPU ? "the CPU" : "only conservative algorithms", example,
        engine->facts.info.id, why->algorithm, (int)why->count, why->reason);
  }
  return rung != CVY_RUNG_CPU;
}

bool cvy_trust_refused(convoy_context *context, const cvy_problem *problem) {
  char shape_class[CVY_CLASS_TEXT];
  cvy_shape_class(problem, shape_class, sizeof shape_class);
  return is_news(&context->trust, shape_class, CVY_RUNGS);
}

/* The operation that command `ticket` belongs to. A worker that is gone has told only what was done for
 * certain: there it is the first operation not known to be. */
static const cvy_store *store_of(const convoy_context *context, uint64_t ticket) {
  cvy_usage usage = {0};
  context->device.backend->usage(context->device.device, &usage);
  const uint64_t last = usage.process ? ticket : UINT64_MAX - 1;
  const cvy_store *found = NULL;
  for (const cvy_store *each = context->stores; each; each = each->next) {
    if (!each->number || !each->array || each->ticket < ticket || each->ticket > last) continue;
    if (!found || each->ticket < found->ticket) found = each;
  }
  return found;
}

/* Where the device stood when the operation's algorithm was chosen; now, where there is none. */
static cvy_rung rung_of(const convoy_context *context, const cvy_store *store,
                        const cvy_strike *strike) {
  const cvy_strike *unused;
  const cvy_rung rung = store && store->has_history
                            ? store->choice.rung
                            : cvy_strikes_rung(&context->chooser.strikes, strike->device,
                                               strike->driver, strike->shape_class, strike->last,
                                               context->chooser.strike_limit, &unused);
  return rung == CVY_RUNG_CPU ? CVY_RUNG_CONSERVATIVE : rung;
}

void cvy_trust_fault(convoy_context *context, uint64_t ticket, convoy_status status,
                     const char *sentence) {
  /* A lack of memory, or of understanding between the processes, is nobody's fault. */
  const bool is_nobodys = status == CONVOY_ERR_MEMORY || status == CONVOY_ERR_IO;
  if (!context->chooser.strike_limit || is_nobodys) return;
  const cvy_engine *engine = &context->device;
  const cvy_store *store = store_of(context, ticket);
  cvy_strike strike = {.algorithm = "*", .shape_class = "*", .count = 1, .last = cvy_date()};
  if (store && store->has_history) {
    const char *name = cvy_chosen(engine, &store->choice)->name;
    cvy_text_copy(strike.algorithm, sizeof strike.algorithm, name);
    cvy_shape_class(&store->history.problem, strike.shape_class, sizeof strike.shape_class);
    cvy_class_example(&store->history.problem, strike.example, sizeof strike.example);
  }
  cvy_text_copy(strike.device, sizeof strike.device, engine->facts.info.name);
  cvy_text_copy(strike.driver, sizeof strike.driver, engine->facts.info.driver);
  cvy_text_copy(strike.reason, sizeof strike.reason, sentence);
  strike.rung = rung_of(context, store, &strike);
  cvy_strikes_note(&context->chooser.strikes, &strike);
}
