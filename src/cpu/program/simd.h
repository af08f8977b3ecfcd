/* The loops of programs, one set per instruction set. loops_body.h is compiled once for each with
 * that set's flags. */
#ifndef CVY_CPU_PROGRAM_SIMD_H
#define CVY_CPU_PROGRAM_SIMD_H

#include "program/reduce.h"

/* What a loop does: an operation of programs, or several that often come together. Each rounds as
 * the operations it is made of. */
typedef enum cvy_vector_op {
  CVY_VECTOR_COPY = CVY_PROGRAM_OPS,
  CVY_VECTOR_FROM_INT32,
  CVY_VECTOR_FROM_UINT8,
  CVY_VECTOR_PAIR, /* (a o b) o c, see cvy_vector_pair */
  CVY_VECTOR_PAIR_LAST = CVY_VECTOR_PAIR + 11,
  CVY_VECTOR_NORMALISE,         /* (a - b) * c + d */
  CVY_VECTOR_SILU,              /* a * sigmoid(a) */
  CVY_VECTOR_SELECT_LESS,       /* a < b ? c : d */
  CVY_VECTOR_SELECT_LESS_EQUAL, /* a <= b ? c : d */
  CVY_VECTOR_OPS
} cvy_vector_op;

/* The second operation of a pair. In a sum or a product the order of operands makes no difference.
 */
typedef enum cvy_pair_op {
  CVY_PAIR_ADD,
  CVY_PAIR_SUBTRACT, /* (a o b) - c */
  CVY_PAIR_FROM,     /* c - (a o b) */
  CVY_PAIR_MULTIPLY,
  CVY_PAIR_OPS
} cvy_pair_op;

/* `first` is ADD, SUBTRACT or MULTIPLY, the first three operations. */
static inline int cvy_vector_pair(cvy_program_op first, cvy_pair_op second) {
  return CVY_VECTOR_PAIR + CVY_PAIR_OPS * (int)first + (int)second;
}

enum { CVY_VECTOR_OPERANDS = 4, CVY_WIDEST = 16 };

/* An operand of a loop: `advance` is how far the next vector is, or 0 for one number, which lies
 * there as often as a vector has elements. */
typedef struct cvy_vector_operand {
  const float *at;
  int64_t advance;
} cvy_vector_operand;

/* `count` is a multiple of the width, except for the conversions, whose operand is no float. The
 * result may lie where an operand does. */
typedef void cvy_vector_loop(float *out, const cvy_vector_operand *in, int64_t count);

/* All of a program at once, for any count. Results may lie where inputs do. */
typedef void cvy_fused_loop(const float *const *inputs, float *const *results, int64_t count);

/* Of a reduction's part, lanes side by side: takes up `rows` values of each lane, 1 to 8, the next
 * of them `pitch` floats on; or what other lanes have. */
typedef void cvy_reduce_rows(float *const *state, const float *values, int64_t pitch, int rows,
                             int64_t count);
typedef void cvy_reduce_join(float *const *state, float *const *other, int64_t count);

typedef struct cvy_program_simd {
  const char *name;
  int width;                             /* floats of a vector, at most CVY_WIDEST */
  cvy_vector_loop *loop[CVY_VECTOR_OPS]; /* NULL for INDEX and RANDOM */
  cvy_fused_loop *const *fused;          /* as many as cvy_fused_programs has */
  void (*random)(float *out, const cvy_program_stream *stream, int call, uint64_t first,
                 int64_t count);
  cvy_reduce_rows *rows[CVY_PART_KINDS];
  cvy_reduce_join *join[CVY_PART_KINDS];
} cvy_program_simd;

extern const cvy_program_simd cvy_program_simd_baseline;
#if defined(__x86_64__)
extern const cvy_program_simd cvy_program_simd_avx2;
extern const cvy_program_simd cvy_program_simd_avx512;
#endif

/* The set that cvy_simd_best() names. */
const cvy_program_simd *cvy_program_simd_best(void);

/* The programs that were compiled ahead (program/named.h, planned_*.txt), in the order of the
 * loops. */
typedef struct cvy_fused_program {
  cvy_program program;
  uint32_t single; /* bits of the inputs that are one number */
  int32_t given;   /* 1: the last input stands for a constant of any value */
} cvy_fused_program;
extern const cvy_fused_program cvy_fused_programs[];
extern const int cvy_fused_count;

/* Which of them the program is with these inputs being one number, or -1. `constant` gets the
 * number of the program's constant that the loop takes behind its inputs, or -1. */
int cvy_fused_find(const cvy_program *program, uint32_t single, int32_t *constant);

#endif
