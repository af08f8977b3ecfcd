/* What every layer may use: status with its sentence, log, hash, bounded text, environment. */
#ifndef CVY_BASE_H
#define CVY_BASE_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "convoy/convoy.h"

#if defined(__GNUC__)
#define CVY_PRINTF(text, first) __attribute__((format(printf, text, first)))
#else
#define CVY_PRINTF(text, first)
#endif

#define CVY_COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Stores the sentence as the calling thread's last error and returns `status`: errors are values
 * up to the place that decides, the sentence is written where the numbers are known. */
convoy_status cvy_fail(convoy_status status, const char *format, ...) CVY_PRINTF(2, 3);
const char *cvy_last_error(void);
const char *cvy_status_name(convoy_status status);

/* One line to the log, no newline. Any thread. */
void cvy_log(convoy_log_level level, const char *format, ...) CVY_PRINTF(2, 3);
bool cvy_log_wanted(convoy_log_level level);
/* Whether lines go to a terminal, where a person may be waiting for the next one. */
bool cvy_log_is_watched(void);
void cvy_set_log(convoy_log_fn *fn, void *user, convoy_log_level level);
/* Reads the environment anew: ERR_ARGUMENT if CONVOY_LOG is set and no level; which process of a
 * job this is. */
convoy_status cvy_log_check(void);

/* Seconds since 1970 as "2026-11-23T05:07:09Z". Takes no lock and no time zone. */
void cvy_utc(int64_t seconds, char *text, size_t size);
/* What such a text says; -1 if it is none. */
int64_t cvy_utc_read(const char *text);

/* Bytes of one element. */
static inline int64_t cvy_dtype_bytes(int32_t type) {
  return type == CONVOY_UINT8 ? 1 : 4;
}

/* Appends to a bounded text; once it does not fit, `overflow` stays true and the text is cut. */
typedef struct cvy_text {
  char *at;
  size_t size, used;
  bool overflow;
} cvy_text;
cvy_text cvy_text_in(char *buffer, size_t size);
void cvy_text_add(cvy_text *text, const char *format, ...) CVY_PRINTF(2, 3);
/* Copies with cut, always terminated. */
void cvy_text_copy(char *to, size_t size, const char *from);

/* Whether the whole text is as the pattern says, in which # stands for a digit, + for some digits,
 * at least one, @ for a hexadecimal digit in lower case, and anything else for itself. */
bool cvy_text_is(const char *text, const char *pattern);

/* As vsnprintf, strtod and strtof do it in the locale C, whatever the program's is. */
int cvy_print(char *to, size_t size, const char *format, va_list args) CVY_PRINTF(3, 0);
double cvy_double(const char *text, char **end);
float cvy_float(const char *text, char **end);

/* ASCII's digits and letters in any locale, and regardless of case: whether two texts are the same,
 * in all or in the first `length` characters, and whether one has the other as a part. */
static inline bool cvy_is_digit(char c) {
  return c >= '0' && c <= '9';
}
char cvy_upper(char c);
bool cvy_same(const char *a, const char *b);
bool cvy_begins(const char *text, const char *with, size_t length);
bool cvy_has(const char *text, const char *part);

/* FNV-1a, 64 bits. `seed` 0 starts; pass a result to go on. */
uint64_t cvy_hash(uint64_t seed, const void *bytes, size_t count);
/* Of whole words, ten times as fast: for tables in memory, not for what is written down. */
uint64_t cvy_hash_words(const void *words, size_t bytes);

/* Whether the program was started with more rights than its caller has, as by setuid. */
bool cvy_is_privileged(void);
/* Environment: the value or NULL; "" counts as not set. In a privileged program nothing is set, for
 * the environment is its caller's. Nothing else in src reads it. */
const char *cvy_env(const char *name);
/* ERR_ARGUMENT if a variable is set under a name that it had in an earlier version. */
convoy_status cvy_env_check_names(void);
/* A decimal integer of the environment within [low, high] (suffix K, M, G = 1024 powers); false
 * with a sentence by cvy_fail if it is set and is not one; `value` untouched if it is not set. */
bool cvy_env_int(const char *name, int64_t low, int64_t high, int64_t *value);
/* The same for seconds from 0 to `most`, which may have a point and digits behind it. */
bool cvy_env_seconds(const char *name, double most, double *value);
/* The words of the list `text`, with commas between, as bits of their places in `words`: all of
 * them where it is NULL or "all", none with "none". ERR_ARGUMENT names `name`, the variable that
 * has the list, and the word that is none. */
convoy_status cvy_env_list(const char *name, const char *text, const char *const *words, int count,
                           uint32_t *out);

/* What a thread that calls the library needs, as convoy.h says. No call was seen to use 80 KiB. */
#define CVY_STACK_LEAST ((size_t)128 << 10)
/* ERR_MEMORY with both numbers where the calling thread's stack has less left. */
convoy_status cvy_stack_check(const char *function);

/* What structs that have grown were in the first header: programs built with it pass so many
 * bytes. */
enum {
  CVY_FIRST_OPTIONS = offsetof(convoy_options, device_wait_budget),
  CVY_FIRST_HEALTH = offsetof(convoy_health, deadlines_missed)
};

/* Copies the first min(from->struct_size, size) bytes of a public struct over a defaulted local;
 * false if struct_size is smaller than `least`. Both structs start with uint32_t struct_size. */
bool cvy_struct_in(void *to, size_t size, const void *from, size_t least);
/* The same outwards: fills at most the caller's struct_size bytes and leaves struct_size as is. */
bool cvy_struct_out(void *to, const void *from, size_t size, size_t least);

#endif
