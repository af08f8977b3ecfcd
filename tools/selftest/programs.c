/* Lists programs, products, pooling and moves, and carries them out on small tensors. */
#include "selftest/programs.h"

#include <stdio.h>
#include <string.h>

enum { EVALUATED = 20000 }; /* by the reference: all elements of the small ones */

static const char *const extents[] = {"n2c3h5w7", "n3c5z2h3w4", "n1c7w13", "n5c16"};
enum { EXTENTS = sizeof extents / sizeof extents[0] };
static const char *const classes[] = {"full", "channel", "one", "image_channel", "position"};
enum { CLASSES = sizeof classes / sizeof classes[0] };

static const program_sample others[] = {
    {"mean = mean over n z h w of x; variance = variance over n z h w of x on n4c3h17w19", 1000.0f},
    {"v = variance over h w of x on n2c3h31w33", 1000.0f},
    {"v = variance over n of x on n77c5w3", 1000.0f},
    {"y = label == 2 ? x : x * mask on n3c5h4w3 label:full:int32 mask:full:uint8", 0.0f},
    {"y = (index(c) == label ? 1 : 0) - x on n7c10 label:image_channel:int32", 0.0f},
    {"s = sum over c of (index(c) == label ? x : 0) on n7c10 label:channel:int32", 0.0f},
    {"a = x + y; b = x - y; c = x * y; d = x / y on n2c3z2h3w5 y:channel", 0.0f},
    {"y = index(n) + 10 * (index(c) + 10 * (index(z) + 10 * (index(h) + 10 * index(w)))) on "
     "n2c3z4h5w6",
     0.0f},
    {"y = random(0) < 0.5 ? x : 0 on n2c3h5w7", 0.0f},
    {"y = fma(x, a, b) + floor(8 * x) + erf(x) + tanh(x) on n2c3h5w7 a:position b:one", 0.0f},
    {"y = x < a ? min(x, b) : max(x, b) on n2c6h1w9 a:channel b:image_channel", 0.0f},
    {"a = sum over w of x; b = maximum over w of x; c = minimum over w of x; d = mean over w of x "
     "on n2c3h5w301",
     0.0f},
    {"s = sum over n c z h w of abs(x) on n3c5z7h11w13", 0.0f},
    {"y = x * 2 on n1", 0.0f},
    {"s = sum over n h w of x on n2c70h40w41", 0.0f},
    {"matmul a33x70 b70x17", 0.0f},
    {"matmul a70x33t b17x70t", 0.0f},
    {"matmul a1x300 b70x300t", 0.0f},
    {"matmul a3x20x31 b31x19", 0.0f},
    {"matmul a20x31 b3x31x19", 0.0f},
    {"matmul a3x31x20t b3x31x19 sum", 0.0f},
    {"matmul a3x20x31 b3x19x31t sum", 0.0f},
    {"matmul a5x0 b0x3", 0.0f},
    {"max_pool n2c3h9w11 r3s3 stride2 pad1", 0.0f},
    {"max_pool n1c2z5h6w7 t2r3s2 stride1,2,3 pad1,0,0 dil1,1,2 ceil", 0.0f},
    {"max_pool_backward n2c3h9w11 r3s3 pad1", 0.0f},
    {"max_pool_backward n2c3w70 s5 stride3 pad2 dil2 ceil", 0.0f},
    {"average_pool n2c3h9w11 r3s2 stride2 pad1 ceil", 0.0f},
    {"average_pool n2c3h9w11 r3s3 stride2 pad1 ceil count_padding", 0.0f},
    {"average_pool_backward n1c2z5h6w7 t2r2s3 stride1,2,2 pad1,0,1 ceil", 0.0f},
    {"average_pool_backward n2c3h9w11 r3s3 pad1 count_padding", 0.0f},
    {"copy x4096 from64 by64,1 y60,32", 0.0f},
    {"copy x6867 by1,109 y109,63", 0.0f},
    {"copy x600:int32 from599 by-200,-10,-1 y3,20,10", 0.0f},
    {"concatenate n7 w12,4,60", 0.0f},
    {"concatenate n1 w30:uint8,10,30:int32", 0.0f},
    {"resample_nearest n2c3h5w8 h10w16", 0.0f},
    {"resample_nearest n2c3h5w7 h11w3 exact", 0.0f},
    {"resample_nearest_backward n2c3h5w8 h10w16", 0.0f},
    {"resample_linear n2c3h5w7 h10w12", 0.0f},
    {"resample_linear n1c2z3h4w5 z5h3w9 aligned", 0.0f},
    {"resample_linear_backward n2c3w31 w13 step2.5", 0.0f},
    {"copy x600:uint8 by200,10,1 y3,41,21 take3,20,10 at0,1,0 step1,2,2 fill-1.5", 0.0f},
};
enum { OTHERS = sizeof others / sizeof others[0] };

/* The first operand is full, the others of classes in turn. */
static void write_named(const char *name, int round, char *out, size_t size) {
  convoy_program *program = NULL;
  size_t used = (size_t)snprintf(out, size, "%s on %s", name, extents[round % EXTENTS]);
  if (convoy_program_named(name, &program) != CONVOY_OK) return;
  for (int i = 1; convoy_program_input(program, i) && used < size; i++) {
    used += (size_t)snprintf(out + used, size - used, " %s:%s", convoy_program_input(program, i),
                             classes[(i + round) % CLASSES]);
  }
  convoy_program_free(program);
}

bool program_sample_at(int i, program_sample *out) {
  enum { ROUNDS = 3 };
  *out = (program_sample){.offset = 0.0f};
  if (i < OTHERS) {
    *out = others[i];
    return true;
  }
  const char *name = convoy_program_name((i - OTHERS) / ROUNDS);
  if (name)
    write_named(name, (i - OTHERS) / ROUNDS + (i - OTHERS) % ROUNDS, out->text, PROGRAM_TEXT);
  return name != NULL;
}

/* ------------------------------------------------------------------------------------ checking */

const char *const program_ways[PROGRAM_WAYS] = {"tensors", "tensors, in place"};

/* The operand that may take the result's place, or -1. */
static int place_of(const operation *what, int result) {
  const char *name = convoy_program_result(what->program, result); /* of others NULL */
  int k = what->inputs + result;
  for (int i = 0; i < what->inputs; i++) {
    bool same = what->dtype[i] == CONVOY_FLOAT32 &&
                memcmp(what->shape[i], what->shape[k], sizeof what->shape[i]) == 0;
    if (same && name && strcmp(convoy_program_input(what->program, i), name) == 0) return i;
  }
  return -1;
}

bool program_has_way(const operation *what, int way) {
  bool any = way == 0;
  for (int k = 0; k < what->results; k++) any = any || place_of(what, k) >= 0;
  return any;
}

static convoy_status carry_out(operation *what, convoy_context *context, int way, convoy_run *run) {
  convoy_tensor *given[CONVOY_MAX_OPERANDS], *own[CONVOY_MAX_OPERANDS];
  convoy_status status = convoy_seed(context, 0);
  if (status == CONVOY_OK) status = operation_tensors(context, what, own);
  if (status != CONVOY_OK) return status;
  memcpy(given, own, sizeof given);
  for (int k = 0; k < what->results && way == 1; k++)
    if (place_of(what, k) >= 0) given[what->inputs + k] = own[place_of(what, k)];
  status = operation_apply(context, what, given, run);
  if (status == CONVOY_OK) status = operation_fetch(what, given);
  operation_drop(what, own);
  return status;
}

static bool say(const char *against, const verdict *result, outcome *out) {
  snprintf(out->why, sizeof out->why, "%lld elements are not %s; [%lld] = %.9g, not %.9g",
           (long long)result->wrong, against, (long long)result->index, result->got,
           result->expected);
  return result->wrong == 0;
}

static void judge(const operation *what, outcome *out) {
  verdict exact = operation_compare_exactly(what), near;
  out->good = say("the CPU engine's", &exact, out);
  if (out->good && operation_compare_reference(what, EVALUATED, &near))
    out->good = say("the reference's within rounding", &near, out);
}

outcome program_check(operation *what, convoy_context *cpu, const device *where,
                      const char *algorithm, int way) {
  outcome out = {.why = "the device was lost before"};
  if (!where->context) return out;
  convoy_run run = CONVOY_RUN_INIT;
  const char *by = algorithm;
  out.status = what->wanted[what->inputs] ? CONVOY_OK : operation_expect(what, cpu);
  if (out.status == CONVOY_OK) out.status = convoy_set_algorithm(where->context, algorithm);
  if (out.status == CONVOY_OK) out.status = carry_out(what, where->context, way, &run);
  if (out.status != CONVOY_OK) snprintf(out.why, sizeof out.why, "%s", convoy_last_error());
  if (!run.algorithm[0]) by = NULL; /* of nothing nothing is computed */
  if (out.status == CONVOY_OK && call_as_asked(&run, where->info.id, by, out.why, sizeof out.why))
    judge(what, &out);
  return out;
}
