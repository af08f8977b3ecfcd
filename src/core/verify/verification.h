/* Verification of a device's results: which are judged and how much of them, what that may cost,
 * what is known to be right (docs/failover.md). Nothing is fetched here, and no command given: that
 * is for exec/values.h, which asks in this order: applies, begin, plan, judge, charge, right or
 * wrong, end. */
#ifndef CVY_VERIFICATION_H
#define CVY_VERIFICATION_H

#include "core/verify/check.h"
#include "problem/excerpt.h"

typedef struct cvy_store cvy_store;
typedef struct cvy_node cvy_node;

/* What a context knows about its device's results. Operations on the device count from 1. */
typedef struct cvy_verification {
  int64_t operations;
  int64_t verified;         /* number of the last one found right, 0: none */
  uint64_t verified_ticket; /* of its command */
  cvy_problem verified_problem;
  int32_t every;       /* one of so many operations is sampled */
  int32_t nesting;     /* verifying one result may need another */
  bool unlimited;      /* what the outermost of them may take */
  double since, spent; /* seconds: begin of the time looked back on, spent sampling since then */
} cvy_verification;

/* An operation as the device carried it out: which of all, and by which command. */
typedef struct cvy_carried_out {
  const cvy_problem *problem;
  const cvy_choice *choice;
  int64_t number;
  uint64_t ticket;
} cvy_carried_out;

/* How much of a result is looked at. */
typedef struct cvy_verification_plan {
  bool whole;
  cvy_samples samples; /* unless all is */
} cvy_verification_plan;

/* The device is open. */
void cvy_verification_start(cvy_verification *verification);
/* The device is about to carry out the node for `out`: numbers them, and notes whether it is the
 * first of its algorithm, parameters and shape class in this process. */
void cvy_verification_number(convoy_context *context, cvy_node *node, const cvy_choice *choice,
                             cvy_store *const out[]);

/* Whether the time spent on samples leaves room for a tap (graph/taps.h). */
bool cvy_verification_may_tap(const convoy_context *context);
/* Whether anything of the store's values, once read from the device, may have to be looked at. */
bool cvy_verification_applies(const cvy_store *store);
/* Around all that is done for one result, which may mean others: the clock of the outermost
 * counts. */
double cvy_verification_begin(convoy_context *context);
void cvy_verification_end(convoy_context *context, double began);
/* What the option verify asks for; false: nothing of this one is looked at. */
bool cvy_verification_plan_for(const cvy_store *store, const float *values,
                               cvy_verification_plan *out);
/* Whether `values`, read from the device, are what the store's history says of `in`, the values of
 * what it was computed from. Fails as cvy_check_whole. */
convoy_status cvy_verification_judge(const cvy_store *store, const float *values,
                                     const float *const in[], const cvy_verification_plan *plan,
                                     bool *right, cvy_mismatch *found);
/* The same for an excerpt of an operation, all of whose arrays were copied while it was carried
 * out: its results one after the other, so many elements of each as are worth their time. */
convoy_status cvy_verification_judge_excerpt(convoy_context *context, const cvy_carried_out *what,
                                             const cvy_excerpt *excerpt, const float *const in[],
                                             const float *const out[], bool *right,
                                             cvy_mismatch *found);
/* The operations that a sample of one stands for, so that the promise above is kept. */
enum { CVY_SAMPLED_EVERY = 1500 };
/* Judging has gone on since `judging`, and with fetching what is needed for it since `began`:
 * counted towards the budget that sets the rate of samples. */
void cvy_verification_charge(const cvy_store *store, double began, double judging);
/* The same for what is no store's. */
void cvy_verification_spend(convoy_context *context, double began);
void cvy_verification_right(convoy_context *context, const cvy_carried_out *what);
/* One more result of the node is right; with the last of the first of its kind that kind is proven.
 */
void cvy_verification_prove(const convoy_context *context, cvy_node *node);
/* Sets the last error to a sentence on what is wrong and suspect. Returns the first suspect
 * command. */
uint64_t cvy_verification_wrong(const convoy_context *context, const cvy_carried_out *what,
                                const cvy_mismatch *found);

#endif
