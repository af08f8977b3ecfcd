#include "captures/script.h"

#include <stdio.h>
#include <string.h>

const kind_of_tensor kinds[KINDS] = {
    [MAP] = {4, {2, 4, 3, 3}, 72},     [HALF] = {4, {2, 2, 3, 3}, 36},
    [FILTER] = {4, {4, 4, 3, 3}, 144}, [MATRIX] = {2, {4, 4}, 16},
    [CHANNEL] = {1, {4}, 4},           [NUMBER] = {1, {1}, 1},
};

const int kind_of_slot[SLOTS] = {MAP,    MAP,     MAP,     MAP,    MAP,    MAP,    MAP,    HALF,
                                 HALF,   HALF,    FILTER,  FILTER, FILTER, MATRIX, MATRIX, MATRIX,
                                 MATRIX, CHANNEL, CHANNEL, NUMBER, NUMBER, NUMBER};

const operation_row operations[OPERATIONS] = {
    [ADD] = {"add", 2, 1, {ANY, ANY}, {ANY}, 6, "y = a + b", 1},
    [SUBTRACT] = {"subtract", 2, 1, {ANY, ANY}, {ANY}, 3, "y = a - b", 1},
    [MULTIPLY] = {"multiply", 2, 1, {ANY, ANY}, {ANY}, 8, "y = a * b", 1},
    [HALVE] = {"halve", 1, 1, {ANY}, {ANY}, 6, "y = a * 0.5", 1},
    [RELU] = {"relu", 1, 1, {ANY}, {ANY}, 3, "y = max(a, 0)", 1},
    [CLAMP] = {"clamp", 1, 1, {ANY}, {ANY}, 3, "y = a < -2 ? -2 : a > 2 ? 2 : a", 1},
    [BOTH] = {"sum and product", 2, 2, {ANY, ANY}, {ANY, ANY}, 4, "u = a + b; v = a * b", 1},
    [SCALE_CHANNELS] =
        {"scale channels", 3, 1, {MAP, CHANNEL, CHANNEL}, {MAP}, 4, "y = a * s + t", 1},
    [ADD_NUMBER] = {"add number", 2, 1, {MAP, NUMBER}, {MAP}, 2, "y = a + s", 1},
    [SUM_CHANNELS] = {"sum channels", 1, 1, {MAP}, {CHANNEL}, 4, "s = sum over n h w of a", 1},
    [SUM_PRODUCTS] =
        {"sum products", 2, 1, {ANY, ANY}, {NUMBER}, 6, "s = sum over n c h w of a * b", 1},
    [CONV] = {"conv", 2, 1, {MAP, FILTER}, {MAP}, 8, NULL, 1},
    [BACKWARD_DATA] = {"backward data", 2, 1, {MAP, FILTER}, {MAP}, 2, NULL, 1},
    [BACKWARD_WEIGHTS] = {"backward weights", 2, 1, {MAP, MAP}, {FILTER}, 2, NULL, 1},
    [ADD_WEIGHTS] = {"add backward weights", 3, 1, {MAP, MAP, FILTER}, {FILTER}, 3, NULL, 1},
    [MATMUL] = {"matmul", 2, 1, {MATRIX, MATRIX}, {MATRIX}, 5, NULL, 4},
    [SLICE] = {"slice", 1, 1, {MAP}, {HALF}, 4, NULL, 2},
    [CONCATENATE] = {"concatenate", 2, 1, {HALF, HALF}, {MAP}, 4, NULL, 1},
    [COPY] = {"copy", 1, 1, {ANY}, {ANY}, 12, NULL, 1},
    [FREE] = {"free", 1, 0, {ANY}, {ANY}, 5, NULL, 1},
    [WRITE] = {"write", 0, 1, {ANY}, {ANY}, 1, NULL, 1},
    [CUT] = {"cut", 0, 0, {ANY}, {ANY}, 16, NULL, 1},
    [GRADIENTS] = {"gradients", 0, 0, {ANY}, {ANY}, 30, NULL, 1},
};

/* splitmix64 of what is mixed in. */
static uint64_t mix(uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

uint64_t script_random(uint64_t seed, uint64_t a, uint64_t b, uint64_t c) {
  return mix(mix(mix(mix(seed) ^ a) ^ b) ^ c);
}

/* ------------------------------------------------------------------------------------- making */

typedef struct maker {
  uint64_t seed, drawn;
  bool freed[SLOTS];
  int last[3]; /* written last: likely to be read */
} maker;

static int draw(maker *m, int below) {
  return (int)(script_random(m->seed, 1, m->drawn++, 0) % (uint64_t)below);
}

static int draw_slot(maker *m, int kind) {
  for (int tries = 0; tries < 64; tries++) {
    int slot = tries < 4 && draw(m, 2) ? m->last[draw(m, 3)] : draw(m, SLOTS);
    if (!m->freed[slot] && kind_of_slot[slot] == kind) return slot;
  }
  return NO_SLOT;
}

static operation draw_operation(maker *m) {
  int sum = 0, at = 0;
  for (int i = 0; i < OPERATIONS; i++) sum += operations[i].weight;
  sum = draw(m, sum);
  while (sum >= operations[at].weight) sum -= operations[at++].weight;
  return (operation)at;
}

/* What an earlier step has read, so that y may depend on it. */
static int draw_read(maker *m, const step *first, const step *end) {
  const step *at = first + draw(m, (int)(end - first) + 1);
  bool reads = at < end && at->what != FREE && operations[at->what].inputs > 0;
  return reads ? at->in[draw(m, operations[at->what].inputs)] : draw(m, SLOTS);
}

static bool draw_gradients(maker *m, const step *first, step *out) {
  static const int of_y[] = {NUMBER, NUMBER, MAP, MATRIX};
  int kind = of_y[draw(m, 4)];
  out->in[0] = draw_slot(m, kind);
  out->in[1] = kind == NUMBER && draw(m, 3) ? NO_SLOT : draw_slot(m, kind);
  if (out->in[0] == NO_SLOT || (kind != NUMBER && out->in[1] == NO_SLOT)) return false;
  int wanted = 1 + draw(m, MOST_OF);
  for (int i = 0; i < wanted; i++) {
    int of = draw_read(m, first, out), to = m->freed[of] ? NO_SLOT : draw_slot(m, kind_of_slot[of]);
    bool again = to == NO_SLOT;
    for (int j = 0; j < out->count; j++) again = again || out->to[j] == to;
    if (again) continue;
    out->of[out->count] = of;
    out->to[out->count++] = to;
  }
  return out->count > 0;
}

static bool draw_step(maker *m, const step *first, step *out) {
  *out = (step){.what = draw_operation(m)};
  const operation_row *row = &operations[out->what];
  int any = draw(m, 3) ? (int[]){MAP, MATRIX, NUMBER}[draw(m, 3)] : draw(m, KINDS);
  if (out->what == GRADIENTS) return draw_gradients(m, first, out);
  out->variant = draw(m, row->variants);
  for (int i = 0; i < row->inputs; i++) {
    out->in[i] = draw_slot(m, row->in[i] == ANY ? any : row->in[i]);
    if (out->in[i] == NO_SLOT) return false;
  }
  for (int i = 0; i < row->outputs; i++) {
    out->out[i] = draw_slot(m, row->out[i] == ANY ? any : row->out[i]);
    if (out->out[i] == NO_SLOT || (i && out->out[1] == out->out[0])) return false;
  }
  if (out->what == ADD_WEIGHTS) out->out[0] = out->in[2];
  return out->what != COPY || out->in[0] != out->out[0];
}

static void note(maker *m, const step *at) {
  if (at->what == FREE) m->freed[at->in[0]] = true;
  for (int slot = 0; slot < SLOTS; slot++) {
    if (!script_writes(at, slot)) continue;
    m->last[2] = m->last[1];
    m->last[1] = m->last[0];
    m->last[0] = slot;
  }
}

void script_make(uint64_t seed, bool (*accepts)(const script *s), script *out) {
  maker m = {.seed = seed, .last = {0, 10, 19}};
  memset(out, 0, sizeof *out);
  out->seed = seed;
  out->real = draw(&m, 4) == 0;
  int steps = 3 + draw(&m, MOST_STEPS - 3);
  for (int tries = 0; tries < 4 * steps && out->steps < steps; tries++) {
    step *next = &out->step[out->steps];
    if (!draw_step(&m, out->step, next)) continue;
    out->steps++;
    if (accepts(out))
      note(&m, next);
    else
      out->steps--;
  }
}

/* ------------------------------------------------------------------------------------- asking */

int script_stages(const script *s) {
  int stages = 1;
  for (int i = 0; i < s->steps; i++) stages += s->step[i].what == CUT;
  return stages;
}

bool script_writes(const step *at, int slot) {
  for (int i = 0; i < operations[at->what].outputs; i++)
    if (at->out[i] == slot) return true;
  for (int i = 0; i < at->count; i++)
    if (at->to[i] == slot) return true;
  return false;
}

bool script_is_freed(const script *s, int slot) {
  for (int i = 0; i < s->steps; i++)
    if (s->step[i].what == FREE && s->step[i].in[0] == slot) return true;
  return false;
}

float script_datum(const script *s, int time, int slot, int element) {
  uint64_t bits =
      script_random(s->seed, 2 + (uint64_t)(time + 8), (uint64_t)slot, (uint64_t)element);
  if (s->real) return (float)((double)(int64_t)bits * 0x1p-63);
  int most = kind_of_slot[slot] == FILTER ? 1 : 2;
  return (float)((int)(bits % (uint64_t)(2 * most + 1)) - most);
}

bool script_is_written(const script *s, int time, int slot) {
  return !script_is_freed(s, slot) &&
         script_random(s->seed, 1000 + (uint64_t)time, (uint64_t)slot, 7) % 4 == 0;
}

static void print_slot(int slot) {
  static const char *const names[KINDS] = {"map", "half", "filter", "matrix", "channel", "number"};
  if (slot == NO_SLOT)
    printf(" 1");
  else
    printf(" %s%d", names[kind_of_slot[slot]], slot);
}

static void print_step(const step *at) {
  const operation_row *row = &operations[at->what];
  printf("  %s", row->name);
  if (row->variants > 1) printf(" (%d)", at->variant);
  if (at->what == GRADIENTS) {
    print_slot(at->in[0]);
    printf(" times");
    print_slot(at->in[1]);
  }
  for (int i = 0; i < row->inputs; i++) print_slot(at->in[i]);
  if (row->outputs) printf(" ->");
  for (int i = 0; i < row->outputs; i++) print_slot(at->out[i]);
  for (int i = 0; i < at->count; i++) {
    printf(i ? "," : " of");
    print_slot(at->of[i]);
    printf(" ->");
    print_slot(at->to[i]);
  }
  printf("%s\n", at->refused ? " (refused)" : "");
}

void script_print(const script *s) {
  printf("%s data, seed %llu:\n", s->real ? "real" : "integer", (unsigned long long)s->seed);
  for (int i = 0; i < s->steps; i++) print_step(&s->step[i]);
}
