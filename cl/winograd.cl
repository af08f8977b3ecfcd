/* The transforms around the products of Winograd's 3x3 convolution. The plane of results is cut into
 * tiles of TILE x TILE; each point of a tile's SIDE x SIDE ones has a matrix product of its own,
 * winograd_product. Its matrices are [point][group][rows_up][columns_up], zero beyond the channels and
 * tiles there are. Tiles are counted over the images of a piece, planes, rows, columns.
 *
 * Arguments are those of the convolution actually carried out: for backward_data the host exchanges
 * input and output and gives the padding of the flipped filter. `n` images from `first` on. */
#ifndef WG
#error "WG is missing: items per work-group, a power of two"
#endif
#ifndef DIRECTION
#error "DIRECTION is missing: 1 = weights are transformed for backward_data, 0 = for forward"
#endif
#define POINTS (SIDE * SIDE)

/* Where an item works: group and row of a matrix, column, and the tile that is. */
typedef struct spot {
  int group, row, column;
  int there; /* such a channel and such a tile exist */
  int image, z, h, w;
} spot;

/* Of item `id`, counted over columns, rows, groups: matrices are written in whole lines, and short ones
 * leave no items idle. */
static spot spot_of(const conv_args args, int id) {
  const int tiles_h = (args.oh + TILE - 1) / TILE, tiles_w = (args.ow + TILE - 1) / TILE;
  const int line = id / args.columns_up;
  spot at;
  at.column = id % args.columns_up;
  at.row = line % args.rows_up;
  at.group = line / args.rows_up;
  const int plane = at.column / tiles_w / tiles_h;
  at.w = at.column % tiles_w * TILE;
  at.h = at.column / tiles_w % tiles_h * TILE;
  at.z = plane % args.oz;
  at.image = args.first + plane / args.oz;
  at.there = at.row < args.rows && plane / args.oz < args.n;
  return at;
}

static int spots(const conv_args args) {
  return args.groups * args.rows_up * args.columns_up;
}

/* Of the first point's matrix; the next point's is `matrices` further on. */
static int element_of(const conv_args args, spot at) {
  return (at.group * args.rows_up + at.row) * args.columns_up + at.column;
}

static void write_points(const conv_args args, spot at, const float (*v)[SIDE],
                         global float *out) {
  const int matrices = spots(args);
  out += element_of(args, at);
#pragma unroll
  for (int i = 0; i < SIDE; i++) {
#pragma unroll
    for (int j = 0; j < SIDE; j++) out[(i * SIDE + j) * matrices] = v[i][j];
  }
}

/* x -> points, for one spot. */
static void transform_input(const conv_args args, spot at, global const float *x,
                            global float *out) {
  const int channel = at.group * args.rows + at.row;
  const int h0 = at.h - args.ph, w0 = at.w - args.pw;
  const int plane = (at.image * args.groups * args.rows + channel) * args.iz + at.z;
  const int from = (plane * args.ih + h0) * args.iw + w0;
  float d[SIDE][SIDE], v[SIDE][SIDE];
#pragma unroll
  for (int i = 0; i < SIDE; i++) {
#pragma unroll
    for (int j = 0; j < SIDE; j++) {
      const int inside = at.there & ((uint)(h0 + i) < (uint)args.ih) &
                         ((uint)(w0 + j) < (uint)args.iw);
      d[i][j] = inside ? x[from + i * args.iw + j] : 0.0f;
    }
  }
  points_of_patch(d, v);
  write_points(args, at, v, out);
}

kernel __attribute__((reqd_work_group_size(WG, 1, 1))) void winograd_input(
    const conv_args args, global const float *restrict x, global const float *restrict b,
    global const float *restrict bias, global float *restrict out) {
  const int id = (args.first_group + (int)get_group_id(0)) * WG + (int)get_local_id(0);
  if (id >= spots(args)) return;
  x += (size_t)args.a_at * CONV_ALIGN;
  out += (size_t)args.out_at * CONV_ALIGN;
  transform_input(args, spot_of(args, id), x, out);
}

/* dy -> points, for one spot. */
static void transform_gradient(const conv_args args, spot at, global const float *dy,
                               global float *out) {
  const int channel = at.group * args.rows + at.row;
  const int plane = (at.image * args.groups * args.rows + channel) * args.oz + at.z;
  const int from = (plane * args.oh + at.h) * args.ow + at.w;
  float d[TILE][TILE], v[SIDE][SIDE];
#pragma unroll
  for (int i = 0; i < TILE; i++) {
#pragma unroll
    for (int j = 0; j < TILE; j++) {
      const int inside = at.there & (at.h + i < args.oh) & (at.w + j < args.ow);
      d[i][j] = inside ? dy[from + i * args.ow + j] : 0.0f;
    }
  }
  points_of_tile(d, v);
  write_points(args, at, v, out);
}

/* backward_weights: x and dy -> points, both in one launch. The first groups of items do x, whose
 * matrices begin `items` behind those of dy; [row][tile] of both. */
kernel __attribute__((reqd_work_group_size(WG, 1, 1))) void winograd_operands(
    const conv_args args, global const float *restrict x, global const float *restrict dy,
    global const float *restrict bias, global float *restrict out) {
  conv_args of_x = args, of_dy = args;
  of_x.rows = args.columns, of_x.rows_up = args.columns_up;
  of_x.columns_up = of_dy.columns_up = args.depth_up;
  const int groups_of_x = (spots(of_x) + WG - 1) / WG;
  const int group = args.first_group + (int)get_group_id(0);
  const int id = (group < groups_of_x ? group : group - groups_of_x) * WG + (int)get_local_id(0);
  out += (size_t)args.out_at * CONV_ALIGN;
  if (group < groups_of_x) {
    x += (size_t)args.a_at * CONV_ALIGN;
    if (id < spots(of_x)) transform_input(of_x, spot_of(of_x, id), x, out + args.items);
  } else {
    dy += (size_t)args.b_at * CONV_ALIGN;
    if (id < spots(of_dy)) transform_gradient(of_dy, spot_of(of_dy, id), dy, out);
  }
}

/* Weights -> points, as [point][group][depth_up][rows_up]; an item per element of a matrix. */
kernel __attribute__((reqd_work_group_size(WG, 1, 1))) void winograd_weights(
    const conv_args args, global const float *restrict w, global const float *restrict b,
    global const float *restrict bias, global float *restrict out) {
  const int id = (int)get_global_id(0);
  if (id >= args.items) return;
  w += (size_t)args.a_at * CONV_ALIGN;
  out += (size_t)args.out_at * CONV_ALIGN;

  const int row = id % args.rows_up, line = id / args.rows_up;
  const int term = line % args.depth_up, group = line / args.depth_up;
  const int there = row < args.rows && term < args.depth;
  float u[SIDE][3], points[SIDE];
#pragma unroll
  for (int s = 0; s < 3; s++) {
    float g[3];
#pragma unroll
    for (int r = 0; r < 3; r++) {
#if DIRECTION == 0
      const int at = ((group * args.rows + row) * args.depth + term) * 9 + r * 3 + s;
#else
      const int at = ((group * args.depth + term) * args.rows + row) * 9 + 8 - r * 3 - s;
#endif
      g[r] = there ? w[at] : 0.0f;
    }
    points_of_filter(g, points);
#pragma unroll
    for (int i = 0; i < SIDE; i++) u[i][s] = points[i];
  }
#pragma unroll
  for (int i = 0; i < SIDE; i++) {
    points_of_filter(u[i], points);
#pragma unroll
    for (int j = 0; j < SIDE; j++) out[(i * SIDE + j) * args.items + id] = points[j];
  }
}

/* One line of a tile of results, of which `left` are inside. */
static void store_line(const conv_args args, global const float *bias, global float *out, int to,
                       int channel, int left, const float *y) {
#if TILE == 4
  if (args.ow % 4 == 0) {
    store_four(args, bias, out, to, channel, (float4)(y[0], y[1], y[2], y[3]));
    return;
  }
#endif
#pragma unroll
  for (int j = 0; j < TILE; j++)
    if (j < left) store(args, bias, out, to + j, channel, y[j]);
}

/* The points of one element. */
static void load_points(global const float *products, int matrices, float (*m)[SIDE]) {
#pragma unroll
  for (int i = 0; i < POINTS; i++) m[i / SIDE][i % SIDE] = products[i * matrices];
}
static void add_points(global const float *products, int matrices, float (*m)[SIDE]) {
#pragma unroll
  for (int i = 0; i < POINTS; i++) m[i / SIDE][i % SIDE] += products[i * matrices];
}

/* Products, the sum of `slices` partial ones -> result, with what happens to finished sums. */
kernel __attribute__((reqd_work_group_size(WG, 1, 1))) void winograd_output(
    const conv_args args, global const float *restrict products, global const float *restrict b,
    global const float *restrict bias, global float *restrict out) {
  const int id = (args.first_group + (int)get_group_id(0)) * WG + (int)get_local_id(0);
  const spot at = spot_of(args, id);
  if (id >= spots(args) || !at.there) return;
  products += (size_t)args.a_at * CONV_ALIGN;
  bias += (size_t)args.bias_at * CONV_ALIGN;
  out += (size_t)args.out_at * CONV_ALIGN;

  const int matrices = spots(args);
  products += element_of(args, at);
  float m[SIDE][SIDE], y[TILE][TILE];
  load_points(products, matrices, m);
  for (int slice = 1; slice < args.slices; slice++) {
    products += POINTS * matrices;
    add_points(products, matrices, m);
  }
  outputs_of_points(m, y);

  const int channel = at.group * args.rows + at.row;
  const int plane = (at.image * args.groups * args.rows + channel) * args.oz + at.z;
  const int to = (plane * args.oh + at.h) * args.ow + at.w;
#pragma unroll
  for (int i = 0; i < TILE; i++)
    if (at.h + i < args.oh)
      store_line(args, bias, out, to + i * args.ow, channel, args.ow - at.w, y[i]);
}

/* The gradients of the elements of a group, 9 each, go through local memory, so that neighbouring items
 * store neighbours. */
static void store_filters(const conv_args args, global const float *bias, global float *out,
                          local const float *filters, int first, int elements, int item) {
  const int count = min(elements, args.items - first) * 9;
  for (int i = item; i < count; i += WG) store(args, bias, out, first * 9 + i, 0, filters[i]);
}

/* Where the first point of element `id` of all filters lies. */
static int element_of_filter(const conv_args args, int id) {
  const int column = id % args.columns, line = id / args.columns;
  return (line / args.rows * args.rows_up + line % args.rows) * args.columns_up + column;
}

/* backward_weights: products, the slices of each point added in order -> 3x3 gradients; an item per
 * element (row, column) of the matrices. */
kernel __attribute__((reqd_work_group_size(WG, 1, 1))) void winograd_filter(
    const conv_args args, global const float *restrict products, global const float *restrict b,
    global const float *restrict bias, global float *restrict out) {
  local float filters[9 * WG];
  const int item = (int)get_local_id(0);
  const int first = (args.first_group + (int)get_group_id(0)) * WG, id = first + item;
  products += (size_t)args.a_at * CONV_ALIGN;
  bias += (size_t)args.bias_at * CONV_ALIGN;
  out += (size_t)args.out_at * CONV_ALIGN;

  if (id < args.items) {
    const int matrices = spots(args);
    products += element_of_filter(args, id);
    float m[SIDE][SIDE], filter[9];
    load_points(products, matrices, m);
    for (int slice = 1; slice < args.slices; slice++) {
      products += POINTS * matrices;
      add_points(products, matrices, m);
    }
    filter_of_all_points(m, filter);
#pragma unroll
    for (int i = 0; i < 9; i++) filters[item * 9 + i] = filter[i];
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  store_filters(args, bias, out, filters, first, WG, item);
}

/* The same where there are few elements: `items_per_result` items share one and add points that far apart, three
 * at a time so that loads overlap. */
kernel __attribute__((reqd_work_group_size(WG, 1, 1))) void winograd_filter_shared(
    const conv_args args, global const float *restrict products, global const float *restrict b,
    global const float *restrict bias, global float *restrict out) {
  local float sums[POINTS * WG];
  const int item = (int)get_local_id(0), together = args.items_per_result, width = WG / together;
  const int first = (args.first_group + (int)get_group_id(0)) * width;
  const int mine = item % width, id = first + mine;
  products += (size_t)args.a_at * CONV_ALIGN;
  bias += (size_t)args.bias_at * CONV_ALIGN;
  out += (size_t)args.out_at * CONV_ALIGN;

  const int matrices = spots(args), there = id < args.items;
  if (there) products += element_of_filter(args, id);
  for (int point = item / width; point < POINTS; point += 3 * together) {
    float sum[3] = {0.0f, 0.0f, 0.0f};
#pragma unroll 4
    for (int slice = 0; slice < args.slices; slice++) {
#pragma unroll
      for (int i = 0; i < 3; i++)
        if (there & (point + i * together < POINTS))
          sum[i] += products[(slice * POINTS + point + i * together) * matrices];
    }
#pragma unroll
    for (int i = 0; i < 3; i++)
      if (point + i * together < POINTS) sums[(point + i * together) * width + mine] = sum[i];
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  float filter[9];
  const int owner = item < width && there;
  if (owner) {
    float m[SIDE][SIDE];
#pragma unroll
    for (int i = 0; i < POINTS; i++) m[i / SIDE][i % SIDE] = sums[i * width + mine];
    filter_of_all_points(m, filter);
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  if (owner) {
#pragma unroll
    for (int i = 0; i < 9; i++) sums[mine * 9 + i] = filter[i];
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  store_filters(args, bias, out, sums, first, width, item);
}
