/* Bounded text, and copying public structs of other versions. */
#include <stdio.h>
#include <string.h>

#include "base/base.h"

cvy_text cvy_text_in(char *buffer, size_t size) {
  if (size) buffer[0] = '\0';
  return (cvy_text){buffer, size, 0, size == 0};
}

void cvy_text_add(cvy_text *text, const char *format, ...) {
  if (text->overflow) return;
  size_t room = text->size - text->used;
  va_list args;
  va_start(args, format);
  int length = cvy_print(text->at + text->used, room, format, args);
  va_end(args);
  if (length < 0 || (size_t)length >= room) {
    text->overflow = true;
    text->used = text->size - 1;
  } else {
    text->used += (size_t)length;
  }
}

void cvy_text_copy(char *to, size_t size, const char *from) {
  if (!size) return;
  size_t length = strnlen(from, size - 1);
  memcpy(to, from, length);
  to[length] = '\0';
}

bool cvy_text_is(const char *text, const char *pattern) {
  static const char digits[] = "0123456789abcdef";
  for (; *pattern; pattern++) {
    const size_t hexadecimal = strspn(text, digits), decimal = strspn(text, "0123456789");
    const bool fits = *pattern == '@'                      ? hexadecimal > 0
                      : *pattern == '#' || *pattern == '+' ? decimal > 0
                                                           : *text == *pattern;
    if (!fits) return false;
    text += *pattern == '+' ? decimal : 1;
  }
  return !*text;
}

static const uint64_t factor = 0x9e3779b97f4a7c15u;

static uint64_t mix(uint64_t chain, const unsigned char *at) {
  uint64_t word;
  memcpy(&word, at, sizeof word);
  return (chain ^ word) * factor;
}

/* Four chains, so that multiplications overlap. */
uint64_t cvy_hash_words(const void *words, size_t bytes) {
  const ptrdiff_t one = (ptrdiff_t)sizeof(uint64_t);
  const unsigned char *at = words, *end = at + bytes;
  uint64_t a = 1, b = 2, c = 3, d = 4;
  for (; end - at >= 4 * one; at += 4 * one) {
    a = mix(a, at);
    b = mix(b, at + one);
    c = mix(c, at + 2 * one);
    d = mix(d, at + 3 * one);
  }
  for (; end - at >= one; at += one) a = mix(a, at);
  const uint64_t hash = (a ^ b >> 7) + (c ^ d >> 11);
  return (hash ^ hash >> 32) * factor >> 16;
}

uint64_t cvy_hash(uint64_t seed, const void *bytes, size_t count) {
  const unsigned char *at = bytes;
  uint64_t hash = seed ? seed : 0xcbf29ce484222325u;
  for (size_t i = 0; i < count; i++) hash = (hash ^ at[i]) * 0x100000001b3u;
  return hash;
}

bool cvy_struct_in(void *to, size_t size, const void *from, size_t least) {
  uint32_t given;
  memcpy(&given, from, sizeof given);
  if (given < least) return false;
  memcpy(to, from, given < size ? given : size);
  uint32_t ours = (uint32_t)size;
  memcpy(to, &ours, sizeof ours);
  return true;
}

bool cvy_struct_out(void *to, const void *from, size_t size, size_t least) {
  uint32_t given;
  memcpy(&given, to, sizeof given);
  if (given < least) return false;
  memcpy((char *)to + sizeof given, (const char *)from + sizeof given,
         (given < size ? given : size) - sizeof given);
  return true;
}
