/* A thread that wants to go on and has to wait for another is counted by the kernel as an
 * involuntary switch. Looks at that count take turns with rests: once a look has found the
 * processors crowded, loops are kept off OpenMP until the rest is over, and only then can it be
 * seen again whether they would be in anybody's way. */
#include "cpu/threads/crowding.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/resource.h>

#include "cpu/threads/affinity.h"
#include "os/os.h"

/* Seconds. In a crowd OpenMP's threads are in others' way for a look of each look and rest: 5 % of
 * the time at first and 0.6 % in the end. In shorter looks chance alone would reach the bound. */
#define LOOK 0.2
#define SHORTEST_REST 4.0 /* doubled while nothing changes */
#define LONGEST_REST 32.0
/* Switches per second. Of two threads that had one processor, each was measured to have 144 to 157
 * (Linux 6.18 at 250 Hz); alone on two processors, a trainer with two threads had 32 to 38, by the
 * system's own threads. */
#define MOST_SWITCHES 60
#define MOST_OF_A_PROCESSOR 20

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards what follows */
static double next;                                      /* when the look or the rest is over */
static double began;                                     /* the look */
static long switches;                                    /* at its beginning */
static double rest;
static atomic_bool crowded;

static long involuntary_switches(void) {
  struct rusage usage;
  return getrusage(RUSAGE_SELF, &usage) == 0 ? usage.ru_nivcsw : 0;
}

/* Of the processors that these threads may run on, however many more the machine has. */
static double most_switches(void) {
  return MOST_SWITCHES + MOST_OF_A_PROCESSOR * (double)cvy_affinity_count();
}

static void begin_look(double now, long count) {
  began = now;
  switches = count;
  next = now + LOOK;
  atomic_store_explicit(&crowded, false, memory_order_relaxed);
}

static void begin_rest(double now) {
  rest = rest > 0 ? 2 * rest : SHORTEST_REST;
  if (rest > LONGEST_REST) rest = LONGEST_REST;
  next = now + rest;
  atomic_store_explicit(&crowded, true, memory_order_relaxed);
}

/* At the end of a rest or a look. */
static void look(double now) {
  long count = involuntary_switches();
  bool rested = atomic_load_explicit(&crowded, memory_order_relaxed);
  if (!rested && (double)(count - switches) > most_switches() * (now - began)) {
    begin_rest(now);
    return;
  }
  if (!rested) rest = 0;
  begin_look(now, count);
}

/* One thread looks; others go by what is known. */
bool cvy_crowded(void) {
  if (pthread_mutex_trylock(&lock) == 0) {
    double now = cvy_clock();
    if (now >= next) look(now);
    pthread_mutex_unlock(&lock);
  }
  return atomic_load_explicit(&crowded, memory_order_relaxed);
}
