/* The transforms around the products of Winograd's 3x3 convolution. The plane of results is cut
 * into tiles of TILE x TILE; each of a tile's SIDE x SIDE points has a matrix product of its own,
 * winograd_product. The matrices are [point][group][rows_up][columns_up], with zeros beyond the
 * channels and tiles there are. Tiles are counted over the images of a piece, planes, rows,
 * columns.
 *
 * Arguments are those of the convolution that is carried out: for backward_data the host exchanges
 * input and output and gives the padding of the flipped filter. There are `n` images from `first`
 * on. */
#ifndef WG
#error "WG is missing: items per work-group, a power of two"
#endif
#ifndef DIRECTION
#error "DIRECTION is missing: 1 = weights are transformed for backward_data, 0 = for forward"
#endif
#define POINTS (SIDE * SIDE)

/* Where an item works: group and row of a matrix, column, and the tile that this is. */
typedef struct tile_position {
  int group, row, column;
  int there; /* such a channel and such a tile exist */
  int image, z, h, w;
} tile_position;

/* The place of item `id`, counted over columns, rows, groups, so that matrices are written in whole
 * lines, and short ones leave no items idle. */
static tile_position tile_position_of(conv_args args, int id) {
  int tiles_h = (args.oh + TILE - 1) / TILE, tiles_w = (args.ow + TILE - 1) / TILE;
  int line = id / args.columns_up;
  tile_position at;
  at.column = id % args.columns_up;
  at.row = line % args.rows_up;
  at.group = line / args.rows_up;
  int plane = at.column / tiles_w / tiles_h;
  at.w = at.column % tiles_w * TILE;
  at.h = at.column / tiles_w % tiles_h * TILE;
  at.z = plane % args.oz;
  at.image = args.first + plane / args.oz;
  at.there = at.row < args.rows && plane / args.oz < args.n;
  return at;
}

static int matrix_elements(conv_args args) {
  return args.groups * args.rows_up * args.columns_up;
}

/* An element of the first point's matrix; the next point's is `matrices` further on. */
static int element_of(conv_args args, tile_position at) {
  return (at.group * args.rows_up + at.row) * args.columns_up + at.column;
}

static void write_points(conv_args args, tile_position at, const float (*v)[SIDE],
                         global float *out) {
  int matrices = matrix_elements(args);
  out += element_of(args, at);
#pragma unroll
  for (int i = 0; i < SIDE; i++) {
#pragma unroll
    for (int j = 0; j < SIDE; j++) out[(i * SIDE + j) * matrices] = v[i][j];
  }
}

/* Transforms a patch of x to points. */
static void transform_input(conv_args args, tile_position at, global const float *x,
                            global float *out) {
  int channel = at.group * args.rows + at.row;
  int h0 = at.h - args.ph, w0 = at.w - args.pw;
  int plane = channel * args.iz + at.z;
  int from = at.image * args.a_pitch + (plane * args.ih + h0) * args.iw + w0;
  float d[SIDE][SIDE], v[SIDE][SIDE];
#pragma unroll
  for (int i = 0; i < SIDE; i++) {
#pragma unroll
    for (int j = 0; j < SIDE; j++) {
      int inside = at.there & ((uint)(h0 + i) < (uint)args.ih) & ((uint)(w0 + j) < (uint)args.iw);
      d[i][j] = inside ? x[from + i * args.iw + j] : 0.0f;
    }
  }
  points_of_patch(d, v);
  write_points(args, at, v, out);
}

kernel __attribute__((reqd_work_group_size(WG, 1, 1))) void winograd_input(
    conv_args args, global const float *restrict x, global const float *restrict b,
    global const float *restrict bias, global float *restrict out) {
  int id = (args.first_group + (int)get_group_id(0)) * WG + (int)get_local_id(0);
  if (id >= matrix_elements(args)) return;
  x += begin_of(args.a_at, args.a_rest);
  out += begin_of(args.out_at, args.out_rest);
  transform_input(args, tile_position_of(args, id), x, out);
}

/* Transforms a tile of dy to points. */
static void transform_gradient(conv_args args, tile_position at, global const float *dy,
                               global float *out) {
  int channel = at.group * args.rows + at.row;
  int plane = channel * args.oz + at.z;
  int from = at.image * args.b_pitch + (plane * args.oh + at.h) * args.ow + at.w;
  float d[TILE][TILE], v[SIDE][SIDE];
#pragma unroll
  for (int i = 0; i < TILE; i++) {
#pragma unroll
    for (int j = 0; j < TILE; j++) {
      int inside = at.there & (at.h + i < args.oh) & (at.w + j < args.ow);
      d[i][j] = inside ? dy[from + i * args.ow + j] : 0.0f;
    }
  }
  points_of_tile(d, v);
  write_points(args, at, v, out);
}

/* backward_weights: transforms x and dy, both in one launch. The first work-groups do x, whose
 * matrices begin `items` behind those of dy; both are [row][tile]. */
kernel __attribute__((reqd_work_group_size(WG, 1, 1))) void winograd_operands(
    conv_args args, global const float *restrict x, global const float *restrict dy,
    global const float *restrict bias, global float *restrict out) {
  conv_args of_x = args, of_dy = args;
  of_x.rows = args.columns, of_x.rows_up = args.columns_up;
  of_x.columns_up = of_dy.columns_up = args.depth_up;
  int groups_of_x = (matrix_elements(of_x) + WG - 1) / WG;
  int group = args.first_group + (int)get_group_id(0);
  int id = (group < groups_of_x ? group : group - groups_of_x) * WG + (int)get_local_id(0);
  out += begin_of(args.out_at, args.out_rest);
  if (group < groups_of_x) {
    x += begin_of(args.a_at, args.a_rest);
    if (id < matrix_elements(of_x))
      transform_input(of_x, tile_position_of(of_x, id), x, out + args.items);
  } else {
    dy += begin_of(args.b_at, args.b_rest);
    if (id < matrix_elements(of_dy))
      transform_gradient(of_dy, tile_position_of(of_dy, id), dy, out);
  }
}

/* Transforms weights to points, as [point][group][depth_up][rows_up], with an item per element of a
 * matrix. */
kernel __attribute__((reqd_work_group_size(WG, 1, 1))) void winograd_weights(
    conv_args args, global const float *restrict w, global const float *restrict b,
    global const float *restrict bias, global float *restrict out) {
  int id = (args.first_group + (int)get_group_id(0)) * WG + (int)get_local_id(0);
  if (id >= args.items) return;
  w += begin_of(args.a_at, args.a_rest);
  out += begin_of(args.out_at, args.out_rest);

  int row = id % args.rows_up, line = id / args.rows_up;
  int term = line % args.depth_up, group = line / args.depth_up;
  int there = row < args.rows && term < args.depth;
  float u[SIDE][3], points[SIDE];
#pragma unroll
  for (int s = 0; s < 3; s++) {
    float g[3];
#pragma unroll
    for (int r = 0; r < 3; r++) {
#if DIRECTION == 0
      int at = ((group * args.rows + row) * args.depth + term) * 9 + r * 3 + s;
#else
      int at = ((group * args.depth + term) * args.rows + row) * 9 + 8 - r * 3 - s;
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

/* Stores one line of a tile of results, of which `left` are inside. */
static void store_line(conv_args args, global const float *bias, global float *out, int to,
                       int channel, int left, const float *y) {
#if TILE == 4
  if ((args.ow | args.out_rest | args.out_pitch) % 4 == 0) {
    store_four(args, bias, out, to, channel, (float4)(y[0], y[1], y[2], y[3]));
    return;
  }
#endif
#pragma unroll
  for (int j = 0; j < TILE; j++)
    if (j < left) store(args, bias, out, to + j, channel, y[j]);
}

/* Loads or adds the points of one element. */
static void load_points(global const float *products, int matrices, float (*m)[SIDE]) {
#pragma unroll
  for (int i = 0; i < POINTS; i++) m[i / SIDE][i % SIDE] = products[i * matrices];
}
static void add_points(global const float *products, int matrices, float (*m)[SIDE]) {
#pragma unroll
  for (int i = 0; i < POINTS; i++) m[i / SIDE][i % SIDE] += products[i * matrices];
}

/* Transforms products, each the sum of `slices` partial ones, to results, with what happens to
 * finished sums. */
kernel __attribute__((reqd_work_group_size(WG, 1, 1))) void winograd_output(
    conv_args args, global const float *restrict products, global const float *restrict b,
    global const float *restrict bias, global float *restrict out) {
  int id = (args.first_group + (int)get_group_id(0)) * WG + (int)get_local_id(0);
  tile_position at = tile_position_of(args, id);
  if (id >= matrix_elements(args) || !at.there) return;
  products += begin_of(args.a_at, args.a_rest);
  bias += begin_of(args.bias_at, args.bias_rest);
  out += begin_of(args.out_at, args.out_rest);

  int matrices = matrix_elements(args);
  products += element_of(args, at);
  float m[SIDE][SIDE], y[TILE][TILE];
  load_points(products, matrices, m);
  for (int slice = 1; slice < args.slices; slice++) {
    products += POINTS * matrices;
    add_points(products, matrices, m);
  }
  outputs_of_points(m, y);

  int channel = at.group * args.rows + at.row;
  int plane = channel * args.oz + at.z;
  int to = at.image * args.out_pitch + (plane * args.oh + at.h) * args.ow + at.w;
#pragma unroll
  for (int i = 0; i < TILE; i++) {
    if (at.h + i < args.oh)
      store_line(args, bias, out, to + i * args.ow, channel, args.ow - at.w, y[i]);
  }
}

/* The gradients of a work-group's elements, 9 each, go through local memory, so that neighbouring
 * items store neighbours. */
static void store_filters(conv_args args, global const float *bias, global float *out,
                          local const float *filters, int first, int elements, int item) {
  int count = min(elements, args.items - first) * 9;
  for (int i = item; i < count; i += WG) store(args, bias, out, first * 9 + i, 0, filters[i]);
}

/* Where the first point of element `id` of all filters lies. */
static int element_of_filter(conv_args args, int id) {
  int column = id % args.columns, line = id / args.columns;
  return (line / args.rows * args.rows_up + line % args.rows) * args.columns_up + column;
}

/* backward_weights: adds the slices of each point in their order and transforms them to 3x3
 * gradients, with an item per element (row, column) of the matrices. */
kernel __attribute__((reqd_work_group_size(WG, 1, 1))) void winograd_filter(
    conv_args args, global const float *restrict products, global const float *restrict b,
    global const float *restrict bias, global float *restrict out) {
  local float filters[9 * WG];
  int item = (int)get_local_id(0);
  int first = (args.first_group + (int)get_group_id(0)) * WG, id = first + item;
  products += begin_of(args.a_at, args.a_rest);
  bias += begin_of(args.bias_at, args.bias_rest);
  out += begin_of(args.out_at, args.out_rest);

  if (id < args.items) {
    int matrices = matrix_elements(args);
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

/* The same where there are few elements: `items_per_result` items share one and add points that far
 * apart, three at a time so that loads overlap. */
kernel __attribute__((reqd_work_group_size(WG, 1, 1))) void winograd_filter_shared(
    conv_args args, global const float *restrict products, global const float *restrict b,
    global const float *restrict bias, global float *restrict out) {
  local float sums[POINTS * WG];
  int item = (int)get_local_id(0), together = args.items_per_result, width = WG / together;
  int first = (args.first_group + (int)get_group_id(0)) * width;
  int mine = item % width, id = first + mine;
  products += begin_of(args.a_at, args.a_rest);
  bias += begin_of(args.bias_at, args.bias_rest);
  out += begin_of(args.out_at, args.out_rest);

  int matrices = matrix_elements(args), there = id < args.items;
  if (there) products += element_of_filter(args, id);
  for (int point = item / width; point < POINTS; point += 3 * together) {
    float sum[3] = {0.0f, 0.0f, 0.0f};
#pragma unroll 4
    for (int slice = 0; slice < args.slices; slice++) {
#pragma unroll
      for (int i = 0; i < 3; i++) {
        if (there & (point + i * together < POINTS))
          sum[i] += products[(slice * POINTS + point + i * together) * matrices];
      }
    }
#pragma unroll
    for (int i = 0; i < 3; i++)
      if (point + i * together < POINTS) sums[(point + i * together) * width + mine] = sum[i];
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  float filter[9];
  int owner = item < width && there;
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
