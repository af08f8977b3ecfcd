/* Cutting gradients of weights, and joining the sums of their slices. */
#include "cpu/shared/sums.h"

#define MOST_SLICES 16
#define MOST_GROUPS 32    /* from here on threads have enough to do without slices */
#define JOINED 0.04       /* what joining slices may take of what their terms take */
#define MOST_PARTS 4      /* for each thread */
#define CACHED 131072     /* floats of sums that a thread walks through in its L2 cache */
#define WALKED 256        /* terms that a walk through the sums adds */
#define FAR 0.5           /* cycles to walk past a sum that is not there */
#define LEAST_WORK 100000 /* cycles of a piece: waking threads takes as long as some thousands */

static int64_t parts_at_most(int64_t whole, int64_t least) {
  return cvy_max(whole / cvy_max(least, 1), 1);
}

/* Cycles of one thread for everything. */
static double total(const cvy_sum_work *w, const cvy_sum_cut *cut) {
  double rows = (double)w->rows, columns = (double)w->columns, terms = (double)w->terms;
  double sums = rows * columns, slices = (double)cut->slices;
  double part = sums / ((double)cut->rows * (double)cut->columns);
  double loads = terms * (rows * w->row_term * (double)cut->columns +
                          columns * w->column_term * (double)cut->rows);
  double walks = part > CACHED ? sums * (1 + terms / WALKED) * FAR : 0;
  double joins = cut->slices > 1 ? sums * slices * w->slice : 0;
  return (double)w->groups * (loads + sums * terms * w->product + walks + joins);
}

static int64_t slices_of(const cvy_sum_work *w) {
  double each = (double)w->terms * w->product;
  double all = each * (double)w->rows * (double)w->columns * (double)w->groups;
  int64_t slices = 1;
  if (w->groups >= MOST_GROUPS) return 1;
  while (2 * slices <= MOST_SLICES && w->terms >= 2 * slices * w->least_terms &&
         2 * (double)slices * w->slice <= JOINED * each && all >= 2 * (double)slices * LEAST_WORK)
    slices *= 2;
  return slices;
}

/* Cycles until the last of the threads is done. Small work is not for all of them. */
static double duration(const cvy_sum_work *w, const cvy_sum_cut *cut, int64_t threads) {
  double cycles = total(w, cut);
  int64_t pieces = w->groups * cut->rows * cut->columns * cut->slices;
  int64_t useful = cvy_max((int64_t)(cycles / LEAST_WORK), 1), busy = cvy_min(threads, useful);
  return cycles / (double)pieces * (double)cvy_div_up(pieces, busy);
}

cvy_sum_cut cvy_sum_cut_of(const cvy_sum_work *w, int64_t threads) {
  cvy_sum_cut best = {slices_of(w), 1, 1}, cut = best;
  int64_t most_rows = parts_at_most(w->rows, w->least_rows);
  int64_t most_columns = parts_at_most(w->columns, w->least_columns);
  double least = duration(w, &best, threads);
  for (cut.rows = 1; cut.rows <= most_rows; cut.rows += cvy_max(cut.rows / 2, 1)) {
    for (cut.columns = 1; cut.columns <= most_columns; cut.columns += cvy_max(cut.columns / 2, 1)) {
      if (cut.rows * cut.columns * cut.slices > MOST_PARTS * threads) break;
      double cycles = duration(w, &cut, threads);
      if (cycles >= least) continue;
      least = cycles;
      best = cut;
    }
  }
  return best;
}

void cvy_sum_join(const cvy_simd *simd, float *sums, int64_t pitch, int64_t slices, int64_t count) {
  for (int64_t apart = 1; apart < slices; apart *= 2) {
    for (int64_t i = 0; i + apart < slices; i += 2 * apart)
      simd->axpy(sums + i * pitch, 1, sums + (i + apart) * pitch, 1, 1.0f, count);
  }
}
