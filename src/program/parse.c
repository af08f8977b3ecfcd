/* Reads the text of programs. Everything is bounded: the text, names, values, depth. The first
 * fault is told with its column, and nothing is read behind it. */
#include <fenv.h>
#include <math.h>
#include <string.h>

#include "program/literal.h"
#include "program/mode.h"
#include "program/parser.h"
#include "program/reduce_names.h"

/* A program of 64 instructions may be nested as deep. */
enum { DEPTH = 128 };

static cvy_value expression(cvy_parser *p);

static cvy_value make(cvy_parser *p, cvy_program_op op, cvy_value a, cvy_value b, cvy_value c) {
  return p->status ? CVY_NO_VALUE : cvy_build_op(&p->build, op, a, b, c);
}

/* An axis by its letter or its number. */
static int axis_here(cvy_parser *p) {
  cvy_parser_skip_blanks(p);
  const char *letter = *p->at ? strchr(cvy_axis_letters, *p->at) : NULL;
  int axis = letter ? (int)(letter - cvy_axis_letters) : *p->at - '0';
  if (axis < 0 || axis >= CVY_PROGRAM_AXES || cvy_is_name_part(p->at[1])) {
    cvy_parser_refuse_here(p, "an axis, one of n c z h w or 0 to 4,");
    return 0;
  }
  p->at++;
  return axis;
}

/* The number of a random number; where none is given, the one above all that came before. */
static int random_here(cvy_parser *p) {
  int number = p->next_random, digits = 0;
  cvy_parser_skip_blanks(p);
  const char *at = p->at;
  if (*at >= '0' && *at <= '9') {
    for (number = 0; *p->at >= '0' && *p->at <= '9' && digits < 4; digits++)
      number = 10 * number + (*p->at++ - '0');
  }
  if (number >= CVY_PROGRAM_RANDOMS) {
    cvy_parser_refuse(p, at, "random numbers are numbered from 0 to %d", CVY_PROGRAM_RANDOMS - 1);
    return 0;
  }
  if (number >= p->next_random) p->next_random = number + 1;
  return number;
}

static cvy_value numbered(cvy_parser *p, cvy_program_op op) {
  int number = op == CVY_PROGRAM_INDEX ? axis_here(p) : random_here(p);
  cvy_parser_expect(p, ")");
  return p->status ? CVY_NO_VALUE : cvy_build_number(&p->build, op, number);
}

static cvy_value call(cvy_parser *p, cvy_program_op op, int length) {
  cvy_value in[3] = {0, 0, 0};
  p->at += length;
  cvy_parser_expect(p, "(");
  if (cvy_op_rows[op].numbers) return numbered(p, op);
  for (int i = 0; i < cvy_op_rows[op].operands; i++) {
    if (i) cvy_parser_expect(p, ",");
    in[i] = expression(p);
  }
  cvy_parser_expect(p, ")");
  return make(p, op, in[0], in[1], in[2]);
}

static cvy_value literal(cvy_parser *p) {
  const char *at = p->at;
  float value;
  const char *fault = cvy_number_read(&p->at, &value);
  int length = (int)(p->at - at) < 32 ? (int)(p->at - at) : 32;
  if (fault) return cvy_parser_refuse(p, at, "%.*s %s", length, at, fault);
  if (cvy_is_name_part(*p->at) || *p->at == '.')
    return cvy_parser_refuse(p, p->at, "a number cannot go on with '%c'", *p->at);
  return cvy_build_constant(&p->build, value);
}

static cvy_value primary(cvy_parser *p) {
  cvy_parser_skip_blanks(p);
  if (p->status) return CVY_NO_VALUE;
  if (cvy_number_begins(p->at)) return literal(p);
  if (cvy_parser_take_word(p, "inf")) return cvy_build_constant(&p->build, INFINITY);
  if (cvy_parser_take_word(p, "nan")) return cvy_build_constant(&p->build, NAN);
  int length = cvy_name_length(p->at), function = cvy_function_named(p->at, length);
  if (function >= 0) return call(p, (cvy_program_op)function, length);
  if (length) return cvy_parser_read_name(p);
  if (!cvy_parser_take(p, "(")) {
    cvy_parser_refuse_here(p, "a value");
    return CVY_NO_VALUE;
  }
  cvy_value value = expression(p);
  cvy_parser_expect(p, ")");
  return value;
}

static cvy_value signed_value(cvy_parser *p) {
  int signs = 0;
  while (cvy_parser_take(p, "-")) signs++;
  cvy_value value = primary(p);
  while (signs--) value = make(p, CVY_PROGRAM_NEGATE, value, 0, 0);
  return value;
}

static cvy_value product(cvy_parser *p) {
  cvy_value value = signed_value(p);
  for (;;) {
    if (cvy_parser_take(p, "*"))
      value = make(p, CVY_PROGRAM_MULTIPLY, value, signed_value(p), 0);
    else if (cvy_parser_take(p, "/"))
      value = make(p, CVY_PROGRAM_DIVIDE, value, signed_value(p), 0);
    else
      return value;
  }
}

static cvy_value sum(cvy_parser *p) {
  cvy_value value = product(p);
  for (;;) {
    if (cvy_parser_take(p, "+"))
      value = make(p, CVY_PROGRAM_ADD, value, product(p), 0);
    else if (cvy_parser_take(p, "-"))
      value = make(p, CVY_PROGRAM_SUBTRACT, value, product(p), 0);
    else
      return value;
  }
}

/* Longer signs first. */
static const struct comparison {
  const char *sign;
  cvy_program_op op;
  bool swapped;
} comparisons[] = {
    {"<=", CVY_PROGRAM_LESS_EQUAL, false}, {">=", CVY_PROGRAM_LESS_EQUAL, true},
    {"==", CVY_PROGRAM_EQUAL, false},      {"!=", CVY_PROGRAM_NOT_EQUAL, false},
    {"<", CVY_PROGRAM_LESS, false},        {">", CVY_PROGRAM_LESS, true},
};

static const struct comparison *comparison_here(cvy_parser *p) {
  for (size_t i = 0; i < CVY_COUNT(comparisons); i++)
    if (cvy_parser_take(p, comparisons[i].sign)) return &comparisons[i];
  return NULL;
}

static cvy_value comparison(cvy_parser *p) {
  cvy_value a = sum(p);
  const struct comparison *how = comparison_here(p);
  if (!how) return a;
  cvy_value b = sum(p);
  const char *at = p->at;
  if (comparison_here(p)) return cvy_parser_refuse(p, at, "comparisons cannot be chained");
  return make(p, how->op, how->swapped ? b : a, how->swapped ? a : b, 0);
}

static cvy_value expression(cvy_parser *p) {
  if (p->depth == DEPTH) return cvy_parser_refuse(p, p->at, "nested more than %d deep", DEPTH);
  p->depth++;
  cvy_value value = comparison(p);
  if (cvy_parser_take(p, "?")) {
    cvy_value yes = expression(p);
    cvy_parser_expect(p, ":");
    cvy_value no = expression(p);
    value = make(p, CVY_PROGRAM_SELECT, value, yes, no);
  }
  p->depth--;
  return value;
}

/* -------------------------------------------------------------------------------- reductions */

/* The kind of reduction that begins here: its word followed by "over"; -1: none does. The words are
 * not reserved. */
static int reduction_here(cvy_parser *p) {
  cvy_parser_skip_blanks(p);
  for (int kind = 0; kind < CVY_REDUCE_KINDS; kind++) {
    const char *at = p->at;
    if (!cvy_parser_take_word(p, cvy_reduce_names[kind])) continue;
    if (cvy_parser_take_word(p, "over")) return kind;
    p->at = at;
  }
  return -1;
}

/* "n h w of", at least one axis. */
static uint32_t reduced_axes(cvy_parser *p) {
  uint32_t axes = 0;
  while (!p->status && !(axes && cvy_parser_take_word(p, "of"))) {
    cvy_parser_skip_blanks(p);
    const char *at = p->at, *letter = *at ? strchr(cvy_axis_letters, *at) : NULL;
    if (!letter || cvy_is_name_part(at[1])) {
      cvy_parser_refuse_here(
          p, axes ? "one of the axes n c z h w or \"of\"" : "one of the axes n c z h w");
    } else if (axes >> (letter - cvy_axis_letters) & 1) {
      cvy_parser_refuse(p, at, "the axis %c is named twice", *at);
    } else {
      axes |= 1u << (letter - cvy_axis_letters);
      p->at++;
    }
  }
  return axes;
}

/* The place of a value among the program's results. */
static uint8_t reduced_value(cvy_parser *p, cvy_value value) {
  int i = 0;
  while (i < p->values && p->result[i] != value) i++;
  p->result[i] = value;
  if (i == p->values) p->values++;
  return (uint8_t)i;
}

/* -------------------------------------------------------------------------------- statements */

/* What stands behind the name and the '='. */
typedef struct right_side {
  cvy_value value;
  int kind; /* of reduction, -1: none */
  uint32_t axes;
} right_side;

static right_side right_side_here(cvy_parser *p, bool temporary) {
  right_side side;
  cvy_parser_skip_blanks(p);
  const char *at = p->at;
  side.kind = reduction_here(p);
  side.axes = side.kind < 0 ? 0 : reduced_axes(p);
  if (side.kind >= 0 && !p->reducible)
    cvy_parser_refuse(p, at, "an elementwise program has no reductions");
  if (side.kind >= 0 && temporary)
    cvy_parser_refuse(p, at, "a reduction is a result and cannot be a temporary");
  if (!temporary && p->results && side.axes != p->how.axes) {
    cvy_parser_refuse(p, at, "all results are reduced over the same axes, or none is, but \"%s\"",
                      p->called.result[0]);
  }
  side.value = expression(p);
  return side;
}

static void new_result(cvy_parser *p, const char *at, int length, right_side side) {
  if (p->results == CVY_PROGRAM_RESULTS) {
    cvy_parser_refuse(p, at, "\"%.*s\" would be result number %d, at most %d are possible", length,
                      at, CVY_PROGRAM_RESULTS + 1, CVY_PROGRAM_RESULTS);
    return;
  }
  memcpy(p->called.result[p->results], at, (size_t)length);
  if (side.kind < 0) {
    p->result[p->values++] = side.value;
  } else {
    p->how.axes = (uint8_t)side.axes;
    p->how.result[p->results].kind = (uint8_t)side.kind;
    p->how.result[p->results].value = reduced_value(p, side.value);
    p->how.results++;
  }
  p->results++;
}

static void assignment(cvy_parser *p) {
  bool temporary = cvy_parser_take_word(p, "let");
  cvy_parser_skip_blanks(p);
  const char *at = p->at;
  int length = cvy_parser_take_name(p, "a name to assign to");
  if (!length) return;
  const cvy_parser_name *known = cvy_parser_find(p, at, length);
  if (known && known->assigned) {
    cvy_parser_refuse(p, at, "\"%.*s\" is assigned twice", length, at);
    return;
  }
  cvy_parser_expect(p, "=");
  right_side side = right_side_here(p, temporary);
  if (p->build.full)
    cvy_parser_refuse(p, p->at, "the program has more than %d values", CVY_BUILD_VALUES);
  if (p->status) return;
  cvy_parser_name *assigned =
      cvy_parser_find(p, at, length); /* it may have become an input on the right */
  if (!assigned) assigned = cvy_parser_remember(p, at, length);
  if (!assigned) return;
  assigned->value = side.value;
  assigned->assigned = true;
  if (!temporary) new_result(p, at, length, side);
}

static void input_list(cvy_parser *p) {
  if (!cvy_parser_take_word(p, "input")) return;
  p->listed = true;
  do {
    cvy_parser_skip_blanks(p);
    const char *at = p->at;
    int length = cvy_parser_take_name(p, "the name of an input");
    if (length && cvy_parser_find(p, at, length))
      cvy_parser_refuse(p, at, "\"%.*s\" is listed twice", length, at);
    if (!p->status) cvy_parser_new_input(p, at, length);
  } while (cvy_parser_take(p, ","));
  if (!cvy_parser_take(p, ";")) cvy_parser_refuse_here(p, "',' or ';'");
}

static bool at_end(cvy_parser *p) {
  cvy_parser_skip_blanks(p);
  return p->status || !*p->at;
}

static void statements(cvy_parser *p) {
  input_list(p);
  while (!at_end(p)) {
    assignment(p);
    if (!at_end(p) && !cvy_parser_take(p, ";")) cvy_parser_refuse_here(p, "an operator or ';'");
  }
  if (!p->results)
    cvy_parser_refuse(p, p->at, "no result: only names assigned without \"let\" are results");
}

static __attribute__((noinline)) convoy_status parse(cvy_parser *p, cvy_program *out) {
  uint8_t place[CVY_BUILD_LEAVES];
  for (int i = 0; i < CVY_BUILD_LEAVES; i++) place[i] = (uint8_t)i;
  statements(p);
  if (p->status) return p->status;
  return cvy_build_program(&p->build, p->result, p->values, p->inputs, place, out);
}

static convoy_status parse_text(cvy_parser *p, const char *text, cvy_program *out,
                                cvy_program_names *names) {
  fenv_t before;
  p->text = p->at = text;
  if (strnlen(text, CVY_PROGRAM_TEXT) == CVY_PROGRAM_TEXT) {
    return cvy_fail(CONVOY_ERR_ARGUMENT, "the program's text has more than %d characters",
                    CVY_PROGRAM_TEXT - 1);
  }
  cvy_default_mode(&before);
  convoy_status status = parse(p, out);
  cvy_restore_mode(&before);
  if (!status && names) *names = p->called;
  return status;
}

convoy_status cvy_program_parse(const char *text, cvy_program *out, cvy_program_names *names) {
  cvy_parser p = {.reducible = false};
  return parse_text(&p, text, out, names);
}

convoy_status cvy_reduction_parse(const char *text, cvy_program *program, cvy_reduction *how,
                                  cvy_program_names *names) {
  cvy_parser p = {.reducible = true};
  convoy_status status = parse_text(&p, text, program, names);
  if (!status) *how = p.how;
  return status;
}
