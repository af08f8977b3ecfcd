/* Resampling and its gradients: an item makes one element, or neighbours, by gathering, so that
 * each sum has one order. Of args the strides are the bits of the steps, in elements of x. */
#ifndef WG
#error "WG is missing: items per work-group"
#endif
#if MODE != 0 && MODE != 1 && MODE != 2 && MODE != 3
#error "MODE is missing: nearest, nearest exact, linear, linear aligned"
#endif
#if WIDTH != 1 && WIDTH != 4
#error "WIDTH must be 1, or 4 where rows of y are made of fours"
#endif
#ifndef DOUBLES
#error "DOUBLES is missing: 1 = each element of a row of x becomes two of y"
#endif
#define LINEAR (MODE >= 2)

/* Positions and weights are the same everywhere. */
#pragma OPENCL FP_CONTRACT OFF

/* What an element of y is made of along an axis: element `low` of x and, where it is linear,
 * `weight` of element `high` and the rest of `low`. As cvy_resampling_place_of of
 * src/problem/resampling/resampling.h: each operation rounds once. */
typedef struct place {
  conv_int low, high;
  float weight;
} place;

static float step_of(conv_int bits) {
  return as_float((int)bits);
}

static place find_place(float step, conv_int o, conv_int extent) {
  conv_int last = extent - 1;
  float at = (float)o;
#if MODE == 1
  float position = (at + 0.5f) * step;
#elif MODE == 2
  float position = fma(step, at + 0.5f, -0.5f);
  position = position > 0.0f ? position : 0.0f;
#else
  float position = at * step;
#endif
  conv_int low = position < (float)last ? (conv_int)position : last;
  low = min(low, last);
  float weight = position - (float)low;
  return (place){low, min(low + 1, last), weight < 1.0f ? weight : 1.0f};
}

/* The first element of y whose `low` is `target` or behind it. */
static conv_int first_of(float step, conv_int target, conv_int in, conv_int out) {
  if (target <= 0) return 0;
  if (target >= in || step == 0.0f) return out;
  float near = (MODE == 2 ? (float)target + 0.5f : (float)target) / step;
  if (MODE == 1 || MODE == 2) near -= 0.5f;
  conv_int o = !(near > 0.0f) ? 0 : near < (float)out ? min((conv_int)near, out) : out;
  while (o > 0 && find_place(step, o - 1, in).low >= target) o--;
  while (o < out && find_place(step, o, in).low < target) o++;
  return o;
}

/* The part of element `i` of x that an element of y is made of. */
static float share_of(place at, conv_int i) {
  if (!LINEAR) return at.low == i ? 1.0f : 0.0f;
  return (at.low == i ? 1.0f - at.weight : 0.0f) + (at.high == i ? at.weight : 0.0f);
}

#if WIDTH == 4
typedef float4 made;
typedef int4 moved;
#else
typedef float made;
typedef int moved;
#endif

/* Where an item is: in which row of y, from which element on. */
typedef struct row_place {
  conv_int map, oz, oh, ow;
} row_place;

static row_place find_row(conv_args args, conv_int id) {
  conv_int width = args.ow / WIDTH, row = id / width, plane = row / args.oh;
  return (row_place){plane / args.oz, plane % args.oz, row % args.oh, id % width * WIDTH};
}

/* Where map `map` of all images begins, if maps have `volume` elements and images are `pitch`
 * apart. */
static conv_int map_at(conv_args args, conv_int map, conv_int volume, conv_int pitch) {
  return place_in_images(map * volume, map / args.c, args.c * volume, pitch);
}

/* Where element `id` of the result lies, which is in map `map`. */
static conv_int result_at(conv_args args, conv_int id, conv_int map, conv_int volume) {
  return place_in_images(id, map / args.c, args.c * volume, args.out_pitch);
}

#if !LINEAR
/* Bits are moved, not floats, so that all of them stay. */
kernel __attribute__((reqd_work_group_size(WG, 1, 1))) void resample_nearest(
    conv_args args, global const float *restrict all_x, global const float *restrict b,
    global const float *restrict bias, global float *restrict all_y) {
  conv_int id = (args.first_group + (conv_int)get_group_id(0)) * WG + (conv_int)get_local_id(0);
  if (id >= args.items) return;
  row_place o = find_row(args, id);
  conv_int z = find_place(step_of(args.sz), o.oz, args.iz).low;
  conv_int h = find_place(step_of(args.sh), o.oh, args.ih).low;
  global const int *x = (global const int *)(all_x + begin_of(args.a_at, args.a_rest)) +
                        map_at(args, o.map, args.iz * args.ih * args.iw, args.a_pitch) +
                        (z * args.ih + h) * args.iw;
  global moved *y =
      (global moved *)(all_y + begin_of(args.out_at, args.out_rest) +
                       result_at(args, id * WIDTH, o.map, args.oz * args.oh * args.ow));
  float step = step_of(args.sw);
#if WIDTH == 4 && DOUBLES
  int2 pair = *(global const int2 *)(x + o.ow / 2);
  *y = (moved)(pair.x, pair.x, pair.y, pair.y);
#elif WIDTH == 4
  *y = (moved)(x[find_place(step, o.ow, args.iw).low], x[find_place(step, o.ow + 1, args.iw).low],
               x[find_place(step, o.ow + 2, args.iw).low],
               x[find_place(step, o.ow + 3, args.iw).low]);
#else
  *y = x[find_place(step, o.ow, args.iw).low];
#endif
}
#else
/* Between two neighbours of a row. */
static float mix(global const float *row, place w) {
  return (1.0f - w.weight) * row[w.low] + w.weight * row[w.high];
}

static made mix_all(global const float *row, const place *w) {
#if WIDTH == 4
  return (made)(mix(row, w[0]), mix(row, w[1]), mix(row, w[2]), mix(row, w[3]));
#else
  return mix(row, w[0]);
#endif
}

/* Between two rows of a plane. Without another row there is nothing to add. */
static made mix_rows(conv_args args, global const float *plane, place h, const place *w) {
  made value = mix_all(plane + h.low * args.iw, w);
  if (args.ih == 1) return value;
  return (1.0f - h.weight) * value + h.weight * mix_all(plane + h.high * args.iw, w);
}

kernel __attribute__((reqd_work_group_size(WG, 1, 1))) void resample_linear(
    conv_args args, global const float *restrict all_x, global const float *restrict b,
    global const float *restrict bias, global float *restrict all_y) {
  conv_int id = (args.first_group + (conv_int)get_group_id(0)) * WG + (conv_int)get_local_id(0);
  if (id >= args.items) return;
  row_place o = find_row(args, id);
  place z = find_place(step_of(args.sz), o.oz, args.iz);
  place h = find_place(step_of(args.sh), o.oh, args.ih), w[WIDTH];
  global const float *x = all_x + begin_of(args.a_at, args.a_rest) +
                          map_at(args, o.map, args.iz * args.ih * args.iw, args.a_pitch);
  global made *y = (global made *)(all_y + begin_of(args.out_at, args.out_rest) +
                                   result_at(args, id * WIDTH, o.map, args.oz * args.oh * args.ow));
  for (int i = 0; i < WIDTH; i++) w[i] = find_place(step_of(args.sw), o.ow + i, args.iw);
  made value = mix_rows(args, x + z.low * (args.ih * args.iw), h, w);
  if (args.iz > 1)
    value = (1.0f - z.weight) * value +
            z.weight * mix_rows(args, x + z.high * (args.ih * args.iw), h, w);
  *y = value;
}
#endif

/* The elements of y that an element of x is a part of, along an axis. */
typedef struct reach {
  conv_int begin, end;
} reach;

static reach find_reach(float step, conv_int i, conv_int in, conv_int out) {
  return (reach){first_of(step, LINEAR ? i - 1 : i, in, out), first_of(step, i + 1, in, out)};
}

/* Of an element of x, or with DOUBLES of two neighbours. */
kernel __attribute__((reqd_work_group_size(WG, 1, 1))) void resample_backward(
    conv_args args, global const float *restrict all_dy, global const float *restrict b,
    global const float *restrict bias, global float *restrict all_dx) {
  conv_int id = (args.first_group + (conv_int)get_group_id(0)) * WG + (conv_int)get_local_id(0);
  if (id >= args.items) return;
  position i = position_of_input(args, id * (1 + DOUBLES));
  float step_z = step_of(args.sz), step_h = step_of(args.sh), step_w = step_of(args.sw);
  reach z = find_reach(step_z, i.z, args.iz, args.oz);
  reach h = find_reach(step_h, i.h, args.ih, args.oh);
  global const float *dy = all_dy + begin_of(args.a_at, args.a_rest) +
                           map_at(args, i.map, args.oz * args.oh * args.ow, args.a_pitch);
  global float *dx = all_dx + begin_of(args.out_at, args.out_rest) +
                     result_at(args, id * (1 + DOUBLES), i.map, args.iz * args.ih * args.iw);
#if DOUBLES
  float2 sum = (float2)(0.0f);
#else
  reach w = find_reach(step_w, i.w, args.iw, args.ow);
  float sum = 0.0f;
#endif
  for (conv_int oz = z.begin; oz < z.end; oz++) {
    float z_share = share_of(find_place(step_z, oz, args.iz), i.z);
    for (conv_int oh = h.begin; oh < h.end; oh++) {
      float share = z_share * share_of(find_place(step_h, oh, args.ih), i.h);
      global const float *row = dy + (oz * args.oh + oh) * args.ow;
#if DOUBLES
      float4 four = *(global const float4 *)(row + 2 * i.w);
      sum = sum + (float2)(four.x, four.z) + (float2)(four.y, four.w);
#else
      for (conv_int ow = w.begin; ow < w.end; ow++)
        sum += share * share_of(find_place(step_w, ow, args.iw), i.w) * row[ow];
#endif
    }
  }
#if DOUBLES
  *(global float2 *)dx = sum;
#else
  *dx = sum;
#endif
}
