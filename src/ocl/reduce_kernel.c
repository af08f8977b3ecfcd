/* Generated reductions. */
#include "ocl/reduce_kernel.h"

#include <stdio.h>
#include <string.h>

#include "ocl/nest_source.h"

typedef struct generator {
  const cvy_reduce_problem *problem;
  cvy_program_problem of; /* cvy_reduce_space */
  cvy_program_nest nest;
  cvy_reduce_parts parts;
  cvy_reduce_order order;
  int kept[2], reduced[2]; /* first loop of each group, and behind the last */
  cvy_text *to;
} generator;

static bool has_lanes(const generator *g) {
  return g->order.lanes > 1;
}

/* Short sums: a work-group has lanes for several of them. They are in one piece. */
static bool is_short(const generator *g) {
  return has_lanes(g) && g->order.lanes < CVY_REDUCE_LANES;
}

static void begin(const cvy_reduce_problem *problem, cvy_text *to, generator *out) {
  out->problem = problem;
  cvy_reduce_space(problem, &out->of);
  out->parts = cvy_reduce_parts_of(&problem->how);
  out->order = cvy_reduce_order_of(problem);
  out->to = to;
  uint32_t inside = has_lanes(out) ? problem->how.axes : (uint32_t)~problem->how.axes;
  cvy_program_nest_of(&out->of, problem->how.results, inside, &out->nest);
  int *outer = has_lanes(out) ? out->kept : out->reduced;
  int *inner = has_lanes(out) ? out->reduced : out->kept;
  outer[0] = 0;
  outer[1] = inner[0] = out->nest.outer;
  inner[1] = out->nest.axes;
}

/* ------------------------------------------------------------------------------------ arguments */

static void declare_arguments(const generator *g, const int64_t *offsets, cvy_kernel_block *block) {
  int inputs = g->of.program.inputs, results = g->problem->how.results;
  cvy_block_add(block, g->to, g->order.kept, "kept");
  cvy_block_add(block, g->to, g->order.length, "length");
  cvy_block_add(block, g->to, g->problem->piece, "piece");
  cvy_block_add(block, g->to, g->order.pieces, "pieces");
  cvy_block_add(block, g->to, g->order.lanes, "lanes");
  cvy_block_add(block, g->to, g->order.piece_lanes, "piece_lanes");
  cvy_nest_add_extents(block, g->to, &g->nest, g->kept[0], g->kept[1]);
  cvy_nest_add_extents(block, g->to, &g->nest, g->reduced[0], g->reduced[1]);
  cvy_nest_add_operands(block, g->to, inputs, results, &g->nest, offsets);
  if (g->order.pieces > 1) {
    block->offset[inputs + results] = block->words;
    cvy_block_add(block, g->to, offsets[inputs + results], "partial");
  }
  cvy_nest_add_place(block, g->to, &g->of, &g->nest);
}

/* ----------------------------------------------------------------------------------------- parts
 */

/* Of no elements; `variable` is as "real s", for s0, s1, ... */
static void write_nothing(const generator *g, const char *variable) {
  static const char *const first[CVY_PART_KINDS] = {[CVY_PART_SUM] = "0.0f",
                                                    [CVY_PART_MAX] = "-INFINITY",
                                                    [CVY_PART_MIN] = "INFINITY",
                                                    [CVY_PART_MOMENTS] = "0.0f"};
  for (int p = 0; p < g->parts.count; p++) {
    for (int i = 0; i < cvy_part_components(g->parts.part[p].kind); i++)
      cvy_text_add(g->to, "  %s%d = number(%s);\n", variable, g->parts.part[p].first + i,
                   i ? "0.0f" : first[g->parts.part[p].kind]);
  }
}

static const char *const joins[CVY_PART_KINDS] = {
    [CVY_PART_SUM] = "program_add", [CVY_PART_MAX] = "program_max", [CVY_PART_MIN] = "program_min"};

/* What others have, components as the format says, into s0, s1, ... */
static void write_join(const generator *g, int part, const char *other, const char *indent) {
  int first = g->parts.part[part].first, kind = g->parts.part[part].kind;
  if (joins[kind]) {
    cvy_text_add(g->to, "%ss%d = %s(s%d, ", indent, first, joins[kind], first);
    cvy_text_add(g->to, other, first);
    cvy_text_add(g->to, ");\n");
    return;
  }
  cvy_text_add(g->to, "%sreduce_join_moments(&s%d, &s%d, &s%d", indent, first, first + 1,
               first + 2);
  for (int i = 0; i < 3; i++) {
    cvy_text_add(g->to, ", ");
    cvy_text_add(g->to, other, first + i);
  }
  cvy_text_add(g->to, ");\n");
}

/* What is the same for all elements that one result is made of. */
static uint32_t steady_inputs(const generator *g) {
  return cvy_nest_steady_inputs(&g->of, &g->nest, g->reduced[0], g->reduced[1]);
}

static void write_steady(const generator *g) {
  uint32_t inputs = steady_inputs(g);
  cvy_nest_write_loads(g->to, &g->of, &g->nest, inputs, "  ");
  cvy_program_write_values(&g->of.program, cvy_program_steady(&g->of.program, inputs), "  ", g->to);
}

static void write_varying(const generator *g, const char *indent) {
  uint32_t steady = steady_inputs(g);
  cvy_nest_write_loads(g->to, &g->of, &g->nest, ~steady, indent);
  cvy_nest_write_place(g->to, &g->of, &g->nest, indent);
  cvy_program_write_values(&g->of.program, ~cvy_program_steady(&g->of.program, steady), indent,
                           g->to);
  for (int k = 0; k < g->of.program.results; k++) {
    cvy_text_add(g->to, "%sconst real y%d = ", indent, k);
    cvy_program_write_operand(&g->of.program, g->of.program.result[k], g->to);
    cvy_text_add(g->to, ";\n");
  }
}

/* The 8 elements of a group from number `first` on, `step` apart, of which there are `rows`. All
 * are loaded, the last one in place of those that there are not. */
static void write_group(const generator *g) {
  for (int p = 0; p < g->parts.count; p++)
    if (!joins[g->parts.part[p].kind]) cvy_text_add(g->to, "    real values%d[REDUCE_GROUP];\n", p);
  cvy_text_add(g->to,
               "#pragma unroll\n"
               "    for (int r = 0; r < REDUCE_GROUP; r++) {\n"
               "      const word element = first + (word)(r < rows ? r : rows - 1) * step;\n");
  cvy_nest_write_indices(g->to, g->reduced[0], g->reduced[1], "element", "      ");
  write_varying(g, "      ");
  for (int p = 0; p < g->parts.count; p++) {
    int kind = g->parts.part[p].kind, s = g->parts.part[p].first, y = g->parts.part[p].value;
    if (joins[kind])
      cvy_text_add(g->to, "      s%d = r < rows ? %s(s%d, y%d) : s%d;\n", s, joins[kind], s, y, s);
    else
      cvy_text_add(g->to, "      values%d[r] = y%d;\n", p, y);
  }
  cvy_text_add(g->to, "    }\n");
  for (int p = 0; p < g->parts.count; p++) {
    int s = g->parts.part[p].first;
    if (!joins[g->parts.part[p].kind])
      cvy_text_add(g->to, "    reduce_take_group(&s%d, &s%d, &s%d, values%d, rows);\n", s, s + 1,
                   s + 2, p);
  }
}

/* --------------------------------------------------------------------------------------- results
 */

static void write_memories(const generator *g, bool inputs, bool partial) {
  cvy_text_add(g->to, "(const arguments args");
  if (inputs && g->of.program.inputs) {
    cvy_text_add(g->to, ",\n    ");
    cvy_nest_write_inputs(g->to, &g->of);
  }
  if (partial) cvy_text_add(g->to, ",\n    global %sfloat *partial", inputs ? "" : "const ");
  for (int k = 0; k < g->problem->how.results && !(inputs && partial); k++)
    cvy_text_add(g->to, ",\n    global float *out%d", k);
  cvy_text_add(g->to, ") {\n");
}

/* Of s0, s1, ..., for the result whose loops' indices are there; vectors of them or the first
 * alone. */
static void write_results(const generator *g, bool vectors, const char *indent) {
  char name[16];
  for (int k = 0; k < g->problem->how.results; k++) {
    int kind = g->problem->how.result[k].kind;
    int s = cvy_reduce_component(&g->parts, &g->problem->how, k);
    cvy_text_add(g->to, "%sreal result%d = ", indent, k);
    if (kind == CVY_REDUCE_MEAN)
      cvy_text_add(g->to, "reduce_mean(s%d, s%d);\n", s - 1, s);
    else if (kind == CVY_REDUCE_VARIANCE)
      cvy_text_add(g->to, "program_divide(s%d, number(convert_float(args.length)));\n", s);
    else
      cvy_text_add(g->to, "s%d;\n", s);
    snprintf(name, sizeof name, "out%d", k);
    cvy_text_add(g->to, vectors ? "%sstore(out%d + " : "%sout%d[", indent, k);
    cvy_nest_write_offset(g->to, name, g->nest.result[k], g->nest.axes, g->nest.axes - 1);
    cvy_text_add(g->to, vectors ? ", result%d);\n" : "] = FIRST_OF(result%d);\n", k);
  }
}

static void write_partial(const generator *g, bool vectors, const char *indent) {
  for (int c = 0; c < g->parts.components; c++) {
    cvy_text_add(g->to, vectors ? "%sstore(partial + " : "%spartial[", indent);
    cvy_text_add(g->to, "args.partial + (piece * %d + %d) * args.kept + kept", g->parts.components,
                 c);
    cvy_text_add(g->to, vectors ? ", s%d);\n" : "] = FIRST_OF(s%d);\n", c);
  }
}

static void write_end(const generator *g, bool vectors, const char *indent) {
  if (g->order.pieces > 1)
    write_partial(g, vectors, indent);
  else
    write_results(g, vectors, indent);
}

/* --------------------------------------------------------------------------------------- kernels
 */

static const char bounds[] =
    "  const word begin = piece * args.piece;\n"
    "  const word end = args.length - begin < args.piece ? args.length : begin + args.piece;\n";

/* The lanes, which are in local memory from `at` on, to one: into s0, s1, ... */
static void write_tree(const generator *g, const char *lanes, const char *at, bool several) {
  cvy_text_add(g->to,
               "  barrier(CLK_LOCAL_MEM_FENCE);\n"
               "  for (uint half_of = (uint)args.%s / 2; half_of; half_of /= 2) {\n"
               "    for (uint e = item; e < half_of%s; e += get_local_size(0)) {\n"
               "      const uint l = e%s;\n",
               lanes, several ? " * sums" : "",
               several ? " + e / half_of * ((uint)args.lanes - half_of)" : "");
  for (int c = 0; c < g->parts.components; c++)
    cvy_text_add(g->to, "      s%d = number(tree[%d][l]);\n", c, c);
  for (int p = 0; p < g->parts.count; p++)
    write_join(g, p, "number(tree[%d][l + half_of])", "      ");
  for (int c = 0; c < g->parts.components; c++)
    cvy_text_add(g->to, "      tree[%d][l] = FIRST_OF(s%d);\n", c, c);
  cvy_text_add(g->to, "    }\n    barrier(CLK_LOCAL_MEM_FENCE);\n  }\n");
  for (int c = 0; c < g->parts.components; c++)
    cvy_text_add(g->to, "  s%d = number(tree[%d][%s]);\n", c, c, at);
}

/* Which sum the item is at, or which piece of one; where there is none it does the last once more
 * and keeps nothing. */
static const char long_sums[] =
    "  const uint item = get_local_id(0), lane = item * PROGRAM_WIDTH;\n"
    "  const word group = args.first_group + get_group_id(0), step = args.lanes;\n"
    "  const word piece = group % args.pieces, kept = group / args.pieces;\n";
static const char short_sums[] =
    "  const uint item = get_local_id(0), at = item * PROGRAM_WIDTH;\n"
    "  const uint sums = REDUCE_LANES / (uint)args.lanes, lane = at % (uint)args.lanes;\n"
    "  const word group = args.first_group + get_group_id(0), step = args.lanes, piece = 0;\n"
    "  const word sum = group * sums + at / (uint)args.lanes;\n"
    "  const word kept = sum < args.kept ? sum : args.kept - 1;\n";

static void write_with_lanes(const generator *g) {
  cvy_text_add(g->to,
               "\nkernel __attribute__((reqd_work_group_size(%d / PROGRAM_WIDTH, 1, 1)))\n"
               "void reduce",
               CVY_REDUCE_LANES);
  write_memories(g, true, g->order.pieces > 1);
  cvy_text_add(g->to, "  local float tree[%d][%d];\n%s%s", g->parts.components, CVY_REDUCE_LANES,
               is_short(g) ? short_sums : long_sums, bounds);
  cvy_nest_write_indices(g->to, g->kept[0], g->kept[1], "kept", "  ");
  write_steady(g);
  write_nothing(g, "real s");
  cvy_text_add(g->to,
               "  for (word base = begin; base < end; base += REDUCE_GROUP * step) {\n"
               "    const word first = base + lane;\n"
               "    const int rows = rows_of_lane(first, end, step);\n"
               "    if (rows == 0) break;\n");
  write_group(g);
  cvy_text_add(g->to, "  }\n");
  for (int c = 0; c < g->parts.components; c++)
    cvy_text_add(g->to, "  PUT_LANES(tree[%d], %s, s%d);\n", c, is_short(g) ? "at" : "lane", c);
  write_tree(g, "lanes", is_short(g) ? "at" : "0", is_short(g));
  cvy_text_add(g->to,
               is_short(g) ? "  if (lane == 0 && sum < args.kept) {\n" : "  if (item == 0) {\n");
  write_end(g, false, "    ");
  cvy_text_add(g->to, "  }\n}\n");
}

static void write_side_by_side(const generator *g) {
  cvy_text_add(g->to, "\nkernel __attribute__((reqd_work_group_size(64, 1, 1)))\nvoid reduce");
  write_memories(g, true, g->order.pieces > 1);
  cvy_text_add(
      g->to,
      "  const word item = (args.first_group + get_group_id(0)) * 64 + get_local_id(0), step = 1;\n"
      "  const word vectors = args.kept / PROGRAM_WIDTH;\n"
      "  if (item >= vectors * args.pieces) return;\n"
      "  const word piece = item / vectors, kept = item %% vectors * PROGRAM_WIDTH;\n%s",
      bounds);
  cvy_nest_write_indices(g->to, g->kept[0], g->kept[1], "kept", "  ");
  write_steady(g);
  write_nothing(g, "real s");
  cvy_text_add(g->to,
               "  for (word first = begin; first < end; first += REDUCE_GROUP) {\n"
               "    const int rows = rows_of_lane(first, end, 1);\n");
  write_group(g);
  cvy_text_add(g->to, "  }\n");
  write_end(g, true, "  ");
  cvy_text_add(g->to, "}\n");
}

/* Each lane of pieces: the first, and those that are as many further as there are lanes. */
static void write_lanes_of_pieces(const generator *g) {
  char other[96];
  cvy_text_add(g->to, "  for (word l = item; l < args.piece_lanes; l += get_local_size(0)) {\n");
  for (int c = 0; c < g->parts.components; c++) {
    cvy_text_add(g->to, "    s%d = n%d;\n", c, c);
    cvy_text_add(g->to,
                 "    if (l < args.pieces)\n"
                 "      s%d = number(partial[args.partial + (l * %d + %d) * args.kept + kept]);\n",
                 c, g->parts.components, c);
  }
  cvy_text_add(g->to,
               "    for (word piece = l + args.piece_lanes; piece < args.pieces; piece += "
               "args.piece_lanes) {\n");
  snprintf(other, sizeof other,
           "number(partial[args.partial + (piece * %d + %%d) * args.kept + kept])",
           g->parts.components);
  for (int p = 0; p < g->parts.count; p++) write_join(g, p, other, "      ");
  cvy_text_add(g->to, "    }\n");
  for (int c = 0; c < g->parts.components; c++)
    cvy_text_add(g->to, "    tree[%d][l] = FIRST_OF(s%d);\n", c, c);
  cvy_text_add(g->to, "  }\n");
}

static void write_combine(const generator *g) {
  cvy_text_add(g->to, "\nkernel __attribute__((reqd_work_group_size(64, 1, 1)))\nvoid combine");
  write_memories(g, false, true);
  cvy_text_add(g->to,
               "  local float tree[%d][%d];\n"
               "  const uint item = get_local_id(0);\n"
               "  const word kept = args.first_group + get_group_id(0);\n",
               g->parts.components, CVY_REDUCE_LANES);
  cvy_nest_write_indices(g->to, g->kept[0], g->kept[1], "kept", "  ");
  write_nothing(g, "real s");
  write_nothing(g, "const real n"); /* LLVM 22 crashes where these are copies of s0, s1, ... */
  write_lanes_of_pieces(g);
  write_tree(g, "piece_lanes", "0", false);
  cvy_text_add(g->to, "  if (item == 0) {\n");
  write_results(g, false, "    ");
  cvy_text_add(g->to, "  }\n}\n");
}

/* -------------------------------------------------------------------------------------- launch */

static int32_t word_bytes(const generator *g, const int64_t *offsets,
                          const cvy_reduce_launch *sized) {
  int results = g->problem->how.results, arrays = g->of.program.inputs + results;
  int64_t partial = sized->partial ? offsets[arrays] + sized->partial : 0;
  if (partial > UINT32_MAX || sized->items > UINT32_MAX) return 8;
  return cvy_nest_word_bytes(&g->of, &g->nest, results, offsets);
}

/* All but the text of the kernels: the launch, and the declaration of their arguments if there is
 * a source. */
static void size_launch(const generator *g, const int64_t *offsets, cvy_reduce_launch *out) {
  memset(out, 0, offsetof(cvy_reduce_launch, block));
  cvy_program_uses uses = cvy_program_uses_of(&g->of.program);
  int64_t groups = g->order.kept * g->order.pieces, items;
  if (is_short(g)) groups = (groups * g->order.lanes + CVY_REDUCE_LANES - 1) / CVY_REDUCE_LANES;
  out->width = cvy_nest_width(&g->of, &g->nest, g->problem->how.results, offsets, 4);
  out->group = has_lanes(g) ? CVY_REDUCE_LANES / out->width : 64;
  items = has_lanes(g) ? groups * out->group : groups / out->width;
  out->items = (items + out->group - 1) / out->group * out->group;
  out->placed = uses.axes || uses.random;
  out->partial = cvy_reduce_partial(g->problem);
  out->local = has_lanes(g) || out->partial;
  if (out->partial) out->combined = g->order.kept * CVY_REDUCE_COMBINE;
  cvy_block_begin(&out->block, word_bytes(g, offsets, out), g->to);
  declare_arguments(g, offsets, &out->block);
}

/* The most that either kernel is given. */
static int memories(const cvy_reduce_problem *problem) {
  return problem->of.program.inputs + problem->how.results + 1;
}

int64_t cvy_reduce_partial(const cvy_reduce_problem *problem) {
  cvy_reduce_order order = cvy_reduce_order_of(problem);
  cvy_reduce_parts parts = cvy_reduce_parts_of(&problem->how);
  return order.pieces > 1 ? order.kept * order.pieces * parts.components : 0;
}

bool cvy_reduce_launch_fits(const cvy_reduce_problem *problem, const int64_t *offsets,
                            cvy_reduce_launch *out, cvy_text *reason) {
  generator g;
  memset(out, 0, sizeof *out);
  if (cvy_reduce_kept(problem->of.extent, problem->how.axes) == 0) return true;
  begin(problem, NULL, &g);
  size_launch(&g, offsets, out);
  return cvy_block_fits(&out->block, memories(problem), reason);
}

convoy_status cvy_reduce_launch_of(const cvy_reduce_problem *problem, const int64_t *offsets,
                                   cvy_text *source, cvy_reduce_launch *out) {
  generator g;
  memset(out, 0, sizeof *out);
  if (cvy_reduce_kept(problem->of.extent, problem->how.axes) == 0) return CONVOY_OK;
  begin(problem, source, &g);
  size_launch(&g, offsets, out);
  snprintf(out->options, sizeof out->options, "-DPROGRAM_WIDTH=%d -DWORD_BYTES=%d", (int)out->width,
           (int)out->block.word_bytes);
  convoy_status status = cvy_block_end(&out->block, memories(problem), source);
  if (status) return status;
  if (has_lanes(&g))
    write_with_lanes(&g);
  else
    write_side_by_side(&g);
  if (out->combined) write_combine(&g);
  if (source->overflow) {
    return cvy_fail(CONVOY_ERR_UNSUPPORTED,
                    "opencl: the reduction's kernels have more than %zu bytes", source->size);
  }
  return CONVOY_OK;
}
