/* What a script's tensors have after each stage of each run, and which of its gradients are to be
 * refused, by the sentences of convoy/graph.h. */
#ifndef MEANING_H
#define MEANING_H

#include "captures/tape.h"

/* Of the gradients of a step. UNSURE: y depends on a value that the tensor no longer stands for,
 * but not by the tensor's name, or has only come from one step with what does. It may be refused.
 */
typedef enum verdict { LEGAL, UNSURE, ILLEGAL } verdict;

/* A tensor has come to stand for a value. */
typedef struct stand {
  int slot, origin; /* of the value; -1: nobody has read it yet */
  int parent;       /* that of the tensor which it was copied from, or -1 */
} stand;

/* Nodes that a step has made of what its tensors stood for. */
typedef struct use {
  int from, end, count, stand[3];
} use;

typedef struct meaning {
  const script *s;
  array array[SLOTS]; /* what tensors have */
  tape *tape;         /* of the run under way */
  int stage, next;    /* the step that comes next */
  int now[SLOTS];     /* the node that a tensor stands for; OWN: for what it has */
  int leaf[SLOTS], leaf_stage[SLOTS], origin[SLOTS];
  stand stand[SLOTS + 5 * MOST_STEPS];
  int stands, stand_of[SLOTS];
  use use[MOST_STEPS];
  int uses;
  verdict verdict[MOST_STEPS];
  double largest;
  bool exact;
} meaning;

void meaning_begin(const script *s, meaning *out);
/* The caller writes a tensor. */
void meaning_write(meaning *m, int time, int slot);
/* Stage 0 begins a run. */
void meaning_stage(meaning *m, int stage);

#endif
