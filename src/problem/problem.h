/* A problem: an operation with shapes and attributes, checked, without a device. Everything below
 * core sees problems only. What is common to all is here, and what is asked in every call in
 * problem/operation.h: it reads the operation's row. Each family has a folder of its own. */
#ifndef CVY_PROBLEM_H
#define CVY_PROBLEM_H

#include "base/base.h"
#include "problem/conv/attributes.h"
#include "problem/matmul/attributes.h"
#include "problem/move/attributes.h"
#include "problem/pooling/attributes.h"
#include "problem/resampling/attributes.h"
#include "problem/view.h"
#include "program/reduce.h"

/* Plain data: copied into the worker's ring, hashed, compared. No pointers, no implicit padding. Of
 * the union only the operation's family counts, and only its bytes are copied and compared where
 * that is done often. */
typedef struct cvy_problem {
  int32_t operation; /* number of its row */
  int32_t
      accumulate; /* 1: output 0 += result (beta = 1); what it held is one more input, the last */
  union {
    cvy_conv_problem conv;
    cvy_program_problem program;
    cvy_reduce_problem reduce;
    cvy_matmul_problem matmul;
    cvy_pooling_problem pooling;
    cvy_move_problem move;
    cvy_resampling_problem resampling;
  };
} cvy_problem;

_Static_assert(sizeof(cvy_problem) % 8 == 0, "problems are hashed in words of 8 bytes");
/* Before the union. A row's `size` is this and its family's attributes. */
enum { CVY_PROBLEM_HEAD = offsetof(cvy_problem, conv) };

enum { CVY_MAX_INPUTS = 16, CVY_MAX_OUTPUTS = 8 };
/* With what an accumulating problem adds to. */
enum { CVY_MOST_READ = CVY_MAX_INPUTS + 1 };

/* An array that a problem reads or writes. Missing leading extents are 1. */
typedef struct cvy_array {
  convoy_dtype dtype;
  bool per_image; /* it has a part for each image, its first extent; else it is the same for all */
  int64_t extent[5];
  cvy_array_view view; /* of what has images: whether it is part of a larger tensor */
} cvy_array;

/* An array as its owner describes it. */
typedef struct cvy_shape {
  convoy_dtype dtype;
  int32_t dims;
  int64_t extent[CONVOY_MAX_DIMS]; /* unused ones 1 */
} cvy_shape;

/* Host memory of what a problem reads, in its order; the one added to behind the inputs. */
typedef struct cvy_values {
  const float *in[CVY_MOST_READ];
} cvy_values;

/* One element of a result. */
typedef struct cvy_element {
  double value;
  double magnitude; /* what its bound is measured by; 0 where it is defined bit for bit */
  double flushed;   /* the value if denormal numbers count as 0, which devices may do */
} cvy_element;

/* What a choice that has been made is found again by: all that it, its workspace included, can
 * depend on, the rest 0. */
void cvy_problem_bare(const cvy_problem *problem, cvy_problem *out);
/* The same on arrays of their own, none of which is part of a larger tensor. */
void cvy_problem_apart(const cvy_problem *problem, cvy_problem *out);
/* Whether two problems differ at most in what the choice of an algorithm must not depend on. */
bool cvy_problem_same(const cvy_problem *a, const cvy_problem *b);
/* What algorithms may have compiled in of it: its extents in space. */
uint64_t cvy_problem_space_hash(const cvy_problem *problem, uint64_t seed);
/* Whether bytes from another process are a problem that a public call could have given. */
bool cvy_problem_legal(const cvy_problem *problem);

/* Array `i` of cvy_problem_reads, or of its outputs. */
cvy_array cvy_problem_input(const cvy_problem *problem, int32_t i);
cvy_array cvy_problem_output(const cvy_problem *problem, int32_t i);
const char *cvy_problem_input_name(const cvy_problem *problem, int32_t i);
const char *cvy_problem_output_name(const cvy_problem *problem, int32_t i);
/* What it has of elements, which are numbered row-major, how many lie in memory from the first to
 * the last of them, with the gaps of a part of a larger tensor, and how many bytes those are. None
 * can overflow: that was checked when the problem was made. */
int64_t cvy_array_count(const cvy_array *array);
int64_t cvy_array_reach(const cvy_array *array);
int64_t cvy_array_bytes(const cvy_array *array);
/* Whether the bytes of so many elements of four can be counted. An extent of 0 hides no overflow of
 * the others. */
bool cvy_bytes_fit(const int64_t *extent, int32_t count);
/* Where image `image` begins in its memory, and element `index`, in elements. */
int64_t cvy_array_image(const cvy_array *array, int64_t image);
int64_t cvy_array_place_in_part(const cvy_array *array, int64_t index);
static inline int64_t cvy_array_place(const cvy_array *array, int64_t index) {
  return cvy_array_view_is_part(&array->view) ? cvy_array_place_in_part(array, index) : index;
}
/* Copies the elements from memory to memory that both lie so, or makes them 0; gaps keep what they
 * hold. */
void cvy_array_copy(const cvy_array *array, void *to, const void *from);
void cvy_array_zero(const cvy_array *array, void *to);
int64_t cvy_problem_input_bytes(const cvy_problem *problem, int32_t i);
int64_t cvy_problem_output_bytes(const cvy_problem *problem, int32_t i);

/* Of a problem whose batch is empty nothing is computed, but an output that is the same for all
 * images, a sum over none of them, becomes 0. */
bool cvy_problem_zeroes(const cvy_problem *problem, int32_t output);

/* Operations, and the least bytes moved: every element of every array once. */
double cvy_problem_flops(const cvy_problem *problem);
double cvy_problem_bytes(const cvy_problem *problem);

/* One element of an output by the operation's definition, in float64, with everything that is done
 * to it. */
cvy_element cvy_problem_element(const cvy_problem *problem, const cvy_values *from, int32_t output,
                                int64_t index);
/* The most values that any element of the results is computed from: what computing one costs. */
int64_t cvy_problem_terms(const cvy_problem *problem);
/* How far a float32 result may be from the exact one. 0: it is the same float32. */
double cvy_problem_bound(const cvy_problem *problem, double magnitude);

/* As text, for logs, sentences and records. Always fits CONVOY_PROBLEM_TEXT bytes; "?" for what no
 * call can have made. */
void cvy_problem_text(const cvy_problem *problem, char *text, size_t size);
/* The same for people, who read it in passing: of what comes before " on ", a program, and of what
 * comes behind it no more than CVY_BRIEF characters each. */
enum { CVY_BRIEF = 40 };
void cvy_problem_brief(const cvy_problem *problem, char *text, size_t size);
/* The problem of a text that cvy_problem_text, cvy_class_example or an earlier version wrote; false
 * if it is none. */
bool cvy_problem_read(const char *text, cvy_problem *out);

#define CVY_CLASS_TEXT 96
/* Shape classes: problems that run through the same paths of an algorithm, closely enough that
 * trust in one, or a fault of one, says something about the others. One word without '|', which
 * begins with the operation's. */
void cvy_shape_class(const cvy_problem *problem, char *text, size_t size);
/* What classes keep of an extent, its binary logarithm rounded up: 0 of 1 and less, 1 of 2, 2 of 3
 * and 4. */
int cvy_class_bucket(int64_t extent);

/* For people and files a class is one of its problems, as text, and behind it, after a comma and a
 * blank, what the text has no words for: "n1c3w9 k4s3 pad1 forward, with bias or activation". Of a
 * problem that is too long for a text it is the class's name. */
#define CVY_EXAMPLE_TEXT (CONVOY_PROBLEM_TEXT + 64)
void cvy_class_example(const cvy_problem *problem, char *text, size_t size);
/* The class of such a text; false if it is none that cvy_class_example writes. */
bool cvy_class_of_example(const char *text, char *shape_class, size_t size);

#endif
