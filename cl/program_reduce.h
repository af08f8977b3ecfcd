/* What generated reductions share, behind program_arrays.h and the words of
 * program/reduce_functions.h. */

#define REDUCE_GROUP 8
#define REDUCE_LANES 256

#if PROGRAM_WIDTH == 4
#define FIRST_OF(value) ((value).x)
#define PUT_LANES(at, lane, value) vstore4(value, 0, (at) + (lane))
#else
#define FIRST_OF(value) (value)
#define PUT_LANES(at, lane, value) ((at)[lane] = (value))
#endif

/* How many elements a lane has from `first` on before `end`, at most 8. */
FUNCTION int rows_of_lane(word first, word end, word lanes) {
  if (first >= end) return 0;
  word rows = (end - first + lanes - 1) / lanes;
  return rows < REDUCE_GROUP ? (int)rows : REDUCE_GROUP;
}

/* The mean of a group of at least one element and the squares around it, to what a lane has. */
FUNCTION void reduce_take_group(real *count, real *mean, real *squares, const real *values,
                                int rows) {
  real sum = values[0];
#pragma unroll
  for (int r = 1; r < REDUCE_GROUP; r++) sum = r < rows ? sum + values[r] : sum;
  real group = reduce_group_mean(sum, rows);
  real around = reduce_square(values[0], group);
#pragma unroll
  for (int r = 1; r < REDUCE_GROUP; r++)
    around = r < rows ? around + reduce_square(values[r], group) : around;
  reduce_join_moments(count, mean, squares, number((float)rows), group, around);
}
