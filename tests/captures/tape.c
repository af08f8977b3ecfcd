#include "captures/tape.h"

#include <math.h>
#include <string.h>

#define ROUNDING 0x1p-24
/* What is smaller may be taken for 0. */
#define SMALLEST 0x1p-125
/* Sums below so many grains are exact in float32 in any order, with room for algorithms that add
 * up several inputs first. */
#define EXACT 0x1p21

enum { N = 2, C = 4, H = 3, W = 3, R = 3, S = 3, K = 4, SIDE = 4, PLANE = H * W };

/* --------------------------------------------------------------------------------------- sums */

typedef struct sum {
  double v, e, size;
  int terms;
} sum;

static void add_product(sum *s, const array *a, int i, const array *b, int j) {
  double x = a->v[i], y = b->v[j], dx = a->e[i], dy = b->e[j];
  s->v += x * y;
  s->e += fabs(x) * dy + fabs(y) * dx + dx * dy;
  s->size += (fabs(x) + dx) * (fabs(y) + dy);
  s->terms++;
}

static const array one = {.count = 1, .v = {1}, .grain = 1};

static void set(array *y, int i, const sum *s) {
  y->v[i] = s->v;
  y->e[i] = s->e + 4 * (s->terms + 2) * (ROUNDING * s->size + SMALLEST);
}

/* Whether all of them were exact is for check to say, which wants the sizes. */
static void note(tape *t, const array *y, const sum *s) {
  if (s->size > EXACT * y->grain) t->inexact = true;
}

/* ------------------------------------------------------------------------------- forwards */

typedef void forward_fn(tape *t, const node *n, const array *a, const array *b, array *y);

static void round_once(tape *t, array *y, int i, double size) {
  y->e[i] += ROUNDING * (fabs(y->v[i]) + y->e[i]) + SMALLEST;
  if (size > EXACT * y->grain) t->inexact = true;
}

static void add(tape *t, const node *n, const array *a, const array *b, array *y) {
  y->grain = fmin(a->grain, b->grain);
  for (int i = 0; i < y->count; i++) {
    y->v[i] = a->v[i] + b->v[i];
    y->e[i] = a->e[i] + b->e[i] + 4 * n->factor * ROUNDING * (fabs(a->v[i]) + a->e[i]);
    round_once(t, y, i, fabs(a->v[i]) + fabs(b->v[i]));
  }
}

/* By a power of two. */
static void scale(tape *t, const node *n, const array *a, const array *b, array *y) {
  (void)t, (void)b;
  y->grain = a->grain * fabs(n->factor);
  for (int i = 0; i < y->count; i++) {
    y->v[i] = a->v[i] * n->factor;
    y->e[i] = a->e[i] * fabs(n->factor) + SMALLEST;
  }
}

static void multiply(tape *t, const node *n, const array *a, const array *b, array *y) {
  (void)n;
  y->grain = a->grain * b->grain;
  for (int i = 0; i < y->count; i++) {
    sum s = {0};
    add_product(&s, a, i, b, i);
    y->v[i] = s.v;
    y->e[i] = s.e;
    round_once(t, y, i, s.size);
  }
}

/* Where b may be on either side, a may be there or not. */
static void choose(const array *a, double inside, double margin, int i, array *y) {
  bool unsure = margin > 0 && fabs(inside) <= margin;
  y->v[i] = inside > 0 ? a->v[i] : 0;
  y->e[i] = unsure ? fabs(a->v[i]) + a->e[i] : inside > 0 ? a->e[i] : 0;
}

static void positive(tape *t, const node *n, const array *a, const array *b, array *y) {
  (void)t, (void)n;
  y->grain = a->grain;
  for (int i = 0; i < y->count; i++) choose(a, b->v[i], b->e[i], i, y);
}

static void clamp(tape *t, const node *n, const array *a, const array *b, array *y) {
  (void)t, (void)n, (void)b;
  y->grain = fmin(a->grain, 2);
  for (int i = 0; i < y->count; i++) {
    y->v[i] = fmin(fmax(a->v[i], -2), 2);
    y->e[i] = a->e[i];
  }
}

/* At the limit it is within. */
static void within(tape *t, const node *n, const array *a, const array *b, array *y) {
  (void)t, (void)n;
  y->grain = a->grain;
  for (int i = 0; i < y->count; i++) {
    double inside = 2 - fabs(b->v[i]);
    choose(a, inside == 0 ? 1 : inside, inside == 0 && b->e[i] > 0 ? 2 : b->e[i], i, y);
  }
}

/* The number per channel, or the one, that belongs to an element. */
static int place_in(int small, int large, int i) {
  (void)large;
  return small == C ? i / PLANE % C : 0;
}

static void spread(tape *t, const node *n, const array *a, const array *b, array *y) {
  (void)t, (void)n, (void)b;
  y->grain = a->grain;
  for (int i = 0; i < y->count; i++) {
    y->v[i] = a->v[place_in(a->count, y->count, i)];
    y->e[i] = a->e[place_in(a->count, y->count, i)];
  }
}

static void add_up(tape *t, const node *n, const array *a, const array *b, array *y) {
  (void)n, (void)b;
  sum s[C] = {{0}};
  y->grain = a->grain;
  for (int i = 0; i < a->count; i++)
    add_product(&s[place_in(y->count, a->count, i)], a, i, &one, 0);
  for (int i = 0; i < y->count; i++) {
    set(y, i, &s[i]);
    note(t, y, &s[i]);
  }
}

/* ---------------------------------------------------------------------------- convolutions */

/* Goes through all products of a convolution: y[map] += x[map] w[filter], whichever is the sum. */
typedef struct product {
  int x, w, y;
} product;

enum { PRODUCTS = N * K * PLANE * C * R * S };
static product products[PRODUCTS];
static int product_count;

static void find_products(void) {
  for (int n = 0; n < N; n++)
    for (int k = 0; k < K; k++)
      for (int o = 0; o < PLANE; o++)
        for (int f = 0; f < C * R * S; f++) {
          int c = f / (R * S), h = o / W + f / S % R - 1, w = o % W + f % S - 1;
          if (h < 0 || h >= H || w < 0 || w >= W) continue;
          products[product_count++] =
              (product){((n * C + c) * H + h) * W + w, k * C * R * S + f, (n * K + k) * PLANE + o};
        }
}

static int part_of(const product *p, primitive what, int which) {
  const int parts[3] = {p->x, p->w, p->y};
  static const int order[3][3] = {{0, 1, 2}, {2, 1, 0}, {0, 2, 1}}; /* a, b, result */
  return parts[order[what - P_CONV][which]];
}

static void convolve(tape *t, const node *n, const array *a, const array *b, array *y) {
  sum s[MOST_ELEMENTS] = {{0}};
  if (!product_count) find_products();
  y->grain = a->grain * b->grain;
  for (int i = 0; i < product_count; i++) {
    const product *p = &products[i];
    add_product(&s[part_of(p, n->what, 2)], a, part_of(p, n->what, 0), b, part_of(p, n->what, 1));
  }
  for (int i = 0; i < y->count; i++) {
    set(y, i, &s[i]);
    note(t, y, &s[i]);
  }
}

/* ------------------------------------------------------------------------ matrices and moves */

static void matmul(tape *t, const node *n, const array *a, const array *b, array *y) {
  (void)n;
  y->grain = a->grain * b->grain;
  for (int i = 0; i < SIDE * SIDE; i++) {
    sum s = {0};
    for (int k = 0; k < SIDE; k++) add_product(&s, a, i / SIDE * SIDE + k, b, k * SIDE + i % SIDE);
    set(y, i, &s);
    note(t, y, &s);
  }
}

static void transpose(tape *t, const node *n, const array *a, const array *b, array *y) {
  (void)t, (void)n, (void)b;
  y->grain = a->grain;
  for (int i = 0; i < SIDE * SIDE; i++) {
    y->v[i] = a->v[i % SIDE * SIDE + i / SIDE];
    y->e[i] = a->e[i % SIDE * SIDE + i / SIDE];
  }
}

/* Half 0 or 1 of each image of a map. */
static int place_of_half(int i, int half) {
  enum { LENGTH = C / 2 * PLANE };
  return i / LENGTH * C * PLANE + half * LENGTH + i % LENGTH;
}

static void slice(tape *t, const node *n, const array *a, const array *b, array *y) {
  (void)t, (void)b;
  y->grain = a->grain;
  for (int i = 0; i < y->count; i++) {
    y->v[i] = a->v[place_of_half(i, (int)n->factor)];
    y->e[i] = a->e[place_of_half(i, (int)n->factor)];
  }
}

static void put(tape *t, const node *n, const array *a, const array *b, array *y) {
  (void)t, (void)b;
  y->grain = a->grain;
  for (int i = 0; i < a->count; i++) {
    y->v[place_of_half(i, (int)n->factor)] = a->v[i];
    y->e[place_of_half(i, (int)n->factor)] = a->e[i];
  }
}

static forward_fn *const forwards[PRIMITIVES] = {
    [P_ADD] = add,
    [P_SCALE] = scale,
    [P_MULTIPLY] = multiply,
    [P_POSITIVE] = positive,
    [P_CLAMP] = clamp,
    [P_WITHIN] = within,
    [P_SPREAD] = spread,
    [P_SUM] = add_up,
    [P_CONV] = convolve,
    [P_BACKWARD_DATA] = convolve,
    [P_BACKWARD_WEIGHTS] = convolve,
    [P_MATMUL] = matmul,
    [P_TRANSPOSE] = transpose,
    [P_SLICE] = slice,
    [P_PUT] = put,
};

/* -------------------------------------------------------------------------------- adding nodes */

void tape_begin(tape *t) {
  t->nodes = 0;
  t->inexact = t->full = false;
}

static node *new_node(tape *t, primitive what, int kind) {
  if (t->nodes == MOST_NODES) {
    t->full = true;
    t->nodes--;
  }
  node *n = &t->node[t->nodes++];
  *n = (node){.what = what, .a = -1, .b = -1, .kind = kind, .origin = t->nodes - 1};
  n->y.count = kinds[kind].count;
  n->y.grain = 1;
  return n;
}

int tape_leaf(tape *t, int kind, const array *values, int origin) {
  node *n = new_node(t, P_LEAF, kind);
  n->y = *values;
  if (origin >= 0) n->origin = origin;
  return t->nodes - 1;
}

int tape_zeros(tape *t, int kind) {
  new_node(t, P_LEAF, kind);
  return t->nodes - 1;
}

int tape_add(tape *t, primitive what, int kind, int a, int b, double factor) {
  static const array none = {.grain = 1};
  node *n = new_node(t, what, kind);
  n->a = a;
  n->b = b;
  n->factor = factor;
  forwards[what](t, n, &t->node[a].y, b < 0 ? &none : &t->node[b].y, &n->y);
  return t->nodes - 1;
}

/* ------------------------------------------------------------------------------- derivatives */

static int kind_of(const tape *t, int n) {
  return t->node[n].kind;
}

static int transposed(tape *t, int a) {
  return tape_add(t, P_TRANSPOSE, MATRIX, a, -1, 0);
}

/* What the gradient d of node n is to its operand a, or b; -1: nothing. */
static int derive(tape *t, int at, int d, bool by_b) {
  const node *n = &t->node[at];
  int a = n->a, b = n->b, ka = kind_of(t, a), kb = b < 0 ? 0 : kind_of(t, b);
  double factor = n->factor;
  switch (n->what) {
    case P_ADD:
      return d;
    case P_SCALE:
      return tape_add(t, P_SCALE, ka, d, -1, factor);
    case P_MULTIPLY:
      return tape_add(t, P_MULTIPLY, ka, d, by_b ? a : b, 0);
    case P_POSITIVE:
      return by_b ? -1 : tape_add(t, P_POSITIVE, ka, d, b, 0);
    case P_CLAMP:
      return tape_add(t, P_WITHIN, ka, d, a, 0);
    case P_WITHIN:
      return by_b ? -1 : tape_add(t, P_WITHIN, ka, d, b, 0);
    case P_SPREAD:
      return tape_add(t, P_SUM, ka, d, -1, 0);
    case P_SUM:
      return tape_add(t, P_SPREAD, ka, d, -1, 0);
    case P_CONV:
      return by_b ? tape_add(t, P_BACKWARD_WEIGHTS, kb, a, d, 0)
                  : tape_add(t, P_BACKWARD_DATA, ka, d, b, 0);
    case P_BACKWARD_DATA:
      return by_b ? tape_add(t, P_BACKWARD_WEIGHTS, kb, d, a, 0) : tape_add(t, P_CONV, ka, d, b, 0);
    case P_BACKWARD_WEIGHTS:
      return by_b ? tape_add(t, P_CONV, kb, a, d, 0) : tape_add(t, P_BACKWARD_DATA, ka, b, d, 0);
    case P_MATMUL:
      return by_b ? tape_add(t, P_MATMUL, kb, transposed(t, a), d, 0)
                  : tape_add(t, P_MATMUL, ka, d, transposed(t, b), 0);
    case P_TRANSPOSE:
      return transposed(t, d);
    case P_SLICE:
      return tape_add(t, P_PUT, ka, d, -1, factor);
    case P_PUT:
      return tape_add(t, P_SLICE, ka, d, -1, factor);
    default:
      return -1;
  }
}

static int origin_of(const tape *t, int n) {
  return t->node[n].origin;
}

void tape_find_behind(const tape *t, int y, bool *behind) {
  memset(behind, 0, MOST_NODES * sizeof *behind);
  behind[origin_of(t, y)] = true;
  for (int n = y; n >= 0; n--) {
    if (!behind[n]) continue;
    if (t->node[n].a >= 0) behind[origin_of(t, t->node[n].a)] = true;
    if (t->node[n].b >= 0) behind[origin_of(t, t->node[n].b)] = true;
  }
}

static void find_before(const tape *t, int count, const int *of, bool *before) {
  memset(before, 0, MOST_NODES * sizeof *before);
  for (int i = 0; i < count; i++) before[origin_of(t, of[i])] = true;
  for (int n = 0; n < t->nodes; n++) {
    const node *at = &t->node[n];
    before[n] |=
        (at->a >= 0 && before[origin_of(t, at->a)]) || (at->b >= 0 && before[origin_of(t, at->b)]);
  }
}

static void give(tape *t, int *gradient, int n, int more) {
  int *so_far = &gradient[origin_of(t, n)];
  if (more >= 0) *so_far = *so_far < 0 ? more : tape_add(t, P_ADD, kind_of(t, n), *so_far, more, 0);
}

void tape_gradients(tape *t, int y, int dy, int count, const int *of, int *out) {
  static int gradient[MOST_NODES];
  static bool before[MOST_NODES];
  find_before(t, count, of, before);
  for (int n = 0; n < MOST_NODES; n++) gradient[n] = -1;
  if (dy < 0) dy = tape_leaf(t, NUMBER, &one, -1);
  gradient[origin_of(t, y)] = dy;
  for (int n = y; n >= 0; n--) {
    int d = gradient[n], a = t->node[n].a, b = t->node[n].b;
    if (d < 0 || t->full) continue;
    if (a >= 0 && before[origin_of(t, a)]) give(t, gradient, a, derive(t, n, d, false));
    if (b >= 0 && before[origin_of(t, b)]) give(t, gradient, b, derive(t, n, d, true));
  }
  for (int i = 0; i < count; i++) {
    out[i] = gradient[origin_of(t, of[i])];
    if (out[i] < 0) out[i] = tape_zeros(t, kind_of(t, of[i]));
  }
}
