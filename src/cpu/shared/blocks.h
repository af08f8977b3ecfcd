/* The outputs of all images, cut into blocks: some neighbouring outputs along one axis, of some
 * images. A block is a convolution of its own, of the input that its outputs see. */
#ifndef CVY_CPU_SHARED_BLOCKS_H
#define CVY_CPU_SHARED_BLOCKS_H

#include "cpu/shared/cut.h"
#include "problem/conv/conv.h"

typedef struct cvy_output_blocks {
  int axis;        /* along which outputs are cut */
  cvy_cut outputs; /* along that axis */
  cvy_cut images;
} cvy_output_blocks;

typedef struct cvy_output_block {
  cvy_problem p; /* the block of one image */
  cvy_range images;
  int64_t first;         /* its first output along the axis */
  int64_t in_at, out_at; /* where it begins in a channel of the input and of the output */
} cvy_output_block;

/* The first axis with any extent: cut along it, blocks are whole in memory. */
int cvy_block_axis(const cvy_problem *problem);

/* The block of some outputs along an axis, of some images. */
cvy_output_block cvy_output_block_of(const cvy_problem *problem, int axis, cvy_range images,
                                     cvy_range outputs);

/* Block `number` of a problem of forward geometry. Blocks of the same images follow each other. */
cvy_output_block cvy_output_block_at(const cvy_output_blocks *blocks, const cvy_problem *problem,
                                     int64_t number);

/* How many there are. */
static inline int64_t cvy_output_blocks_count(const cvy_output_blocks *blocks) {
  return blocks->outputs.count * blocks->images.count;
}

#endif
