/* All inner loops of one instruction set, in GCC's vector extensions, and SIMD_TABLE, which lists
 * them. The including file sets WIDTH and what else the bodies ask for, and is compiled with the
 * flags of its instruction set and with contraction of a b + c into fused multiply-adds. */
#include "cpu/isa/simd.h"
#include "cpu/isa/unroll.h"

/* The first of these are used by the others. The order is not the alphabet's but a fixed one,
 * because compilers decide by it what they inline. */
/* clang-format off */
#include "cpu/isa/vectors_body.h"
#include "cpu/isa/lines_body.h"
#include "cpu/isa/maxima_body.h"
#include "cpu/isa/copies_body.h"
#include "cpu/isa/reductions_body.h"
#include "cpu/isa/epilogue_body.h"
#include "cpu/isa/peak_body.h"
#include "cpu/isa/inner_products_body.h"
#include "cpu/isa/interleave_body.h"
#include "cpu/isa/microkernel_body.h"
#include "cpu/isa/stencil_body.h"
#include "cpu/isa/winograd_body.h"
/* clang-format on */

#define SIMD_TABLE(text)                                                                         \
  {                                                                                              \
    .name = text, .correlate = correlate, .axpy = axpy, .gather_rows = gather_rows,              \
    .pad_rows = pad_rows, .scatter_rows = scatter_rows, .split_rows = split_rows,                \
    .join_rows = join_rows, .add_rows = add_rows, .divide_rows = divide_rows, .gather = gather,  \
    .scatter = scatter, .dot = dot, .sum = sum, .maxima = maxima, .maxima_taps = maxima_taps,    \
    .epilogue = epilogue, .fma_peak_loop = fma_peak_loop, .transpose = transpose, .pack = pack,  \
    .microkernel = {TILE_ROWS, WIDTH, {tile_1, tile_2, tile_3}},                                 \
    .narrow_microkernel = {NARROW_ROWS, WIDTH, {narrow_1, narrow_2, narrow_3}},                  \
    .sums = stencil_sums, .dots = stencil_dots, .interleave = interleave,                        \
    .deinterleave = deinterleave, .inner_products = {INNER_ROWS, INNER_COLUMNS, inner_products}, \
    .winograd = WINOGRAD_TABLES,                                                                 \
  }
