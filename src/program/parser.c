/* Words and names of a program's text, and its faults. */
#include "program/parser.h"

#include <stdio.h>
#include <string.h>

/* ------------------------------------------------------------------------------------- words */

cvy_value cvy_parser_refuse(cvy_parser *p, const char *at, const char *format, ...) {
  char what[256];
  va_list args;
  if (p->status) return CVY_NO_VALUE;
  va_start(args, format);
  cvy_print(what, sizeof what, format, args);
  va_end(args);
  p->status =
      cvy_fail(CONVOY_ERR_ARGUMENT, "program text, column %d: %s", (int)(at - p->text) + 1, what);
  return CVY_NO_VALUE;
}

void cvy_parser_skip_blanks(cvy_parser *p) {
  while (*p->at == ' ' || *p->at == '\t' || *p->at == '\n' || *p->at == '\r') p->at++;
}

static bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

bool cvy_is_name_part(char c) {
  return is_letter(c) || (c >= '0' && c <= '9');
}

int cvy_name_length(const char *at) {
  int length = 0;
  if (!is_letter(*at)) return 0;
  while (cvy_is_name_part(at[length])) length++;
  return length;
}

static bool is_word(const char *at, int length, const char *word) {
  return (int)strlen(word) == length && memcmp(at, word, (size_t)length) == 0;
}

bool cvy_parser_take(cvy_parser *p, const char *sign) {
  size_t length = strlen(sign);
  cvy_parser_skip_blanks(p);
  if (p->status || strncmp(p->at, sign, length) != 0) return false;
  p->at += length;
  return true;
}

bool cvy_parser_take_word(cvy_parser *p, const char *word) {
  cvy_parser_skip_blanks(p);
  int length = cvy_name_length(p->at);
  if (p->status || !is_word(p->at, length, word)) return false;
  p->at += length;
  return true;
}

void cvy_parser_refuse_here(cvy_parser *p, const char *wanted) {
  cvy_parser_skip_blanks(p);
  int length = cvy_name_length(p->at);
  if (!*p->at) {
    cvy_parser_refuse(p, p->at, "expected %s, but the text ends", wanted);
  } else if (length) {
    cvy_parser_refuse(p, p->at, "expected %s, not \"%.*s\"", wanted, length < 32 ? length : 32,
                      p->at);
  } else if (*p->at > ' ' && *p->at < 127) {
    cvy_parser_refuse(p, p->at, "expected %s, not '%c'", wanted, *p->at);
  } else {
    cvy_parser_refuse(p, p->at, "expected %s, not the byte %d", wanted, (unsigned char)*p->at);
  }
}

void cvy_parser_expect(cvy_parser *p, const char *sign) {
  char wanted[16];
  if (cvy_parser_take(p, sign)) return;
  snprintf(wanted, sizeof wanted, "'%s'", sign);
  cvy_parser_refuse_here(p, wanted);
}

/* ------------------------------------------------------------------------------------- names */

int cvy_function_named(const char *at, int length) {
  for (int op = 0; op < CVY_PROGRAM_OPS; op++)
    if (!cvy_op_rows[op].sign && is_word(at, length, cvy_op_rows[op].name)) return op;
  return -1;
}

static bool is_reserved(const char *at, int length) {
  static const char *const words[] = {"let", "input", "inf", "nan"};
  for (size_t i = 0; i < CVY_COUNT(words); i++)
    if (is_word(at, length, words[i])) return true;
  return cvy_function_named(at, length) >= 0;
}

int cvy_parser_take_name(cvy_parser *p, const char *wanted) {
  cvy_parser_skip_blanks(p);
  int length = cvy_name_length(p->at);
  if (!p->status && !length) cvy_parser_refuse_here(p, wanted);
  if (!p->status && is_reserved(p->at, length)) {
    cvy_parser_refuse(p, p->at, "\"%.*s\" is a word of the language and cannot be a name", length,
                      p->at);
  }
  if (!p->status && length >= CVY_PROGRAM_NAME) {
    cvy_parser_refuse(p, p->at, "a name has %d characters, at most %d are possible", length,
                      CVY_PROGRAM_NAME - 1);
  }
  if (p->status) return 0;
  p->at += length;
  return length;
}

cvy_parser_name *cvy_parser_find(cvy_parser *p, const char *at, int length) {
  for (int i = 0; i < p->known; i++) {
    if (p->names[i].length == length && memcmp(p->names[i].at, at, (size_t)length) == 0)
      return &p->names[i];
  }
  return NULL;
}

cvy_parser_name *cvy_parser_remember(cvy_parser *p, const char *at, int length) {
  if (p->known == CVY_PARSER_NAMES) {
    cvy_parser_refuse(p, at, "the program has more than %d names", CVY_PARSER_NAMES);
    return NULL;
  }
  cvy_parser_name *added = &p->names[p->known++];
  *added = (cvy_parser_name){.at = at, .length = length, .value = CVY_NO_VALUE};
  return added;
}

cvy_value cvy_parser_new_input(cvy_parser *p, const char *at, int length) {
  if (p->inputs == CVY_PROGRAM_INPUTS) {
    return cvy_parser_refuse(p, at, "\"%.*s\" would be input number %d, at most %d are possible",
                             length, at, CVY_PROGRAM_INPUTS + 1, CVY_PROGRAM_INPUTS);
  }
  cvy_parser_name *input = cvy_parser_remember(p, at, length);
  if (!input) return CVY_NO_VALUE;
  input->value = cvy_build_input(&p->build, p->inputs);
  memcpy(p->called.input[p->inputs++], at, (size_t)length);
  return input->value;
}

cvy_value cvy_parser_read_name(cvy_parser *p) {
  const char *at = p->at;
  int length = cvy_parser_take_name(p, "a value");
  if (!length) return CVY_NO_VALUE;
  if (cvy_parser_take(p, "("))
    return cvy_parser_refuse(p, at, "there is no function \"%.*s\"", length, at);
  const cvy_parser_name *known = cvy_parser_find(p, at, length);
  if (known) return known->value;
  if (p->listed) {
    return cvy_parser_refuse(p, at, "\"%.*s\" is no listed input and nothing was assigned to it",
                             length, at);
  }
  return cvy_parser_new_input(p, at, length);
}
