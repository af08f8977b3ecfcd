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

#endif
