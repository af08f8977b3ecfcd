/* src/base: status names, sentences, bounded text, hash, environment, structs of other versions. */
#include "base/base.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/cmocka.h"

static void every_status_has_its_name(void **state) {
  (void)state;
  for (int s = CONVOY_OK; s <= CONVOY_ERR_WRONG; s++)
    assert_memory_equal(cvy_status_name((convoy_status)s), "CONVOY_", 7);
  assert_string_equal(cvy_status_name(CONVOY_ERR_SHAPE), "CONVOY_ERR_SHAPE");
  assert_string_equal(cvy_status_name((convoy_status)(CONVOY_ERR_WRONG + 1)), "unknown status");
  assert_string_equal(cvy_status_name((convoy_status)-1), "unknown status");
}

static void a_failure_may_quote_the_one_before(void **state) {
  (void)state;
  assert_int_equal(cvy_fail(CONVOY_ERR_IO, "file %d", 7), CONVOY_ERR_IO);
  assert_int_equal(cvy_fail(CONVOY_ERR_MEMORY, "twice: %s", cvy_last_error()), CONVOY_ERR_MEMORY);
  assert_string_equal(cvy_last_error(), "twice: file 7");
}

static void *fail_elsewhere(void *result) {
  *(bool *)result = cvy_last_error()[0] == '\0';
  cvy_fail(CONVOY_ERR_IO, "other");
  return NULL;
}

static void sentences_belong_to_their_thread(void **state) {
  (void)state;
  pthread_t thread;
  bool empty_at_first = false;
  cvy_fail(CONVOY_ERR_IO, "mine");
  assert_int_equal(pthread_create(&thread, NULL, fail_elsewhere, &empty_at_first), 0);
  pthread_join(thread, NULL);
  assert_true(empty_at_first);
  assert_string_equal(cvy_last_error(), "mine");
}

static void a_long_sentence_is_cut(void **state) {
  (void)state;
  cvy_fail(CONVOY_ERR_IO, "%2000d", 1);
  assert_in_range(strlen(cvy_last_error()), 255, 1999);
}

static void text_is_cut_and_says_so(void **state) {
  (void)state;
  char buffer[8];
  cvy_text text = cvy_text_in(buffer, sizeof buffer);
  cvy_text_add(&text, "%s", "abc");
  cvy_text_add(&text, "%d", 1234);
  assert_string_equal(buffer, "abc1234");
  assert_false(text.overflow);
  cvy_text_add(&text, "x");
  assert_true(text.overflow);
  assert_string_equal(buffer, "abc1234");
  cvy_text_add(&text, "y");
  assert_int_equal(text.used, 7);
}

static void text_without_room_is_overflow(void **state) {
  (void)state;
  cvy_text text = cvy_text_in(NULL, 0);
  assert_true(text.overflow);
  cvy_text_add(&text, "x");
  assert_int_equal(text.used, 0);
}

static void copies_are_cut_and_terminated(void **state) {
  (void)state;
  char buffer[4] = "zzz", untouched = 'u';
  cvy_text_copy(buffer, sizeof buffer, "abcdef");
  assert_string_equal(buffer, "abc");
  cvy_text_copy(buffer, sizeof buffer, "x");
  assert_string_equal(buffer, "x");
  cvy_text_copy(&untouched, 0, "abc");
  assert_int_equal(untouched, 'u');
}

static void texts_are_told_by_their_pattern(void **state) {
  (void)state;
  assert_true(cvy_text_is("", ""));
  assert_true(cvy_text_is("a9f-12-0.txt", "@@@-+-+.txt"));
  assert_true(cvy_text_is("2026-11-23", "####-##-##"));
  static const char *const others[] = {
      "",           "a9f-12-0.txt~", " a9f-12-0.txt", "A9f-12-0.txt", "a9g-12-0.txt",
      "a9f--0.txt", "a9f-12-0xtxt",  "a9f-12-0.tx",   "a9f-+-0.txt",  "a9f-12-0.txt\n"};
  for (size_t i = 0; i < CVY_COUNT(others); i++)
    assert_false(cvy_text_is(others[i], "@@@-+-+.txt"));
}

/* Test vectors of the FNV authors. */
static void hash_is_fnv1a(void **state) {
  (void)state;
  assert_true(cvy_hash(0, "", 0) == 0xcbf29ce484222325u);
  assert_true(cvy_hash(0, "a", 1) == 0xaf63dc4c8601ec8cu);
  assert_true(cvy_hash(0, "foobar", 6) == 0x85944171f73967e8u);
  assert_true(cvy_hash(cvy_hash(0, "foo", 3), "bar", 3) == 0x85944171f73967e8u);
}

static void hash_of_words_tells_every_word(void **state) {
  (void)state;
  uint64_t words[7] = {0}, seen[8] = {cvy_hash_words(words, sizeof words)};
  for (int i = 0; i < 7; i++) {
    words[i] = 1;
    seen[i + 1] = cvy_hash_words(words, sizeof words) % 4096;
    words[i] = 0;
  }
  seen[0] %= 4096;
  for (int i = 0; i < 8; i++)
    for (int j = 0; j < i; j++) assert_true(seen[i] != seen[j]);
}

static void empty_variable_counts_as_not_set(void **state) {
  (void)state;
  setenv("CVY_TEST", "", 1);
  assert_null(cvy_env("CVY_TEST"));
  setenv("CVY_TEST", "x", 1);
  assert_string_equal(cvy_env("CVY_TEST"), "x");
  unsetenv("CVY_TEST");
  assert_null(cvy_env("CVY_TEST"));
}

static void numbers_of_the_environment(void **state) {
  (void)state;
  const struct {
    const char *text;
    bool ok;
    int64_t value;
  } cases[] = {
      {"17", true, 17},
      {"0", true, 0},
      {"3K", true, 3 << 10},
      {"2m", true, 2 << 20},
      {"1G", true, 1 << 30},
      {"", true, -5},
      {"x", false, -5},
      {"-1", false, -5},
      {"3 K", false, -5},
      {"3KB", false, -5},
      {"3T", false, -5},
      {"99999999999999999999", false, -5},
      {"9000000000000G", false, -5},
      {"1.5", false, -5},
      {"5000000000", false, -5},
  };
  for (size_t i = 0; i < CVY_COUNT(cases); i++) {
    int64_t value = -5;
    setenv("CVY_TEST", cases[i].text, 1);
    if (cvy_env_int("CVY_TEST", 0, 4000000000, &value) != cases[i].ok || value != cases[i].value)
      fail_msg("'%s' gave %lld", cases[i].text, (long long)value);
    if (!cases[i].ok) assert_non_null(strstr(cvy_last_error(), cases[i].text));
  }
  unsetenv("CVY_TEST");
}

typedef struct old_struct {
  uint32_t struct_size;
  int32_t a;
} old_struct;

typedef struct new_struct {
  uint32_t struct_size;
  int32_t a, b, c;
} new_struct;

static void a_caller_of_an_older_header_gets_defaults(void **state) {
  (void)state;
  const old_struct given = {sizeof given, 1};
  new_struct to = {sizeof to, 10, 20, 30};
  assert_true(cvy_struct_in(&to, sizeof to, &given, sizeof given));
  assert_int_equal(to.struct_size, sizeof to);
  assert_int_equal(to.a, 1);
  assert_int_equal(to.b, 20);
}

static void a_caller_of_a_newer_header_is_read_as_far_as_known(void **state) {
  (void)state;
  const new_struct given = {sizeof given, 1, 2, 3};
  old_struct to = {sizeof to, 10};
  assert_true(cvy_struct_in(&to, sizeof to, &given, sizeof to));
  assert_int_equal(to.struct_size, sizeof to);
  assert_int_equal(to.a, 1);
}

static void structs_too_small_are_refused(void **state) {
  (void)state;
  const old_struct given = {4, 1};
  old_struct to = {sizeof to, 10};
  assert_false(cvy_struct_in(&to, sizeof to, &given, sizeof to));
  assert_int_equal(to.a, 10);
  to.struct_size = 4;
  assert_false(cvy_struct_out(&to, &given, sizeof given, sizeof given));
  assert_int_equal(to.a, 10);
}

static void results_fill_no_more_than_the_caller_has(void **state) {
  (void)state;
  const new_struct from = {sizeof from, 1, 2, 3};
  struct {
    old_struct out;
    int32_t behind;
  } caller = {{sizeof(old_struct), 0}, 77};
  assert_true(cvy_struct_out(&caller.out, &from, sizeof from, sizeof(old_struct)));
  assert_int_equal(caller.out.a, 1);
  assert_int_equal(caller.out.struct_size, sizeof(old_struct));
  assert_int_equal(caller.behind, 77);
}

static struct {
  int lines;
  convoy_log_level level;
  char last[64];
} heard;

static void hear(void *user, convoy_log_level level, const char *line) {
  (void)user;
  heard.lines++;
  heard.level = level;
  cvy_text_copy(heard.last, sizeof heard.last, line);
}

static void log_goes_to_the_sink_up_to_its_level(void **state) {
  (void)state;
  cvy_set_log(hear, NULL, CONVOY_LOG_INFO);
  cvy_log(CONVOY_LOG_INFO, "device %d", 3);
  assert_int_equal(heard.lines, 1);
  assert_int_equal(heard.level, CONVOY_LOG_INFO);
  assert_string_equal(heard.last, "device 3");
  cvy_log(CONVOY_LOG_DEBUG, "too much");
  assert_int_equal(heard.lines, 1);
  cvy_set_log(hear, NULL, CONVOY_LOG_OFF);
  cvy_log(CONVOY_LOG_ERROR, "off is off");
  cvy_log(CONVOY_LOG_OFF, "no level of its own");
  assert_int_equal(heard.lines, 1);
  cvy_set_log(NULL, NULL, CONVOY_LOG_WARNING);
}

static void the_calendar_is_that_of_the_system(void **state) {
  (void)state;
  static const int64_t days[] = {0, 58, 59, 365, 789, 11016, 11017, 20780, 47540, 2932896};
  for (size_t i = 0; i < CVY_COUNT(days); i++) {
    for (int64_t at = days[i] * 86400 - 1; at <= days[i] * 86400 + 1; at++) {
      char text[24], wanted[24];
      const time_t seconds = (time_t)(at < 0 ? 0 : at);
      struct tm parts;
      strftime(wanted, sizeof wanted, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&seconds, &parts));
      cvy_utc(at, text, sizeof text);
      assert_string_equal(text, wanted);
      assert_int_equal(cvy_utc_read(text), seconds);
    }
  }
  char text[24];
  cvy_utc(INT64_MAX, text, sizeof text);
  assert_string_equal(text, "9999-12-31T23:59:59Z");
}

static void what_is_no_date_is_not_read(void **state) {
  (void)state;
  static const char *const texts[] = {"",
                                      "2026-11-23",
                                      "2026-11-23T10:00:00",
                                      "2026-11-23T10:00:00Z ",
                                      "2026-13-01T10:00:00Z",
                                      "2026-00-01T10:00:00Z",
                                      "2026-02-29T10:00:00Z",
                                      "2026-01-00T10:00:00Z",
                                      "2026-01-01T24:00:00Z",
                                      "1969-12-31T23:59:59Z"};
  for (size_t i = 0; i < CVY_COUNT(texts); i++) assert_int_equal(cvy_utc_read(texts[i]), -1);
  assert_int_equal(cvy_utc_read("2024-02-29T00:00:01Z"), 1709164801);
}

/* What a line looks like on stderr where nobody has asked for lines. */
static void log_once(const char *line, char *out, size_t size) {
  const int saved = dup(STDERR_FILENO);
  FILE *file = tmpfile();
  assert_non_null(file);
  cvy_set_log(NULL, NULL, CONVOY_LOG_WARNING);
  cvy_log_check();
  dup2(fileno(file), STDERR_FILENO);
  cvy_log(CONVOY_LOG_WARNING, "%s", line);
  dup2(saved, STDERR_FILENO);
  close(saved);
  rewind(file);
  out[fread(out, 1, size - 1, file)] = '\0';
  fclose(file);
}

static void lines_on_stderr_have_time_and_rank(void **state) {
  (void)state;
  static const struct {
    const char *name, *value, *shown;
  } cases[] = {
      {"RANK", "3", " rank 3"},
      {"RANK", "general", ""},
      {"RANK", "-1", ""},
      {"RANK", "12345678901", ""},
      {"OMPI_COMM_WORLD_RANK", "0", " rank 0"},
      {"PMI_RANK", "999999999", " rank 999999999"},
      {"SLURM_PROCID", "17", " rank 17"},
      {"LOCAL_RANK", "1", " local rank 1"},
      {"UNRELATED", "1", ""},
  };
  for (size_t i = 0; i < CVY_COUNT(cases); i++) unsetenv(cases[i].name);
  for (size_t i = 0; i < CVY_COUNT(cases); i++) {
    char got[256], wanted[256], date[24];
    setenv(cases[i].name, cases[i].value, 1);
    int64_t now = (int64_t)time(NULL);
    log_once("a device failed", got, sizeof got);
    do { /* a second may have passed */
      cvy_utc(now, date, sizeof date);
      snprintf(wanted, sizeof wanted, "convoy: %s%s: a device failed\n", date, cases[i].shown);
    } while (strcmp(got, wanted) != 0 && now++ < (int64_t)time(NULL));
    assert_string_equal(got, wanted);
    unsetenv(cases[i].name);
  }
}

static void the_rank_of_the_job_goes_before_that_of_the_machine(void **state) {
  (void)state;
  char got[256];
  setenv("LOCAL_RANK", "1", 1);
  setenv("RANK", "9", 1);
  log_once("x", got, sizeof got);
  assert_non_null(strstr(got, "Z rank 9: x\n"));
  unsetenv("RANK");
  unsetenv("LOCAL_RANK");
}

/* stderr is a file, and the process may write no more into any (ulimit -f). */
static void log_beyond_the_limit(void) {
  char path[] = "/tmp/convoy-log-XXXXXX";
  const struct rlimit none = {0, 0};
  sigset_t left;
  const int file = mkstemp(path);
  unlink(path);
  dup2(file, STDERR_FILENO);
  setrlimit(RLIMIT_FSIZE, &none);
  signal(SIGXFSZ, SIG_DFL);
  for (int i = 0; i < 3; i++) cvy_log(CONVOY_LOG_ERROR, "line %d", i);
  sigpending(&left);
  _exit(sigismember(&left, SIGXFSZ) != 0);
}

static void a_log_that_may_not_grow_ends_nothing(void **state) {
  int status;
  (void)state;
  fflush(NULL);
  const pid_t child = fork();
  if (child == 0) log_beyond_the_limit();
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_int_equal(status, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_status_has_its_name),
      cmocka_unit_test(a_failure_may_quote_the_one_before),
      cmocka_unit_test(sentences_belong_to_their_thread),
      cmocka_unit_test(a_long_sentence_is_cut),
      cmocka_unit_test(text_is_cut_and_says_so),
      cmocka_unit_test(text_without_room_is_overflow),
      cmocka_unit_test(copies_are_cut_and_terminated),
      cmocka_unit_test(texts_are_told_by_their_pattern),
      cmocka_unit_test(hash_is_fnv1a),
      cmocka_unit_test(hash_of_words_tells_every_word),
      cmocka_unit_test(empty_variable_counts_as_not_set),
      cmocka_unit_test(numbers_of_the_environment),
      cmocka_unit_test(a_caller_of_an_older_header_gets_defaults),
      cmocka_unit_test(a_caller_of_a_newer_header_is_read_as_far_as_known),
      cmocka_unit_test(structs_too_small_are_refused),
      cmocka_unit_test(results_fill_no_more_than_the_caller_has),
      cmocka_unit_test(log_goes_to_the_sink_up_to_its_level),
      cmocka_unit_test(the_calendar_is_that_of_the_system),
      cmocka_unit_test(what_is_no_date_is_not_read),
      cmocka_unit_test(lines_on_stderr_have_time_and_rank),
      cmocka_unit_test(the_rank_of_the_job_goes_before_that_of_the_machine),
      cmocka_unit_test(a_log_that_may_not_grow_ends_nothing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
