/* The layout of files of tensors that PyTorch's world calls safetensors: 8 bytes with the size of a
 * header, the header, which is JSON, and behind it the tensors' bytes, all little-endian:
 *
 *   {"__metadata__":{"convoy.sums":"TEXT"},
 *    "name":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]},...}
 *
 * Offsets count from behind the header; the tensors cover that part of the file without gaps. The
 * sums of their bytes, 16 hexadecimal digits each with blanks between, are Convoy's own. Here are
 * headers as texts, without files. What is read may be anything. */
#ifndef CVY_SAFETENSORS_H
#define CVY_SAFETENSORS_H

#include "base/base.h"

enum {
  CVY_SAFETENSORS_SIZE = 8,          /* bytes of a header's size */
  CVY_SAFETENSORS_HEADER = 64 << 20, /* a header's bytes at most */
  CVY_SAFETENSORS_DIMS = 16,         /* extents at most */
  CVY_SAFETENSORS_DTYPE = 16         /* bytes of a type's name, with its end */
};

/* A tensor in a file. */
typedef struct cvy_saved {
  const char *name;                  /* in UTF-8, without escapes */
  char dtype[CVY_SAFETENSORS_DTYPE]; /* as "F32", also of a type that is not known here */
  int32_t dims;
  int64_t shape[CVY_SAFETENSORS_DIMS];
  int64_t begin, end; /* offsets */
  uint64_t sum;       /* of its bytes */
} cvy_saved;

typedef struct cvy_saved_list {
  cvy_saved *tensor; /* in the order of their names */
  int32_t count;
  const char *sums; /* text of all sums, in the order of the file; NULL: there are none */
} cvy_saved_list;

/* Reads a header of `size` bytes in front of `data` bytes. The text is changed, and names point
 * into it; there has to be one more byte behind it. ERR_IO with what is wrong and where. */
convoy_status cvy_safetensors_parse(char *text, size_t size, int64_t data, cvy_saved_list *out);
void cvy_saved_free(cvy_saved_list *list);
/* NULL: there is none of this name. */
const cvy_saved *cvy_saved_find(const cvy_saved_list *list, const char *name);

/* Writes the header of these tensors, its size in front of it, so that what follows is aligned to 8
 * bytes; malloc'ed. Their types are known, their offsets right and in their order, their names
 * legal. ERR_MEMORY; ERR_ARGUMENT for a header that is too large. */
convoy_status cvy_safetensors_format(const cvy_saved *tensors, int32_t count, char **text,
                                     size_t *size);
/* UTF-8 without control characters, not empty, and not what stands for metadata: else ERR_ARGUMENT.
 */
convoy_status cvy_safetensors_check_name(const char *name);
/* By which damage is found: of words of 8 bytes, the last one filled up with zeros. */
uint64_t cvy_safetensors_sum(const void *bytes, size_t count);
/* Bytes of an element; 0: the type is not known. */
int64_t cvy_safetensors_dtype_bytes(const char *dtype);

#endif
