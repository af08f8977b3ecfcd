/* The state of a command loop: shared by the loop (serve.c) and its commands (commands.c). */
#ifndef CVY_SERVER_H
#define CVY_SERVER_H

#include "worker/serve.h"
#include "worker/wire.h"

/* Commands handed to the engine and not known to be done: at most this many. */
enum { CVY_SERVER_WINDOW = 4096 };

struct cvy_server {
  int socket;
  const char *module_path;
  const cvy_module *module; /* loaded by the first list or open */
  int32_t rows;             /* of the engine's table */
  cvy_device *device;
  cvy_shared ring;
  cvy_wire *wire;
  cvy_shared blocks[CVY_WIRE_BLOCKS];
  uint64_t taken, completed; /* own counts: the shared ones are only written */
  bool faulted;
  bool stream_is_lent; /* what is in it is done when its owner says so: nobody waits here */
  const volatile int *interrupt; /* of the caller's wait, where that is on this thread */
  double pause;                  /* until the next look at the device */
  cvy_engine_observer observer;  /* this server as the engine sees it */
  uint64_t engine_ticket;        /* the engine's count after the newest command */
  uint64_t engine_tickets[CVY_SERVER_WINDOW]; /* after command n, at n % CVY_SERVER_WINDOW */
};

/* Loads the module, once. */
convoy_status cvy_server_load(cvy_server *server);

/* Carries out a command that has been checked. */
convoy_status cvy_server_execute(cvy_server *server, cvy_command *command);

#endif
