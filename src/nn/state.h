/* What a training's state is a list of. */
#ifndef CVY_NN_STATE_H
#define CVY_NN_STATE_H

#include "core/tensor.h"
#include "safetensors/safetensors.h"

/* One of its members; the others are NULL and 0. */
typedef struct cvy_member {
  char *name;
  convoy_tensor *tensor;
  int64_t *numbers;
  int64_t count;
  convoy_graph *graph;
  bool seed;
} cvy_member;

struct convoy_state {
  convoy_context *context; /* which it keeps from being used again */
  cvy_member *member;
  int32_t count, room;
};

/* As a file has a member: type and extents, and how many bytes. */
void cvy_member_describe(const cvy_member *member, cvy_saved *out);
/* Whole numbers of what is no tensor. A seed and a graph have two: with the seed, the numbers drawn
 * or the graph's runs. */
enum { CVY_MEMBER_NUMBERS = 2 };
void cvy_member_numbers(const convoy_state *state, const cvy_member *member,
                        int64_t numbers[CVY_MEMBER_NUMBERS]);

#endif
