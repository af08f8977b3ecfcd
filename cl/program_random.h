/* What index() and random() read, behind program_words.h. */

/* Where an element is: of four the first, whose neighbours have the next indices. `axis` are their
 * places along each axis as floats. */
typedef struct program_place {
  real axis0, axis1, axis2, axis3, axis4;
  uint4 stream; /* cvy_program_stream */
  ulong index;
} program_place;

/* Philox 4x32-10, as in program/random.c. */
FUNCTION uint4 random_four(uint4 stream, uint call, ulong quad) {
  uint c0 = (uint)quad, c1 = (uint)(quad >> 32), c2 = stream.z, c3 = stream.w + call;
  uint key0 = stream.x, key1 = stream.y;
  for (int round = 0; round < 10; round++) {
    uint high0 = mul_hi(0xd2511f53u, c0), high2 = mul_hi(0xcd9e8d57u, c2);
    uint low0 = 0xd2511f53u * c0, low2 = 0xcd9e8d57u * c2;
    c0 = high2 ^ c1 ^ key0;
    c1 = low2;
    c2 = high0 ^ c3 ^ key1;
    c3 = low0;
    key0 += 0x9e3779b9u;
    key1 += 0xbb67ae85u;
  }
  return (uint4)(c0, c1, c2, c3);
}

FUNCTION real program_random(const program_place *at, uint call) {
  uint skip = (uint)at->index & 3u;
  uint4 words = random_four(at->stream, call, at->index >> 2);
#if PROGRAM_WIDTH == 4
  uint4 next = skip ? random_four(at->stream, call, (at->index >> 2) + 1) : words;
  return convert_float4(shuffle2(words, next, (uint4)(0, 1, 2, 3) + skip) >> 8) * 0x1p-24f;
#else
  uint word = skip < 2 ? (skip ? words.y : words.x) : (skip == 2 ? words.z : words.w);
  return convert_float(word >> 8) * 0x1p-24f;
#endif
}
