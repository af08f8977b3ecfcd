/* cmocka.h wants these four in front of it. */
#ifndef TEST_CMOCKA_H
#define TEST_CMOCKA_H
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on
#endif
