/* The worker's side of the protocol: in a process of its own or on a thread of this one. */
#ifndef CVY_SERVE_H
#define CVY_SERVE_H

#include "os/os.h"

/* Takes the greeting from the socket and answers it: refuses another build. On success `ring` is
 * mapped and `client` is the library's process. */
convoy_status cvy_serve_greet(int socket, cvy_shared *ring, int *client);

/* Carries out commands until told to leave or the ring makes no sense; then closes the device and
 * drops the ring. false: it made no sense. */
bool cvy_serve(int socket, cvy_shared *ring, const char *module_path);

/* The same step by step, on threads that have other things to do, one at a time: a step carries out
 * what is posted and waits for what is wanted, unless interrupted. NULL, with the ring dropped: no
 * memory. */
typedef struct cvy_server cvy_server;
cvy_server *cvy_serve_begin(int socket, cvy_shared *ring, const char *module_path);
void cvy_serve_step(cvy_server *server, const volatile int *interrupt);
void cvy_serve_end(cvy_server *server);

#endif
