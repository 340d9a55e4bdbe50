/* tests/support/cmocka_all.h: cmocka with the headers that it wants to see first. */
#ifndef CMOCKA_ALL_H
#define CMOCKA_ALL_H

/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#endif
