/* Cutting gradients of weights, and joining the sums of their slices. */
#include "cpu/shared/sums.h"

#define THREADS 16        /* that shall find work */
#define MOST_PIECES 256   /* more are of no use to them */
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
  double walks = part > CACHED ? sums * terms / WALKED * FAR : 0;
  double joins = cut->slices > 1 ? sums * slices * w->slice : 0;
  return (double)w->groups * (loads + sums * terms * w->product + walks + joins);
}

/* How much longer many threads take than if all had the same to do all the time. */
static double unevenness(const cvy_sum_work *w, const cvy_sum_cut *cut, double cycles) {
  int64_t pieces = w->groups * cut->rows * cut->columns * cut->slices;
  double useful = cycles / LEAST_WORK, threads = useful < THREADS ? useful : THREADS;
  int64_t busy = threads < 1 ? 1 : (int64_t)threads;
  return (double)(cvy_div_up(pieces, busy) * busy) / (double)pieces;
}

/* What counts is the product of the times that one thread and many take, the one thread's to the
 * third power: twice the speed of many may cost it a quarter of its own, not more. */
static double badness(const cvy_sum_work *w, const cvy_sum_cut *cut) {
  double cycles = total(w, cut);
  return cycles * cycles * cycles * unevenness(w, cut, cycles);
}

cvy_sum_cut cvy_sum_cut_of(const cvy_sum_work *w) {
  cvy_sum_cut best = {1, 1, 1}, cut;
  int64_t most_rows = parts_at_most(w->rows, w->least_rows);
  int64_t most_columns = parts_at_most(w->columns, w->least_columns);
  int64_t most_slices = parts_at_most(w->terms, w->least_terms);
  double least = badness(w, &best);
  for (cut.rows = 1; cut.rows <= most_rows; cut.rows *= 2) {
    for (cut.columns = 1; cut.columns <= most_columns; cut.columns *= 2) {
      for (cut.slices = 1; cut.slices <= most_slices; cut.slices *= 2) {
        if (w->groups * cut.rows * cut.columns * cut.slices > MOST_PIECES && cut.slices > 1) break;
        double bad = badness(w, &cut);
        if (bad >= least) continue;
        least = bad;
        best = cut;
      }
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
