/* A random capture: tensors of few shapes, and a list of what is done with them. It says nothing of
 * how that is computed. */
#ifndef SCRIPT_H
#define SCRIPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MAP, HALF, FILTER, MATRIX, CHANNEL, NUMBER, KINDS };
enum { SLOTS = 22, MOST_STEPS = 22, MOST_OF = 3, MOST_ELEMENTS = 144, RUNS = 3, NO_SLOT = -1 };

typedef struct kind_of_tensor {
  int dims;
  int64_t shape[4];
  int count;
} kind_of_tensor;

extern const kind_of_tensor kinds[KINDS];
extern const int kind_of_slot[SLOTS]; /* a slot is the name of a tensor */

typedef enum operation {
  ADD,
  SUBTRACT,
  MULTIPLY,
  HALVE,
  RELU,
  CLAMP,
  BOTH,
  SCALE_CHANNELS,
  ADD_NUMBER,
  SUM_CHANNELS,
  SUM_PRODUCTS,
  CONV,
  BACKWARD_DATA,
  BACKWARD_WEIGHTS,
  ADD_WEIGHTS, /* backward_weights, added to what the tensor has */
  MATMUL,
  SLICE,
  CONCATENATE,
  COPY,
  FREE,
  WRITE,
  CUT,
  GRADIENTS, /* in: y, dy or NO_SLOT; then `of` and `out` */
  OPERATIONS
} operation;

enum { ANY = -1 }; /* all that are ANY are of one kind */
typedef struct operation_row {
  const char *name;
  int inputs, outputs, in[3], out[2];
  int weight;          /* how often it comes */
  const char *program; /* if it is one */
  int variants;
} operation_row;
extern const operation_row operations[OPERATIONS];

typedef struct step {
  operation what;
  int in[3], out[2], variant;
  int count, of[MOST_OF], to[MOST_OF]; /* of gradients */
  bool refused;                        /* by the library: then it is not there */
} step;

typedef struct script {
  uint64_t seed;
  bool real; /* else data are small integers */
  int steps;
  step step[MOST_STEPS];
} script;

uint64_t script_random(uint64_t seed, uint64_t a, uint64_t b, uint64_t c);
/* The script of a seed. `accepts` says whether one with a step more may stay. */
void script_make(uint64_t seed, bool (*accepts)(const script *s), script *out);
int script_stages(const script *s);
/* Whether the step gives that tensor a value. */
bool script_writes(const step *at, int slot);
bool script_is_freed(const script *s, int slot);
/* What is written to a tensor at a time: in the capture, or before a stage of a run. */
float script_datum(const script *s, int time, int slot, int element);
enum { AT_FIRST = -1, IN_CAPTURE = -2 };
static inline int script_time(int run, int stage) {
  return run * 64 + stage;
}
/* Whether it is written before that stage; between stages only if `between`. */
bool script_is_written(const script *s, int time, int slot);
void script_print(const script *s);

#endif
