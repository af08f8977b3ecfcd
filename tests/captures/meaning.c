#include "captures/meaning.h"

#include <math.h>
#include <string.h>

enum { OWN = -1, NONE = -1 };

static void fill(const script *s, int time, int slot, array *out) {
  out->count = kinds[kind_of_slot[slot]].count;
  out->grain = 1;
  for (int i = 0; i < out->count; i++) {
    out->v[i] = (double)script_datum(s, time, slot, i);
    out->e[i] = 0;
  }
}

void meaning_write(meaning *m, int time, int slot) {
  fill(m->s, time, slot, &m->array[slot]);
}

/* ------------------------------------------------------------------------------------- reading */

static void stand_for(meaning *m, int slot, int origin, int parent) {
  m->stand_of[slot] = m->stands;
  m->stand[m->stands++] = (stand){slot, origin, parent};
}

/* The array that it has when the stage is called. */
static int read_own(meaning *m, int slot) {
  if (m->leaf[slot] == NONE || m->leaf_stage[slot] != m->stage) {
    m->leaf[slot] = tape_leaf(m->tape, kind_of_slot[slot], &m->array[slot], m->origin[slot]);
    m->leaf_stage[slot] = m->stage;
    m->origin[slot] = m->tape->node[m->leaf[slot]].origin;
    m->stand[m->stand_of[slot]].origin = m->origin[slot];
  }
  return m->leaf[slot];
}

static int read(meaning *m, int slot) {
  return m->now[slot] == OWN ? read_own(m, slot) : m->now[slot];
}

static void give(meaning *m, int slot, int made, int parent) {
  m->now[slot] = made;
  stand_for(m, slot, m->tape->node[made].origin, parent);
}

static int origin_now(const meaning *m, int slot) {
  return m->now[slot] == OWN ? m->origin[slot] : m->tape->node[m->now[slot]].origin;
}

/* ------------------------------------------------------------------------------------ verdicts */

static void mark_operands(const meaning *m, int number, bool *behind) {
  const tape *t = m->tape;
  if (t->node[number].a >= 0) behind[t->node[t->node[number].a].origin] = true;
  if (t->node[number].b >= 0) behind[t->node[t->node[number].b].origin] = true;
}

/* What y depends on if each result of a step depends on all that the step has read. */
static void find_loosely_behind(const meaning *m, int y, bool *behind) {
  tape_find_behind(m->tape, y, behind);
  for (int u = m->uses - 1; u >= 0; u--) {
    bool leads = false;
    for (int n = m->use[u].from; n < m->use[u].end; n++) leads = leads || behind[n];
    for (int n = m->use[u].end - 1; n >= m->use[u].from && leads; n--) {
      behind[n] = true;
      mark_operands(m, n, behind);
    }
  }
}

static bool comes_from(const meaning *m, int at, int wanted) {
  for (; at != NONE; at = m->stand[at].parent)
    if (at == wanted) return true;
  return false;
}

static bool was_used(const meaning *m, int wanted, const bool *behind) {
  for (int u = 0; u < m->uses; u++) {
    const use *each = &m->use[u];
    bool leads = false, reads = false;
    for (int n = each->from; n < each->end; n++) leads = leads || behind[n];
    for (int i = 0; i < each->count; i++) reads = reads || comes_from(m, each->stand[i], wanted);
    if (leads && reads) return true;
  }
  return false;
}

static verdict judge_one(const meaning *m, int of, const bool *behind, const bool *loosely) {
  verdict found = LEGAL;
  for (int i = 0; i < m->stands; i++) {
    const stand *each = &m->stand[i];
    bool other = each->slot == of && each->origin != NONE && each->origin != origin_now(m, of);
    if (!other || !loosely[each->origin]) continue;
    found = UNSURE;
    if (behind[each->origin] && was_used(m, i, behind)) return ILLEGAL;
  }
  return found;
}

static verdict judge(const meaning *m, const step *at) {
  static bool behind[MOST_NODES], loosely[MOST_NODES];
  int y = m->now[at->in[0]];
  if (y == OWN) return ILLEGAL;
  verdict worst = LEGAL;
  tape_find_behind(m->tape, y, behind);
  find_loosely_behind(m, y, loosely);
  for (int i = 0; i < at->count; i++) {
    verdict each = judge_one(m, at->of[i], behind, loosely);
    worst = each > worst ? each : worst;
  }
  return worst;
}

/* --------------------------------------------------------------------------------------- steps */

typedef void step_fn(meaning *m, const step *at, const int *in, int *out);

static int kind_made(const step *at) {
  return kind_of_slot[at->out[0]];
}

static int one_of(meaning *m, primitive what, const step *at, int a, int b, double factor) {
  return tape_add(m->tape, what, kind_made(at), a, b, factor);
}

static void add(meaning *m, const step *at, const int *in, int *out) {
  out[0] = one_of(m, P_ADD, at, in[0], in[1], 0);
}
static void subtract(meaning *m, const step *at, const int *in, int *out) {
  out[0] = one_of(m, P_ADD, at, in[0], one_of(m, P_SCALE, at, in[1], -1, -1), 0);
}
static void multiply(meaning *m, const step *at, const int *in, int *out) {
  out[0] = one_of(m, P_MULTIPLY, at, in[0], in[1], 0);
}
static void halve(meaning *m, const step *at, const int *in, int *out) {
  out[0] = one_of(m, P_SCALE, at, in[0], -1, 0.5);
}
static void relu(meaning *m, const step *at, const int *in, int *out) {
  out[0] = one_of(m, P_POSITIVE, at, in[0], in[0], 0);
}
static void clamp(meaning *m, const step *at, const int *in, int *out) {
  out[0] = one_of(m, P_CLAMP, at, in[0], -1, 0);
}
static void both(meaning *m, const step *at, const int *in, int *out) {
  out[0] = one_of(m, P_ADD, at, in[0], in[1], 0);
  out[1] = one_of(m, P_MULTIPLY, at, in[0], in[1], 0);
}
static int spread(meaning *m, const step *at, int a) {
  return one_of(m, P_SPREAD, at, a, -1, 0);
}
static void scale_channels(meaning *m, const step *at, const int *in, int *out) {
  int scaled = one_of(m, P_MULTIPLY, at, in[0], spread(m, at, in[1]), 0);
  out[0] = one_of(m, P_ADD, at, scaled, spread(m, at, in[2]), 0);
}
static void add_number(meaning *m, const step *at, const int *in, int *out) {
  out[0] = one_of(m, P_ADD, at, in[0], spread(m, at, in[1]), 0);
}
static void sum_channels(meaning *m, const step *at, const int *in, int *out) {
  out[0] = one_of(m, P_SUM, at, in[0], -1, 0);
}
static void sum_products(meaning *m, const step *at, const int *in, int *out) {
  int products = tape_add(m->tape, P_MULTIPLY, kind_of_slot[at->in[0]], in[0], in[1], 0);
  out[0] = one_of(m, P_SUM, at, products, -1, 0);
}
static void conv(meaning *m, const step *at, const int *in, int *out) {
  out[0] = one_of(m, P_CONV, at, in[0], in[1], 0);
}
static void backward_data(meaning *m, const step *at, const int *in, int *out) {
  out[0] = one_of(m, P_BACKWARD_DATA, at, in[0], in[1], 0);
}
static void backward_weights(meaning *m, const step *at, const int *in, int *out) {
  out[0] = one_of(m, P_BACKWARD_WEIGHTS, at, in[0], in[1], 0);
}
static void add_weights(meaning *m, const step *at, const int *in, int *out) {
  int more = one_of(m, P_BACKWARD_WEIGHTS, at, in[0], in[1], 0);
  out[0] = one_of(m, P_ADD, at, in[2], more, 18 + 2); /* images times the elements of a plane */
}
static void matmul(meaning *m, const step *at, const int *in, int *out) {
  int a = at->variant & 1 ? one_of(m, P_TRANSPOSE, at, in[0], -1, 0) : in[0];
  int b = at->variant & 2 ? one_of(m, P_TRANSPOSE, at, in[1], -1, 0) : in[1];
  out[0] = one_of(m, P_MATMUL, at, a, b, 0);
}
static void slice(meaning *m, const step *at, const int *in, int *out) {
  out[0] = one_of(m, P_SLICE, at, in[0], -1, at->variant);
}
static void concatenate(meaning *m, const step *at, const int *in, int *out) {
  int first = one_of(m, P_PUT, at, in[0], -1, 0), second = one_of(m, P_PUT, at, in[1], -1, 1);
  out[0] = one_of(m, P_ADD, at, first, second, 0);
}

static step_fn *const computations[OPERATIONS] = {
    [ADD] = add,
    [SUBTRACT] = subtract,
    [MULTIPLY] = multiply,
    [HALVE] = halve,
    [RELU] = relu,
    [CLAMP] = clamp,
    [BOTH] = both,
    [SCALE_CHANNELS] = scale_channels,
    [ADD_NUMBER] = add_number,
    [SUM_CHANNELS] = sum_channels,
    [SUM_PRODUCTS] = sum_products,
    [CONV] = conv,
    [BACKWARD_DATA] = backward_data,
    [BACKWARD_WEIGHTS] = backward_weights,
    [ADD_WEIGHTS] = add_weights,
    [MATMUL] = matmul,
    [SLICE] = slice,
    [CONCATENATE] = concatenate,
};

static void compute(meaning *m, const step *at) {
  const operation_row *row = &operations[at->what];
  int in[3], out[2];
  for (int i = 0; i < row->inputs; i++) in[i] = read(m, at->in[i]);
  use *made = &m->use[m->uses++];
  *made = (use){.from = m->tape->nodes, .count = row->inputs};
  for (int i = 0; i < row->inputs; i++) made->stand[i] = m->stand_of[at->in[i]];
  computations[at->what](m, at, in, out);
  made->end = m->tape->nodes;
  for (int i = 0; i < row->outputs; i++) give(m, at->out[i], out[i], NONE);
}

static void copy(meaning *m, const step *at) {
  int value = read(m, at->in[0]);
  give(m, at->out[0], value, m->stand_of[at->in[0]]);
}

static void be_written(meaning *m, const step *at) {
  int slot = at->out[0];
  m->now[slot] = OWN;
  m->leaf[slot] = m->origin[slot] = NONE;
  stand_for(m, slot, NONE, NONE);
}

static void differentiate(meaning *m, const step *at) {
  int of[MOST_OF], out[MOST_OF];
  int dy = at->in[1] == NO_SLOT ? -1 : read(m, at->in[1]);
  use *made = &m->use[m->uses++];
  *made = (use){.from = m->tape->nodes, .count = dy >= 0};
  made->stand[0] = dy >= 0 ? m->stand_of[at->in[1]] : NONE;
  bool known[MOST_OF];
  for (int i = 0; i < at->count; i++) {
    known[i] = origin_now(m, at->of[i]) != NONE; /* else nothing has read it */
    of[i] = known[i] ? origin_now(m, at->of[i]) : tape_zeros(m->tape, kind_of_slot[at->of[i]]);
  }
  tape_gradients(m->tape, m->now[at->in[0]], dy, at->count, of, out);
  made->end = m->tape->nodes;
  for (int i = 0; i < at->count; i++) give(m, at->to[i], out[i], NONE);
}

static void take(meaning *m, int number) {
  const step *at = &m->s->step[number];
  if (at->what == GRADIENTS) m->verdict[number] = judge(m, at);
  if (at->refused || m->verdict[number] == ILLEGAL || m->tape->full) return;
  if (at->what == GRADIENTS) differentiate(m, at);
  if (at->what == COPY) copy(m, at);
  if (at->what == WRITE) be_written(m, at);
  if (computations[at->what]) compute(m, at);
}

/* ---------------------------------------------------------------------------------------- runs */

static void begin_run(meaning *m) {
  tape_begin(m->tape);
  m->next = m->stands = m->uses = 0;
  for (int slot = 0; slot < SLOTS; slot++) {
    m->now[slot] = OWN;
    m->leaf[slot] = m->origin[slot] = NONE;
    stand_for(m, slot, NONE, NONE);
  }
}

/* Which steps are taken is the same in every run, and what is last written is known by that. */
void meaning_begin(const script *s, meaning *out) {
  static tape shared;
  *out = (meaning){.s = s, .tape = &shared, .exact = true};
  for (int slot = 0; slot < SLOTS; slot++) fill(s, AT_FIRST, slot, &out->array[slot]);
  for (int i = 0; i < s->steps; i++)
    if (s->step[i].what == WRITE) meaning_write(out, IN_CAPTURE, s->step[i].out[0]);
  begin_run(out);
  while (out->next < s->steps) take(out, out->next++);
}

/* Whether nothing writes it after this stage. */
static bool is_last_write(const meaning *m, int slot) {
  for (int i = m->next; i < m->s->steps; i++) {
    const step *at = &m->s->step[i];
    bool taken = !at->refused && m->verdict[i] != ILLEGAL;
    if (taken && script_writes(at, slot)) return false;
  }
  return true;
}

static bool is_written_in(const meaning *m, int from, int slot) {
  for (int i = from; i < m->next; i++) {
    const step *at = &m->s->step[i];
    bool taken = !at->refused && m->verdict[i] != ILLEGAL;
    if (taken && script_writes(at, slot)) return true;
  }
  return false;
}

static void deliver(meaning *m, int from) {
  for (int slot = 0; slot < SLOTS; slot++) {
    if (m->now[slot] == OWN || script_is_freed(m->s, slot)) continue;
    if (!is_written_in(m, from, slot) || !is_last_write(m, slot)) continue;
    m->array[slot] = m->tape->node[m->now[slot]].y;
  }
}

void meaning_stage(meaning *m, int stage) {
  if (stage == 0) begin_run(m);
  int from = m->next;
  m->stage = stage;
  while (m->next < m->s->steps && m->s->step[m->next].what != CUT) take(m, m->next++);
  deliver(m, from);
  m->next++;
  m->exact = m->exact && !m->tape->inexact && !m->s->real;
  for (int n = 0; n < m->tape->nodes; n++)
    for (int i = 0; i < m->tape->node[n].y.count; i++)
      m->largest = fmax(m->largest, fabs(m->tape->node[n].y.v[i]) + m->tape->node[n].y.e[i]);
}
