/* The rule, and applying it to the markers of the state folder. */
#include "core/judge.h"

#include <stdlib.h>
#include <string.h>

#include "core/downs.h"
#include "core/markers.h"

enum {
  MOST_MARKERS = 1000, /* are judged: the time it takes is the trainer's */
  /* Seconds. A trainer that uses its device refreshes its marker every minute, unless a single call takes
   * longer; one whose device has hung may wait for its budget and then fail. */
  SILENCE = 600,
  FORGOTTEN = 30 * 24 * 60 * 60
};

/* ---------------------------------------------------------------------------------- the rule */

typedef struct cvy_case {
  const cvy_marker *marker;
  const cvy_here *here;
  int64_t seen, told; /* -1: no date */
  int64_t others;     /* when another marker of its boot was seen last */
  cvy_past_boot past; /* looked up when a rule asks for it */
  bool looked;
} cvy_case;

static bool of_this_boot(cvy_case *of) {
  return strcmp(of->marker->boot, of->here->boot) == 0;
}

static bool in_sight(cvy_case *of) {
  return strcmp(of->marker->space, of->here->space) == 0;
}

static bool lives(cvy_case *of) {
  return of_this_boot(of) && in_sight(of) &&
         cvy_process_born(of->marker->process) == of->marker->born;
}

static bool may_live(cvy_case *of) {
  return of_this_boot(of) && !in_sight(of) && of->here->now - of->seen < SILENCE;
}

static bool is_undated(cvy_case *of) {
  return of->seen < 0;
}

static bool of_nowhere(cvy_case *of) {
  return !of->marker->machine[0];
}

static bool is_forgotten(cvy_case *of) {
  return of_nowhere(of) && of->here->now - of->seen > FORGOTTEN;
}

static bool of_another_machine(cvy_case *of) {
  return strcmp(of->marker->machine, of->here->machine) != 0;
}

/* A kernel may have no such namespaces at all. */
static bool is_first(const char *space) {
  return !*space || strcmp(space, CVY_FIRST_PID_NAMESPACE) == 0;
}

static bool was_contained(cvy_case *of) {
  return !is_first(of->marker->space);
}

static bool is_contained(cvy_case *of) {
  return !is_first(of->here->space);
}

static bool is_later(cvy_case *of) {
  return of->seen >= of->here->began;
}

static bool was_told(cvy_case *of) {
  return of->told >= 0 && of->seen - of->told < SILENCE;
}

static const cvy_past_boot *past_of(cvy_case *of) {
  const int64_t since = cvy_utc_read(of->marker->since);
  if (of->looked) return &of->past;
  of->looked = true;
  of->past = (cvy_past_boot){
      .since = since < 0 ? of->seen : since, .seen = of->seen, .until = of->here->began};
  cvy_boot_look_back("", &of->past);
  return &of->past;
}

static bool was_shut_down(cvy_case *of) {
  return past_of(of)->orderly;
}

static bool was_outlived(cvy_case *of) {
  return of->others - of->seen > SILENCE || past_of(of)->alive - of->seen > SILENCE;
}

/* The first that holds decides. */
static const struct {
  bool (*holds)(cvy_case *of);
  cvy_verdict verdict;
  const char *why;
} rules[] = {
    {lives, CVY_MARKER_STAYS, "its process lives"},
    {may_live, CVY_MARKER_STAYS, "its process may live in another container"},
    {of_this_boot, CVY_MARKER_OVER, "its process has ended"},
    {is_undated, CVY_MARKER_STAYS, "it does not say when it was written"},
    {is_forgotten, CVY_MARKER_OVER, "it names no machine and is more than 30 days old"},
    {of_nowhere, CVY_MARKER_STAYS, "it names no machine"},
    {of_another_machine, CVY_MARKER_STAYS, "it is of another machine"},
    {was_contained, CVY_MARKER_OVER, "the end of its container leaves the same traces"},
    {is_contained, CVY_MARKER_STAYS,
     "the records of the machine are not to be seen in a container"},
    {is_later, CVY_MARKER_STAYS,
     "it was written after this boot began: by another machine of the same id, or the clock was "
     "set"},
    {was_told, CVY_MARKER_OVER, "its worker was told to end"},
    {was_shut_down, CVY_MARKER_OVER, "the machine was shut down in order"},
    {was_outlived, CVY_MARKER_OVER, "the machine went on for more than ten minutes without it"},
};

cvy_verdict cvy_judge(const cvy_marker *marker, const cvy_here *here, int64_t others,
                      const char **why) {
  cvy_case of = {.marker = marker,
                 .here = here,
                 .seen = cvy_utc_read(marker->refreshed),
                 .told = cvy_utc_read(marker->told),
                 .others = others};
  for (size_t i = 0; i < CVY_COUNT(rules); i++) {
    *why = rules[i].why;
    if (rules[i].holds(&of)) return rules[i].verdict;
  }
  *why = "nothing shows that the machine outlived it or was shut down";
  return CVY_MARKER_DOWN;
}

/* ------------------------------------------------------------------------------- all there are */

typedef struct found {
  char *path;
  cvy_marker marker;
} found;

typedef struct sweep {
  cvy_here here;
  found *list;
  int count, capacity;
} sweep;

/* Without memory for it a marker waits for the next time. */
static void collect(void *user, const char *path, const cvy_marker *marker) {
  sweep *all = user;
  if (all->count == all->capacity) {
    const int capacity = all->capacity ? 2 * all->capacity : 8;
    found *list = realloc(all->list, (size_t)capacity * sizeof(*list));
    if (!list) return;
    all->list = list;
    all->capacity = capacity;
  }
  found *one = &all->list[all->count];
  *one = (found){strdup(path), *marker};
  all->count += one->path != NULL;
}

/* A job that was killed may have left its marker beside that of another one, which went on. */
static int64_t last_seen(const sweep *all, const cvy_marker *like) {
  int64_t last = 0;
  for (int i = 0; i < all->count; i++) {
    const cvy_marker *each = &all->list[i].marker;
    if (strcmp(each->machine, like->machine) || strcmp(each->boot, like->boot)) continue;
    const int64_t seen = cvy_utc_read(each->refreshed);
    if (seen > last) last = seen;
  }
  return last;
}

/* Says what a marker of an earlier boot means, and keeps it. */
static bool keep_down(const char *path, const cvy_marker *marker) {
  cvy_log(
      CONVOY_LOG_WARNING,
      "the machine went down while %s was in use (last seen %s, step %lld%s%s); a power cut looks "
      "the same, `convoy health --clear` forgets it",
      marker->device, marker->refreshed, (long long)marker->step,
      marker->first_use[0] ? ", first use of " : "", marker->first_use);
  return cvy_downs_add(path, marker);
}

static void judge_one(const sweep *all, const found *one) {
  const cvy_marker *marker = &one->marker;
  const char *why;
  const cvy_verdict verdict = cvy_judge(marker, &all->here, last_seen(all, marker), &why);
  cvy_log(verdict == CVY_MARKER_STAYS ? CONVOY_LOG_DEBUG : CONVOY_LOG_INFO,
          "marker of %s by process %d, last seen %s: %s", marker->device, marker->process,
          marker->refreshed, why);
  if (verdict == CVY_MARKER_STAYS) return;
  if (verdict == CVY_MARKER_DOWN && !keep_down(one->path, marker)) return;
  cvy_file_remove(one->path);
}

void cvy_judge_all(void) {
  sweep all = {.here = {.began = cvy_boot_began(), .now = cvy_date()}};
  cvy_machine_id(all.here.machine, sizeof(all.here.machine));
  cvy_pid_namespace(all.here.space, sizeof(all.here.space));
  if (!cvy_boot_id(all.here.boot, sizeof(all.here.boot)))
    return; /* then no marker is kept either */
  cvy_markers_visit("/running", MOST_MARKERS, collect, &all);
  for (int i = 0; i < all.count; i++) judge_one(&all, &all.list[i]);
  for (int i = 0; i < all.count; i++) free(all.list[i].path);
  free(all.list);
}
