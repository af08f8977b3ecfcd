/* An operation: what can be asked. A row of a table, with everything that is known of its problems
 * without a device: core, the worker's checks and the tests read it, and know no operation by name.
 * What it has in common with the others of its family is the family's.
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
#include "problem/region.h"

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

/* What all operations of a family have in common. */
typedef struct cvy_family {
  size_t size; /* bytes of a cvy_problem that count, a multiple of 8 */

  /* Whether bytes of this size are a problem that a call could have made; the number and
   * `accumulate` have been checked. All later functions rely on it. */
  bool (*legal)(const cvy_problem *problem);
  /* How many images its batch has, and the same problem with another number of them. */
  int64_t (*images)(const cvy_problem *problem);
  void (*set_images)(cvy_problem *problem, int64_t images);

  /* The definition of one element, how many values the costliest is made of, and the work of all.
   */
  cvy_element (*element)(const cvy_problem *problem, const cvy_values *from, int32_t output,
                         int64_t index);
  int64_t (*terms)(const cvy_problem *problem);
  double (*flops)(const cvy_problem *problem);

  /* As cvy_problem_excerpt; `out` has the problem already, on arrays of their own, and the rest 0.
   * False: there is none but an image, or all. NULL: likewise. */
  bool (*excerpt)(const cvy_problem *problem, uint64_t seed, cvy_excerpt *out);
  /* As cvy_problem_fuse, for a second problem of this family; neither adds to what is there, and
   * there are images. NULL: it takes nothing in. */
  bool (*fuse)(const cvy_bound *first, const cvy_bound *second, uint32_t kept, cvy_fused *out);

  void (*print)(const cvy_problem *problem, char *text, size_t size);
  /* Whether `parse` makes the problem of what it prints. NULL: always. */
  bool (*readable)(const cvy_problem *problem);
  /* What print has no words for, but the shape class has, beginning with ", "; else "". NULL: there
   * is nothing. `accumulate`, which all families have, is none of it. */
  const char *(*remark)(const cvy_problem *problem);
  /* The problem of such a text, the remark perhaps behind it. */
  bool (*parse)(const char *text, cvy_problem *out);
  void (*shape_class)(const cvy_problem *problem, cvy_text *text);

  /* Its random numbers become those of a graph's run of this number. NULL: it has none. */
  void (*set_run)(cvy_problem *problem, uint64_t run);

  /* Makes every array one of its own, none part of a larger tensor. NULL: there are no others. */
  void (*set_apart)(cvy_problem *problem);
  /* As cvy_problem_lay_input and cvy_problem_lay_output, in place; whether what it makes is legal
   * is seen to. NULL: all arrays are arrays of their own. */
  bool (*lay)(cvy_problem *problem, bool output, int32_t i, const cvy_region *region);
  /* As in problem/region.h. NULL: nothing is kin; and nothing is settled where no input is a part
   * of the result. */
  cvy_kinship (*kin)(const cvy_problem *problem, int32_t input, cvy_region *out);
  void (*settle)(cvy_problem *problem, uint32_t inputs);
  /* What the choice of an algorithm depends on, with `accumulate` as it is, the rest 0. NULL: on
   * all. */
  void (*bare)(const cvy_problem *problem, cvy_problem *out);
  /* Goes on from `seed` with what algorithms may have compiled in. NULL: nothing. */
  uint64_t (*space_hash)(const cvy_problem *problem, uint64_t seed);
} cvy_family;

typedef struct cvy_operation {
  const char *name; /* a word, as in texts: "forward", "backward_data" */
  const cvy_family *family;
  const char *input_names[CVY_MAX_INPUTS], *output_names[CVY_MAX_OUTPUTS];

  /* Which arrays a problem is given, all of them there, and which it makes. What is added to is not
   * counted. `inputs` and `outputs` NULL: as many as `given` says, and one. */
  int32_t given;
  int32_t (*inputs)(const cvy_problem *problem);
  int32_t (*outputs)(const cvy_problem *problem);
  cvy_array (*input)(const cvy_problem *problem, int32_t i);
  cvy_array (*output)(const cvy_problem *problem, int32_t i);

  /* What the images of the batch are to one another; NULL: independent. A problem without a batch
   * is one image, CVY_BATCH_COUPLED. */
  cvy_batch (*batch)(const cvy_problem *problem);

  /* How results are judged by the definition. bound NULL: EXACT, a result has the definition's
   * bits on every engine; any NaN is as good as any other, and denormals may be 0. Else a
   * result may be off by bound(magnitude). */
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

  /* As cvy_problem_gradient, which has seen to the rest: something is wanted and given, nothing
   * that is wanted is empty or holds integers, there are images, and out->of[] is NONE, but for
   * what the problem adds to. NULL: it has none. */
  convoy_status (*gradient)(const cvy_problem *problem, uint32_t wanted, uint32_t given,
                            cvy_gradient *out);
  /* The `i`-th problem that usually follows this one, to be compiled ahead; false: there are no
   * more. NULL: none. */
  bool (*related)(const cvy_problem *problem, int32_t i, cvy_problem *out);

  /* Its arrays may begin at any float, whatever their views say: kernels are made for where they
   * do. */
  bool begins_anywhere;
} cvy_operation;

/* problem/table.c: by number, and how many there are. */
extern const cvy_operation *const cvy_operations[];
extern const int32_t cvy_operation_count;

static inline const cvy_operation *cvy_operation_of(const cvy_problem *problem) {
  return cvy_operations[problem->operation];
}

static inline const cvy_family *cvy_family_of(const cvy_problem *problem) {
  return cvy_operation_of(problem)->family;
}

/* Bytes of a problem that count, a multiple of 8; the rest is not looked at. */
static inline size_t cvy_problem_size(const cvy_problem *problem) {
  return cvy_family_of(problem)->size;
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
  const cvy_operation *row = cvy_operation_of(problem);
  return row->inputs ? row->inputs(problem) : row->given;
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
  const cvy_family *family = cvy_family_of(problem);
  if (family->set_run) family->set_run(problem, run);
}
static inline cvy_batch cvy_problem_batch(const cvy_problem *problem) {
  const cvy_operation *row = cvy_operation_of(problem);
  return row->batch ? row->batch(problem) : CVY_BATCH_INDEPENDENT;
}
static inline int64_t cvy_problem_images(const cvy_problem *problem) {
  return cvy_family_of(problem)->images(problem);
}
static inline void cvy_problem_set_images(cvy_problem *problem, int64_t images) {
  cvy_family_of(problem)->set_images(problem, images);
}
/* Whether there is no image in its batch. */
static inline bool cvy_problem_empty(const cvy_problem *problem) {
  return cvy_problem_images(problem) == 0;
}

/* For rows. The bound that convoy.h promises of sums of so many terms; and `absolute` of what is
 * linear in all that it is given. */
double cvy_sum_bound(int64_t terms, double magnitude);
void cvy_problem_itself(const cvy_problem *problem, cvy_problem *out);

#endif
