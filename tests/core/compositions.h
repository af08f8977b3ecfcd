/* Each composition once, on tensors of one set, whose values are compared as a whole. */
#ifndef COMPOSITIONS_H
#define COMPOSITIONS_H

#include "convoy/convoy.h"

enum { X, Y, GAMMA, BETA, MEAN, VARIANCE, W0, W1, G0, G1, M0, M1, V0, V1, RATE, STEP, LOSS, SET };
enum { COMPOSITIONS = 12, SET_VALUES = 600 };

typedef struct set {
  convoy_context *context;
  convoy_tensor *tensor[SET], *labels;
} set;

typedef struct composition {
  const char *name;
  convoy_status (*call)(const set *s);
} composition;
extern const composition compositions[COMPOSITIONS];

/* The same values each time. */
void set_make(convoy_context *context, set *s);
void set_free(set *s);
/* All values, one tensor behind the other; the rest of the array is 0. */
void set_read(const set *s, float values[SET_VALUES]);

#endif
