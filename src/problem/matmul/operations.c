/* The row of the family. */
#include <math.h>

#include "problem/matmul/matmul.h"

/* ----------------------------------------------------------------------------------- arrays */

static cvy_array array(bool per_image, int64_t images, int64_t rows, int64_t columns,
                       cvy_array_view view) {
  return (cvy_array){
      CONVOY_FLOAT32, per_image, {per_image ? images : 1, 1, 1, rows, columns}, view};
}

static cvy_array input(const cvy_problem *problem, int32_t i) {
  const cvy_matmul_problem *p = &problem->matmul;
  bool swaps = i == 0 ? p->a_transposed : p->b_transposed;
  int64_t rows = i == 0 ? p->m : p->k, columns = i == 0 ? p->k : p->n;
  bool per_image = !(i == 0 ? p->a_shared : p->b_shared);
  return array(per_image, p->batch, swaps ? columns : rows, swaps ? rows : columns,
               i == 0 ? p->a : p->b);
}

static cvy_array output(const cvy_problem *problem, int32_t i) {
  const cvy_matmul_problem *p = &problem->matmul;
  (void)i;
  return array(!p->summed, p->batch, p->m, p->n, p->y);
}

/* --------------------------------------------------------------------------------- legality */

static bool is_flag(int32_t value) {
  return value == 0 || value == 1;
}

static bool flags_legal(const cvy_matmul_problem *p) {
  if (!is_flag(p->a_transposed) || !is_flag(p->b_transposed) || p->reserved) return false;
  if (!is_flag(p->a_shared) || !is_flag(p->b_shared) || !is_flag(p->summed)) return false;
  return p->a_shared + p->b_shared + p->summed <= 1;
}

static bool bytes_fit(int64_t a, int64_t b, int64_t c) {
  const int64_t factors[] = {a, b, c};
  return cvy_bytes_fit(factors, (int32_t)CVY_COUNT(factors));
}

/* What is the same for the whole batch has no images that could be apart. */
static bool views_legal(const cvy_matmul_problem *p) {
  if ((p->a_shared && cvy_array_view_is_part(&p->a)) ||
      (p->b_shared && cvy_array_view_is_part(&p->b)) ||
      (p->summed && cvy_array_view_is_part(&p->y)))
    return false;
  return cvy_array_view_legal(&p->a, p->batch, p->m * p->k) &&
         cvy_array_view_legal(&p->b, p->batch, p->k * p->n) &&
         cvy_array_view_legal(&p->y, p->batch, p->m * p->n);
}

bool cvy_matmul_legal(const cvy_problem *problem) {
  const cvy_matmul_problem *p = &problem->matmul;
  if (p->batch < 0 || p->m < 0 || p->n < 0 || p->k < 0) return false;
  return flags_legal(p) && bytes_fit(p->batch, p->m, p->k) && bytes_fit(p->batch, p->k, p->n) &&
         bytes_fit(p->batch, p->m, p->n) && views_legal(p);
}

/* ------------------------------------------------------------------------------------ batch */

static cvy_batch batch(const cvy_problem *problem) {
  return problem->matmul.summed ? CVY_BATCH_SUMMED : CVY_BATCH_INDEPENDENT;
}

static int64_t images(const cvy_problem *problem) {
  const cvy_matmul_problem *p = &problem->matmul;
  return p->m == 0 || p->n == 0 ? 0 : p->batch;
}

static void set_images(cvy_problem *problem, int64_t count) {
  problem->matmul.batch = count;
}

/* ----------------------------------------------------------------------- work and judgement */

static int64_t terms(const cvy_problem *problem) {
  return problem->matmul.k * (problem->matmul.summed ? problem->matmul.batch : 1);
}

/* Elements from term to term, and where the first is, of a row of a or a column of b. */
typedef struct stripe {
  const float *at;
  int64_t step;
} stripe;

static stripe row_of_a(const cvy_matmul_problem *p, const float *a, int64_t image, int64_t row) {
  const float *matrix = a + (p->a_shared ? 0 : image * cvy_array_view_pitch(&p->a, p->m * p->k));
  return p->a_transposed ? (stripe){matrix + row, p->m} : (stripe){matrix + row * p->k, 1};
}

static stripe column_of_b(const cvy_matmul_problem *p, const float *b, int64_t image,
                          int64_t column) {
  const float *matrix = b + (p->b_shared ? 0 : image * cvy_array_view_pitch(&p->b, p->k * p->n));
  return p->b_transposed ? (stripe){matrix + column * p->k, 1} : (stripe){matrix + column, p->n};
}

static cvy_element element(const cvy_problem *problem, const cvy_values *from, int32_t output,
                           int64_t index) {
  const cvy_matmul_problem *p = &problem->matmul;
  int64_t column = index % p->n, row = index / p->n % p->m, image = index / p->n / p->m;
  int64_t end = p->summed ? p->batch : image + 1;
  cvy_array y = cvy_problem_output(problem, output);
  const float *prior = problem->accumulate ? &from->in[2][cvy_array_place(&y, index)] : NULL;
  double value = prior ? (double)*prior : 0.0, magnitude = fabs(value);
  for (; image < end; image++) {
    stripe a = row_of_a(p, from->in[0], image, row);
    stripe b = column_of_b(p, from->in[1], image, column);
    for (int64_t i = 0; i < p->k; i++) {
      double term = (double)a.at[i * a.step] * (double)b.at[i * b.step];
      value += term;
      magnitude += fabs(term);
    }
  }
  return (cvy_element){.value = value, .magnitude = magnitude, .flushed = value};
}

static double bound(const cvy_problem *problem, double magnitude) {
  return cvy_sum_bound(terms(problem), magnitude);
}

static double flops(const cvy_problem *problem) {
  const cvy_matmul_problem *p = &problem->matmul;
  return 2.0 * (double)p->batch * (double)p->m * (double)p->n * (double)p->k;
}

/* ----------------------------------------------------------------------------------- choice */

/* "matmul_m0_n10_k12_nt_b": log2 buckets (0: 1 and less, 1: 2, 2: 3..4) of a product's extents, how
 * the sides lie (n, or t transposed), which is shared, sum, and add where it adds to what is there;
 * a, b or y with the elements it is aligned to (part of a larger tensor). The batch is left out: it
 * repeats the same work. */
static void shape_class(const cvy_problem *problem, cvy_text *text) {
  const cvy_matmul_problem *p = &problem->matmul;
  cvy_text_add(text, "matmul_m%d_n%d_k%d_%c%c%s%s%s%s", cvy_class_bucket(p->m),
               cvy_class_bucket(p->n), cvy_class_bucket(p->k), p->a_transposed ? 't' : 'n',
               p->b_transposed ? 't' : 'n', p->a_shared ? "_a" : "", p->b_shared ? "_b" : "",
               p->summed ? "_sum" : "", problem->accumulate ? "_add" : "");
  cvy_array_view_class(&p->a, "a", text);
  cvy_array_view_class(&p->b, "b", text);
  cvy_array_view_class(&p->y, "y", text);
}

static bool lay(cvy_problem *problem, bool to_output, int32_t i, const cvy_region *region) {
  cvy_matmul_problem *p = &problem->matmul;
  const cvy_array whole = to_output ? output(problem, i) : input(problem, i);
  return cvy_region_view(&whole, region, to_output ? &p->y : i == 0 ? &p->a : &p->b);
}

static void set_apart(cvy_problem *problem) {
  cvy_matmul_problem *p = &problem->matmul;
  p->a = p->b = p->y = (cvy_array_view){0, 0};
}

/* Its gradients, as training has them, on arrays of their own. */
static bool related(const cvy_problem *problem, int32_t i, cvy_problem *out) {
  cvy_problem apart;
  bool y_first;
  if (i >= 2) return false;
  cvy_problem_apart(problem, &apart);
  cvy_matmul_gradient(&apart, i, out, &y_first);
  return true;
}

/* -------------------------------------------------------------------------------------- row */

static const cvy_family family = {
    .size = CVY_PROBLEM_HEAD + sizeof(cvy_matmul_problem),
    .legal = cvy_matmul_legal,
    .images = images,
    .set_images = set_images,
    .element = element,
    .terms = terms,
    .flops = flops,
    .print = cvy_matmul_print,
    .readable = cvy_matmul_readable,
    .parse = cvy_matmul_parse,
    .shape_class = shape_class,
    .set_apart = set_apart,
    .lay = lay,
};

const cvy_operation cvy_matmul_operation = {
    .name = "matmul",
    .family = &family,
    .input_names = {"a", "b"},
    .output_names = {"y"},
    .given = 2,
    .input = input,
    .output = output,
    .gradient = cvy_matmul_gradients,
    .batch = batch,
    .bound = bound,
    .absolute = cvy_problem_itself,
    .related = related,
};
