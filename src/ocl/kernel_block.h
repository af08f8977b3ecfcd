/* The argument block of a generated kernel: a struct of numbers, whose declaration is written into
 * the source while its values are collected, so that the two cannot differ. */
#ifndef CVY_OCL_KERNEL_BLOCK_H
#define CVY_OCL_KERNEL_BLOCK_H

#include "base/base.h"

enum {
  CVY_BLOCK_WORDS = 192,
  CVY_BLOCK_ARGUMENTS = 1024 /* bytes that every device takes, memory objects included */
};

typedef struct cvy_kernel_block {
  int32_t word_bytes; /* 4 or 8 */
  int32_t words;
  int64_t word[CVY_BLOCK_WORDS];
} cvy_kernel_block;

void cvy_block_begin(cvy_kernel_block *block, int32_t word_bytes, cvy_text *source);
/* One more member of this name. */
void cvy_block_add(cvy_kernel_block *block, cvy_text *source, int64_t value, const char *format,
                   ...) CVY_PRINTF(4, 5);
/* ERR_UNSUPPORTED if it is too large together with `memories` memory objects. */
convoy_status cvy_block_end(const cvy_kernel_block *block, int memories, cvy_text *source);

/* The bytes of the argument; returns how many. */
size_t cvy_block_bytes(const cvy_kernel_block *block, void *to);

#endif
