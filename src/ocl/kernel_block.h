/* The argument block of a generated kernel: a struct of numbers, whose declaration is written into
 * the source while its values are collected, so that the two cannot differ. The first of them is
 * the number of work-groups that earlier parts of the launch have done. Where no source is asked
 * for (NULL), the values alone are collected: they say how large the block is. */
#ifndef CVY_OCL_KERNEL_BLOCK_H
#define CVY_OCL_KERNEL_BLOCK_H

#include "program/program.h"

enum {
  CVY_BLOCK_WORDS = 192,
  CVY_BLOCK_ARGUMENTS = 1024, /* bytes that every device takes, memory objects included */
  CVY_BLOCK_ARRAYS =
      CVY_PROGRAM_INPUTS + CVY_PROGRAM_RESULTS + 1, /* inputs, results, partial results */
  CVY_BLOCK_FIRST_GROUP = 0,                        /* the word */
  CVY_BLOCK_NO_WORD = -1
};

typedef struct cvy_kernel_block {
  int32_t word_bytes; /* 4 or 8 */
  int32_t words;
  /* What a launch with other arrays or other random numbers has elsewhere: the word that says where
   * an array begins in its memory, in elements; arrays are numbered by the generator. And the first
   * of the four words that random() takes, or CVY_BLOCK_NO_WORD. */
  int32_t offset[CVY_BLOCK_ARRAYS];
  int32_t stream;
  int64_t word[CVY_BLOCK_WORDS];
} cvy_kernel_block;

void cvy_block_begin(cvy_kernel_block *block, int32_t word_bytes, cvy_text *source);
/* One more member of this name. */
void cvy_block_add(cvy_kernel_block *block, cvy_text *source, int64_t value, const char *format,
                   ...) CVY_PRINTF(4, 5);
/* ERR_UNSUPPORTED if it is too large together with `memories` memory objects. */
convoy_status cvy_block_end(const cvy_kernel_block *block, int memories, cvy_text *source);
/* The same without a failure; false with what the sentence says. */
bool cvy_block_fits(const cvy_kernel_block *block, int memories, cvy_text *reason);

/* The bytes of the argument; returns how many. */
size_t cvy_block_bytes(const cvy_kernel_block *block, void *to);

#endif
