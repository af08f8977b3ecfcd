/* Deadlines as pure functions, and the timeout of a wait under clocks and processes that are made
 * up. */
#include <math.h>
#include <stdlib.h>

#include "os/os.h"
#include "worker/lane.h"
#include "worker/progress_timeout.h"

/* ------------------------------------------------------------------------- deadlines */

static cvy_deadlines parsed(const char *text) {
  cvy_deadlines deadlines;
  assert_int_equal(cvy_deadlines_parse(text, &deadlines), CONVOY_OK);
  return deadlines;
}

static void test_parse(void **state) {
  cvy_deadlines deadlines = parsed("run=2,compile=0.5,restarts=7,dispatch=0.1");
  (void)state;
  assert_true(cvy_deadline(&deadlines, CVY_DEADLINE_RUN, false) == 2);
  assert_true(cvy_deadline(&deadlines, CVY_DEADLINE_COMPILE, false) == 0.5);
  assert_true(cvy_deadline(&deadlines, CVY_DEADLINE_PROBE, false) ==
              cvy_deadline_rules[CVY_DEADLINE_PROBE].least);
  assert_int_equal(deadlines.restarts, 7);
  assert_true(deadlines.dispatch == 0.1);
  deadlines = parsed(NULL);
  assert_true(deadlines.restarts > 0 && deadlines.dispatch == 0);
}

static void test_parse_names_what_is_wrong(void **state) {
  static const char *const texts[][2] = {
      {"walk=2", "walk=2"},   {"run", "\"run\""},     {"run=", "run="},
      {"run=x", "run=x"},     {"run=0", "run=0"},     {"run=-1", "run=-1"},
      {"run=nan", "run=nan"}, {"run=1e9", "run=1e9"}, {"probe=1,run=2s", "\"run=2s\""},
      {"=3", "\"=3\""},       {",", "\",\""},
  };
  cvy_deadlines deadlines;
  (void)state;
  for (size_t i = 0; i < CVY_COUNT(texts); ++i) {
    assert_int_equal(cvy_deadlines_parse(texts[i][0], &deadlines), CONVOY_ERR_ARGUMENT);
    assert_sentence_has("CONVOY_DEADLINE");
    assert_sentence_has(texts[i][1]);
  }
}

static void test_deadlines_learn(void **state) {
  const cvy_deadline_rule *rule = &cvy_deadline_rules[CVY_DEADLINE_RUN];
  cvy_deadlines deadlines = parsed(NULL);
  (void)state;
  assert_true(cvy_deadline(&deadlines, CVY_DEADLINE_RUN, false) == rule->least);
  assert_true(cvy_deadline(&deadlines, CVY_DEADLINE_RUN, true) == rule->least * rule->first);
  cvy_deadlines_learn(&deadlines, CVY_DEADLINE_RUN, 2);
  assert_true(cvy_deadline(&deadlines, CVY_DEADLINE_RUN, false) == 2 * rule->multiple);
  cvy_deadlines_learn(&deadlines, CVY_DEADLINE_RUN, 1000);
  assert_true(cvy_deadline(&deadlines, CVY_DEADLINE_RUN, false) == rule->most);
  for (int i = 0; i < 2000; ++i) cvy_deadlines_learn(&deadlines, CVY_DEADLINE_RUN, 0.001);
  assert_true(cvy_deadline(&deadlines, CVY_DEADLINE_RUN, false) == rule->least);
  assert_true(deadlines.slowest[CVY_DEADLINE_TRANSFER] == 0);
}

static void test_rules_are_consistent(void **state) {
  (void)state;
  for (int i = 0; i < CVY_DEADLINES; ++i) {
    const cvy_deadline_rule *rule = &cvy_deadline_rules[i];
    assert_true(rule->least > 0 && rule->least <= rule->most && rule->first >= 1);
  }
}

/* -------------------------------------------------------------------------- timeout */

enum { WORKER = 4000000 };

static struct {
  double clock, asleep;
  cvy_process_look worker, self;
} world;

static double fake_clock(void) {
  return world.clock;
}

static double fake_clock_with_sleep(void) {
  return world.clock + world.asleep;
}

static bool fake_look(int pid, cvy_process_look *out) {
  *out = pid == WORKER ? world.worker : world.self;
  return true;
}

typedef struct wait {
  cvy_deadlines deadlines;
  cvy_progress_timeout timeout;
  cvy_progress progress;
  double budget;
} wait;

static void wait_begin(wait *self, cvy_phase phase) {
  memset(&world, 0, sizeof world);
  memset(self, 0, sizeof *self);
  cvy_os.clock = fake_clock;
  cvy_os.clock_with_sleep = fake_clock_with_sleep;
  cvy_os.look = fake_look;
  world.clock = 1000;
  world.worker.state = 'S';
  self->deadlines = parsed("run=2,compile=2,transfer=2,probe=2,start=2");
  self->budget = 1e6;
  self->timeout = (cvy_progress_timeout){
      .deadlines = &self->deadlines, .budget = &self->budget, .what = "a test", .worker = WORKER};
  self->progress.phase = phase;
  cvy_progress_timeout_begin(&self->timeout, &self->progress);
}

/* Checks every 5 ms for `seconds`; returns when it failed, else `seconds`. */
static double wait_for(wait *self, double seconds) {
  const double begin = world.clock;
  while (world.clock - begin < seconds) {
    world.clock += 0.005;
    if (cvy_progress_timeout_check(&self->timeout, &self->progress)) return world.clock - begin;
  }
  return seconds;
}

static void assert_fires_at(wait *self, double seconds) {
  const double at = wait_for(self, seconds + 5);
  if (!(fabs(at - seconds) < 0.02)) fail_msg("fired after %g s, not %g", at, seconds);
}

static void test_no_progress_fires(void **state) {
  wait own;
  (void)state;
  for (cvy_phase phase = CVY_PHASE_IDLE; phase < CVY_PHASES; ++phase) {
    wait_begin(&own, phase);
    assert_fires_at(&own, 2);
    assert_sentence_has("waited 2.0 s for a test");
    assert_sentence_has(cvy_phase_text(phase));
    assert_sentence_has("4000000");
  }
}

static void test_progress_begins_anew(void **state) {
  wait own;
  (void)state;
  wait_begin(&own, CVY_PHASE_RUNNING);
  for (int i = 0; i < 20; ++i) {
    assert_true(wait_for(&own, 1.5) == 1.5);
    ++own.progress.moved;
  }
  assert_fires_at(&own, 2);
  assert_true(own.deadlines.slowest[CVY_DEADLINE_RUN] > 1.4);
}

static void test_first_run_is_longer(void **state) {
  wait own;
  (void)state;
  wait_begin(&own, CVY_PHASE_RUNNING);
  own.progress.first_run = true;
  assert_fires_at(&own, 2 * cvy_deadline_rules[CVY_DEADLINE_RUN].first);
}

static void test_processor_time_is_progress_of_a_compiler(void **state) {
  wait own;
  (void)state;
  wait_begin(&own, CVY_PHASE_COMPILING);
  for (int i = 0; i < 15; ++i) {
    assert_true(wait_for(&own, 1.2) == 1.2);
    world.worker.cpu_seconds += 0.01;
  }
  const double at = 15 * 1.2 + wait_for(&own, 60);
  assert_true(at < CVY_WALL_TIMES * 2 + 0.05); /* 18 s, and 2 without */
}

static void test_processor_time_is_capped(void **state) {
  wait own;
  (void)state;
  wait_begin(&own, CVY_PHASE_COMPILING);
  double at = 0;
  for (int i = 0; i < 1000 && at == 0; ++i) {
    world.worker.cpu_seconds += 0.5;
    if (wait_for(&own, 0.5) != 0.5) at = world.clock - 1000;
  }
  assert_true(fabs(at - CVY_WALL_TIMES * 2) < 0.05);
  assert_sentence_has("busy beyond");
}

/* A driver that polls burns processor time while the GPU hangs: that is no progress. */
static void test_processor_time_is_no_progress_of_a_gpu(void **state) {
  wait own;
  double waited = 0;
  (void)state;
  wait_begin(&own, CVY_PHASE_RUNNING);
  world.worker.state = 'R';
  for (int i = 0; i < 100; ++i) {
    world.worker.cpu_seconds += 0.1;
    const double each = wait_for(&own, 0.1);
    waited += each;
    if (each != 0.1) break;
  }
  assert_true(waited > 1.9 && waited < 2.1);
}

static void test_overloaded_processor(void **state) {
  wait own;
  (void)state;
  wait_begin(&own, CVY_PHASE_COMPILING);
  world.worker.state = 'R'; /* ready, and gets no processor */
  assert_true(wait_for(&own, 15) == 15);
  wait_begin(&own, CVY_PHASE_RUNNING);
  own.timeout.on_processor = true;
  world.worker.state = 'R';
  assert_true(wait_for(&own, 15) == 15);
}

/* With a tenth of a processor it may take ten times as long. */
static void test_share_of_a_processor(void **state) {
  wait own;
  (void)state;
  wait_begin(&own, CVY_PHASE_COMPILING);
  world.worker.state = 'R';
  for (int i = 0; i < 1500; ++i) {
    world.worker.cpu_seconds += 0.01;
    assert_true(wait_for(&own, 0.1) == 0.1);
  }
}

static void test_suspend(void **state) {
  wait own;
  (void)state;
  wait_begin(&own, CVY_PHASE_RUNNING);
  assert_true(wait_for(&own, 1.9) == 1.9);
  world.asleep += 3600;
  assert_fires_at(&own, 2);
}

/* The clock jumps although the machine did not sleep: this thread did not run. */
static void test_stopped_trainer(void **state) {
  wait own;
  (void)state;
  wait_begin(&own, CVY_PHASE_RUNNING);
  own.budget = 10;
  for (int i = 0; i < 5; ++i) {
    assert_true(wait_for(&own, 0.1) == 0.1);
    world.clock += 100;
    assert_int_equal(cvy_progress_timeout_check(&own.timeout, &own.progress), CONVOY_OK);
  }
  assert_true(own.budget > 8);        /* nor does it use the call's budget up */
  assert_true(wait_for(&own, 5) < 2); /* 0.25 s of each jump count */
}

/* Whether the trainer was stopped or not: what comes while it is not looking costs it one look. */
static void test_what_came_meanwhile(void **state) {
  wait own;
  (void)state;
  for (int stopped = 0; stopped < 2; ++stopped) {
    wait_begin(&own, CVY_PHASE_RUNNING);
    own.budget = 1;
    for (int i = 0; i < 100; ++i) {
      cvy_progress_timeout_begin(&own.timeout, &own.progress);
      world.clock += stopped ? 100 : CVY_LOOK_SECONDS;
      cvy_progress_timeout_end(&own.timeout);
      assert_true(fabs(own.budget - (1 - (i + 1) * CVY_LOOK_SECONDS)) < 1e-6);
    }
  }
}

static void test_debugger(void **state) {
  (void)state;
  for (int on_worker = 0; on_worker < 2; ++on_worker) {
    wait own;
    wait_begin(&own, CVY_PHASE_RUNNING);
    assert_true(wait_for(&own, 1.9) == 1.9);
    const double left = own.budget;
    cvy_process_look *traced = on_worker ? &world.worker : &world.self;
    traced->tracer = 77;
    world.worker.state = 't';
    assert_true(wait_for(&own, 300) == 300);
    traced->tracer = 0;
    world.worker.state = 'S';
    assert_true(fabs(own.budget - (on_worker ? left - 300 : left)) < 0.2);
    const double at = wait_for(&own, 5);
    assert_true(at > 1.85 && at < 2.05);
  }
}

/* It could be of the worker's own making. */
static void test_debugger_on_worker_alone_is_bounded(void **state) {
  wait own;
  (void)state;
  wait_begin(&own, CVY_PHASE_RUNNING);
  own.budget = 20;
  world.worker.tracer = 77;
  world.worker.state = 't';
  assert_fires_at(&own, 20);
  assert_sentence_has("budget");
}

static void test_worker_alone_is_stopped(void **state) {
  wait own;
  (void)state;
  wait_begin(&own, CVY_PHASE_COMPILING);
  world.worker.state = 'T';
  assert_fires_at(&own, 2);
}

static void test_budget(void **state) {
  wait own;
  (void)state;
  wait_begin(&own, CVY_PHASE_RUNNING);
  own.budget = 0.7;
  assert_fires_at(&own, 0.7);
  assert_sentence_has("budget");
  wait_begin(&own, CVY_PHASE_RUNNING);
  own.budget = 0;
  assert_fires_at(&own, 0.005);
}

/* The sentence has the call's budget, not what this wait has had of it, and what went to compiling,
 * for which nobody is to blame. */
static void test_budget_tells_where_it_went(void **state) {
  cvy_spent spent = {.whole = 60};
  wait own;
  (void)state;
  wait_begin(&own, CVY_PHASE_COMPILING);
  own.deadlines = parsed("compile=100,run=100");
  own.timeout.spent = &spent;
  own.budget = 2.5;
  for (int i = 0; i < 2; ++i) {
    assert_true(wait_for(&own, 1) == 1);
    own.progress.compiles++;
  }
  own.progress.phase = CVY_PHASE_RUNNING;
  assert_fires_at(&own, 0.5);
  assert_sentence_has("waited 60.0 s");
  assert_sentence_has("budget of 60.0 s");
  assert_sentence_has("2.0 s went to compiling (3 programs)");
  assert_true(own.timeout.excused);
}

static void test_nothing_new_is_no_excuse(void **state) {
  cvy_spent spent = {.whole = 2};
  wait own;
  (void)state;
  wait_begin(&own, CVY_PHASE_RUNNING);
  own.deadlines = parsed("compile=100,run=100");
  own.timeout.spent = &spent;
  own.budget = 2;
  assert_true(wait_for(&own, 1.98) == 1.98);
  own.progress.phase = CVY_PHASE_LIBRARY; /* which did not compile for long */
  assert_fires_at(&own, 0.02);
  assert_false(own.timeout.excused);
  assert_null(strstr(cvy_last_error(), "compiling ("));
}

int main(void) {
  static const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_parse),
      cmocka_unit_test(test_parse_names_what_is_wrong),
      cmocka_unit_test(test_deadlines_learn),
      cmocka_unit_test(test_rules_are_consistent),
      cmocka_unit_test(test_no_progress_fires),
      cmocka_unit_test(test_progress_begins_anew),
      cmocka_unit_test(test_first_run_is_longer),
      cmocka_unit_test(test_processor_time_is_progress_of_a_compiler),
      cmocka_unit_test(test_processor_time_is_capped),
      cmocka_unit_test(test_processor_time_is_no_progress_of_a_gpu),
      cmocka_unit_test(test_overloaded_processor),
      cmocka_unit_test(test_share_of_a_processor),
      cmocka_unit_test(test_suspend),
      cmocka_unit_test(test_stopped_trainer),
      cmocka_unit_test(test_what_came_meanwhile),
      cmocka_unit_test(test_debugger),
      cmocka_unit_test(test_debugger_on_worker_alone_is_bounded),
      cmocka_unit_test(test_worker_alone_is_stopped),
      cmocka_unit_test(test_budget),
      cmocka_unit_test(test_budget_tells_where_it_went),
      cmocka_unit_test(test_nothing_new_is_no_excuse),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
