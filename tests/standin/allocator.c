#include "allocator.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include "common/cmocka.h"
#include "framework.h"

enum { PIECES = 256 };

typedef struct piece {
  char *memory;
  void *stream;
  int64_t bytes;
  bool used;
} piece;

allocator_state pool;
static piece pieces[PIECES];
static int count;

static piece *find_piece(int64_t bytes, void *for_stream) {
  for (int i = 0; i < count; i++) {
    piece *each = &pieces[i];
    if (!each->used && each->bytes >= bytes && each->stream == for_stream) return each;
  }
  assert_true(count < PIECES);
  piece *new = &pieces[count++];
  *new = (piece){framework_memory(bytes / 4 + 16), for_stream, bytes, false};
  return new;
}

void *pool_allocate(void *user, size_t bytes, void *for_stream) {
  assert_ptr_equal(user, &pool);
  pool.calls++;
  pool.stream = for_stream;
  if (pool.empty) return NULL;
  piece *found = find_piece((int64_t)bytes, for_stream);
  found->used = true;
  pool.bytes += (int64_t)bytes;
  return found->memory + (pool.crooked ? 4 : 0);
}

void pool_release(void *user, void *memory, size_t bytes, void *for_stream) {
  (void)user, (void)for_stream;
  int i = 0;
  while (i < count && pieces[i].memory != (char *)memory - (pool.crooked ? 4 : 0)) i++;
  assert_true(i < count && pieces[i].used);
  pieces[i].used = false;
  pool.bytes -= (int64_t)bytes;
}

void pool_end(void) {
  assert_int_equal(pool.bytes, 0);
  for (int i = 0; i < count; i++) framework_free(pieces[i].memory);
  count = 0;
  memset(&pool, 0, sizeof pool);
}
