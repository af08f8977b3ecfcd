/* Shape tables: good ones become problems, bad ones a sentence with file, line and fault. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "common/csv.h"

#define HEAD "name,count,N,C,H,W,K,R,S,stride_h,stride_w,pad_h,pad_w,dil_h,dil_w,groups\n"

static bool read_text(const char *text, layer_table *out, char *why, size_t size) {
  FILE *from = fmemopen((char *)(uintptr_t)text, strlen(text), "r");
  assert_non_null(from);
  bool good = csv_read(from, "some/folder/net.csv", out, why, size);
  fclose(from);
  return good;
}

static void assert_good(const char *text, layer_table *out) {
  char why[512] = "";
  if (!read_text(text, out, why, sizeof why)) fail_msg("%s", why);
}

static void assert_bad(const char *text, const char *complaint) {
  char why[512] = "";
  layer_table table;
  assert_false(read_text(text, &table, why, sizeof why));
  assert_int_equal(table.count, 0);
  assert_null(table.layers);
  if (!strstr(why, complaint)) fail_msg("expected \"%s\", got \"%s\"", complaint, why);
}

static void all_cells_arrive(void **state) {
  (void)state;
  layer_table table;
  assert_good(HEAD "first,7,2,6,19,23,8,3,5,2,4,1,3,2,1,2\n", &table);
  assert_string_equal(table.name, "net");
  assert_int_equal(table.count, 1);
  const layer *one = &table.layers[0];
  const problem *shape = &one->shape;
  assert_string_equal(one->name, "first");
  assert_int_equal(one->count, 7);
  const int64_t x[] = {2, 6, 19, 23}, w[] = {8, 3, 3, 5}, y[] = {2, 8, 9, 7};
  assert_memory_equal(shape->x_shape, x, sizeof x);
  assert_memory_equal(shape->w_shape, w, sizeof w);
  assert_memory_equal(shape->y_shape, y, sizeof y);
  assert_int_equal(shape->conv.rank, 2);
  assert_int_equal(shape->conv.groups, 2);
  const int64_t stride[] = {2, 4}, pad[] = {1, 3}, dilation[] = {2, 1};
  assert_memory_equal(shape->conv.stride, stride, sizeof stride);
  assert_memory_equal(shape->conv.pad_begin, pad, sizeof pad);
  assert_memory_equal(shape->conv.pad_end, pad, sizeof pad);
  assert_memory_equal(shape->conv.dilation, dilation, sizeof dilation);
  csv_free(&table);
}

static void columns_may_change_places(void **state) {
  (void)state;
  layer_table table;
  assert_good(
      "groups,N,C,H,W,K,R,S,stride_w,stride_h,pad_h,pad_w,dil_h,dil_w,name,count\n"
      "1,2,3,9,8,4,3,2,1,3,0,0,1,1,a,5\n",
      &table);
  assert_string_equal(table.layers[0].name, "a");
  assert_int_equal(table.layers[0].count, 5);
  assert_int_equal(table.layers[0].shape.conv.stride[0], 3);
  assert_int_equal(table.layers[0].shape.conv.stride[1], 1);
  csv_free(&table);
}

static void comments_blanks_and_returns_are_passed_over(void **state) {
  (void)state;
  layer_table table;
  assert_good("# a table\r\n\n" HEAD
              "\na,1,1,1,3,3,1,1,1,1,1,0,0,1,1,1\r\n# end\nb,1,1,1,3,3,1,1,1,"
              "1,1,0,0,1,1,1",
              &table);
  assert_int_equal(table.count, 2);
  assert_string_equal(table.layers[1].name, "b");
  csv_free(&table);
}

static void bad_tables_are_named(void **state) {
  (void)state;
  static const struct {
    const char *text, *complaint;
  } cases[] = {
      {"", "no layer"},
      {HEAD, "no layer"},
      {"name,count\n", ":1: the first line must name 16 columns"},
      {"name,count,N,C,H,W,K,R,S,stride_h,stride_w,pad_h,pad_w,dil_h,dil_w,dil_w\n",
       "twice: dil_w"},
      {"name,name,N,C,H,W,K,R,S,stride_h,stride_w,pad_h,pad_w,dil_h,dil_w,groups\n", "twice: name"},
      {"name,count,N,C,H,W,K,R,S,stride_h,stride_w,pad_h,pad_w,dil_h,dil_w,group\n",
       "unknown column group"},
      {HEAD "a,1,1,1,3,3,1,1,1,1,1,0,0,1,1\n", "net.csv:2: a line must have 16 cells"},
      {HEAD "a,1,1,1,3,3,1,1,1,1,1,0,0,1,1,1,1\n", ":2: a line must have 16 cells"},
      {HEAD "a,1,1,1,3,3,1,1,1,1,1,0,0,1,1,1\na,1,1,1,x,3,1,1,1,1,1,0,0,1,1,1\n",
       ":3: H is not a whole number"},
      {HEAD "a,1,1,1,3,3.5,1,1,1,1,1,0,0,1,1,1\n", "W is not a whole number"},
      {HEAD "a,1,1,1,3,,1,1,1,1,1,0,0,1,1,1\n", "W is not a whole number"},
      {HEAD "a,0,1,1,3,3,1,1,1,1,1,0,0,1,1,1\n", "count out of range"},
      {HEAD "a,1,1,1,3,3,1,1,1,1,1,0,-1,1,1,1\n", "pad_w out of range"},
      {HEAD "a,1,1,1,3,3,1,1,1,1,0,0,0,1,1,1\n", "stride_w out of range"},
      {HEAD "a,1,1,1,99999999999999999999,3,1,1,1,1,1,0,0,1,1,1\n", "H out of range"},
      {HEAD ",1,1,1,3,3,1,1,1,1,1,0,0,1,1,1\n", "bad layer name"},
      {HEAD "a,1,1,1,3,3,1,5,1,1,1,0,0,1,1,1\n", "net.csv:2: "}, /* filter too large */
      {HEAD "a,1,1,3,3,3,2,1,1,1,1,0,0,1,1,2\n", "net.csv:2: "}, /* groups do not divide C */
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
    assert_bad(cases[i].text, cases[i].complaint);
}

static void a_long_line_is_refused(void **state) {
  (void)state;
  char text[4096] = HEAD;
  size_t used = strlen(text);
  memset(text + used, 'a', sizeof text - used - 1);
  text[sizeof text - 1] = 0;
  assert_bad(text, ":2: the line is too long");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(all_cells_arrive),
      cmocka_unit_test(columns_may_change_places),
      cmocka_unit_test(comments_blanks_and_returns_are_passed_over),
      cmocka_unit_test(bad_tables_are_named),
      cmocka_unit_test(a_long_line_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
