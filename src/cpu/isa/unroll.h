/* UNROLL(rounds) in front of a loop says that it has at most so many rounds and is to be unrolled
 * in full. Compilers keep arrays in registers only if no loop over them is left: without this the
 * inner loops take 2 to 4 times as long. */
#ifndef CVY_CPU_ISA_UNROLL_H
#define CVY_CPU_ISA_UNROLL_H

#if defined(__clang__)
#define UNROLL(rounds) _Pragma("clang loop unroll(full)")
#else
#define PRAGMA(text) _Pragma(#text)
#define UNROLL(rounds) PRAGMA(GCC unroll rounds)
#endif

#endif
