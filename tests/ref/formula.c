#include "formula.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ROUNDING 0x1p-24 /* of float32, relative */
#define LEAST 1e-37      /* what is smaller may be 0 */
enum { VARIABLES = 192, DEEPEST = 200 };

typedef struct variable {
  char name[REF_NAME];
  ref_number number;
} variable;

typedef struct reader {
  const char *at;
  const ref_place *place;
  bool bad;
  int depth, count;
  variable known[VARIABLES];
} reader;

static ref_number expression(reader *r);

/* ------------------------------------------------------------------------------------ words */

static void skip(reader *r) {
  while (isspace((unsigned char)*r->at)) r->at++;
}

static bool take(reader *r, const char *mark) {
  skip(r);
  size_t length = strlen(mark);
  if (strncmp(r->at, mark, length) != 0) return false;
  r->at += length;
  return true;
}

static bool is_letter(char c) {
  return isalnum((unsigned char)c) || c == '_';
}

static void take_name(reader *r, char *name) {
  size_t length = 0;
  skip(r);
  for (; is_letter(*r->at) && length + 1 < REF_NAME; r->at++) name[length++] = *r->at;
  name[length] = '\0';
  r->bad |= length == 0;
}

static bool take_word(reader *r, const char *word) {
  const char *before = r->at;
  if (take(r, word) && !is_letter(*r->at)) return true;
  r->at = before;
  return false;
}

/* ------------------------------------------------------------------------------- arithmetic */

/* The exact result of rounded operands, and a rounding of its own, `units` times one. */
static ref_number rounded(double value, double error, double units) {
  return (ref_number){value, error + units * ROUNDING * (fabs(value) + error) + LEAST};
}

static ref_number plus(ref_number a, ref_number b, double sign) {
  return rounded(a.value + sign * b.value, a.error + b.error, 1.0);
}

static ref_number times(ref_number a, ref_number b) {
  double error = fabs(a.value) * b.error + fabs(b.value) * a.error + a.error * b.error;
  return rounded(a.value * b.value, error, 1.0);
}

static ref_number over(ref_number a, ref_number b) {
  double value = a.value / b.value, least = fabs(b.value) - b.error;
  if (b.error == 0.0) return rounded(value, a.error / fabs(b.value), 1.0);
  double error = least > 0.0 ? (a.error + fabs(value) * b.error) / least : INFINITY;
  return rounded(value, error, 1.0);
}

/* A monotonic function's error comes from the ends of its operand's. */
static ref_number through(double (*f)(double), ref_number a) {
  double value = f(a.value), below = f(a.value - a.error), above = f(a.value + a.error);
  double error = fmax(fabs(value - below), fabs(value - above));
  if (a.error > 0.0 && (isnan(below) || isnan(above))) error = INFINITY;
  return rounded(value, a.error > 0.0 ? error : 0.0, 6.0);
}

static double sigmoid(double a) {
  return 1.0 / (1.0 + exp(-a));
}

static double rsqrt(double a) {
  return 1.0 / sqrt(a);
}

/* Which of two is larger may not be known: then the error says that it may be either. */
static ref_number extreme(ref_number a, ref_number b, bool largest) {
  if (isnan(a.value)) return a;
  bool first = largest ? a.value > b.value : a.value < b.value;
  ref_number one = first ? a : b;
  one.error = fmax(a.error, b.error);
  return one;
}

typedef bool test(double a, double b);
static bool less(double a, double b) {
  return a < b;
}
static bool less_equal(double a, double b) {
  return a <= b;
}
static bool more(double a, double b) {
  return a > b;
}
static bool more_equal(double a, double b) {
  return a >= b;
}
static bool equal(double a, double b) {
  return a == b;
}
static bool different(double a, double b) {
  return a != b;
}

static ref_number compared(test *is, ref_number a, ref_number b) {
  double error = a.error + b.error;
  bool open = error > 0.0 && !(fabs(a.value - b.value) > error);
  return (ref_number){is(a.value, b.value), open ? 1.0 : 0.0};
}

static ref_number chosen(ref_number which, ref_number a, ref_number b) {
  ref_number one = which.value != 0.0 ? a : b;
  bool open = which.error > 0.0 && !(fabs(which.value) > which.error);
  if (open) one.error = fmax(a.error, b.error) + fabs(a.value - b.value);
  return one;
}

/* -------------------------------------------------------------------------------- functions */

static const struct {
  const char *name;
  double (*f)(double);
} monotonic[] = {{"exp", exp},   {"log", log},     {"tanh", tanh},   {"erf", erf},
                 {"sqrt", sqrt}, {"rsqrt", rsqrt}, {"floor", floor}, {"sigmoid", sigmoid}};

static ref_number operands(reader *r, ref_number *of, int count) {
  for (int i = 0; i < count; i++) {
    if (i) r->bad |= !take(r, ",");
    of[i] = expression(r);
  }
  r->bad |= !take(r, ")");
  return of[0];
}

static ref_number index_of(reader *r) {
  static const char axes[] = "nczhw01234";
  skip(r);
  const char *found = *r->at ? strchr(axes, *r->at) : NULL;
  r->bad |= !found;
  if (found) r->at++;
  r->bad |= !take(r, ")");
  return (ref_number){found ? (double)r->place->axis[(found - axes) % REF_AXES] : 0.0, 0.0};
}

static ref_number call(reader *r, const char *name) {
  ref_number of[3] = {{0.0, 0.0}};
  if (strcmp(name, "index") == 0) return index_of(r);
  if (strcmp(name, "fma") == 0) {
    operands(r, of, 3);
    double product = of[0].value * of[1].value;
    ref_number exact = times(of[0], of[1]);
    return plus((ref_number){product, exact.error}, of[2], 1.0);
  }
  if (strcmp(name, "min") == 0 || strcmp(name, "max") == 0) {
    operands(r, of, 2);
    return extreme(of[0], of[1], name[1] == 'a');
  }
  operands(r, of, 1);
  if (strcmp(name, "abs") == 0) return (ref_number){fabs(of[0].value), of[0].error};
  for (size_t i = 0; i < sizeof monotonic / sizeof monotonic[0]; i++)
    if (strcmp(name, monotonic[i].name) == 0) return through(monotonic[i].f, of[0]);
  r->bad = true; /* also random() */
  return of[0];
}

/* -------------------------------------------------------------------------------- expressions */

static ref_number value_of(reader *r, const char *name) {
  if (strcmp(name, "inf") == 0) return (ref_number){INFINITY, 0.0};
  if (strcmp(name, "nan") == 0) return (ref_number){NAN, 0.0};
  for (int i = r->count - 1; i >= 0; i--)
    if (strcmp(r->known[i].name, name) == 0) return r->known[i].number;
  r->bad = true;
  return (ref_number){0.0, 0.0};
}

static ref_number primary(reader *r) {
  char name[REF_NAME];
  skip(r);
  if (take(r, "(")) {
    ref_number inner = expression(r);
    r->bad |= !take(r, ")");
    return inner;
  }
  if (isdigit((unsigned char)*r->at) || *r->at == '.') {
    char *end;
    double exact = (double)strtof(r->at, &end);
    r->at = end;
    return (ref_number){exact, 0.0};
  }
  take_name(r, name);
  if (r->bad) return (ref_number){0.0, 0.0};
  return take(r, "(") ? call(r, name) : value_of(r, name);
}

static ref_number sign(reader *r) {
  bool negative = false;
  while (take(r, "-")) negative = !negative;
  ref_number one = primary(r);
  if (negative) one.value = -one.value;
  return one;
}

static ref_number product(reader *r) {
  ref_number left = sign(r);
  while (!r->bad) {
    if (take(r, "*"))
      left = times(left, sign(r));
    else if (take(r, "/"))
      left = over(left, sign(r));
    else
      break;
  }
  return left;
}

static ref_number sum(reader *r) {
  ref_number left = product(r);
  while (!r->bad) {
    if (take(r, "+"))
      left = plus(left, product(r), 1.0);
    else if (take(r, "-"))
      left = plus(left, product(r), -1.0);
    else
      break;
  }
  return left;
}

static ref_number comparison(reader *r) {
  static const struct {
    const char *mark;
    test *is;
  } marks[] = {{"<=", less_equal}, {">=", more_equal}, {"==", equal},
               {"!=", different},  {"<", less},        {">", more}};
  ref_number left = sum(r);
  for (size_t i = 0; i < sizeof marks / sizeof marks[0]; i++)
    if (take(r, marks[i].mark)) return compared(marks[i].is, left, sum(r));
  return left;
}

static ref_number expression(reader *r) {
  ref_number one = {0.0, 0.0};
  if (r->bad || ++r->depth > DEEPEST) {
    r->bad = true;
    return one;
  }
  one = comparison(r);
  if (take(r, "?")) {
    ref_number yes = expression(r);
    r->bad |= !take(r, ":");
    one = chosen(one, yes, expression(r));
  }
  r->depth--;
  return one;
}

/* --------------------------------------------------------------------------------- statements */

static const char *const kinds[] = {"sum", "mean", "variance", "maximum", "minimum"};
enum { SUM, MEAN, VARIANCE, MAXIMUM, MINIMUM, KINDS };

/* "sum over n z h w of". -1: none. */
static int take_kind(reader *r, unsigned *axes) {
  static const char letters[] = "nczhw";
  const char *before = r->at;
  for (int kind = 0; kind < KINDS; kind++) {
    r->at = before;
    if (!take_word(r, kinds[kind]) || !take_word(r, "over")) continue;
    while (!take_word(r, "of")) {
      skip(r);
      const char *found = *r->at ? strchr(letters, *r->at) : NULL;
      if (!found) return -1;
      *axes |= 1u << (found - letters);
      r->at++;
    }
    return kind;
  }
  r->at = before;
  return -1;
}

static void define(reader *r, const char *name, ref_number number) {
  if (r->count == VARIABLES) {
    r->bad = true;
    return;
  }
  strcpy(r->known[r->count].name, name);
  r->known[r->count++].number = number;
}

typedef struct statement {
  char name[REF_NAME];
  bool is_result;
  int kind;
  unsigned axes;
  ref_number number;
} statement;

/* False at the end of the text. */
static bool take_statement(reader *r, statement *out) {
  *out = (statement){.kind = -1};
  skip(r);
  if (r->bad || !*r->at) return false;
  out->is_result = !take_word(r, "let");
  take_name(r, out->name);
  r->bad |= !take(r, "=");
  out->kind = take_kind(r, &out->axes);
  out->number = expression(r);
  define(r, out->name, out->number);
  skip(r);
  r->bad |= *r->at && !take(r, ";");
  return !r->bad;
}

static void begin(reader *r, const char *text, const ref_place *at) {
  *r = (reader){.at = text, .place = at};
  for (int i = 0; i < at->inputs; i++) define(r, at->name[i], (ref_number){at->value[i], 0.0});
  if (!take_word(r, "input")) return;
  while (*r->at && *r->at != ';') r->at++;
  r->bad |= !take(r, ";");
}

/* Goes on to result number `result`. */
static bool find_result(reader *r, int result, statement *out) {
  for (int number = 0; take_statement(r, out);)
    if (out->is_result && number++ == result) return true;
  return false;
}

bool ref_formula(const char *text, int result, const ref_place *at, ref_number *out) {
  reader r;
  statement found;
  begin(&r, text, at);
  if (!find_result(&r, result, &found)) return false;
  *out = found.number;
  return true;
}

/* Texts are read here without values: what is unknown is none of this function's business. */
unsigned ref_formula_axes(const char *text) {
  static const char letters[] = "nczhw";
  unsigned axes = 0;
  for (int kind = 0; kind < KINDS; kind++) {
    char words[32] = "= ";
    strcat(strcat(words, kinds[kind]), " over ");
    const char *found = strstr(text, words);
    for (found = found ? found + strlen(words) : NULL; found && *found; found++) {
      const char *letter = *found == ' ' ? NULL : strchr(letters, *found);
      if (letter && (found[1] == ' ')) axes |= 1u << (letter - letters);
      if (*found != ' ' && !letter) break;
    }
  }
  return axes;
}

/* --------------------------------------------------------------------------------- reductions */

/* The words behind the result's "=", without evaluating anything before. */
bool ref_reduction_begin(const char *text, int result, double center, ref_reduction *out) {
  unsigned axes = 0;
  *out = (ref_reduction){.kind = -1, .largest = -INFINITY, .least = INFINITY, .center = center};
  for (const char *at = text; at && out->kind < 0;) {
    reader r = {.at = at};
    bool is_result = !take_word(&r, "let") && !take_word(&r, "input");
    const char *equals = strchr(r.at, '=');
    if (is_result && equals && result-- == 0) {
      r.at = equals + 1;
      out->kind = take_kind(&r, &axes);
      return out->kind >= 0;
    }
    at = strchr(at, ';');
    if (at) at++;
  }
  return false;
}

void ref_reduction_add(ref_reduction *to, ref_number value) {
  double from = value.value - to->center;
  to->count++;
  to->sum += value.value;
  to->squares += from * from;
  to->size += fabs(value.value);
  to->errors += value.error;
  if (isnan(value.value) || value.value > to->largest) to->largest = value.value;
  if (isnan(value.value) || value.value < to->least) to->least = value.value;
  if (!(fabs(value.value) <= to->furthest)) to->furthest = fabs(value.value);
  if (!(value.error <= to->worst)) to->worst = value.error;
}

ref_number ref_reduction_end(const ref_reduction *of) {
  double n = (double)of->count, terms = fmin(n, 4096.0) + 64.0, u = terms * ROUNDING;
  double mean = of->sum / n, shift = mean - of->center;
  double variance = of->squares / n - shift * shift;
  double spread = sqrt(fmax(variance, 0.0)), off = of->worst + u * of->furthest;
  const ref_number all[KINDS] = {
      [SUM] = {of->sum, of->errors + u * (of->size + of->errors)},
      [MEAN] = {mean, of->worst + 2.0 * u * (of->furthest + of->worst)},
      [VARIANCE] = {variance, 4.0 * u * variance + 4.0 * spread * off + 4.0 * off * off},
      [MAXIMUM] = {of->largest, of->worst},
      [MINIMUM] = {of->least, of->worst},
  };
  ref_number out = all[of->kind];
  out.error += LEAST;
  return out;
}
