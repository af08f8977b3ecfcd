/* Winograd's minimal filtering in one dimension: from an input line of SIDE = TILE + 2 values and a
 * filter of 3 to TILE outputs by SIDE products, one per interpolation point. In two dimensions rows
 * and columns are transformed one after the other.
 *
 * The points for TILE 2 are 0, 1, -1 and infinity; for TILE 4 they are 0, P, -P, Q, -Q and infinity
 * with P = 3/4 and Q = 3/2. These are exact in binary like the usual 1 and 2, and rounding errors
 * are 2 to 7 times smaller. */
#ifndef TILE
#error "TILE is missing: outputs per tile and axis, 2 or 4"
#endif
#define SIDE (TILE + 2)

#if TILE == 4

#define P 0.75f
#define Q 1.5f
#define PP (P * P)
#define QQ (Q * Q)
#define PPP (P * P * P)
#define QQQ (Q * Q * Q)
/* 1 / (PP QQ), 1 / (2 PP (PP - QQ)), 1 / (2 QQ (QQ - PP)) */
#define W0 (64.0f / 81.0f)
#define WP (-128.0f / 243.0f)
#define WQ (32.0f / 243.0f)

static void points_of_input(const float *d, float *v) {
  float even_p = d[4] - QQ * d[2], odd_p = P * (d[3] - QQ * d[1]);
  float even_q = d[4] - PP * d[2], odd_q = Q * (d[3] - PP * d[1]);
  v[0] = PP * QQ * d[0] - (PP + QQ) * d[2] + d[4];
  v[1] = even_p + odd_p;
  v[2] = even_p - odd_p;
  v[3] = even_q + odd_q;
  v[4] = even_q - odd_q;
  v[5] = PP * QQ * d[1] - (PP + QQ) * d[3] + d[5];
}

static void points_of_filter(const float *g, float *u) {
  float even_p = WP * (g[0] + PP * g[2]), odd_p = WP * P * g[1];
  float even_q = WQ * (g[0] + QQ * g[2]), odd_q = WQ * Q * g[1];
  u[0] = W0 * g[0];
  u[1] = even_p + odd_p;
  u[2] = even_p - odd_p;
  u[3] = even_q + odd_q;
  u[4] = even_q - odd_q;
  u[5] = g[2];
}

static void output_of_points(const float *m, float *y) {
  float even_p = m[1] + m[2], odd_p = m[1] - m[2];
  float even_q = m[3] + m[4], odd_q = m[3] - m[4];
  y[0] = m[0] + even_p + even_q;
  y[1] = P * odd_p + Q * odd_q;
  y[2] = PP * even_p + QQ * even_q;
  y[3] = PPP * odd_p + QQQ * odd_q + m[5];
}

/* The gradient of the filter is a filtering too, by the gradient of the output. It takes the
 * transposes of the matrices of output and filter. */
static void points_of_gradient(const float *d, float *v) {
  float even_p = d[0] + PP * d[2], odd_p = P * d[1] + PPP * d[3];
  float even_q = d[0] + QQ * d[2], odd_q = Q * d[1] + QQQ * d[3];
  v[0] = d[0];
  v[1] = even_p + odd_p;
  v[2] = even_p - odd_p;
  v[3] = even_q + odd_q;
  v[4] = even_q - odd_q;
  v[5] = d[3];
}

static void filter_of_points(const float *m, float *g) {
  float even_p = WP * (m[1] + m[2]), odd_p = WP * P * (m[1] - m[2]);
  float even_q = WQ * (m[3] + m[4]), odd_q = WQ * Q * (m[3] - m[4]);
  g[0] = W0 * m[0] + even_p + even_q;
  g[1] = odd_p + odd_q;
  g[2] = PP * even_p + QQ * even_q + m[5];
}

#elif TILE == 2

static void points_of_input(const float *d, float *v) {
  v[0] = d[0] - d[2];
  v[1] = d[1] + d[2];
  v[2] = d[2] - d[1];
  v[3] = d[1] - d[3];
}

static void points_of_filter(const float *g, float *u) {
  u[0] = g[0];
  u[1] = 0.5f * (g[0] + g[1] + g[2]);
  u[2] = 0.5f * (g[0] - g[1] + g[2]);
  u[3] = g[2];
}

static void output_of_points(const float *m, float *y) {
  y[0] = m[0] + m[1] + m[2];
  y[1] = m[1] - m[2] - m[3];
}

static void points_of_gradient(const float *d, float *v) {
  v[0] = d[0];
  v[1] = d[0] + d[1];
  v[2] = d[0] - d[1];
  v[3] = -d[1];
}

static void filter_of_points(const float *m, float *g) {
  float even = 0.5f * (m[1] + m[2]);
  g[0] = m[0] + even;
  g[1] = 0.5f * (m[1] - m[2]);
  g[2] = even + m[3];
}

#else
#error "TILE must be 2 or 4"
#endif

/* The same in two dimensions. */
static void points_of_patch(const float (*d)[SIDE], float (*v)[SIDE]) {
  float column[SIDE], points[SIDE];
#pragma unroll
  for (int i = 0; i < SIDE; i++) points_of_input(d[i], v[i]);
#pragma unroll
  for (int j = 0; j < SIDE; j++) {
#pragma unroll
    for (int i = 0; i < SIDE; i++) column[i] = v[i][j];
    points_of_input(column, points);
#pragma unroll
    for (int i = 0; i < SIDE; i++) v[i][j] = points[i];
  }
}

static void points_of_tile(const float (*d)[TILE], float (*v)[SIDE]) {
  float column[TILE], points[SIDE];
#pragma unroll
  for (int i = 0; i < TILE; i++) points_of_gradient(d[i], v[i]);
#pragma unroll
  for (int j = 0; j < SIDE; j++) {
#pragma unroll
    for (int i = 0; i < TILE; i++) column[i] = v[i][j];
    points_of_gradient(column, points);
#pragma unroll
    for (int i = 0; i < SIDE; i++) v[i][j] = points[i];
  }
}

static void outputs_of_points(const float (*m)[SIDE], float (*y)[TILE]) {
  float rows[SIDE][TILE], column[SIDE], values[TILE];
#pragma unroll
  for (int i = 0; i < SIDE; i++) output_of_points(m[i], rows[i]);
#pragma unroll
  for (int j = 0; j < TILE; j++) {
#pragma unroll
    for (int i = 0; i < SIDE; i++) column[i] = rows[i][j];
    output_of_points(column, values);
#pragma unroll
    for (int i = 0; i < TILE; i++) y[i][j] = values[i];
  }
}

static void filter_of_all_points(const float (*m)[SIDE], float *filter) {
  float g[3][SIDE], column[SIDE], values[3];
#pragma unroll
  for (int j = 0; j < SIDE; j++) {
#pragma unroll
    for (int i = 0; i < SIDE; i++) column[i] = m[i][j];
    filter_of_points(column, values);
#pragma unroll
    for (int r = 0; r < 3; r++) g[r][j] = values[r];
  }
#pragma unroll
  for (int r = 0; r < 3; r++) filter_of_points(g[r], filter + r * 3);
}
