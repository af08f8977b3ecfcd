/* What a training step does beside convolutions: batch norm with SiLU of the first layer's output,
 * forward and backward, and an optimizer's step in the place of its operands, as programs and
 * reductions. Their results are the same to the bit everywhere, and compared so. */
#ifndef SOAK_BLOCK_H
#define SOAK_BLOCK_H

#include "soak/net.h"

/* The first three are the net's. */
typedef enum soak_operand {
  BLOCK_X,
  BLOCK_DY,
  BLOCK_DW,
  BLOCK_MEAN,
  BLOCK_VARIANCE,
  BLOCK_DEVIATION,
  BLOCK_SCALE,
  BLOCK_SUM,
  BLOCK_SUM_H,
  BLOCK_GAMMA,
  BLOCK_BETA,
  BLOCK_EPSILON,
  BLOCK_RATE,
  BLOCK_MOMENTUM,
  BLOCK_Y,
  BLOCK_DX,
  BLOCK_V, /* these two go on from step to step on the device */
  BLOCK_W,
  BLOCK_OPERANDS
} soak_operand;

typedef struct soak_block {
  soak_net *net;
  bool used; /* the device carries out programs */
  int64_t count[BLOCK_OPERANDS];
  float *host[BLOCK_OPERANDS];
  convoy_tensor *tensor[BLOCK_OPERANDS], *exact[BLOCK_OPERANDS]; /* on the device, on the CPU */
} soak_block;

/* Finds out, too, whether the device carries out programs: if not, nothing more is done here. */
bool soak_block_make(soak_block *block, soak_net *net);
void soak_block_free(soak_block *block);

/* Behind a part of the net's step, and behind its gradients: carries out what belongs there, on the
 * device and on the CPU. *wrong grows by the elements that differ. */
convoy_status soak_block_part(soak_block *block, int64_t *wrong);
convoy_status soak_block_learn(soak_block *block, int64_t *wrong);

#endif
