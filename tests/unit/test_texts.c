/* src/problem: texts of all families, byte for byte, and what is said of texts that are wrong. Each
 * text below is read and printed again; then with each of its characters left out, doubled, and
 * made others, and cut at each. A hash of all that is answered is what it was when the table was
 * made. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/cmocka.h"
#include "problem/conv/conv.h"
#include "problem/matmul/matmul.h"
#include "problem/move/move.h"
#include "problem/pooling/pooling.h"
#include "problem/resampling/resampling.h"

static convoy_status read_conv(const char *text) {
  convoy_conv conv;
  convoy_direction direction;
  int64_t x[CONVOY_MAX_DIMS], w[CONVOY_MAX_DIMS];
  return cvy_parse_problem(text, &conv, x, w, &direction);
}

static convoy_status read_matmul(const char *text) {
  uint32_t flags;
  cvy_shape a, b, y;
  cvy_problem out;
  return cvy_matmul_read(text, &flags, &a, &b, &y, &out);
}

static convoy_status read_pooling(const char *text) {
  convoy_pool what;
  convoy_window window;
  int64_t x[CONVOY_MAX_DIMS];
  cvy_problem out;
  return cvy_pooling_read(text, &what, &window, x, &out);
}

static convoy_status read_resampling(const char *text) {
  cvy_problem out;
  return cvy_resampling_read(text, &out);
}

static convoy_status read_copy(const char *text) {
  convoy_box how;
  convoy_dtype dtype;
  int64_t elements;
  return cvy_move_copy_read(text, &how, &dtype, &elements);
}

static convoy_status read_concatenate(const char *text) {
  cvy_problem out;
  return cvy_move_concatenate_read(text, &out);
}

typedef convoy_status reader(const char *text);

static const struct {
  reader *read;
  uint64_t hash;
  const char *text;
} texts[] = {
    {read_conv, 0xa646396471be07e4, "n1c2w5 k3s3 forward"},
    {read_conv, 0xcb0e77e558d77364, "n2c3h9w9 k4r3s3 stride2 pad1 dil2 forward"},
    {read_conv, 0x96642130dd9d48e6,
     "n2c4z5h6w7 k6t1r3s5 stride1,2,3 pad0,1:0,2 dil1,1,2 groups2 backward_weights"},
    {read_conv, 0x0e30b7438fe3ca9a, "n1c4h6w6 k8r2s2 stride2 groups2 transposed outpad0,1 forward"},
    {read_conv, 0xf9acd512481e2cdb, "n1c4h6w6 k8r2s2 pad1:0 transposed backward_data"},
    {read_conv, 0xb7a5a4d92fd10db9, "n1c4h6w6 k8r2s2 stride2 transposed backward_weights"},
    {read_conv, 0xc369ec43b4f8a70e, "n16c64h80w80 k64r3s3 pad1 forward, with bias or activation"},
    {read_conv, 0x51292f086264dab9, "n1c3h9w9 k4r3s3 forward, x 2000 apart by 4"},
    {read_conv, 0x79034dd4229df58c,
     "n2c4h8w8 k4r3s3 pad1 backward_data, x 512 apart by 2, y 1024 apart by 4"},
    {read_conv, 0xc8e0b4e68f043624,
     "n1c4h6w6 k8r2s2 stride2 transposed backward_data, x 2000 apart by 1"},
    {read_conv, 0x88aaa50f9af457e4, "n2c3h9w9 k4r3s3 backward_weights, added to what is there"},
    {read_matmul, 0xc89122b72c7edc62, "matmul a128x64 b64x10"},
    {read_matmul, 0xf534b0ee41b608a1, "matmul a64x128t b10x64t"},
    {read_matmul, 0x9d1325f4f2933dcc, "matmul a8x16x32 b8x32x8 sum"},
    {read_matmul, 0x2a4efd1d7f13528c, "matmul a1024x64t b1024x32"},
    {read_matmul, 0xedf4a1b41d768456, "matmul a32x64 b64x10, a 96 apart by 4"},
    {read_matmul, 0xa51c0d763014f4e9,
     "matmul a4x32x64 b4x64x10, b 1000 apart by 4, y 512 apart by 4"},
    {read_matmul, 0xc87c5c8e9fbd62e4, "matmul a8x16x32t b8x16x8, added to what is there"},
    {read_pooling, 0xc1af9b095081b710, "max_pool n32c64h112w112 r3s3 stride2 pad1"},
    {read_pooling, 0x5cf3e260287d754b,
     "average_pool_backward n8c16w100 s4 stride4 pad0:1 ceil count_padding"},
    {read_pooling, 0xdbdc33398c64f49c,
     "max_pool_backward n2c3z5h6w7 t2r3s3 stride1,2,3 pad0,1,1 dil2,1,1"},
    {read_pooling, 0x7bf2516e4d2bc0dd, "average_pool n1c3h8w8 r2s2 stride2, y 640 apart by 4"},
    {read_pooling, 0x4e51a409c8df3cd7,
     "max_pool_backward n2c3h8w8 r2s2 stride2 ceil, x 640 apart by 4, y 256 apart by 1, dx 512 "
     "apart by 4"},
    {read_pooling, 0x64d3b8d096e55d61,
     "average_pool_backward n2c2h4w4 r2s2 stride2 count_padding, added to what is there"},
    {read_resampling, 0xc9f3bf01fcc1d81a, "resample_nearest n1c3h8w8 h16w16"},
    {read_resampling, 0x60f207abee900b50, "resample_nearest n1c3h8w8 h15w17 exact step0.5,0.25"},
    {read_resampling, 0xeb1d87549b4dbdf2, "resample_linear n2c3z3h4w5 z6h7w8 step0.75,0.5,1.25"},
    {read_resampling, 0xdd9874628d4295e4, "resample_linear_backward n1c2w9 w5 aligned"},
    {read_resampling, 0x908c47f19d6dd311,
     "resample_nearest_backward n2c3h8w8 h16w16, x 640 apart by 4, y 2048 apart by 2"},
    {read_copy, 0x2a9497a62d048724, "copy x12 by1 y12"},
    {read_copy, 0x00be6a9db35197ca,
     "copy x100:uint8 from13 by-10,1,0 y4,5,2 take2,3,2 at1,0,0 step2,1,1 fill-inf"},
    {read_copy, 0x0ee9913b79a26a47, "copy x60:int32 by20,1 y3,20 take3,18 fill0.5"},
    {read_copy, 0xfeb8ae5a438f777c, "copy x60 by1 y100 take60 at20 fillnan"},
    {read_concatenate, 0x83d411f7af117f6c, "concatenate n16 w102400,51200"},
    {read_concatenate, 0x65021db4d8995fb3, "concatenate n1 w30:uint8,10,30:int32"},
    {read_concatenate, 0xa829212a4fdd2829,
     "concatenate n4 w100,200, x0 settled, x0 300 apart by 4, x1 300 apart by 4, y 500 apart by 1"},
};

enum { LINE = CONVOY_PROBLEM_TEXT + 200 };

/* What a reader and the problems' own say of a text. */
static uint64_t answer(uint64_t hash, reader *read, const char *text) {
  char again[CVY_EXAMPLE_TEXT];
  cvy_problem problem;
  convoy_status status = read(text);
  hash = cvy_hash(hash, &status, sizeof status);
  if (status) hash = cvy_hash(hash, cvy_last_error(), strlen(cvy_last_error()));
  if (!cvy_problem_read(text, &problem)) return cvy_hash(hash, "?", 1);
  cvy_class_example(&problem, again, sizeof again);
  return cvy_hash(hash, again, strlen(again));
}

static uint64_t answers(reader *read, const char *text) {
  static const char others[] = " 0x:,-z";
  uint64_t hash = answer(0, read, text);
  char line[LINE];
  size_t length = strlen(text);
  for (size_t i = 0; i < length; i++) {
    snprintf(line, sizeof line, "%.*s%s", (int)i, text, text + i + 1);
    hash = answer(hash, read, line);
    snprintf(line, sizeof line, "%.*s%c%s", (int)i, text, text[i], text + i);
    hash = answer(hash, read, line);
    snprintf(line, sizeof line, "%.*s", (int)i, text);
    hash = answer(hash, read, line);
    for (const char *other = others; *other; other++) {
      snprintf(line, sizeof line, "%.*s%c%s", (int)i, text, *other, text + i + 1);
      hash = answer(hash, read, line);
    }
  }
  return hash;
}

static void texts_are_what_they_were(void **state) {
  char again[CVY_EXAMPLE_TEXT];
  int wrong = 0;
  (void)state;
  for (size_t i = 0; i < CVY_COUNT(texts); i++) {
    cvy_problem problem;
    if (!cvy_problem_read(texts[i].text, &problem)) fail_msg("not read: %s", texts[i].text);
    cvy_class_example(&problem, again, sizeof again);
    assert_string_equal(again, texts[i].text);
    uint64_t hash = answers(texts[i].read, texts[i].text);
    if (hash == texts[i].hash) continue;
    print_message("0x%016" PRIx64 ", %s\n", hash, texts[i].text);
    wrong++;
  }
  assert_int_equal(wrong, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(texts_are_what_they_were)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
