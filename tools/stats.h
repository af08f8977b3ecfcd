/* Statistics of repeated measurements. */
#ifndef STATS_H
#define STATS_H

typedef struct stats {
  int count;
  double min, median, max;
  double spread; /* (max - min) / median */
} stats;

/* Of `count` values, in any order; they are left as they are. An even count's median is the mean of
 * the two in the middle. With no value, or a NaN among them, all figures are NaN: a measurement that
 * went wrong must not vanish in a summary. */
stats stats_of(const double *values, int count);

#endif
