/* A network: its parameters by name, and what is captured with them. Nothing in this folder knows
 * more of Convoy than its public headers do. */
#ifndef NETS_NET_H
#define NETS_NET_H

#include <convoy/convoy.h>
#include <stdbool.h>

enum { NET_NAME = 96 };

struct net_parameter {
  char name[NET_NAME]; /* PyTorch's */
  convoy_tensor *value;
  convoy_tensor *velocity; /* of gradient descent; NULL until there is a step */
  bool trained;            /* running statistics are not */
};

struct net_capture;
struct net_value;

/* Layers make the parameters that they name, the first time that they are named. */
struct net {
  convoy_context *context;
  uint64_t random[4];
  double dropout; /* the probability that dropout layers have; a network says what is usual */
  struct net_parameter *parameters;
  int count, room;
  convoy_tensor *rate; /* of learning, one number */
  /* Called with what each activation makes, to look at what would be internal; may be NULL. */
  void (*look)(void *user, struct net_capture *c, struct net_value activation);
  void *user;
};

convoy_status net_open(struct net *net, convoy_context *context, uint64_t seed);
void net_close(struct net *net);

/* A name of at most NET_NAME bytes, as printf makes it. */
void net_name(char *name, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* NULL: there is none. */
struct net_parameter *net_find(const struct net *net, const char *name);
/* Adds all parameters to a state, and velocities as "momentum.NAME". */
convoy_status net_add_to_state(const struct net *net, convoy_state *state);
/* Adds only what weights consist of: parameters and running statistics. */
convoy_status net_add_weights(const struct net *net, convoy_state *state);

/* ------------------------------------------------------------------------------------- capture */

/* What a layer makes: a tensor with its extents. */
struct net_value {
  convoy_tensor *tensor;
  int32_t dims;
  int64_t shape[CONVOY_MAX_DIMS];
};

/* A capture that is open. After the first failure nothing more is noted, and values are to be
 * handed on only. */
struct net_capture {
  struct net *net;
  bool training;
  convoy_status status;
  convoy_tensor **temporaries; /* freed at the end: internal to the graph */
  int count, room;
};

convoy_status net_begin(struct net_capture *c, struct net *net, bool training);
/* The status of the first failure; then there is no graph. */
convoy_status net_end(struct net_capture *c, convoy_graph **graph);

/* A new tensor of the capture. */
struct net_value net_temporary(struct net_capture *c, int32_t dims, const int64_t *shape);
/* What the caller keeps: it is not freed at the end. */
convoy_tensor *net_keep(struct net_capture *c, struct net_value value);
/* A tensor from outside as a value. */
struct net_value net_value_of(struct net_capture *c, convoy_tensor *tensor);

/* How a parameter begins. */
enum net_initial { NET_ZEROS, NET_ONES, NET_NORMAL, NET_UNIFORM };
/* The parameter's tensor. If it is not there yet it is made, of zeros, ones, normal numbers of
 * deviation `size` or uniform ones up to +-size. Names longer than NET_NAME are a failure. */
convoy_tensor *net_parameter(struct net_capture *c, const char *layer, const char *name,
                             int32_t dims, const int64_t *shape, enum net_initial initial,
                             double size);

/* A program that has a name, or a text with "=" in it, applied to operands: its inputs, results
 * behind them. */
void net_apply(struct net_capture *c, const char *program, const struct net_value *operands);

/* ------------------------------------------------------------------------------------ training */

/* Gradients of the loss for all trained parameters, in their order; to be freed by the caller with
 * net_free_gradients. NULL after a failure. */
convoy_tensor **net_gradients(struct net_capture *c, struct net_value loss);
/* A step of gradient descent with momentum 0.9 and net->rate. */
void net_descend(struct net_capture *c, convoy_tensor *const *gradients, double decay);
void net_free_gradients(const struct net *net, convoy_tensor **gradients);

#endif
