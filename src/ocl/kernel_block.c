/* Declaring and collecting the arguments of generated kernels. */
#include "ocl/kernel_block.h"

#include <stdio.h>
#include <string.h>

void cvy_block_begin(cvy_kernel_block *block, int32_t word_bytes, cvy_text *source) {
  block->word_bytes = word_bytes;
  block->words = 0;
  block->stream = CVY_BLOCK_NO_WORD;
  if (source) cvy_text_add(source, "typedef struct arguments {\n");
  cvy_block_add(block, source, 0, "first_group");
}

void cvy_block_add(cvy_kernel_block *block, cvy_text *source, int64_t value, const char *format,
                   ...) {
  if (block->words < CVY_BLOCK_WORDS) block->word[block->words] = value;
  block->words++;
  if (!source) return;
  char name[32];
  va_list args;
  va_start(args, format);
  cvy_print(name, sizeof name, format, args);
  va_end(args);
  cvy_text_add(source, "  word %s;\n", name);
}

bool cvy_block_fits(const cvy_kernel_block *block, int memories, cvy_text *reason) {
  int bytes = block->words * block->word_bytes + memories * 8;
  if (bytes <= CVY_BLOCK_ARGUMENTS && block->words <= CVY_BLOCK_WORDS) return true;
  cvy_text_add(reason, "its operands need %d bytes of arguments, devices take %d", bytes,
               CVY_BLOCK_ARGUMENTS);
  return false;
}

convoy_status cvy_block_end(const cvy_kernel_block *block, int memories, cvy_text *source) {
  char buffer[96];
  cvy_text reason = cvy_text_in(buffer, sizeof buffer);
  if (source) cvy_text_add(source, "} arguments;\n\n");
  if (cvy_block_fits(block, memories, &reason)) return CONVOY_OK;
  return cvy_fail(CONVOY_ERR_UNSUPPORTED, "opencl: a program cannot run: %s", buffer);
}

size_t cvy_block_bytes(const cvy_kernel_block *block, void *to) {
  size_t size = (size_t)block->words * (size_t)block->word_bytes;
  if (block->word_bytes == 8) {
    memcpy(to, block->word, size);
    return size;
  }
  for (int i = 0; i < block->words; i++) {
    uint32_t word = (uint32_t)block->word[i];
    memcpy((char *)to + (size_t)i * sizeof word, &word, sizeof word);
  }
  return size;
}
