/* The argument block: what the host tells every kernel, passed by value as its first argument.
 *
 * Host and kernels share this description, and there is no other. All fields are of one integer
 * type, so the block is also an array of words: the host fills it in 64 bits and, for kernels
 * compiled with WIDE=0, narrows it word by word to 32 bits. Letters are those of
 * include/convoy/convoy.h. */
#ifndef CONV_ARGS_H
#define CONV_ARGS_H

#ifdef __OPENCL_VERSION__
#ifndef WIDE
#error "WIDE is missing: 0 = 32-bit indices, 1 = 64-bit"
#endif
#if WIDE
typedef long conv_int;
#else
typedef int conv_int;
#endif
#else
#include <stdint.h>
typedef int64_t conv_int;
#endif

/* Where arrays begin is counted in this many floats, so offsets fit 32 bits up to 512 GiB. */
#define CONV_ALIGN 64

typedef struct conv_args {
  /* The problem. */
  conv_int n, c, k, groups;
  conv_int iz, ih, iw; /* input */
  conv_int t, r, s;    /* filter */
  conv_int oz, oh, ow; /* output */
  conv_int sz, sh, sw; /* stride */
  conv_int pz, ph, pw; /* padding at the beginning */
  conv_int dz, dh, dw; /* dilation */
  conv_int accumulate; /* 1: out += result */
  conv_int has_bias, activation;
  conv_int slope; /* bits of a float */
  /* Where the four arrays begin in their buffers, in units of CONV_ALIGN floats, and how many
   * floats behind that, which is 0 but for parts of larger tensors. */
  conv_int a_at, a_rest, b_at, b_rest, bias_at, bias_rest, out_at, out_rest;
  /* Floats from image to image, of arrays that have images: more than these have, for parts of
   * larger tensors. */
  conv_int a_pitch, b_pitch, out_pitch;
  /* This launch. */
  conv_int items;               /* elements to produce; winograd_operands: those of dy's matrices;
                                   long_rows_weights: pieces of rows */
  conv_int first_group;         /* work-groups that earlier parts of the launch have done */
  conv_int first;               /* im2col, Winograd: first image of this piece of the batch */
  conv_int rows, depth;         /* products, per group: rows of the result, channels summed over */
  conv_int rows_up, depth_up;   /* the same rounded up to whole tiles: extents of packed weights */
  conv_int columns, columns_up; /* Winograd: columns of the result, and whole tiles of them */
  conv_int row_tiles, column_tiles;
  /* Long sums are cut into slices (split-K), one partial result each. The unit of their length is
   * the kernel's: terms, positions, blocks of BK channels or pieces of a row. */
  conv_int slices, slice_length;
  conv_int items_per_result; /* items of a work-group that share the sum of one result */
  conv_int items_per_row;    /* direct_backward_weights: items that share a row of outputs */
  conv_int block_channels;   /* pack_weights: channels of a block */
} conv_args;

#define CONV_ARGS_WORDS (sizeof(conv_args) / sizeof(conv_int))

#ifdef __OPENCL_VERSION__
/* Where an array begins: begin_of(args.a_at, args.a_rest). */
static size_t begin_of(conv_int at, conv_int rest) {
  return (size_t)at * CONV_ALIGN + (size_t)rest;
}
#endif

#endif
