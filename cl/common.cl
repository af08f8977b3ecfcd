/* Pieces that several kernel files need. */

/* fma() is taken only where it is an instruction; elsewhere it is a slow exact emulation. */
#ifdef FP_FAST_FMAF
#define MULTIPLY_ADD(a, b, c) fma(a, b, c)
#else
#define MULTIPLY_ADD(a, b, c) ((a) * (b) + (c))
#endif

/* Where an element lies: in which map, and where in it. `map` counts all that lies around space:
 * images and channels. */
typedef struct position {
  conv_int map, z, h, w;
} position;

static position position_in(conv_int id, conv_int extent_z, conv_int extent_h, conv_int extent_w) {
  conv_int row = id / extent_w, plane = row / extent_h;
  return (position){plane / extent_z, plane % extent_z, row % extent_h, id % extent_w};
}
static position position_of_input(conv_args args, conv_int id) {
  return position_in(id, args.iz, args.ih, args.iw);
}
static position position_of_output(conv_args args, conv_int id) {
  return position_in(id, args.oz, args.oh, args.ow);
}

/* Where element `id` of all images lies, of which it is in image `n`, if one has `image` elements
 * and they are `pitch` apart. */
static conv_int place_in_images(conv_int id, conv_int n, conv_int image, conv_int pitch) {
  return id + n * (pitch - image);
}

/* The output position to which tap `tap` maps input position `at`, or -1 if there is none. */
static conv_int target(conv_int at, conv_int tap, conv_int pad, conv_int dilation, conv_int stride,
                       conv_int extent) {
  conv_int scaled = at + pad - tap * dilation;
  if (scaled < 0) return -1;
  conv_int o = scaled / stride;
  return o < extent && o * stride == scaled ? o : -1;
}

/* The tile of a product that a work-group computes. Rows are counted first, so that neighbouring
 * work-groups share columns; `rest` counts what lies around the product. */
typedef struct group_tile {
  conv_int row0, column0, rest;
} group_tile;

static group_tile find_group_tile(conv_args args, int rows, int columns) {
  conv_int group = args.first_group + (conv_int)get_group_id(0);
  conv_int column = group / args.row_tiles;
  return (group_tile){group % args.row_tiles * rows, column % args.column_tiles * columns,
                      column / args.column_tiles};
}

/* Component `i` of four. */
static float component_of(float4 v, int i) {
  return i == 0 ? v.x : i == 1 ? v.y : i == 2 ? v.z : v.w;
}

/* A load that may have no place gives 0 then, once it is kept: KEPT(LOADED()).
 *
 * NVIDIA's compiler makes one predicated instruction of it. AMD's compilers make a branch, and wait
 * for memory behind each. There, and wherever it is not known, what is loaded comes from a place
 * that exists, and is dropped late, so that nothing waits before. */
#ifdef __NV_CL_C_VERSION
#define LOADED(type, there, base, at) \
  ((there) ? *(global const type *)((base) + (at)) : (type)(0.0f))
#define KEPT(type, there, value) (value)
#else
#define LOADED(type, there, base, at) (*(global const type *)((base) + ((there) ? (at) : 0)))
#define KEPT(type, there, value) ((there) ? (value) : (type)(0.0f))
#endif

/* AMD's compilers move loads down to where they are waited for, past the arithmetic that should
 * hide them. Nothing moves past this. */
#ifdef __AMDGCN__
#define STAY_IN_ORDER() __builtin_amdgcn_sched_barrier(0)
#else
#define STAY_IN_ORDER()
#endif

/* The size of a kernel's work-groups. NVIDIA's compiler heeds a limit of registers (add_resident in
 * the launch code) only where it does not know the size. */
#ifdef __NV_CL_C_VERSION
#define GROUP_OF(items)
#else
#define GROUP_OF(items) __attribute__((reqd_work_group_size(items, 1, 1)))
#endif
