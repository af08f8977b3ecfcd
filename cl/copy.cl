/* Copies between strided views. */
#ifndef WG
#error "WG is missing: items per work-group"
#endif
#ifndef AXES
#error "AXES is missing: of the copy"
#endif
#if !defined(FILLED) || !defined(STEPPED)
#error "FILLED or STEPPED is missing: 1 = not all of y is of x, elements are apart in y"
#endif
#if WIDE
typedef ulong copy_number;
#else
typedef uint copy_number;
#endif

/* The place along an axis of element `number` of a view, which becomes that in the axes around. */
static conv_int take_place(copy_number *number, conv_int extent) {
  copy_number around = *number / (copy_number)extent,
              place = *number - around * (copy_number)extent;
  *number = around;
  return (conv_int)place;
}

/* Moves `at` as an axis does for a place in y; false: nothing of x is there. */
static int follow(const copy_args *args, int axis, conv_int place, conv_int *at) {
  conv_int k = FILLED ? place - args->begin[axis] : place;
  if (FILLED && k < 0) return 0;
  if (STEPPED) {
    conv_int whole = (conv_int)((copy_number)k / (copy_number)args->step[axis]);
    if (whole * args->step[axis] != k) return 0;
    k = whole;
  }
  if (FILLED && k >= args->count[axis]) return 0;
  *at += k * args->stride[axis];
  return 1;
}

/* One element, or four neighbours, of y. */
kernel __attribute__((reqd_work_group_size(WG, 1, 1))) void copy(const copy_args args,
                                                                 global const ELEMENT *restrict x,
                                                                 global int *restrict y) {
  conv_int id = (args.first_group + (conv_int)get_group_id(0)) * WG + (conv_int)get_local_id(0);
  if (id >= args.items) return;
  copy_number rest = (copy_number)id * WIDTH;
  conv_int at = args.offset;
  int there = 1;
#pragma unroll
  for (int axis = AXES - 1; axis > 0; axis--)
    there &= follow(&args, axis, take_place(&rest, args.extent[axis]), &at);
  there &= follow(&args, 0, (conv_int)rest, &at);
  moved value = (moved)((int)args.fill);
  if (there) value = BITS_OF(*(global const elements *)(ELEMENTS_AT(x, args.x_at) + at));
  *(global moved *)(y + (size_t)args.y_at * CONV_ALIGN + (size_t)id * WIDTH) = value;
}

#ifdef ACROSS
#ifndef TILE
#error "TILE is missing: rows and columns of a tile"
#endif
#if WG % TILE != 0
#error "a work-group must be whole rows of a tile"
#endif

/* All of y is of x, and neighbours along its last axis are apart there, but those along axis ACROSS
 * are neighbours: a work-group loads a tile one way and stores it the other. */
kernel __attribute__((reqd_work_group_size(WG, 1, 1))) void copy_tiles(
    const copy_args args, global const float *restrict x, global int *restrict y) {
  local int tile[TILE * (TILE + 1)];
  int lane = (int)get_local_id(0) % TILE, first = (int)get_local_id(0) / TILE;
  copy_number rest = (copy_number)(args.first_group + (conv_int)get_group_id(0));
  conv_int column0 = take_place(&rest, args.columns_of_tiles) * TILE;
  conv_int row0 = take_place(&rest, args.rows_of_tiles) * TILE;
  conv_int at = args.offset, to = 0, pitch = args.extent[AXES - 1], row_pitch = 0;
#pragma unroll
  for (int axis = AXES - 2; axis >= 0; axis--) {
    if (axis == ACROSS) {
      row_pitch = pitch;
    } else {
      conv_int place = take_place(&rest, args.extent[axis]);
      at += place * args.stride[axis];
      to += place * pitch;
    }
    pitch *= args.extent[axis];
  }
  conv_int rows = args.extent[ACROSS], columns = args.extent[AXES - 1];
  global const ELEMENT *from = ELEMENTS_AT(x, args.x_at) + at;
  y += (size_t)args.y_at * CONV_ALIGN + to;
  for (int i = first; i < TILE; i += WG / TILE) {
    conv_int row = row0 + lane, column = column0 + i;
    if (row < rows && column < columns)
      tile[i * (TILE + 1) + lane] = BITS_OF(from[row + column * args.stride[AXES - 1]]);
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int i = first; i < TILE; i += WG / TILE) {
    conv_int row = row0 + i, column = column0 + lane;
    if (row < rows && column < columns) y[row * row_pitch + column] = tile[lane * (TILE + 1) + i];
  }
}
#endif
