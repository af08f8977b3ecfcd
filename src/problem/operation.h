/* An operation: what can be asked. A row of a table, with everything that is known of its problems
 * without a device: core, the worker's checks and the tests read it, and know no operation by name.
 *
 * Adding one: its attributes in problem/NAME/attributes.h and in the union of cvy_problem, its
 * functions in problem/NAME/, its row there, in the table and in the numbers below. */
#ifndef CVY_OPERATION_ROW_H
#define CVY_OPERATION_ROW_H

#include <string.h>

#include "problem/excerpt.h"
#include "problem/fuse.h"
#include "problem/gradient.h"
#include "problem/problem.h"

/* What a problem's number says, which files of tuning and faults do not hold: names do. */
enum {
  CVY_CONV_FORWARD = CONVOY_FORWARD, /* the four of them are numbered like convoy_direction */
  CVY_CONV_BACKWARD_DATA = CONVOY_BACKWARD_DATA,
  CVY_CONV_BACKWARD_WEIGHTS = CONVOY_BACKWARD_WEIGHTS,
  CVY_CONV_BACKWARD_BIAS = CONVOY_BACKWARD_BIAS,
  CVY_CONV_OPERATIONS,
  CVY_PROGRAM = CVY_CONV_OPERATIONS,
  CVY_REDUCE,
  CVY_MATMUL,
  CVY_POOLING_MAX,
  CVY_POOLING_MAX_BACKWARD,
  CVY_POOLING_AVERAGE,
  CVY_POOLING_AVERAGE_BACKWARD,
  CVY_MOVE_COPY,
  CVY_MOVE_CONCATENATE,
  CVY_RESAMPLING_NEAREST,
  CVY_RESAMPLING_NEAREST_BACKWARD,
  CVY_RESAMPLING_LINEAR,
  CVY_RESAMPLING_LINEAR_BACKWARD,
  CVY_OPERATIONS,
  CVY_MAX_OPERATIONS = 64 /* sets of them are masks */
};
#define CVY_OPERATION_BIT(number) (UINT64_C(1) << (number))

/* What the images of a batch are to one another. */
typedef enum cvy_batch {
  CVY_BATCH_INDEPENDENT, /* each has its part of every output */
  CVY_BATCH_SUMMED,      /* every output is a sum over them */
  CVY_BATCH_COUPLED      /* one's result depends on the others: never computed in pieces */
} cvy_batch;

typedef struct cvy_operation {
  const char *name; /* a word, as in texts: "forward", "backward_data" */
  const char *input_names[CVY_MAX_INPUTS], *output_names[CVY_MAX_OUTPUTS];
  size_t size; /* bytes of a cvy_problem that count, a multiple of 8 */

  /* Which arrays a problem is given, all of them there, and which it makes. What is added to is not
   * counted. `outputs` NULL: one. */
  int32_t (*inputs)(const cvy_problem *problem);
  int32_t (*outputs)(const cvy_problem *problem);
  cvy_array (*input)(const cvy_problem *problem, int32_t i);
  cvy_array (*output)(const cvy_problem *problem, int32_t i);

  /* Whether bytes of this size are a problem that a call could have made; the number and
   * `accumulate` have been checked. All later functions rely on it. */
  bool (*legal)(const cvy_problem *problem);

  /* What the images of the batch are to one another, how many they are, and the same problem with
   * another number of them. A problem without a batch is one image, CVY_BATCH_COUPLED. */
  cvy_batch (*batch)(const cvy_problem *problem);
  int64_t (*images)(const cvy_problem *problem);
  void (*set_images)(cvy_problem *problem, int64_t images);

  /* The definition of one element, and how results are judged by it. bound NULL: EXACT, a result
   * has the definition's bits, whoever computed it; any NaN is as good as any other, and denormals
   * may be 0. Else a result may be off by bound(magnitude). */
  cvy_element (*element)(const cvy_problem *problem, const cvy_values *from, int32_t output,
                         int64_t index);
  int64_t (*terms)(const cvy_problem *problem);
  double (*bound)(const cvy_problem *problem, double magnitude);
  /* The problem that makes the magnitudes of output 0, the only one, of the operands' absolute
   * values, so that whole results can be judged by the CPU engine. NULL where the operation is not
   * linear: there, each element that has not the bits of the CPU engine's is judged by its
   * definition. */
  void (*absolute)(const cvy_problem *problem, cvy_problem *out);
  /* The magnitude for algorithms with an error_growth, which mix what lies within `reach` of the
   * element's window. NULL: there are none. */
  double (*wide_magnitude)(const cvy_problem *problem, const cvy_values *from, int64_t index,
                           int64_t reach);

  /* As cvy_problem_excerpt; `out` has the problem already, and the rest 0. False: there is none but
   * an image, or all. NULL: likewise. */
  bool (*excerpt)(const cvy_problem *problem, uint64_t seed, cvy_excerpt *out);

  /* As cvy_problem_gradient, which has seen to the rest: something is wanted and given, nothing
   * that is wanted is empty or holds integers, there are images, and out->of[] is NONE, but for
   * what the problem adds to. NULL: it has none. */
  convoy_status (*gradient)(const cvy_problem *problem, uint32_t wanted, uint32_t given,
                            cvy_gradient *out);

  /* As cvy_problem_fuse, for a second problem of this operation; neither adds to what is there, and
   * there are images. NULL: it takes nothing in. */
  bool (*fuse)(const cvy_bound *first, const cvy_bound *second, uint32_t kept, cvy_fused *out);

  double (*flops)(const cvy_problem *problem);

  void (*print)(const cvy_problem *problem, char *text, size_t size);
  /* Whether `parse` makes the problem of what it prints. NULL: always. */
  bool (*readable)(const cvy_problem *problem);
  /* What print has no words for, but the shape class has, beginning with ", "; else "". NULL: there
   * is nothing. What all operations have in common is seen to by whoever calls. */
  const char *(*remark)(const cvy_problem *problem);
  /* The problem of such a text, the remark perhaps behind it, for any operation of the family. Its
   * first row has it, the others NULL. */
  bool (*parse)(const char *text, cvy_problem *out);
  void (*shape_class)(const cvy_problem *problem, cvy_text *text);

  /* Its random numbers become those of a graph's run of this number. NULL: it has none. */
  void (*set_run)(cvy_problem *problem, uint64_t run);

  /* What the choice of an algorithm depends on, with `accumulate` as it is, the rest 0. NULL: on
   * all. */
  void (*bare)(const cvy_problem *problem, cvy_problem *out);
  /* Goes on from `seed` with what algorithms may have compiled in. NULL: nothing. */
  uint64_t (*space_hash)(const cvy_problem *problem, uint64_t seed);
  /* The `i`-th problem that usually follows this one, to be compiled ahead; false: there are no
   * more. NULL: none. */
  bool (*related)(const cvy_problem *problem, int32_t i, cvy_problem *out);
} cvy_operation;

/* problem/table.c: by number, and how many there are. */
extern const cvy_operation *const cvy_operations[];
extern const int32_t cvy_operation_count;

static inline const cvy_operation *cvy_operation_of(const cvy_problem *problem) {
  return cvy_operations[problem->operation];
}

/* Bytes of a problem that count, a multiple of 8; the rest is not looked at. */
static inline size_t cvy_problem_size(const cvy_problem *problem) {
  return cvy_operation_of(problem)->size;
}
static inline void cvy_problem_copy(cvy_problem *to, const cvy_problem *from) {
  memcpy(to, from, cvy_problem_size(from));
}
static inline bool cvy_problem_equal(const cvy_problem *a, const cvy_problem *b) {
  return a->operation == b->operation && memcmp(a, b, cvy_problem_size(a)) == 0;
}
/* For tables in memory, not for what is written down. */
static inline uint64_t cvy_problem_hash(const cvy_problem *problem) {
  return cvy_hash_words(problem, cvy_problem_size(problem));
}

/* How many arrays it is given, at least one. */
static inline int32_t cvy_problem_inputs(const cvy_problem *problem) {
  return cvy_operation_of(problem)->inputs(problem);
}
/* The same with the one that is added to, which is the last. */
static inline int32_t cvy_problem_reads(const cvy_problem *problem) {
  return cvy_problem_inputs(problem) + problem->accumulate;
}
static inline int32_t cvy_problem_outputs(const cvy_problem *problem) {
  const cvy_operation *row = cvy_operation_of(problem);
  return row->outputs ? row->outputs(problem) : 1;
}
static inline void cvy_problem_set_run(cvy_problem *problem, uint64_t run) {
  const cvy_operation *row = cvy_operation_of(problem);
  if (row->set_run) row->set_run(problem, run);
}
/* Whether there is no image in its batch. */
static inline bool cvy_problem_empty(const cvy_problem *problem) {
  return cvy_operation_of(problem)->images(problem) == 0;
}

#endif
