/* When loops keep off OpenMP: as soon as a look has seen many involuntary switches, for rests that
 * get longer while nothing changes. The clock, the kernel's count and the number of processors are
 * the test's, so what else the machine does changes nothing. */
#include <stdlib.h>
#include <sys/resource.h>

#include "common/cmocka.h"
#include "cpu/threads/affinity.h"
#include "cpu/threads/crowding.h"
#include "cpu/threads/openmp.h"
#include "os/os.h"

double __wrap_cvy_clock(void);
int __wrap_getrusage(int who, struct rusage *usage);
int32_t __wrap_cvy_affinity_count(void);

static double now = 1000;
static double switches;
static int32_t processors = 2;

double __wrap_cvy_clock(void) {
  return now;
}

int __wrap_getrusage(int who, struct rusage *usage) {
  assert_int_equal(who, RUSAGE_SELF);
  *usage = (struct rusage){.ru_nivcsw = (long)switches};
  return 0;
}

int32_t __wrap_cvy_affinity_count(void) {
  return processors;
}

#define STEP 0.01
#define FEW 40   /* switches per second, by the system's own threads */
#define BURST 10 /* of them at once */
#define MANY 200 /* of two threads that share their processors with others */

/* Lets time go by with so many switches per second. Returns for how long it was crowded. */
static double seconds_crowded(double seconds, double rate) {
  double crowded = 0;
  for (double end = now + seconds; now < end; now += STEP, switches += rate * STEP)
    crowded += cvy_crowded() ? STEP : 0;
  return crowded;
}

static void crowds_are_seen_and_forgotten(void **state) {
  (void)state;
  assert_true(seconds_crowded(10, FEW) == 0);
  switches += BURST;
  assert_true(seconds_crowded(10, FEW) == 0);
  double first = seconds_crowded(1, MANY); /* within two looks */
  assert_true(first > 0.55 && first < 1);
  double share = seconds_crowded(100, MANY) / 100; /* looks become rare */
  assert_true(share > 0.98 && share < 1);
  double last = seconds_crowded(80, FEW); /* the longest rest */
  assert_true(last > 4.2 && last < 32.2);
  assert_true(seconds_crowded(10, FEW) == 0);
  double next = seconds_crowded(1.5, MANY); /* and the first rest is short again */
  assert_true(next > 0.9 && next < 1.5);
  assert_true(seconds_crowded(10, FEW) < 4.2);
}

/* The system's own threads come to each of many processors. */
static void many_processors_have_more_switches(void **state) {
  (void)state;
  seconds_crowded(40, FEW);
  processors = 64;
  assert_true(seconds_crowded(10, MANY) == 0);
  assert_true(seconds_crowded(1, 10 * MANY) > 0.55);
  processors = 2;
}

static void openmp_keeps_off_a_crowd(void **state) {
  (void)state;
  cvy_team *always = cvy_openmp_team(false), *yielding = cvy_openmp_team(true);
  seconds_crowded(40, FEW);
  assert_true(yielding->ready(yielding, 2));
  seconds_crowded(1, MANY);
  assert_false(yielding->ready(yielding, 2));
  assert_true(always->ready(always, 2));
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(crowds_are_seen_and_forgotten),
                                     cmocka_unit_test(many_processors_have_more_switches),
                                     cmocka_unit_test(openmp_keeps_off_a_crowd)};
  unsetenv("OMP_WAIT_POLICY"); /* with which nobody looks */
  unsetenv("GOMP_SPINCOUNT");
  unsetenv("KMP_BLOCKTIME");
  return cmocka_run_group_tests(tests, NULL, NULL);
}
