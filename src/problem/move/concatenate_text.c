/* Concatenations as text. The grammar stands in the public header at convoy_parse_concatenate;
 * behind it is where parts of larger tensors lie, which no public call has words for. */
#include "problem/fields.h"
#include "problem/move/move.h"

typedef long long ll;

static const char *const types[CONVOY_DTYPES] = {
    [CONVOY_FLOAT32] = "", [CONVOY_INT32] = ":int32", [CONVOY_UINT8] = ":uint8"};

static const cvy_field rows[] = {
    {CVY_FIELD_NUMBER, .word = "concatenate n", .at = offsetof(cvy_move_concatenate, images),
     .expected = "concatenate n"},
    {CVY_FIELD_WORD, .word = " w", .expected = " w"},
};
static const cvy_fields fields = {rows, CVY_COUNT(rows), offsetof(cvy_move_concatenate, parts)};

/* ----------------------------------------------------------------------------------- writing */

static void name_of(int32_t i, char name[8]) {
  cvy_text to = cvy_text_in(name, 8);
  cvy_text_add(&to, "x%d", (int)i);
}

/* ", x0 settled, x1 300 apart by 4, y 500 apart by 1" */
static void add_places(const cvy_move_concatenate *p, cvy_text *to) {
  char name[8];
  for (int32_t i = 0; i < p->parts; i++) {
    name_of(i, name);
    if (p->settled >> i & 1) cvy_text_add(to, ", %s settled", name);
    cvy_array_view_print(&p->x[i], name, to);
  }
  cvy_array_view_print(&p->y, "y", to);
}

void cvy_move_concatenate_print(const cvy_problem *problem, char *text, size_t size) {
  const cvy_move_concatenate *p = &problem->move.concatenate;
  char line[CONVOY_PROBLEM_TEXT];
  cvy_text to = cvy_text_in(line, sizeof line);
  cvy_fields_print(&fields, p, &to);
  for (int32_t i = 0; i < p->parts; i++)
    cvy_text_add(&to, "%s%lld%s", i ? "," : "", (ll)p->width[i], types[p->dtype[i]]);
  add_places(p, &to);
  cvy_text_copy(text, size, to.overflow ? "?" : line);
}

/* Of many inputs with large numbers there may be more to say than a text has room for. */
bool cvy_move_concatenate_readable(const cvy_problem *problem) {
  char text[CONVOY_PROBLEM_TEXT];
  cvy_move_concatenate_print(problem, text, sizeof text);
  return text[0] != '?';
}

/* ----------------------------------------------------------------------------------- reading */

static int32_t read_type(cvy_reader *r) {
  for (int32_t type = CONVOY_DTYPES - 1; type > 0; type--)
    if (cvy_read_word(r, types[type])) return type;
  return CONVOY_FLOAT32;
}

convoy_status cvy_move_concatenate_read(const char *text, cvy_problem *out) {
  cvy_reader r = {text, text, NULL};
  cvy_move_concatenate *p = cvy_move_concatenate_begin(0, out);
  cvy_fields_read(&fields, &r, p);
  do {
    if (!cvy_read_expected(&r, p->parts < CVY_MOVE_PARTS, "no more than 12 widths")) break;
    p->width[p->parts] = cvy_read_number(&r);
    p->dtype[p->parts++] = read_type(&r);
  } while (cvy_read_word(&r, ","));
  cvy_read_expected(&r, !*r.at, "a comma, :int32, :uint8 or the end");
  if (r.fault) return cvy_read_failed(&r);
  if (cvy_move_concatenate_legal(out)) return CONVOY_OK;
  return cvy_fail(CONVOY_ERR_SHAPE, "concatenate: the bytes of y overflow int64");
}

static bool read_settled(const char **at, const char *name) {
  char words[24];
  cvy_text text = cvy_text_in(words, sizeof words);
  cvy_text_add(&text, ", %s settled", name);
  if (strncmp(*at, words, strlen(words)) != 0) return false;
  *at += strlen(words);
  return true;
}

static bool read_places(const char *rest, cvy_move_concatenate *p) {
  char name[8];
  for (int32_t i = 0; i < p->parts; i++) {
    name_of(i, name);
    if (read_settled(&rest, name)) p->settled |= 1 << i;
    if (!cvy_array_view_parse(&rest, name, &p->x[i])) return false;
  }
  return cvy_array_view_parse(&rest, "y", &p->y) && !*rest;
}

bool cvy_move_concatenate_parse(const char *text, cvy_problem *out) {
  char line[CVY_EXAMPLE_TEXT];
  const char *rest = cvy_array_views_parse(text, line, sizeof line, NULL, 0, NULL);
  return cvy_move_concatenate_read(line, out) == CONVOY_OK &&
         read_places(rest, &out->move.concatenate) && cvy_move_concatenate_legal(out);
}
