/* The search for the fastest candidate of a problem: from good beginnings one parameter at a
 * time. */
#ifndef CVY_TUNESEARCH_H
#define CVY_TUNESEARCH_H

#include "core/tune/tunebench.h"

enum { CVY_TRIALS = 160, CVY_SAMPLES = 9, CVY_FINALISTS = 4 };

/* A candidate that has run. */
typedef struct cvy_trial {
  cvy_choice choice;
  bool in_use;  /* its programs are those of a choice already made for another problem */
  bool checked; /* its result is right */
  bool failed;  /* or it is wrong, or the device could not run it */
  int batch;    /* runs per sample */
  int count;
  double sample[CVY_SAMPLES]; /* seconds for one */
  double median, spread;      /* between the quartiles, as a part of the median */
} cvy_trial;

typedef struct cvy_search {
  cvy_bench *bench;
  double end, finish;    /* cvy_clock: no candidate is begun, no final sample taken after it */
  convoy_status stopped; /* why it ended early, with its sentence */
  char sentence[256];
  const uint64_t *in_use; /* cvy_programs_hash of the choices made */
  int32_t in_use_count;
  int count;
  cvy_trial trial[CVY_TRIALS]; /* the first is what is chosen untuned */
} cvy_search;

/* The candidate may be tried soon: its programs are compiled meanwhile, if there is a worker to do
 * it. */
void cvy_search_announce(const cvy_search *search, const cvy_choice *choice);
/* Tries a candidate, unless it has been: its place, or -1 if it failed or time is over. */
int cvy_search_try(cvy_search *search, const cvy_choice *choice);
/* Walks from the best candidate of each algorithm that comes near the best of all. */
void cvy_search_descend(cvy_search *search);
/* Times the best again, in turns with the one untuned; returns how many there are. */
int cvy_search_finals(cvy_search *search, int finalists[CVY_FINALISTS]);
/* The place of the one to be used, from samples alone; -1 if they tell nothing apart. Differences
 * below 1 % are none, and what runs with programs already in use is preferred to what is up to 3 %
 * faster. */
int cvy_search_decide(const cvy_search *search, const int finalists[], int count);

#endif
