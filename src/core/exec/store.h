/* A store: one array of float32, immutable once published, counted by references. (The one
 * exception, cvy_perform_over, is seen by nobody.)
 *
 * A foreign store is an array on the device whose memory belongs to somebody else, who changes it
 * (exec/foreign.h). So nothing may rest on its values longer than a call: it has no history and is
 * in none, and a copy on the host is forgotten when the call ends. Once its device is gone it has
 * nothing.
 *
 * Its values may be on the host, on the device, or both; with neither, its history says how to make
 * them, and with no history either they are zeros. Guarded by the context's lock. */
#ifndef CVY_STORE_H
#define CVY_STORE_H

#include "core/exec/block.h"

/* What a node is that is more than one operation: a run of a graph (graph/replay.h). */
typedef struct cvy_composite {
  /* Gives every store whose history the node is its values, from those of its inputs, which the
   * host has. */
  convoy_status (*make)(cvy_node *node);
  /* Result `output` has reached the host. */
  void (*watch)(cvy_node *node, int32_t output, const float *values);
  /* The operation that was its step `step`, and how the device carried it out; NULL: none was. */
  const cvy_problem *(*step)(const cvy_node *node, int32_t step, const cvy_choice **choice);
  void (*drop)(cvy_node *node);
} cvy_composite;

/* A node: a problem applied to values, or many of them at once. It refers to what it reads, and is
 * counted by references: those of the stores whose history it is, and of whoever carries it out. */
struct cvy_node {
  int references;
  cvy_node *next_dying;    /* when nobody refers to it any more */
  int32_t inputs, outputs; /* of a problem as cvy_problem_reads and cvy_problem_outputs say */
  cvy_store **input;
  cvy_store **output;             /* those whose history it is, the others NULL */
  const cvy_composite *composite; /* NULL: it is one operation, as what follows says */
  void *plan;                     /* of a composite, which knows what it is... */
  uint64_t run;                   /* ...and the number of the run */
  cvy_choice choice;              /* how the device carried it out */
  bool in_run;                    /* of a graph */
  bool unproven;                  /* the first of its kind: not to be used before it is verified */
  int32_t unjudged;               /* of such a one: results that are not verified yet */
  cvy_problem problem;            /* the last: only the bytes that count are there */
};

struct cvy_store {
  cvy_store *previous, *next; /* in the context's list */
  convoy_context *context;
  int references;
  int held;        /* of them, those of nodes */
  int64_t counted; /* in health.history_bytes */
  int64_t bytes;   /* 0 is legal */
  float *host;
  bool foreign;     /* array belongs to somebody else... */
  uint64_t address; /* ...and lies there */
  cvy_store *home;  /* of a new result: the foreign store that it is for; NULL: none */
  bool borrowed;    /* host belongs to the caller */
  uint64_t array;   /* device copy, 0: none */
  cvy_block *block; /* in which that lies, from byte `at` on; NULL: it is an array of its own */
  int64_t at;
  bool unnamed;         /* the device does not know the part of the block as an array yet */
  uint64_t named;       /* the command that told it */
  uint64_t ticket;      /* of the command that wrote it */
  uint64_t fetch;       /* ticket of the copy that is on its way to the host, 0: none */
  float *arrived;       /* its values as read with others' (exec/together.h), NULL: they were not */
  int64_t number;       /* of the operation that made it there, 0: none */
  cvy_node *history;    /* how its values are made; NULL when the host has them */
  int32_t output;       /* which of its results this is */
  int32_t depth;        /* longest chain of calls back to values the host has */
  int32_t accumulated;  /* operations in a row that added to the one before */
  cvy_store *waiting;   /* for this one, to be computed from it (exec/values.c) */
  bool tapped;          /* the device's copy stays, to be verified (graph/taps.h) */
  bool starved;         /* lost its device copy because memory ran out there */
  bool irreplaceable;   /* with no history all the same: if the device loses it, it is lost */
  bool watched;         /* nan_watch has looked at what the host has */
  convoy_status status; /* its values could not be computed; for good */
  char *sentence;       /* why; NULL: nobody had memory to say */
};

/* Zeros, one reference; NULL with ERR_MEMORY's sentence. */
cvy_store *cvy_store_new(convoy_context *context, int64_t bytes);
/* With memory on the host, its contents undefined; NULL as above. */
cvy_store *cvy_store_room(convoy_context *context, int64_t bytes);
/* A copy of `values`. */
cvy_store *cvy_store_copy(convoy_context *context, const float *values, int64_t bytes);
/* Over the caller's memory, for the length of a call or until cvy_stores_own. */
cvy_store *cvy_store_borrow(convoy_context *context, const float *values, int64_t bytes);
/* Stores over the caller's memory get a copy of their own. Without memory for that ERR_MEMORY, and
 * they have only what the device has. */
convoy_status cvy_stores_own(convoy_context *context);
cvy_store *cvy_store_keep(cvy_store *store); /* NULL allowed */
void cvy_store_drop(cvy_store *store);       /* NULL allowed */

/* A node that reads these stores, as many as cvy_problem_reads says; one reference. NULL with
 * ERR_MEMORY's sentence. */
cvy_node *cvy_node_new(const cvy_problem *problem, cvy_store *const input[]);
cvy_node *cvy_node_keep(cvy_node *node);
void cvy_node_drop(cvy_node *node); /* NULL allowed */
/* A composite that reads `inputs` stores and has `outputs` results. */
cvy_node *cvy_node_new_composite(const cvy_composite *what, void *plan, int32_t inputs,
                                 cvy_store *const input[], int32_t outputs);
/* What is added to; NULL: nothing is. */
cvy_store *cvy_node_prior(const cvy_node *node);
/* From now on the node is how the store's values are made, as its output `i`. */
void cvy_store_remember(cvy_store *store, cvy_node *node, int32_t i);

/* Host memory for the store's values, contents undefined, never NULL with CONVOY_OK. */
convoy_status cvy_values_new(const cvy_store *store, float **out);
/* Gives it back, unless it has been published. */
void cvy_values_drop(const cvy_store *store, float *values);
/* The host has the values now: the store owns them and its history ends. If it had them already,
 * these are given back. */
void cvy_store_publish(cvy_store *store, float *values);
/* Its values cannot be had from now on, until it is set to CONVOY_OK again. */
void cvy_store_fail(cvy_store *store, convoy_status status, const char *sentence);
/* Fails with that. */
convoy_status cvy_store_failed(const cvy_store *store);
/* Whether values are anywhere, or are zeros: nothing has to be computed first. */
bool cvy_store_is_there(const cvy_store *store);
/* Its device copy is a part of the block, which has its values once command `ticket` is done. */
void cvy_store_place(cvy_store *store, cvy_block *block, int64_t at, uint64_t ticket);
/* Releases the device copy. */
void cvy_store_leave_device(cvy_store *store);
/* What a run of a graph made or replaced, and nobody but histories and the caller wants any more,
 * leaves the device: it can be made anew. Not what is to be verified or on its way to the host. */
void cvy_store_retire(cvy_store *store);
/* The device has gone, and the copy with it. */
void cvy_store_forget_device(cvy_store *store);

/* Stores whose device copy was written by command `first` or later lose it; with failover off those
 * that have nothing else get the status and sentence for good. */
void cvy_stores_void(convoy_context *context, uint64_t first, convoy_status status,
                     const char *sentence);
/* The context closes: only values on the host are kept. */
void cvy_stores_detach(convoy_context *context);
/* Gives back memory that is kept for new stores. */
void cvy_stores_trim(convoy_context *context);

#endif
