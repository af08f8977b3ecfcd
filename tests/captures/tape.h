/* What a capture means, in float64: a list of a dozen primitives, each with its derivative in
 * primitives. It keeps how far float32 may be off, by the bounds that the headers promise, and
 * whether it must be exact. It shares nothing with the library. */
#ifndef TAPE_H
#define TAPE_H

#include "captures/script.h"

typedef struct array {
  int count;
  double v[MOST_ELEMENTS], e[MOST_ELEMENTS]; /* values, and how far others may be from them */
  double grain;                              /* of which all are multiples */
} array;

typedef enum primitive {
  P_LEAF,
  P_ADD,   /* with a factor: of a sum of so many terms a is one more */
  P_SCALE, /* by a number */
  P_MULTIPLY,
  P_POSITIVE, /* a where b > 0, else 0 */
  P_CLAMP,
  P_WITHIN, /* a where b is within the clamp's limits, else 0 */
  P_SPREAD, /* a number per channel, or one, over all of an array */
  P_SUM,    /* and back */
  P_CONV,
  P_BACKWARD_DATA,
  P_BACKWARD_WEIGHTS,
  P_MATMUL,
  P_TRANSPOSE,
  P_SLICE, /* half of the channels */
  P_PUT,   /* and back, between zeros */
  PRIMITIVES
} primitive;

typedef struct node {
  primitive what;
  int a, b; /* nodes; -1: none */
  double factor;
  int kind;   /* of the result */
  int origin; /* of a leaf: the first that is one with it; else itself */
  array y;
} node;

enum { MOST_NODES = 1500 };
typedef struct tape {
  node node[MOST_NODES];
  int nodes;
  bool inexact; /* float32 may have rounded somewhere */
  bool full;
} tape;

void tape_begin(tape *t);
/* With origin -1 it is its own. */
int tape_leaf(tape *t, int kind, const array *values, int origin);
int tape_zeros(tape *t, int kind);
int tape_add(tape *t, primitive what, int kind, int a, int b, double factor);
/* Whether y depends on each node, of leaves by their origins. */
void tape_find_behind(const tape *t, int y, bool *behind);
/* Nodes that are the gradients of y times dy, -1 for 1; 0 where there is none. */
void tape_gradients(tape *t, int y, int dy, int count, const int *of, int *out);

#endif
