/* backward_weights of cpu.implicit_gemm: dw = dy x^T, a sum over the outputs of all images.
 *
 * The microkernel wants what is summed along its loop and what is not side by side. So x is
 * transposed, padding included, such that the channels of one place are neighbours, and dy such
 * that some outputs of one place are. Then the taps of one filter row and the channels are one run
 * of columns, however few channels there are, and a stride is a step from place to place. */
#ifndef CVY_CPU_IMPLICIT_GEMM_BACKWARD_WEIGHTS_H
#define CVY_CPU_IMPLICIT_GEMM_BACKWARD_WEIGHTS_H

#include "cpu/row.h"
#include "cpu/shared/blocks.h"

typedef struct cvy_cpu_implicit_gemm_weights_plan {
  cvy_problem p; /* merged, as far as its blocks allow */
  const cvy_microkernel *kernel;
  int64_t channels, outputs; /* per group */
  int64_t tiles;             /* of outputs, per group */
  cvy_cut tile_parts;        /* of these, where pieces share them out */

  /* The columns of the product. */
  struct {
    cvy_cut parts; /* of a group's channels, where pieces share them out */
    cvy_cut
        bundles;   /* of a part, which are transposed together: a strip wide if there are so many */
    bool unfolded; /* x has an element for each of them, in the order of dw: fewer than sums */
    bool folded;   /* the taps of a filter row are columns, else each is a tap of its own */
    int64_t taps;  /* how many times the columns are read, each time from another place */
    int64_t pitch; /* columns of a bundle, in whole vectors */
  } columns;

  /* Grains are some outputs of an image along an axis, in whole blocks of sums; those of all
   * images are a line, of which slices are parts. They follow from the problem alone. A unit of
   * work, what is transposed and multiplied at a time, is some neighbours of them, as many as the
   * cache holds. */
  struct {
    int axis;
    cvy_cut grains;                  /* of an image */
    int64_t at_once, images_at_once; /* grains, or whole images if there are several */
  } units;
  int64_t slices; /* each with a sum of its own */
  int64_t pieces; /* slices of parts of groups, which threads share out */

  /* Sizes of memory, in floats. */
  struct {
    int64_t x;   /* of one image and bundle of a unit */
    int64_t y;   /* of one image and tile */
    int64_t row; /* of one row of x, where a stride skips elements, or of the taps of a channel,
                    before they are transposed */
    int64_t sum; /* of a piece: in a slot, if there is only one slice */
    int64_t dw;  /* of an output and bundle, to be added to what is there */
    int64_t slot;
  } floats;
  int64_t slots;
} cvy_cpu_implicit_gemm_weights_plan;

/* How a block of x lies when it is transposed: places per axis, of which outputs are `stride` and
 * taps `dilation` apart, place e holding input e * step - pad. An axis without taps holds only what
 * its outputs read. */
typedef struct cvy_cpu_implicit_gemm_transposed {
  int64_t extent[3], step[3], stride[3];
} cvy_cpu_implicit_gemm_transposed;

/* backward_weights_plan.c: false with a reason if the problem is not for it. */
bool cvy_cpu_implicit_gemm_takes_weights(const cvy_problem *problem, cvy_text *reason);
cvy_cpu_implicit_gemm_weights_plan cvy_cpu_implicit_gemm_weights_plan_for(
    const cvy_problem *problem, const cvy_facts *facts);
int64_t cvy_cpu_implicit_gemm_weights_bytes(const cvy_problem *problem, const cvy_facts *facts);
cvy_cpu_implicit_gemm_transposed cvy_cpu_implicit_gemm_transposed_of(const cvy_problem *block);
/* The unit that begins with grain `number` and ends with *number or before: *number becomes the
 * grain after it. */
cvy_output_block cvy_cpu_implicit_gemm_unit_at(const cvy_cpu_implicit_gemm_weights_plan *plan,
                                               int64_t number, int64_t *end);

/* Whether sums go through rows one at a time: long ones, and lines. */
bool cvy_cpu_implicit_gemm_by_rows(const cvy_problem *problem);

/* backward_weights.c */
void cvy_cpu_implicit_gemm_weights(const cvy_cpu_call *call);

#endif
