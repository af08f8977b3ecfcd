/* Problems of programs as text, both ways (program.h has the grammar). */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "problem/program/program.h"

static const char *const class_words[] = {
    [CVY_CLASS_FULL] = "full",       [CVY_CLASS_IMAGE_CHANNEL] = "image_channel",
    [CVY_CLASS_CHANNEL] = "channel", [CVY_CLASS_POSITION] = "position",
    [CVY_CLASS_ONE] = "one",
};

static const char *const type_words[CONVOY_DTYPES] = {
    [CONVOY_FLOAT32] = "", [CONVOY_INT32] = ":int32", [CONVOY_UINT8] = ":uint8"};

/* ----------------------------------------------------------------------------------- writing */

static void add_extents(const int64_t *extent, cvy_text *to) {
  cvy_text_add(to, " on ");
  for (int axis = 0; axis < CVY_PROGRAM_AXES; axis++)
    if (extent[axis] != 1 || axis == 0)
      cvy_text_add(to, "%c%lld", cvy_axis_letters[axis], (long long)extent[axis]);
}

static void add_operand(const cvy_program_view *view, const int64_t *extent, char side, int i,
                        cvy_text *to) {
  cvy_program_class what = cvy_program_class_of(view, extent);
  if (what == CVY_CLASS_FULL && view->type == CONVOY_FLOAT32) return;
  cvy_text_add(to, " %c%d:", side, i);
  if (what == CVY_CLASS_STRIDED) {
    cvy_text_add(to, "strides=");
    for (int axis = 0; axis < CVY_PROGRAM_AXES; axis++)
      cvy_text_add(to, "%s%lld", axis ? "," : "", (long long)view->stride[axis]);
  } else {
    cvy_text_add(to, "%s", class_words[what]);
  }
  cvy_text_add(to, "%s", type_words[view->type]);
}

static int64_t usual_piece(const cvy_reduce_problem *reduce) {
  return cvy_reduce_default_piece(reduce->of.extent, reduce->how.axes, CVY_REDUCE_BUSY);
}

static void add_operands(const cvy_problem *problem, cvy_text *to) {
  const cvy_program_problem *of = cvy_program_part(problem);
  add_extents(of->extent, to);
  for (int i = 0; i < of->program.inputs; i++) add_operand(&of->input[i], of->extent, 'x', i, to);
  for (int k = 0; k < cvy_problem_outputs(problem); k++) {
    const cvy_array whole = cvy_problem_output(problem, k);
    add_operand(&of->result[k], whole.extent, 'y', k, to);
  }
  if (problem->operation == CVY_REDUCE && problem->reduce.piece != usual_piece(&problem->reduce))
    cvy_text_add(to, " piece=%lld", (long long)problem->reduce.piece);
}

/* Whether the whole text has room. */
static bool write_whole(const cvy_problem *problem, char *text, size_t size) {
  static const cvy_reduction none;
  bool reduces = problem->operation == CVY_REDUCE;
  const cvy_reduction *how = reduces ? &problem->reduce.how : &none;
  char program[CVY_PROGRAM_TEXT];
  if (cvy_reduction_text(&cvy_program_part(problem)->program, how, NULL, program, sizeof program))
    return false;
  cvy_text to = cvy_text_in(text, size);
  cvy_text_add(&to, "%s", program);
  add_operands(problem, &to);
  return !to.overflow;
}

bool cvy_program_readable(const cvy_problem *problem) {
  char text[CONVOY_PROBLEM_TEXT];
  return write_whole(problem, text, sizeof text);
}

/* The hash and the operands of most programs have room; of those with many operands, or with
 * strides of theirs, the last are cut. */
void cvy_program_print(const cvy_problem *problem, char *text, size_t size) {
  if (write_whole(problem, text, size)) return;
  cvy_text to = cvy_text_in(text, size);
  cvy_text_add(&to, "program %016llx", (unsigned long long)cvy_program_hash(problem));
  add_operands(problem, &to);
}

/* ----------------------------------------------------------------------------------- reading */

typedef struct program_reader {
  const char *at;
  const cvy_program_names *names;
  cvy_program_problem *of;
} program_reader;

static convoy_status wrong(const program_reader *r, const char *expected) {
  return cvy_fail(CONVOY_ERR_ARGUMENT, "problem text, at \"%.24s\": expected %s", r->at, expected);
}

static bool take(program_reader *r, const char *word) {
  size_t length = strlen(word);
  if (strncmp(r->at, word, length) != 0) return false;
  r->at += length;
  return true;
}

static convoy_status take_number(program_reader *r, int64_t *out) {
  char *end;
  errno = 0;
  if (!cvy_is_digit(*r->at)) return wrong(r, "a number");
  *out = strtoll(r->at, &end, 10);
  if (errno) return wrong(r, "a number below 2^63");
  r->at = end;
  return CONVOY_OK;
}

static convoy_status take_extents(program_reader *r) {
  convoy_status status = CONVOY_OK;
  for (int axis = 0; axis < CVY_PROGRAM_AXES; axis++) {
    r->of->extent[axis] = 1;
    if (status || *r->at != cvy_axis_letters[axis]) continue;
    r->at++;
    status = take_number(r, &r->of->extent[axis]);
  }
  if (!status && *r->at && *r->at != ' ') return wrong(r, "extents n, c, z, h and w in this order");
  return status ? status : cvy_program_check_extents(r->of->extent);
}

/* Which of so many operands it is, whichever names the text has. -1: none of them. */
static int take_name(program_reader *r, const char (*names)[CVY_PROGRAM_NAME], int count) {
  size_t length = strcspn(r->at, ":= ");
  for (int i = 0; i < count; i++) {
    if (strlen(names[i]) != length || strncmp(r->at, names[i], length) != 0) continue;
    r->at += length;
    return i;
  }
  return -1;
}

static convoy_status take_strides(program_reader *r, cvy_program_view *view) {
  convoy_status status = CONVOY_OK;
  for (int axis = 0; axis < CVY_PROGRAM_AXES && !status; axis++) {
    if (axis && !take(r, ",")) return wrong(r, "five strides with commas");
    status = take_number(r, &view->stride[axis]);
  }
  return status;
}

static convoy_status take_class(program_reader *r, cvy_program_view *view) {
  if (take(r, "strides=")) return take_strides(r, view);
  size_t length = strcspn(r->at, ": ");
  for (size_t what = 0; what < CVY_COUNT(class_words); what++) {
    if (strlen(class_words[what]) != length || strncmp(r->at, class_words[what], length) != 0)
      continue;
    r->at += length;
    *view = cvy_program_view_of((cvy_program_class)what, CONVOY_FLOAT32, r->of->extent);
    return CONVOY_OK;
  }
  return wrong(r, "full, image_channel, channel, position, one or strides=");
}

static void take_type(program_reader *r, cvy_program_view *view) {
  for (int type = CONVOY_INT32; type < CONVOY_DTYPES; type++)
    if (take(r, type_words[type])) view->type = type;
}

static convoy_status take_input(program_reader *r, int i) {
  if (!take(r, ":")) return wrong(r, "a colon");
  convoy_status status = take_class(r, &r->of->input[i]);
  if (!status) take_type(r, &r->of->input[i]);
  return status;
}

/* Of images that have gaps between them; else results are full. */
static convoy_status take_result(program_reader *r, int k) {
  return take(r, ":strides=") ? take_strides(r, &r->of->result[k]) : wrong(r, ":strides=");
}

static convoy_status take_operands(program_reader *r, int results, int64_t *piece) {
  const cvy_program_names *names = r->names;
  convoy_status status = CONVOY_OK;
  while (!status && take(r, " ")) {
    if (*piece && take(r, "piece=")) {
      status = take_number(r, piece);
      continue;
    }
    int i = take_name(r, names->input, r->of->program.inputs), k;
    if (i >= 0)
      status = take_input(r, i);
    else if ((k = take_name(r, names->result, results)) >= 0)
      status = take_result(r, k);
    else
      return wrong(r, "an operand's name and a colon");
  }
  if (!status && *r->at) return wrong(r, "a blank");
  return status;
}

/* Where the program's text ends: at the last " on " before extents. */
static const char *end_of_program(const char *text) {
  const char *found = NULL;
  for (const char *at = strstr(text, " on "); at; at = strstr(at + 1, " on ")) {
    bool extents = at[4] && strchr(cvy_axis_letters, at[4]) && cvy_is_digit(at[5]);
    if (extents) found = at;
  }
  return found;
}

static convoy_status take_program(const char *text, size_t length, cvy_program *program,
                                  cvy_reduction *how, cvy_program_names *names) {
  char own[CVY_PROGRAM_TEXT];
  if (length >= sizeof own)
    return cvy_fail(CONVOY_ERR_ARGUMENT, "problem text: a program of %zu bytes", length);
  memcpy(own, text, length);
  own[length] = '\0';
  return cvy_reduction_parse(own, program, how, names);
}

static convoy_status make(program_reader *r, const cvy_reduction *how, cvy_problem *out) {
  cvy_program_class full[CVY_PROGRAM_INPUTS] = {CVY_CLASS_FULL};
  cvy_program program = r->of->program;
  int64_t extent[CVY_PROGRAM_AXES];
  memcpy(extent, r->of->extent, sizeof extent);
  if (how->axes) {
    cvy_reduce_problem_init(&program, how, extent, full, &out->reduce);
    r->of = &out->reduce.of;
  } else {
    cvy_program_problem_init(&program, extent, full, &out->program);
    r->of = &out->program;
  }
  int64_t piece = how->axes ? out->reduce.piece : 0;
  convoy_status status = take_operands(r, how->axes ? how->results : program.results, &piece);
  if (status) return status;
  if (!how->axes) return cvy_program_make(&out->program, out);
  out->reduce.piece = piece;
  return cvy_reduce_make(&out->reduce, out);
}

convoy_status cvy_program_read_named(const char *text, cvy_problem *out, cvy_program_names *names) {
  cvy_program_problem begun;
  cvy_reduction how = {.axes = 0};
  const char *end = end_of_program(text);
  if (!end) {
    return cvy_fail(CONVOY_ERR_ARGUMENT,
                    "problem text: expected \" on \" and extents, such as "
                    "\"y = max(x, 0) on n16c64h80w80\"");
  }
  memset(&begun, 0, sizeof begun);
  convoy_status status = take_program(text, (size_t)(end - text), &begun.program, &how, names);
  if (status) return status;
  memset(out, 0, sizeof *out);
  program_reader r = {.at = end + strlen(" on "), .names = names, .of = &begun};
  status = take_extents(&r);
  return status ? status : make(&r, &how, out);
}

bool cvy_program_read(const char *text, cvy_problem *out) {
  cvy_program_names names;
  return cvy_program_read_named(text, out, &names) == CONVOY_OK;
}
