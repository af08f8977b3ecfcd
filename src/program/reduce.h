/* Reductions: the results of a program, summed or otherwise put together over some of the axes.
 *
 *   s = sum over n z h w of dy; q = sum over n z h w of dy * (x - mean)
 *
 * A reduction is computed in an order that depends on the extents and one number only, the length
 * of a piece, which is part of the problem. So every engine gives the same bits, whatever its
 * threads and work-groups; denormal numbers excepted, as for programs.
 *
 * The order, for each element of a result: the elements that it is made of are numbered as n c z h
 * w has them, and cut into pieces. In a piece, element i goes to lane i mod L. A lane takes its
 * elements one after the other, in groups of 8 for the variance. Then lane l takes up lane l + L/2,
 * for each l, then l + L/4, down to l + 1. L is a power of two, at most 256, if the last axis
 * longer than 1 is reduced; else 1: neighbouring results are computed side by side. At last pieces
 * are put together as elements of a piece are, in P lanes, where P is the power of two at or above
 * their number, at most 256.
 */
#ifndef CVY_PROGRAM_REDUCE_H
#define CVY_PROGRAM_REDUCE_H

#include "program/nest.h"

typedef enum cvy_reduce_kind {
  CVY_REDUCE_SUM,
  CVY_REDUCE_MEAN, /* a NaN if there are no elements, or infinite ones */
  CVY_REDUCE_MAX,  /* of no elements -inf; a NaN stays */
  CVY_REDUCE_MIN,
  CVY_REDUCE_VARIANCE, /* mean square distance from the mean: divided by the count, not one less */
  CVY_REDUCE_KINDS
} cvy_reduce_kind;

enum {
  CVY_REDUCE_GROUP = 8, /* elements of a lane whose mean is taken before their distances from it */
  CVY_REDUCE_LANES = 256, /* at most */
  CVY_REDUCE_LONGEST_PIECE = 1 << 24,
  CVY_REDUCE_MOST_PIECES = 256,                   /* by default */
  CVY_REDUCE_COMPONENTS = 3 * CVY_PROGRAM_RESULTS /* floats of a partial result, at most */
};

/* What is done with a program's results. Flat. */
typedef struct cvy_reduction {
  uint8_t axes;    /* bits of the reduced axes, n the first; 0: the program is elementwise */
  uint8_t results; /* 0 if it is */
  struct {
    uint8_t kind;  /* cvy_reduce_kind */
    uint8_t value; /* which result of the program */
  } result[CVY_PROGRAM_RESULTS];
} cvy_reduction;

/* ------------------------------------------------------------------------------------- text */

/* As cvy_program_parse, of programs and of reductions: `how->axes` says which it is. */
convoy_status cvy_reduction_parse(const char *text, cvy_program *program, cvy_reduction *how,
                                  cvy_program_names *names);
convoy_status cvy_reduction_text(const cvy_program *program, const cvy_reduction *how,
                                 const cvy_program_names *names, char *text, size_t size);

/* ---------------------------------------------------------------------------------- problem */

/* Flat, without padding. */
typedef struct cvy_reduce_problem {
  cvy_program_problem of; /* result[k] are the views of the reduced results, stride 0 along reduced
                             axes */
  cvy_reduction how;
  uint8_t reserved[6];
  int64_t piece; /* elements of a piece: a multiple of 8 L, at most 2^24 */
} cvy_reduce_problem;

/* Inputs of these classes, float32, results in one piece, pieces as cvy_reduce_default_piece. */
void cvy_reduce_problem_init(const cvy_program *program, const cvy_reduction *how,
                             const int64_t *extent, const cvy_program_class *inputs,
                             cvy_reduce_problem *out);
convoy_status cvy_reduce_problem_check(const cvy_reduce_problem *problem);
/* What engines go through: the program over its index space. Where nothing is reduced, that has an
 * extent of 1 along every reduced axis, of which no element is looked for: then neither loops nor
 * vectors are of an axis along which there is nothing to do. */
void cvy_reduce_space(const cvy_reduce_problem *problem, cvy_program_problem *out);
/* Operations for each of the elements that are reduced. */
int cvy_reduce_problem_work(const cvy_reduce_problem *problem);
double cvy_reduce_problem_flops(const cvy_reduce_problem *problem);

/* How many results there are, of how many elements each. */
int64_t cvy_reduce_kept(const int64_t *extent, uint32_t axes);
int64_t cvy_reduce_length(const int64_t *extent, uint32_t axes);

/* A device is busy with so many work-groups; pieces are as long as they can be while there are that
 * many of them. A function of the extents alone, given that number. */
enum { CVY_REDUCE_BUSY = 4096 };
int64_t cvy_reduce_default_piece(const int64_t *extent, uint32_t axes, int64_t busy);

/* The numbers of the order. */
typedef struct cvy_reduce_order {
  int32_t lanes;
  int32_t pieces, piece_lanes;
  int64_t kept, length;
} cvy_reduce_order;
cvy_reduce_order cvy_reduce_order_of(const cvy_reduce_problem *problem);

/* What is accumulated: results that need the same share it. */
typedef enum cvy_part_kind {
  CVY_PART_SUM,
  CVY_PART_MAX,
  CVY_PART_MIN,
  CVY_PART_MOMENTS, /* count, mean, sum of squared distances from it */
  CVY_PART_KINDS
} cvy_part_kind;
typedef struct cvy_reduce_parts {
  int32_t count;
  int32_t components; /* floats of all parts */
  struct {
    uint8_t kind, value; /* cvy_part_kind, result of the program */
    uint8_t first;       /* component */
  } part[CVY_PROGRAM_RESULTS];
  uint8_t part_of[CVY_PROGRAM_RESULTS]; /* each result */
} cvy_reduce_parts;
cvy_reduce_parts cvy_reduce_parts_of(const cvy_reduction *how);
int cvy_part_components(int kind);   /* 1, of moments 3 */
float cvy_part_of_nothing(int kind); /* its first component, the others are 0 */
/* The component that a result is made of: of a variance, still to be divided by the count. */
int cvy_reduce_component(const cvy_reduce_parts *parts, const cvy_reduction *how, int result);

/* --------------------------------------------------------------------------------- gradient */

typedef enum cvy_reduce_source {
  CVY_REDUCE_FROM_INPUT,    /* of the reduction's program */
  CVY_REDUCE_FROM_RESULT,   /* what the reduction has made, the same for all that it is made of */
  CVY_REDUCE_FROM_STATISTIC /* a result of `statistics`, likewise */
} cvy_reduce_source;

/* A program, what its inputs are, and how it is reduced. */
typedef struct cvy_reduce_stage {
  cvy_program program;
  cvy_reduction how; /* results 0: there is nothing to do */
  struct {
    uint8_t kind; /* cvy_reduce_source */
    uint8_t number;
  } source[CVY_PROGRAM_INPUTS];
} cvy_reduce_stage;

/* Every reduction has, at each place, the gradient of a sum. */
typedef struct cvy_reduce_gradient {
  cvy_reduce_stage statistics; /* what has to be known first: counts and means, by the same axes */
  cvy_reduce_stage terms;      /* the sums; their program's gradients are to be taken by inputs */
  uint8_t result[CVY_PROGRAM_RESULTS]; /* of the reduction, for each of the sums */
} cvy_reduce_gradient;

/* Of reductions over `length` elements each, for the results in `given` that depend on inputs in
 * `wanted`. Where several elements are the maximum or minimum, each has an equal part of the
 * gradient, as in PyTorch's amax; all of them have a NaN if it is one. ERR_UNSUPPORTED if it is no
 * program: too many inputs or instructions. */
convoy_status cvy_reduce_gradient_of(const cvy_program *program, const cvy_reduction *how,
                                     int64_t length, uint32_t wanted, uint32_t given,
                                     cvy_reduce_gradient *out);

/* ------------------------------------------------------------------------------- definition */

/* All results for element `kept` of the results' index space, bit for bit. False if a denormal
 * number was met on the way. */
bool cvy_reduce_element(const cvy_reduce_problem *problem, const void *const *inputs, int64_t kept,
                        float *results);

/* The same in float64, from the program's float32 values: what the float32 result approximates. Its
 * distance from it is at most cvy_reduce_bound(problem, magnitude): the number of roundings on an
 * element's way, times the sum of the absolute values; 0 for maximum and minimum. A mean's
 * magnitude is the largest absolute value; a variance's is relative to itself, and what a rounded
 * mean adds. */
typedef struct cvy_reduced {
  double value, magnitude;
  double flushed; /* the value if the program takes denormal numbers for 0, as devices may */
} cvy_reduced;
void cvy_reduce_element64(const cvy_reduce_problem *problem, const void *const *inputs,
                          int64_t kept, cvy_reduced *results);
/* Roundings that an element passes through at most. */
int64_t cvy_reduce_terms(const cvy_reduce_problem *problem);
double cvy_reduce_bound(const cvy_reduce_problem *problem, double magnitude);

#endif
