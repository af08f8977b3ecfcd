/* The protocol between the lane and the worker's command loop: one block of shared memory with a
 * ring of commands, one producer (core holds the context's lock) and one consumer, and a socket for
 * the greeting and for descriptors. Plain data only. Each side copies what it reads and checks it,
 * for the other side may have gone wrong in any way. */
#ifndef CVY_WIRE_H
#define CVY_WIRE_H

#include "backend.h"
#include "os/os.h"

enum { CVY_WIRE_SLOTS = 512, CVY_WIRE_DEVICES = 32, CVY_WIRE_BLOCKS = 4096 };

/* Of a plan that a command binds at most. */
enum { CVY_WIRE_BASES = sizeof(cvy_job) / sizeof(cvy_base) };

/* A command's number is its place in the ring's history, from 1: the lane's ticket. */
typedef struct cvy_wire_slot {
  cvy_command command; /* its pointer means nothing: */
  union { /* this is what goes with it, of which only the bytes that count are copied */
    cvy_open_options options;
    cvy_allocator allocator;
    cvy_job job;
    cvy_base bases[CVY_WIRE_BASES];
    cvy_tap taps[CVY_MAX_TAPS];
  } with;
} cvy_wire_slot;

enum {
  CVY_WIRE_REPLIES = 1,     /* its status goes into the reply and is no fault */
  CVY_WIRE_WHILE_FAULT = 2, /* it is carried out on a faulted device too */
  CVY_WIRE_NO_DEVICE = 4    /* it is legal before a device is open */
};

/* What the two sides have to know of a kind of command. */
typedef struct cvy_wire_row {
  uint8_t phase; /* cvy_phase: what the library sees while it is carried out */
  uint8_t flags;
  /* Offsets into the command: of its bytes, which must be more than 0, of where the part of an
   * array begins that these are, and of the number of a block. 0: it has none. */
  uint8_t bytes, part, block;
  /* Copies what goes with it. NULL: nothing does. */
  void (*copy)(void *to, const void *from, const cvy_command *command);
  /* Fails with a sentence where it asks for anything else that is impossible: a job that no checked
   * problem could have given, or for none of the engine's `rows` algorithms. NULL: nothing is. */
  convoy_status (*check)(const cvy_command *command, int32_t rows);
} cvy_wire_row;

extern const cvy_wire_row cvy_wire_rows[CVY_COMMANDS];

typedef struct cvy_wire_reply {
  int32_t status;  /* convoy_status */
  int32_t devices; /* list: that there are, at most CVY_WIRE_DEVICES */
  cvy_reply answer;
  char sentence[256];
} cvy_wire_reply;

/* cvy_usage, so that it can be read while the worker writes it. */
enum { CVY_WIRE_USAGE = 6 };

typedef struct cvy_wire {
  /* Written by the library. */
  cvy_doorbell work;
  _Atomic uint64_t posted;    /* commands in the ring so far */
  _Atomic uint64_t wanted;    /* the worker shall complete up to here */
  _Atomic uint64_t wake_when; /* ring `progress` when `taken` gets here */
  _Atomic uint64_t void_to;   /* of commands up to here nothing is wanted but their programs */
  _Atomic uint32_t leave;     /* drop what is left and end; needs no room in the ring */
  uint64_t begin;   /* commands before the ring's first one; written before the greeting */
  char marker[512]; /* a file that the worker removes when it outlives the trainer; "": none */
  char gap[64];     /* the two sides write to different cache lines */

  /* Written by the worker. */
  cvy_doorbell progress;
  _Atomic uint64_t taken;     /* commands handed to the engine: their slots and sources are free */
  _Atomic uint64_t completed; /* commands known to be done, or skipped after a fault */
  _Atomic uint64_t fault;     /* number of the first command that failed, 0: none */
  _Atomic uint32_t ended;     /* the command loop is over */
  _Atomic uint32_t phase;     /* cvy_phase: what the engine is busy with */
  _Atomic uint64_t pulse;     /* times the device was seen to have finished something */
  _Atomic uint64_t compiles;  /* programs that were begun to be compiled, or loaded */
  _Atomic uint64_t prepared;  /* jobs that were to be, and are, but for those that came again */
  _Atomic uint64_t first_run; /* newest command that runs a kernel for the first time */
  _Atomic int32_t step;       /* of a plan, that the device was at when last looked at, or -1 */
  int32_t fault_status;       /* convoy_status; written before `fault` */
  int32_t fault_step;         /* of the plan that the command ran, -1: none */
  char fault_sentence[256];
  _Atomic int64_t usage[CVY_WIRE_USAGE];
  /* Both written before `taken` passes the command that replies. */
  cvy_wire_reply reply;
  cvy_facts facts[CVY_WIRE_DEVICES]; /* list; open: the first */

  cvy_wire_slot slots[CVY_WIRE_SLOTS];
} cvy_wire;

/* What is on the socket says what it is: neither other bytes nor a message that belongs to another
 * command are taken for it. */
typedef enum cvy_wire_message {
  CVY_WIRE_HELLO,  /* the library's first, with the ring's descriptor */
  CVY_WIRE_ANSWER, /* the worker's only one */
  CVY_WIRE_MEMORY  /* of a block, with its descriptor; the command that maps it is in the ring */
} cvy_wire_message;

#define CVY_WIRE_MAGIC 0x324559564e4f43ull
typedef struct cvy_wire_frame {
  uint64_t magic;
  uint32_t message; /* cvy_wire_message */
  uint32_t block;   /* memory: its number */
  int64_t bytes;    /* of the ring, or of the block */
  uint64_t number;  /* memory: the command's */
} cvy_wire_frame;

typedef struct cvy_wire_hello {
  cvy_wire_frame frame;
  char build_id[32];
  int32_t process; /* the sender's */
  int32_t status;  /* answer: convoy_status */
  char sentence[256];
} cvy_wire_hello;

/* Into the ring. */
void cvy_wire_put_command(cvy_wire_slot *to, const cvy_command *command);
/* Out of it: whatever lies there, the copy holds what goes with it. */
void cvy_wire_get_command(const cvy_wire_slot *from, cvy_wire_slot *out);
/* A known kind, and what its row checks. */
convoy_status cvy_wire_check_command(const cvy_command *command, int32_t rows);
/* Copies a reply or usage out of shared memory and puts it in range: strings ended, statuses and
 * counts known. Whatever the memory holds, the copy is safe to use. */
void cvy_wire_get_reply(const cvy_wire *wire, cvy_wire_reply *out);
void cvy_wire_get_facts(const cvy_wire *wire, int32_t index, cvy_facts *out);
convoy_status cvy_wire_get_fault(const cvy_wire *wire, char *sentence, size_t size);
cvy_phase cvy_wire_get_phase(const cvy_wire *wire);
void cvy_wire_get_usage(const cvy_wire *wire, cvy_usage *out);
void cvy_wire_put_usage(cvy_wire *wire, const cvy_usage *usage);
/* The frame of the memory that command `number` maps. */
cvy_wire_frame cvy_wire_memory_frame(const cvy_command *command, uint64_t number);
/* ERR_IO with what came instead unless it is the frame that is expected. */
convoy_status cvy_wire_check_frame(const cvy_wire_frame *frame, const cvy_wire_frame *expected);
/* The same for a greeting, whatever the size of its ring: another build's may be another. Ends its
 * strings. */
convoy_status cvy_wire_check_hello(cvy_wire_hello *hello, cvy_wire_message message);

#endif
