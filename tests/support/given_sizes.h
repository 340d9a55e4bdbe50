/* tests/support/given_sizes.h: calls that get a struct of parameters whose size was never set, or is that of a struct
 * which this library does not know: each of them has to refuse it before it reads anything else of the struct. */
#ifndef GIVEN_SIZES_H
#define GIVEN_SIZES_H

#include <stdint.h>
#include <string.h>

#include "furrow/status.h"
#include "support/cmocka_all.h"

/* A public call with `given` as its parameters; it checks itself that what it would make stays as it was. */
typedef struct sized_call {
  const char *name; /* of the struct; the message begins with it */
  size_t size;
  furrow_status (*call)(const void *given, furrow_error *err);
} sized_call;

#define SIZED(type, call) \
  { #type, sizeof(type), call }

/* What an out-parameter points to before the call, and after it. */
static char kept_target;
#define KEPT ((void *)&kept_target)

/* Refused with `wanted`, with an error to fill and without. */
static inline void sized_refuse(const sized_call *c, size_t size, furrow_status wanted) {
  union {
    size_t size;
    uint8_t bytes[1024];
  } given;
  furrow_error err = {.status = FURROW_OK};
  assert_true(c->size < sizeof given);
  memset(&given, 0xA5, sizeof given); /* no pointer, no number of anything: a call that reads it falls over */
  given.size = size;
  const furrow_status status = c->call(&given, &err);
  if (status != wanted) fail_msg("%s of %zu bytes: %s", c->name, size, furrow_status_name(status));
  assert_int_equal(err.status, wanted);
  if (strncmp(err.message, c->name, strlen(c->name)) != 0) fail_msg("%s: %s", c->name, err.message);
  assert_int_equal(c->call(&given, NULL), wanted);
}

static inline void sized_calls_refuse(const sized_call *calls, size_t count) {
  assert_true(count > 0);
  for (size_t i = 0; i < count; i++) {
    sized_refuse(&calls[i], 0, FURROW_E_ARGUMENT);
    sized_refuse(&calls[i], sizeof(size_t) - 1, FURROW_E_ARGUMENT);
    sized_refuse(&calls[i], calls[i].size + 1, FURROW_E_UNSUPPORTED);
    sized_refuse(&calls[i], SIZE_MAX, FURROW_E_UNSUPPORTED);
  }
}

#endif
