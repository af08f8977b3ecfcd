/* The state of a parse, and its words and names. */
#ifndef CVY_PROGRAM_PARSER_H
#define CVY_PROGRAM_PARSER_H

#include "program/build.h"
#include "program/reduce.h"

enum { CVY_PARSER_NAMES = 256 };

typedef struct cvy_parser_name {
  const char *at;
  int length;
  cvy_value value;
  bool assigned;
} cvy_parser_name;

typedef struct cvy_parser {
  const char *text, *at;
  convoy_status status; /* once it is not CONVOY_OK nothing is taken any more */
  cvy_build build;
  cvy_parser_name names[CVY_PARSER_NAMES];
  int known, depth, next_random;
  int inputs, results;
  bool listed; /* the inputs were listed, so no others may be read */
  cvy_value result[CVY_PROGRAM_RESULTS];
  bool reducible; /* reductions may be read */
  int values;     /* results of the program, where there are reductions: they share equal ones */
  cvy_reduction how;
  cvy_program_names called;
} cvy_parser;

/* The first fault counts: its sentence, with the column of `at`. Returns CVY_NO_VALUE. */
cvy_value cvy_parser_refuse(cvy_parser *p, const char *at, const char *format, ...)
    CVY_PRINTF(3, 4);
/* "expected `wanted`, not ..." what stands here: a word, a character or the end. */
void cvy_parser_refuse_here(cvy_parser *p, const char *wanted);

void cvy_parser_skip_blanks(cvy_parser *p);
bool cvy_parser_take(cvy_parser *p, const char *sign);
bool cvy_parser_take_word(cvy_parser *p, const char *word);
void cvy_parser_expect(cvy_parser *p, const char *sign);

bool cvy_is_name_part(char c);
/* The length of the name that begins here; 0: none does. */
int cvy_name_length(const char *at);
/* The operation that is written as this function, -1: none is. */
int cvy_function_named(const char *at, int length);

/* A name that may be given, and moves behind it: its length, or 0 with a sentence. */
int cvy_parser_take_name(cvy_parser *p, const char *wanted);
cvy_parser_name *cvy_parser_find(cvy_parser *p, const char *at, int length);
/* NULL with a sentence if there are too many. */
cvy_parser_name *cvy_parser_remember(cvy_parser *p, const char *at, int length);
cvy_value cvy_parser_new_input(cvy_parser *p, const char *at, int length);
/* A name that is read: what was assigned to it last, else an input. */
cvy_value cvy_parser_read_name(cvy_parser *p);

#endif
