/* The state of a command loop: shared by the loop (serve.c) and its commands (commands.c). */
#ifndef CVY_SERVER_H
#define CVY_SERVER_H

#include "worker/wire.h"

/* Commands handed to the engine and not known to be done: at most this many. */
enum { CVY_SERVER_WINDOW = 4096 };

typedef struct cvy_server {
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
  double pause;                               /* until the next look at the device */
  cvy_engine_observer observer;               /* this server as the engine sees it */
  uint64_t engine_ticket;                     /* the engine's count after the newest command */
  uint64_t engine_tickets[CVY_SERVER_WINDOW]; /* after command n, at n % CVY_SERVER_WINDOW */
} cvy_server;

typedef struct cvy_handler {
  convoy_status (*handle)(cvy_server *server, const cvy_command *command);
  bool replies;     /* its status goes into the reply and is no fault */
  bool while_fault; /* carried out on a faulted device too */
  bool no_device;   /* legal before open */
  cvy_phase phase;  /* what the library sees meanwhile */
} cvy_handler;

/* One row per cvy_wire_kind. */
extern const cvy_handler cvy_handlers[CVY_WIRE_KINDS];

#endif
