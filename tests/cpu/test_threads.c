/* Parallel loops do every item once and never share a slot, nested or called by several threads;
 * idle threads sleep; and all of it holds for threads that the program lends. With CONVOY_TEAM this
 * is about the pool or about OpenMP's threads. */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "common/cmocka.h"
#include "cpu/team.h"
#include "cpu/threads/threads.h"

#define ITEMS 1000

typedef void loop_fn(cvy_threads *threads, int64_t count, cvy_task *task, void *arg);

static cvy_threads *open_threads(int32_t wanted) {
  cvy_threads *threads;
  assert_int_equal(cvy_threads_open(wanted, &threads), CONVOY_OK);
  return threads;
}

/* Threads of the library's own, whatever this runs on otherwise. */
static cvy_threads *open_pool(int32_t wanted) {
  char before[32] = "";
  if (getenv("CONVOY_TEAM")) snprintf(before, sizeof before, "%s", getenv("CONVOY_TEAM"));
  setenv("CONVOY_TEAM", "pool", 1);
  cvy_threads *threads = open_threads(wanted);
  setenv("CONVOY_TEAM", before, 1);
  return threads;
}

typedef struct tally {
  atomic_int done[ITEMS];
  atomic_int in_slot[CVY_MAX_THREADS];
  atomic_int clashes;
  int32_t slots;
} tally;

static void count_items(void *arg, int64_t begin, int64_t end, int32_t slot) {
  tally *t = arg;
  if (slot < 0 || slot >= t->slots || atomic_fetch_add(&t->in_slot[slot], 1) != 0) t->clashes++;
  for (int64_t i = begin; i < end; i++) t->done[i]++;
  atomic_fetch_sub(&t->in_slot[slot], 1);
}

static void check_loop(cvy_threads *threads, loop_fn *loop, int64_t count) {
  tally t = {.slots = cvy_threads_count(threads)};
  loop(threads, count, count_items, &t);
  for (int64_t i = 0; i < ITEMS; i++) assert_int_equal(t.done[i], i < count);
  assert_int_equal(t.clashes, 0);
}

static void items_are_done_once(void **state) {
  (void)state;
  const int32_t sizes[] = {1, 2, 3, 7, 64};
  const int64_t counts[] = {0, 1, 2, 3, 63, 64, 65, ITEMS};
  for (size_t s = 0; s < CVY_COUNT(sizes); s++) {
    cvy_threads *threads = open_threads(sizes[s]);
    assert_int_equal(cvy_threads_count(threads), sizes[s]);
    for (int round = 0; round < 20; round++) {
      for (size_t c = 0; c < CVY_COUNT(counts); c++) {
        check_loop(threads, cvy_parallel_for, counts[c]);
        check_loop(threads, cvy_parallel_items, counts[c]);
      }
    }
    cvy_threads_close(threads);
  }
  check_loop(NULL, cvy_parallel_for, ITEMS);
}

static void absurd_counts_are_cut(void **state) {
  (void)state;
  cvy_threads *threads = open_threads(100000);
  assert_int_equal(cvy_threads_count(threads), CVY_MAX_THREADS);
  check_loop(threads, cvy_parallel_for, ITEMS);
  cvy_threads_close(threads);
  threads = open_threads(0);
  assert_in_range(cvy_threads_count(threads), 1, CVY_MAX_THREADS);
  cvy_threads_close(threads);
}

/* A part belongs to the slot of its number, whichever thread comes first. */
static void note_begin(void *arg, int64_t begin, int64_t end, int32_t slot) {
  int64_t *begins = arg;
  begins[2 * slot] = begin;
  begins[2 * slot + 1] = end;
}

static void parts_are_fixed(void **state) {
  (void)state;
  const int64_t expected[] = {0, 3, 3, 6, 6, 8, 8, 10};
  cvy_threads *threads = open_threads(4);
  for (int round = 0; round < 200; round++) {
    int64_t begins[8] = {0};
    cvy_parallel_for(threads, 10, note_begin, begins);
    assert_memory_equal(begins, expected, sizeof expected);
  }
  cvy_threads_close(threads);
}

/* ----------------------------------------------------------------- nested and concurrent */

typedef struct nest {
  cvy_threads *threads;
  atomic_int sum;
} nest;

static void add_inner(void *arg, int64_t begin, int64_t end, int32_t slot) {
  nest *n = arg;
  (void)slot;
  n->sum += (int)(end - begin);
}

static void run_inner(void *arg, int64_t begin, int64_t end, int32_t slot) {
  nest *n = arg;
  (void)slot;
  for (int64_t i = begin; i < end; i++) cvy_parallel_for(n->threads, 100, add_inner, n);
}

static void nested_loops_run(void **state) {
  (void)state;
  nest n = {.threads = open_threads(3)};
  cvy_parallel_items(n.threads, 50, run_inner, &n);
  assert_int_equal(n.sum, 50 * 100);
  cvy_threads_close(n.threads);
}

static void *run_many(void *arg) {
  nest *n = arg;
  for (int i = 0; i < 300; i++) cvy_parallel_for(n->threads, 100, add_inner, n);
  return NULL;
}

static void several_callers_run(void **state) {
  (void)state;
  nest n = {.threads = open_threads(3)};
  pthread_t caller[4];
  for (int i = 0; i < 4; i++) assert_int_equal(pthread_create(&caller[i], NULL, run_many, &n), 0);
  for (int i = 0; i < 4; i++) pthread_join(caller[i], NULL);
  assert_int_equal(n.sum, 4 * 300 * 100);
  cvy_threads_close(n.threads);
}

/* ------------------------------------------------------------------------------- manners */

static double processor_seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void idle_threads_sleep(void **state) {
  (void)state;
  cvy_threads *threads = open_threads(8);
  check_loop(threads, cvy_parallel_for, ITEMS);
  usleep(200000); /* OpenMP's look for work for a while */
  double before = processor_seconds();
  usleep(300000);
  assert_true(processor_seconds() - before < 0.02);
  cvy_threads_close(threads);
}

static void read_name(void *arg, int64_t begin, int64_t end, int32_t slot) {
  char(*names)[16] = arg;
  (void)begin, (void)end;
  pthread_getname_np(pthread_self(), names[slot], sizeof names[slot]);
  usleep(20000); /* so that the caller does not take both parts */
}

static void threads_have_names(void **state) {
  (void)state;
  char names[2][16] = {"", ""};
  cvy_threads *threads = open_pool(2);
  for (int i = 0; i < 50 && !strstr(names[0], "convoy") && !strstr(names[1], "convoy"); i++)
    cvy_parallel_for(threads, 2, read_name, names);
  assert_true(strstr(names[0], "convoy-cpu-1") || strstr(names[1], "convoy-cpu-1"));
  cvy_threads_close(threads);
}

typedef struct masks {
  pthread_t caller;
  atomic_int looked, own_blocked, others_open;
} masks;

static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS};

static void look_at_masks(void *arg, int64_t begin, int64_t end, int32_t slot) {
  static const int others[] = {SIGINT, SIGTERM, SIGHUP, SIGCHLD, SIGALRM, SIGPROF, SIGUSR1};
  masks *m = arg;
  sigset_t blocked;
  (void)begin, (void)end, (void)slot;
  usleep(20000); /* so that the caller does not take all parts */
  if (pthread_equal(pthread_self(), m->caller)) return;
  pthread_sigmask(SIG_SETMASK, NULL, &blocked);
  m->looked++;
  for (size_t i = 0; i < CVY_COUNT(faults); i++) m->own_blocked += sigismember(&blocked, faults[i]);
  for (size_t i = 0; i < CVY_COUNT(others); i++)
    m->others_open += !sigismember(&blocked, others[i]);
}

/* The program's signals are not taken from its threads; a fault of the library's own reaches its
 * handler. */
static void signals_are_blocked_but_for_faults(void **state) {
  (void)state;
  masks m = {.caller = pthread_self()};
  cvy_threads *threads = open_threads(3);
  for (int i = 0; i < 50 && m.looked == 0; i++) cvy_parallel_for(threads, 3, look_at_masks, &m);
  assert_true(m.looked > 0);
  assert_int_equal(m.own_blocked, 0);
  assert_int_equal(m.others_open, 0);
  cvy_threads_close(threads);
}

typedef struct pages {
  pthread_t caller;
  char *memory;
  atomic_int touched;
} pages;

static size_t page_size;

static void give_page(int number, siginfo_t *info, void *context) {
  uintptr_t at = (uintptr_t)info->si_addr;
  (void)number;
  (void)context;
  mprotect((void *)(at - at % page_size), page_size, PROT_READ | PROT_WRITE);
}

static void touch_page(void *arg, int64_t begin, int64_t end, int32_t slot) {
  pages *p = arg;
  (void)end, (void)slot;
  usleep(20000); /* so that the caller does not take all parts */
  if (pthread_equal(pthread_self(), p->caller)) return;
  *(volatile char *)(p->memory + (size_t)begin * page_size) = 1;
  p->touched++;
}

/* A program may fill its arrays when they are touched. */
static void the_programs_handler_sees_faults(void **state) {
  (void)state;
  struct sigaction action = {.sa_sigaction = give_page, .sa_flags = SA_SIGINFO};
  struct sigaction before;
  page_size = (size_t)sysconf(_SC_PAGESIZE);
  pages p = {.caller = pthread_self()};
  p.memory = mmap(NULL, 3 * page_size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  assert_true(p.memory != MAP_FAILED);
  sigaction(SIGSEGV, &action, &before);
  cvy_threads *threads = open_threads(3);
  for (int i = 0; i < 50 && p.touched == 0; i++) cvy_parallel_for(threads, 3, touch_page, &p);
  cvy_threads_close(threads);
  sigaction(SIGSEGV, &before, NULL);
  munmap(p.memory, 3 * page_size);
  assert_true(p.touched > 0);
}

/* ------------------------------------------------------------------------- a lent team */

static cvy_threads *open_lent(int32_t wanted, int members) {
  cvy_threads *threads = open_threads(wanted);
  cvy_threads_lend(threads, team_of_test);
  team_members = members;
  team_calls = 0;
  return threads;
}

/* A team may have as many members as there are slots, fewer, more, or the caller alone. */
static void a_team_does_items_once(void **state) {
  (void)state;
  const int members[] = {1, 2, 4, TEAM_MOST};
  for (size_t i = 0; i < CVY_COUNT(members); i++) {
    cvy_threads *threads = open_lent(4, members[i]);
    for (int64_t count = 0; count <= 64; count += 3) {
      check_loop(threads, cvy_parallel_for, count);
      check_loop(threads, cvy_parallel_items, count);
    }
    assert_true(team_calls > 0);
    cvy_threads_close(threads);
  }
}

static void names_are_not_ours(void *arg, int64_t begin, int64_t end, int32_t slot) {
  atomic_int *ours = arg;
  char name[16] = "";
  (void)begin, (void)end, (void)slot;
  pthread_getname_np(pthread_self(), name, sizeof name);
  if (strstr(name, "convoy")) ++*ours;
  usleep(1000);
}

static void a_team_replaces_the_pool(void **state) {
  (void)state;
  atomic_int ours = 0;
  cvy_threads *threads = open_lent(4, 4);
  for (int i = 0; i < 20; i++) cvy_parallel_for(threads, 4, names_are_not_ours, &ours);
  assert_int_equal(ours, 0);
  assert_int_equal(team_calls, 20);
  cvy_parallel_for(threads, 1, names_are_not_ours, &ours); /* nothing to share: nobody is called */
  assert_int_equal(team_calls, 20);
  cvy_threads_close(threads);
}

static void several_callers_share_a_team(void **state) {
  (void)state;
  nest n = {.threads = open_lent(3, 2)};
  pthread_t caller[4];
  for (int i = 0; i < 4; i++) assert_int_equal(pthread_create(&caller[i], NULL, run_many, &n), 0);
  for (int i = 0; i < 4; i++) pthread_join(caller[i], NULL);
  assert_int_equal(n.sum, 4 * 300 * 100);
  n.sum = 0;
  cvy_parallel_items(n.threads, 50, run_inner, &n);
  assert_int_equal(n.sum, 50 * 100);
  cvy_threads_close(n.threads);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(items_are_done_once),
      cmocka_unit_test(absurd_counts_are_cut),
      cmocka_unit_test(parts_are_fixed),
      cmocka_unit_test(nested_loops_run),
      cmocka_unit_test(several_callers_run),
      cmocka_unit_test(idle_threads_sleep),
      cmocka_unit_test(threads_have_names),
      cmocka_unit_test(signals_are_blocked_but_for_faults),
      cmocka_unit_test(the_programs_handler_sees_faults),
      cmocka_unit_test(a_team_does_items_once),
      cmocka_unit_test(a_team_replaces_the_pool),
      cmocka_unit_test(several_callers_share_a_team),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
