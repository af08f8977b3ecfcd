/* The contract of interleaving: as many planes as a vector has elements become one plane of
 * vectors, whose elements l are plane l, and back. */
#ifndef CVY_CPU_ISA_INTERLEAVE_H
#define CVY_CPU_ISA_INTERLEAVE_H

#include <stdbool.h>
#include <stdint.h>

typedef struct cvy_interleaving {
  int64_t planes;       /* at most a vector's width; elements behind the last are left alone */
  int64_t pitch;        /* floats from plane to plane */
  int64_t count;        /* elements of a plane */
  const int32_t *place; /* where the vector of each element begins */
  bool add;             /* deinterleaving adds to the planes */
} cvy_interleaving;

/* to[place[i] + l] = from[l pitch + i] */
typedef void cvy_interleave_planes(const cvy_interleaving *planes, float *to, const float *from);
/* to[l pitch + i] = from[place[i] + l] */
typedef void cvy_deinterleave_planes(const cvy_interleaving *planes, float *to, const float *from);

#endif
