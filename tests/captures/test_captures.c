/* Random captures: operations, copies, writes, frees, cuts and gradients, each captured without its
 * cuts, with them, and once more run stage by stage while the caller writes tensors and gives up
 * runs. After every run every tensor has what the definition in float64 says: to the last bit on
 * integers, within the bounds of the headers on real data.
 * usage: test_captures DEVICE [COUNT [SEED [PLAIN [failover]]]]: of PLAIN captures one is fused,
 * since each fusion is a program that PoCL compiles for a while. Failover is for devices that a
 * layer below makes fail (tests/faults). */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "captures/carry.h"
#include "captures/meaning.h"
#include "common/device.h"

typedef enum way { WHOLE, CUT_UP, DISTURBED, WAYS } way;
static const char *const ways[WAYS] = {"without cuts", "with cuts", "stage by stage, disturbed"};

static const carrier *carrying; /* the context of the capture under way */
static bool is_quiet;

static bool fail(const char *format, int a, int b, double x, double y, double e) {
  if (is_quiet) return false;
  printf(format, a, b, x, y, e);
  return false;
}

/* -------------------------------------------------------------------------------------- comparing
 */

static bool compare(const meaning *m, const carried *a, int run) {
  for (int slot = 0; slot < SLOTS; slot++) {
    float got[MOST_ELEMENTS];
    if (!a->tensor[slot]) continue;
    if (!carry_read(a, slot, got)) return false;
    for (int i = 0; i < m->array[slot].count; i++) {
      double wanted = m->array[slot].v[i], may = m->exact ? 0 : m->array[slot].e[i];
      if (!(fabs((double)got[i] - wanted) <= may))
        return fail("slot %d after run %d: %.9g instead of %.9g, which may be off by %.3g\n", slot,
                    run, (double)got[i], wanted, may);
    }
  }
  return true;
}

static void write_both(meaning *m, const carried *a, int run, int stage) {
  for (int slot = 0; slot < SLOTS; slot++) {
    int time = script_time(run, stage);
    if (!script_is_written(m->s, time, slot)) continue;
    meaning_write(m, time, slot);
    carry_write(a, m->s, time, slot);
  }
}

static bool run_stage(meaning *m, const carried *a, int stage) {
  meaning_stage(m, stage);
  convoy_status status = convoy_graph_run_stage(a->graph, stage, NULL);
  carry_return_lent(carrying);
  return status == CONVOY_OK;
}

/* Of the second run some stages come to nothing. */
static bool run_disturbed(meaning *m, const carried *a, int run) {
  int stages = script_stages(m->s);
  bool fine = true;
  if (run == 1)
    for (int stage = 0; stage < stages - 1 - (int)(m->s->seed % 2) && fine; stage++)
      fine = run_stage(m, a, stage);
  for (int stage = 0; stage < stages && fine; stage++) {
    if (stage) write_both(m, a, run, stage);
    fine = run_stage(m, a, stage);
  }
  return fine;
}

static bool run_whole(meaning *m, const carried *a) {
  for (int stage = 0; stage < script_stages(m->s); stage++) meaning_stage(m, stage);
  convoy_status status = convoy_graph_run(a->graph, NULL);
  carry_return_lent(carrying);
  return status == CONVOY_OK;
}

static bool run_and_compare(const script *s, const carried *a, way how) {
  static meaning m;
  meaning_begin(s, &m);
  for (int run = 0; run < RUNS; run++) {
    write_both(&m, a, run, 0);
    bool fine = how == DISTURBED ? run_disturbed(&m, a, run) : run_whole(&m, a);
    if (m.tape->full) return true;
    if (!fine) {
      if (!is_quiet) printf("run %d: %s\n", run, convoy_last_error());
      return false;
    }
    if (!compare(&m, a, run)) return false;
  }
  return true;
}

/* -------------------------------------------------------------------------------------- refusals
 */

/* What is refused without cuts is refused with them, and nothing else. */
static bool check_refusals(script *s, const carried *a, way how) {
  static meaning m;
  for (int i = 0; i < s->steps; i++) {
    bool refused = a->status[i] != CONVOY_OK;
    if (how == WHOLE) s->step[i].refused = refused;
    if (refused != s->step[i].refused)
      return fail("step %d is refused with %d\n", i, refused, 0, 0, 0);
  }
  meaning_begin(s, &m);
  for (int i = 0; i < s->steps; i++) {
    if (s->step[i].what != GRADIENTS) continue;
    bool refused = s->step[i].refused;
    if (refused ? m.verdict[i] == LEGAL : m.verdict[i] == ILLEGAL)
      return fail("step %d is to be refused: refused with status %d\n", i, (int)a->status[i], 0, 0,
                  0);
  }
  return true;
}

static bool check_way(script *s, way how, carried *a) {
  bool fine = carry_capture(carrying, s, how != WHOLE, a);
  if (fine) fine = check_refusals(s, a, how) && run_and_compare(s, a, how);
  if (!fine && !is_quiet) printf("%s\n", ways[how]);
  return fine;
}

/* Reasons of what was refused that a definition may allow. */
static struct {
  char sentence[120];
  int count;
} reasons[20];
static int refused_captures;
static struct { int steps, cut, gradients, illegal; } seen;

static void count_steps(const script *s) {
  seen.steps += s->steps;
  seen.cut += script_stages(s) > 1;
  for (int i = 0; i < s->steps; i++) {
    if (s->step[i].what != GRADIENTS) continue;
    *(s->step[i].refused ? &seen.illegal : &seen.gradients) += 1;
  }
}

static void count_refusals(const script *s, const carried *a) {
  static meaning m;
  bool any = false;
  meaning_begin(s, &m);
  count_steps(s);
  for (int i = 0; i < s->steps; i++) {
    if (!s->step[i].refused || m.verdict[i] == ILLEGAL) continue;
    any = true;
    size_t r = 0;
    const char *why = strchr(a->sentence[i], ':') ? strchr(a->sentence[i], ':') : a->sentence[i];
    while (r < 19 && reasons[r].count && strcmp(reasons[r].sentence, why) != 0) r++;
    snprintf(reasons[r].sentence, sizeof reasons[r].sentence, "%s", why);
    reasons[r].count++;
  }
  refused_captures += any;
}

static bool check(script *s, bool counted) {
  static carried a;
  bool fine = true;
  for (int i = 0; i < s->steps; i++) s->step[i].refused = false;
  for (way how = WHOLE; how < WAYS && fine; how++) {
    fine = check_way(s, how, &a);
    if (fine && counted && how == WHOLE) count_refusals(s, &a);
    carry_free(&a);
  }
  return fine;
}

/* -------------------------------------------------------------------------------------- scripts */

/* Small enough for float32, and few gradients that have to be refused. */
static bool accepts(const script *s) {
  static meaning m;
  const step *last = &s->step[s->steps - 1];
  meaning_begin(s, &m);
  bool rare = script_random(s->seed, 3, (uint64_t)s->steps, 0) % 16 == 0;
  if (last->what == GRADIENTS && m.verdict[s->steps - 1] != LEGAL && !rare) return false;
  for (int run = 0; run < RUNS; run++) {
    for (int slot = 0; slot < SLOTS; slot++)
      if (script_is_written(s, script_time(run, 0), slot))
        meaning_write(&m, script_time(run, 0), slot);
    for (int stage = 0; stage < script_stages(s); stage++) meaning_stage(&m, stage);
    if (m.tape->full || (!s->real && !m.exact) || m.largest > 1e4) return false;
  }
  return true;
}

static void remove_step(script *s, int number) {
  s->steps--;
  memmove(&s->step[number], &s->step[number + 1], (size_t)(s->steps - number) * sizeof s->step[0]);
}

/* Leaves out steps as long as it fails. */
static void shrink(script *s) {
  bool smaller = true;
  is_quiet = true;
  while (smaller) {
    smaller = false;
    for (int i = s->steps - 1; i >= 0; i--) {
      script less = *s;
      remove_step(&less, i);
      if (check(&less, false)) continue;
      *s = less;
      smaller = true;
    }
  }
  is_quiet = false;
}

static bool check_seed(uint64_t seed) {
  static script s;
  script_make(seed, accepts, &s);
  if (check(&s, true)) return true;
  printf("seed %" PRIu64 " of %d steps fails; the smallest that does:\n", seed, s.steps);
  shrink(&s);
  script_print(&s);
  check(&s, false);
  fflush(stdout);
  return false;
}

int main(int argc, char **argv) {
  char device[64];
  int count = argc > 2 ? atoi(argv[2]) : 500, plain = argc > 4 ? atoi(argv[4]) : 2, failed = 0;
  uint64_t seed = argc > 3 ? strtoull(argv[3], NULL, 10) : 1;
  carrier fused, apart;
  bool failover = argc > 5 && strcmp(argv[5], "failover") == 0;
  int skipped = test_find(argc > 1 ? argv[1] : NULL, device, sizeof device);
  if (skipped) return skipped;
  carrier_open(device, "all", failover, &fused);
  carrier_open(device, "common,recompute,views", failover, &apart);
  printf("%d captures from seed %" PRIu64 " on %s\n", count, seed, device);
  for (int i = 0; i < count && failed < 5; i++) {
    carrying = (seed + (uint64_t)i) % (uint64_t)plain == 0 ? &fused : &apart;
    failed += !check_seed(seed + (uint64_t)i);
    if (i % 1000 == 999) fprintf(stderr, "%d captures, %d wrong\n", i + 1, failed);
  }
  carrier_close(&fused);
  carrier_close(&apart);
  printf("%d steps, %d captures with cuts, %d gradients and %d that were refused\n", seen.steps,
         seen.cut, seen.gradients, seen.illegal);
  printf("%d wrong; %d with a refusal that is not demanded\n", failed, refused_captures);
  for (size_t r = 0; r < sizeof reasons / sizeof reasons[0] && reasons[r].count; r++)
    printf("  %d %s\n", reasons[r].count, reasons[r].sentence);
  if (100 * refused_captures > count) printf("more than 1 %%\n");
  return failed || 100 * refused_captures > count ? EXIT_FAILURE : EXIT_SUCCESS;
}
