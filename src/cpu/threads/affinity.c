/* The affinity mask, widened to all of OpenMP's places where OpenMP had narrowed it to one of them.
 * The places are what the process could use when the runtime was loaded, or what the user
 * listed. */
#include "cpu/threads/affinity.h"

#include <sched.h>
#include <stdbool.h>
#include <stdlib.h>

#define SETS 16 /* sets of CPU_SETSIZE processors: twice as many as any kernel is built for */

typedef struct mask {
  cpu_set_t set[SETS];
} mask;

/* Those of the runtime in the process; NULL if neither this library nor OpenBLAS is built with
 * OpenMP. */
extern int omp_get_num_places(void) __attribute__((weak));
extern int omp_get_place_num_procs(int place) __attribute__((weak));
extern void omp_get_place_proc_ids(int place, int *ids) __attribute__((weak));

static bool read_mask(mask *out) {
  return sched_getaffinity(0, sizeof *out, out->set) == 0;
}

static void add_place(int place, mask *to) {
  int count = omp_get_place_num_procs(place);
  int *ids = count > 0 ? malloc((size_t)count * sizeof *ids) : NULL;
  if (!ids) return;
  omp_get_place_proc_ids(place, ids);
  for (int i = 0; i < count; i++) CPU_SET_S((size_t)ids[i], sizeof *to, to->set);
  free(ids);
}

/* Whether the mask is one of OpenMP's places. If it is, `all` becomes their union. */
static bool bound_by_openmp(const mask *own, mask *all) {
  bool bound = false;
  *all = *own;
  if (!omp_get_num_places || !omp_get_place_num_procs || !omp_get_place_proc_ids) return false;
  int places = omp_get_num_places();
  for (int i = 0; i < places; i++) {
    mask place = {0};
    add_place(i, &place);
    bound = bound || CPU_EQUAL_S(sizeof place, place.set, own->set);
    CPU_OR_S(sizeof place, all->set, all->set, place.set);
  }
  return bound;
}

int32_t cvy_affinity_count(void) {
  mask own, all;
  if (!read_mask(&own)) return 1;
  const mask *usable = bound_by_openmp(&own, &all) ? &all : &own;
  int count = CPU_COUNT_S(sizeof *usable, usable->set);
  return count > 0 ? count : 1;
}

void cvy_affinity_unbind(void) {
  mask own, all;
  if (read_mask(&own) && bound_by_openmp(&own, &all)) sched_setaffinity(0, sizeof all, all.set);
}
