/* From the shapes of operands to a problem. */
#include "problem/matmul/matmul.h"

static bool are_dense(const cvy_array_view *one, const cvy_array_view *other) {
  return !cvy_array_view_is_part(one) && !cvy_array_view_is_part(other);
}

/* Rows of several products with the same b lie like those of one, with gaps if each has one row. */
static bool rows_stack(const cvy_matmul_problem *p) {
  bool lie = p->m == 1 || are_dense(&p->a, &p->y);
  return lie && p->b_shared && (!p->a_transposed || p->m == 1);
}

/* So do the terms of products that are added up, where both sides have them as rows. */
static bool terms_stack(const cvy_matmul_problem *p) {
  bool a = p->a_transposed || p->m == 1 || p->k == 1;
  bool b = !p->b_transposed || p->n == 1 || p->k == 1;
  return p->summed && a && b && (p->k == 1 || are_dense(&p->a, &p->b));
}

cvy_matmul_problem cvy_matmul_folded(const cvy_problem *problem) {
  cvy_matmul_problem p = problem->matmul;
  if (rows_stack(&p)) {
    p.m *= p.batch;
    p.batch = 1;
    p.a_transposed = 0;
  } else if (terms_stack(&p)) {
    p.k *= p.batch;
    p.batch = 1;
    p.a_transposed = 1;
    p.b_transposed = 0;
  }
  if (p.batch == 1) p.a_shared = p.b_shared = p.summed = 0;
  return p;
}

void cvy_matmul_unfold(cvy_problem *problem) {
  cvy_matmul_problem p = cvy_matmul_folded(problem);
  if (p.batch == 1 && !p.a_transposed) {
    p.batch = p.m;
    p.m = 1;
    p.b_shared = 1;
  } else if (p.batch == 1 && !p.b_transposed) {
    p.batch = p.k;
    p.k = 1;
    p.summed = 1;
  }
  problem->matmul = p;
}

static cvy_matmul_layout layout_of(const cvy_array_view *view, int64_t image, int64_t row,
                                   bool stacked) {
  cvy_matmul_layout lies = {row, cvy_array_view_pitch(view, image)};
  if (stacked && cvy_array_view_is_part(view)) lies.row = view->pitch;
  return lies;
}

cvy_matmul_products cvy_matmul_products_of(const cvy_problem *problem) {
  const cvy_matmul_problem *of = &problem->matmul;
  cvy_matmul_products all = {.p = cvy_matmul_folded(problem)};
  const cvy_matmul_problem *p = &all.p;
  bool stacked = p->batch != of->batch; /* images are rows, or terms */
  all.a = layout_of(&of->a, of->m * of->k, p->a_transposed ? p->m : p->k, stacked);
  all.b = layout_of(&of->b, of->k * of->n, p->b_transposed ? p->k : p->n, stacked);
  all.y = layout_of(&of->y, of->m * of->n, p->n, stacked);
  if (p->a_shared) all.a.step = 0;
  if (p->b_shared) all.b.step = 0;
  if (p->summed) all.y.step = 0;
  return all;
}

typedef struct side {
  const char *name;
  int64_t batch, rows, columns; /* rows and columns of what is multiplied */
} side;

static convoy_status take_side(const char *name, const cvy_shape *shape, bool transposed,
                               side *out) {
  if (shape->dims != 2 && shape->dims != 3) {
    return cvy_fail(CONVOY_ERR_SHAPE, "matmul: %s has %d extents, not 2, or 3 with a batch", name,
                    (int)shape->dims);
  }
  const int64_t *matrix = shape->extent + shape->dims - 2;
  *out = (side){name, shape->dims == 3 ? shape->extent[0] : 1, matrix[transposed],
                matrix[!transposed]};
  for (int32_t i = 0; i < shape->dims; i++) {
    if (shape->extent[i] < 0)
      return cvy_fail(CONVOY_ERR_SHAPE, "matmul: extent %d of %s is %lld", (int)i, name,
                      (long long)shape->extent[i]);
  }
  return CONVOY_OK;
}

static convoy_status check_sides(const side *a, const side *b, bool sums) {
  if (a->columns != b->rows) {
    return cvy_fail(CONVOY_ERR_SHAPE,
                    "matmul: a, %lld by %lld as multiplied, has %lld columns, b, %lld by %lld, has "
                    "%lld rows",
                    (long long)a->rows, (long long)a->columns, (long long)a->columns,
                    (long long)b->rows, (long long)b->columns, (long long)b->rows);
  }
  if (a->batch == b->batch) return CONVOY_OK;
  if (sums) {
    return cvy_fail(CONVOY_ERR_SHAPE,
                    "matmul: a has a batch of %lld, b of %lld; to be summed they must be the same",
                    (long long)a->batch, (long long)b->batch);
  }
  if (a->batch == 1 || b->batch == 1) return CONVOY_OK;
  return cvy_fail(
      CONVOY_ERR_SHAPE,
      "matmul: a has a batch of %lld, b of %lld; they must be the same, or one of them 1",
      (long long)a->batch, (long long)b->batch);
}

static void set_problem(uint32_t flags, const side *a, const side *b, cvy_problem *out) {
  memset(out, 0, CVY_PROBLEM_HEAD + sizeof out->matmul);
  out->operation = CVY_MATMUL;
  out->matmul = (cvy_matmul_problem){
      .batch = a->batch == 1 ? b->batch : a->batch,
      .m = a->rows,
      .n = b->columns,
      .k = a->columns,
      .a_transposed = (flags & CONVOY_MATMUL_TRANSPOSE_A) != 0,
      .b_transposed = (flags & CONVOY_MATMUL_TRANSPOSE_B) != 0,
      .a_shared = a->batch == 1 && b->batch != 1,
      .b_shared = b->batch == 1 && a->batch != 1,
      .summed = (flags & CONVOY_MATMUL_SUM) != 0,
  };
}

void cvy_matmul_as_written(uint32_t flags, const cvy_shape *a, const cvy_shape *b,
                           cvy_problem *out) {
  side left = {.batch = 0}, right = {.batch = 0};
  take_side("a", a, (flags & CONVOY_MATMUL_TRANSPOSE_A) != 0, &left);
  take_side("b", b, (flags & CONVOY_MATMUL_TRANSPOSE_B) != 0, &right);
  set_problem(flags, &left, &right, out);
}

convoy_status cvy_matmul_make(uint32_t flags, const cvy_shape *a, const cvy_shape *b,
                              cvy_problem *out, cvy_shape *y) {
  side left = {.batch = 0}, right = {.batch = 0};
  bool sums = (flags & CONVOY_MATMUL_SUM) != 0;
  if (flags &
      ~(uint32_t)(CONVOY_MATMUL_TRANSPOSE_A | CONVOY_MATMUL_TRANSPOSE_B | CONVOY_MATMUL_SUM))
    return cvy_fail(CONVOY_ERR_ARGUMENT, "matmul: flags are %#x, legal are 0 to 7", flags);
  convoy_status status = take_side("a", a, (flags & CONVOY_MATMUL_TRANSPOSE_A) != 0, &left);
  if (!status) status = take_side("b", b, (flags & CONVOY_MATMUL_TRANSPOSE_B) != 0, &right);
  if (!status) status = check_sides(&left, &right, sums);
  if (status) return status;
  set_problem(flags, &left, &right, out);
  const cvy_matmul_problem *p = &out->matmul;
  if (!cvy_matmul_legal(out)) {
    return cvy_fail(CONVOY_ERR_SHAPE, "matmul: %lld products of %lld by %lld by %lld are too large",
                    (long long)p->batch, (long long)p->m, (long long)p->k, (long long)p->n);
  }
  bool batched = !sums && (a->dims == 3 || b->dims == 3);
  *y = (cvy_shape){CONVOY_FLOAT32, 2, {p->m, p->n, 1, 1, 1}};
  if (batched) *y = (cvy_shape){CONVOY_FLOAT32, 3, {p->batch, p->m, p->n, 1, 1}};
  cvy_matmul_unfold(out);
  return CONVOY_OK;
}
