/* A program applied to arrays, as a problem: plain data, checked, without a device.
 *
 * It has an index space of five extents, n c z h w, and is computed once for each of its elements.
 * Where an operand's value for an element lies is said by strides, one per axis: that of a full
 * array, of one value per channel, of a slice of channels of a larger array. Memory itself, and
 * where in it an operand begins, belongs to the engine that carries the problem out. */
#ifndef CVY_PROGRAM_PROBLEM_H
#define CVY_PROGRAM_PROBLEM_H

#include "program/program.h"

/* What an operand has an element for. A place in this list is not written down anywhere: problems
 * hold strides. */
typedef enum cvy_program_class {
  CVY_CLASS_FULL,          /* each element */
  CVY_CLASS_IMAGE_CHANNEL, /* each n and c */
  CVY_CLASS_CHANNEL,       /* each c */
  CVY_CLASS_POSITION,      /* each z h w */
  CVY_CLASS_ONE,           /* all of them */
  CVY_CLASS_STRIDED        /* anything else: slices, permuted axes, other sets of axes */
} cvy_program_class;

typedef struct cvy_program_view {
  int32_t type; /* convoy_dtype */
  int32_t reserved;
  int64_t stride[CVY_PROGRAM_AXES]; /* in elements; 0 along an axis of extent 1 */
} cvy_program_view;

/* Flat, without padding; what is not used is 0. So equal problems are equal bytes. */
typedef struct cvy_program_problem {
  cvy_program program;
  int64_t extent[CVY_PROGRAM_AXES]; /* an extent of 0 is legal, and there is nothing to do */
  cvy_program_view input[CVY_PROGRAM_INPUTS];
  cvy_program_view result[CVY_PROGRAM_RESULTS]; /* no two elements at one place */
  uint64_t seed, run, node;                     /* of random(); 0 without it */
} cvy_program_problem;

/* Extents from elsewhere: ERR_ARGUMENT unless each is 0 to 2^31 - 1 and all together make at most
 * 2^56 elements. What follows multiplies them. */
convoy_status cvy_program_check_extents(const int64_t *extent);

/* The strides of an array that holds nothing but what the class says, in the order of the axes. Not
 * for CVY_CLASS_STRIDED. */
cvy_program_view cvy_program_view_of(cvy_program_class what, convoy_dtype type,
                                     const int64_t *extent);
/* Which class it is, the first that fits: with one image a full array is also one per position. */
cvy_program_class cvy_program_class_of(const cvy_program_view *view, const int64_t *extent);

/* The problem of these classes, all float32, results full; change views and numbers and check. */
void cvy_program_problem_init(const cvy_program *program, const int64_t *extent,
                              const cvy_program_class *inputs, cvy_program_problem *out);

/* Whether bytes from elsewhere are a problem: extents, types, strides that neither overflow nor let
 * results overlap, zeros where nothing belongs. ERR_ARGUMENT with what is wrong. */
convoy_status cvy_program_problem_check(const cvy_program_problem *problem);
/* Its halves, for problems whose results are fewer or have other extents. */
convoy_status cvy_program_check_inputs(const cvy_program_problem *problem);
convoy_status cvy_program_check_results(const cvy_program_problem *problem, int results,
                                        const int64_t *extent);

/* Elements of the index space. */
int64_t cvy_program_count(const int64_t *extent);
/* How many elements of an operand's memory lie from its first to its last: what an array must have.
 * 0 if the index space is empty. */
int64_t cvy_program_reach(const cvy_program_view *view, const int64_t *extent);

/* Where element `index` of the index space is, in the order of n c z h w. */
cvy_program_place cvy_program_place_of(const cvy_program_problem *problem, int64_t index);
/* Its number within an operand's memory. */
int64_t cvy_program_offset(const cvy_program_view *view, const cvy_program_place *place);

/* The definition: one element from the inputs' memory. False if a denormal number was met; then
 * `flushed` has the results of engines that take such numbers for 0, else the same. The second is
 * for threads in the default mode, as cvy_program_element_both. */
bool cvy_program_problem_element(const cvy_program_problem *problem, const void *const *inputs,
                                 int64_t index, float *results, float *flushed);
bool cvy_program_problem_element_in_mode(const cvy_program_problem *problem,
                                         const void *const *inputs, int64_t index, float *results,
                                         float *flushed);

#endif
