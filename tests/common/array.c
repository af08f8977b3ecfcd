/* See array.h. */
#include "common/array.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FRONT 68 /* not a multiple of 8 */
#define BEHIND 64
#define CANARY 0xa5

static size_t bytes(const test_array *array) {
  return (size_t)array->count * sizeof(float);
}

test_array test_array_new(int64_t count) {
  test_array array = {.count = count};
  const size_t size = bytes(&array);
  array.block = malloc(FRONT + size + BEHIND);
  if (array.block == NULL) {
    fprintf(stderr, "no memory for %lld test values\n", (long long)count);
    exit(EXIT_FAILURE);
  }
  memset(array.block, CANARY, FRONT + size + BEHIND);
  array.values = (float *)(void *)(array.block + FRONT);
  return array;
}

void test_array_free(test_array *array) {
  free(array->block);
  *array = (test_array){0};
}

static bool is_canary(const unsigned char *from, size_t count) {
  for (size_t i = 0; i < count; i++)
    if (from[i] != CANARY) return false;
  return true;
}

bool test_array_intact(const test_array *array) {
  return is_canary(array->block, FRONT) && is_canary(array->block + FRONT + bytes(array), BEHIND);
}

static uint64_t fingerprint(const test_array *array) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (int64_t i = 0; i < array->count; i++) {
    uint32_t bits;
    memcpy(&bits, array->values + i, sizeof bits);
    hash = (hash ^ bits) * 0x100000001b3u;
  }
  return hash;
}

void test_array_seal(test_array *array) {
  array->seal = fingerprint(array);
}

bool test_array_unchanged(const test_array *array) {
  return array->seal == fingerprint(array);
}
