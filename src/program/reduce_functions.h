/* What reductions do with a program's values, in the words of program_functions.h, which comes
 * before: one source for C, for the processor's vectors and for OpenCL C.
 *
 * The variance is never a difference of sums: the mean of 8 elements, the squares of their
 * distances from it, and these put together with what came before (T. F. Chan, G. H. Golub, R. J.
 * LeVeque, "Updating formulae and a pairwise algorithm for computing sample variances", 1979). */

FUNCTION void reduce_join_moments(real *count, real *mean, real *squares, real other_count,
                                  real other_mean, real other_squares) {
  real all = *count + other_count;
  real share = program_divide(other_count, all);
  real distance = other_mean - *mean;
  real joined_mean = *mean + distance * share;
  real joined = (*squares + other_squares) + distance * distance * (*count * share);
  mask no_other = equal(other_count, number(0.0f)), none = equal(*count, number(0.0f));
  *mean = choose(no_other, *mean, choose(none, other_mean, joined_mean));
  *squares = choose(no_other, *squares, choose(none, other_squares, joined));
  *count = all;
}

/* From the sum of `count` elements, 1 to 8, their mean. 1/8 is a product: exact, as the division.
 */
FUNCTION real reduce_group_mean(real sum, int count) {
  if (count == 8) return sum * number(0.125f);
  return program_divide(sum, number((float)count));
}

FUNCTION real reduce_square(real value, real mean) {
  real distance = value - mean;
  return distance * distance;
}

/* Results of what was put together. */
FUNCTION real reduce_mean(real count, real mean) {
  return choose(equal(count, number(0.0f)), from_bits(pattern(0x7fc00000u)), mean);
}
