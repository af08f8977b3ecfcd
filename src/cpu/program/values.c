/* Runs of elements: what is read where it is, what is gathered. */
#include "cpu/program/values.h"

#include <string.h>

/* Below, rows are so short that calls would take longer than gathering does: of what is
 * interpreted, and of what was compiled ahead. */
enum { SHORT_ROW = 128, SHORTEST_ROW = 32 };
/* Cache lines of each input that are asked for before they are read. */
enum { AHEAD = 16 };

/* ----------------------------------------------------------------------------- gather and scatter
 */

static void copy_in(char *to, const char *from, int64_t bytes, int64_t stride, int64_t count) {
  if (stride == 1) {
    memcpy(to, from, (size_t)(count * bytes));
  } else if (bytes == 1) {
    for (int64_t i = 0; i < count; i++) to[i] = from[i * stride];
  } else {
    for (int64_t i = 0; i < count; i++) memcpy(to + 4 * i, from + 4 * i * stride, 4);
  }
}

void cvy_program_gather(const cvy_program_nest *nest, const int64_t *stride, int64_t bytes,
                        const void *memory, const cvy_program_cursor *first, int64_t count,
                        void *piece) {
  cvy_program_cursor at = *first;
  char *to = piece;
  for (int64_t length; count > 0; count -= length) {
    length = cvy_program_nest_rest(nest, &at, count);
    copy_in(to, (const char *)memory + cvy_program_nest_offset(nest, stride, &at) * bytes, bytes,
            stride[nest->axes - 1], length);
    to += length * bytes;
    cvy_program_nest_go_on(nest, &at, length);
  }
}

void cvy_program_scatter(const cvy_program_nest *nest, const int64_t *stride, float *memory,
                         const cvy_program_cursor *first, int64_t count, const float *piece) {
  cvy_program_cursor at = *first;
  int64_t step = stride[nest->axes - 1];
  for (int64_t length; count > 0; count -= length) {
    length = cvy_program_nest_rest(nest, &at, count);
    float *to = memory + cvy_program_nest_offset(nest, stride, &at);
    for (int64_t i = 0; i < length; i++) to[i * step] = piece[i];
    piece += length;
    cvy_program_nest_go_on(nest, &at, length);
  }
}

bool cvy_program_in_one_piece(const cvy_program_nest *nest, const int64_t *stride) {
  int64_t wanted = 1;
  for (int loop = nest->axes - 1; loop >= 0; loop--) {
    if (stride[loop] != wanted) return false;
    wanted *= nest->extent[loop];
  }
  return true;
}

/* --------------------------------------------------------------------------------------- values */

static bool is_one_number(const cvy_program_nest *nest, const int64_t *stride) {
  for (int loop = 0; loop < nest->axes; loop++)
    if (stride[loop] && nest->extent[loop] > 1) return false;
  return true;
}

static cvy_program_form form_of(cvy_program_values *v, const cvy_program_view *view, int input) {
  const int64_t *stride = v->nest.input[input];
  int64_t inner = stride[v->nest.axes - 1];
  bool single = v->by_rows ? inner == 0 : is_one_number(&v->nest, stride);
  bool direct = v->by_rows ? inner == 1 : cvy_program_in_one_piece(&v->nest, stride);
  if (!single && !direct) v->gathered |= 1u << input;
  return (cvy_program_form){.type = (uint8_t)view->type, .single = single};
}

static void find_forms(const cvy_program_problem *problem, bool by_rows, cvy_program_values *v,
                       cvy_program_form *forms) {
  v->by_rows = by_rows;
  v->gathered = 0;
  for (int i = 0; i < problem->program.inputs; i++) forms[i] = form_of(v, &problem->input[i], i);
}

void cvy_program_values_open(const cvy_program_problem *problem, const cvy_program_nest *nest,
                             const void *const *inputs, const cvy_program_simd *simd,
                             cvy_program_values *out) {
  cvy_program_form forms[CVY_PROGRAM_INPUTS];
  cvy_program_uses uses = cvy_program_uses_of(&problem->program);
  memset(out, 0, sizeof *out);
  out->nest = *nest;
  out->placed = uses.axes || uses.random;
  if (out->placed) {
    memcpy(out->position.extent, problem->extent, sizeof problem->extent);
    out->position.stream = cvy_program_stream_of(problem->seed, problem->run, problem->node);
  }
  for (int i = 0; i < problem->program.inputs; i++) out->input[i] = inputs[i];
  int64_t inner = nest->axes == 1 ? SHORT_ROW : nest->extent[nest->axes - 1];
  find_forms(problem, inner >= SHORTEST_ROW, out, forms);
  if (out->by_rows && inner < SHORT_ROW && !cvy_program_is_ahead(&problem->program, forms))
    find_forms(problem, false, out, forms);
  cvy_program_prepare(&problem->program, forms, simd, &out->plan);
}

int64_t cvy_program_values_length(const cvy_program_values *v, const cvy_program_cursor *first,
                                  int64_t count) {
  if (v->by_rows) count = cvy_program_nest_rest(&v->nest, first, count);
  bool limited = v->gathered || !v->by_rows;
  return limited && count > CVY_VALUES_BLOCK ? CVY_VALUES_BLOCK : count;
}

/* Where index() and random() are, each row is a run of its own: in the index space it is in one
 * piece, and the next row may be anywhere. */
static void run_placed(const cvy_program_values *v, cvy_program_arrays arrays,
                       const cvy_program_cursor *first) {
  cvy_program_cursor at = *first;
  int64_t count = arrays.count;
  cvy_program_position position = v->position;
  arrays.position = &position;
  while (count > 0) {
    arrays.count = cvy_program_nest_rest(&v->nest, &at, count);
    position.first = (uint64_t)cvy_program_nest_offset(&v->nest, v->nest.index, &at);
    cvy_program_run(&v->plan, &arrays);
    for (int i = 0; i < v->plan.inputs; i++) {
      const cvy_program_form *form = &v->plan.form[i];
      int64_t step = form->single ? 0 : arrays.count * cvy_dtype_bytes(form->type);
      arrays.input[i] = (const char *)arrays.input[i] + step;
    }
    for (int i = 0; i < v->plan.results; i++) arrays.result[i] += arrays.count;
    count -= arrays.count;
    cvy_program_nest_go_on(&v->nest, &at, arrays.count);
  }
}

void cvy_program_values_run(const cvy_program_values *v, const cvy_program_cursor *first,
                            int64_t count, float *const *results, float *scratch) {
  const cvy_program_nest *nest = &v->nest;
  cvy_program_arrays arrays; /* rows are short: to clear all of it takes as long as some of them */
  arrays.count = count;
  arrays.position = NULL;
  for (int i = 0; i < v->plan.inputs; i++) {
    int64_t bytes = cvy_dtype_bytes(v->plan.form[i].type);
    if (v->gathered >> i & 1) {
      arrays.input[i] = scratch + (int64_t)i * CVY_VALUES_BLOCK;
      cvy_program_gather(nest, nest->input[i], bytes, v->input[i], first, count,
                         scratch + (int64_t)i * CVY_VALUES_BLOCK);
    } else {
      int64_t offset = cvy_program_nest_offset(nest, nest->input[i], first);
      arrays.input[i] = (const char *)v->input[i] + offset * bytes;
    }
  }
  for (int i = 0; i < v->plan.results; i++) arrays.result[i] = results[i];
  if (v->placed)
    run_placed(v, arrays, first);
  else
    cvy_program_run(&v->plan, &arrays);
}

void cvy_program_values_ask_ahead(const cvy_program_values *v, const cvy_program_cursor *first) {
  if (first->number >= v->nest.count) return;
  for (int i = 0; i < v->plan.inputs; i++) {
    if (v->plan.form[i].single) continue;
    int64_t offset = cvy_program_nest_offset(&v->nest, v->nest.input[i], first);
    const char *at = (const char *)v->input[i] + offset * cvy_dtype_bytes(v->plan.form[i].type);
    for (int line = 0; line < AHEAD; line++) __builtin_prefetch(at + (int64_t)line * 64);
  }
}

const float *cvy_program_values_lying(const cvy_program_values *v, const cvy_program_cursor *first,
                                      int64_t count) {
  int input = v->plan.copied;
  if (input < 0 || v->gathered >> input & 1) return NULL;
  if (cvy_program_values_length(v, first, count) < count) return NULL;
  return (const float *)v->input[input] +
         cvy_program_nest_offset(&v->nest, v->nest.input[input], first);
}
