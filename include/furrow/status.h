/* furrow/status.h: how a call says that it failed, and where.
 *
 * Every function that can fail returns a furrow_status. Its last argument is an optional
 * furrow_error that the caller owns; it is written only on failure (and may be NULL). Results
 * come through out-parameters, which stay untouched on failure.
 */
#ifndef FURROW_STATUS_H
#define FURROW_STATUS_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(_WIN32)
#define FURROW_API
#else
#define FURROW_API __attribute__((visibility("default")))
#endif
#if defined(__GNUC__)
#define FURROW_MUST_USE __attribute__((warn_unused_result))
#else
#define FURROW_MUST_USE
#endif

/* X(name, exit code of the command, text). The one list behind the enum, the texts, the exit codes
 * and whatever a binding raises. END is no failure: a reader has nothing more to give. */
#define FURROW_STATUS_LIST(X)                    \
  X(OK, 0, "ok")                                 \
  X(END, 0, "end of data")                       \
  X(E_ARGUMENT, 2, "bad argument")               \
  X(E_NOT_FOUND, 3, "not found")                 \
  X(E_IO, 4, "read or write failed")             \
  X(E_PARSE, 5, "malformed text")                \
  X(E_RANGE, 6, "number does not fit its type")  \
  X(E_FORMAT, 7, "not a valid file of its kind") \
  X(E_STALE, 8, "made from other data")          \
  X(E_MEMORY, 9, "out of memory")                \
  X(E_UNSUPPORTED, 10, "not built in")           \
  X(E_EXISTS, 11, "exists already")              \
  X(E_STATE, 12, "not possible in this state")

typedef enum furrow_status {
#define FURROW_X(name, code, text) FURROW_##name,
  FURROW_STATUS_LIST(FURROW_X)
#undef FURROW_X
} furrow_status;

/* offset of an error that has no place in a file */
#define FURROW_NO_OFFSET UINT64_MAX

/* What went wrong and where. Plain data without pointers: copy it freely. */
typedef struct furrow_error {
  furrow_status status;
  uint64_t line;     /* 1-based, 0 = unknown */
  uint64_t column;   /* 1-based, in bytes, 0 = unknown */
  uint64_t offset;   /* byte offset in the file (in its uncompressed text), or FURROW_NO_OFFSET */
  char file[512];    /* "" = no file is to blame; a longer path keeps its end */
  char token[64];    /* the offending text, escaped and cut short; "" = none */
  char message[256]; /* what is wrong, one line, no full stop */
} furrow_error;

/* Name ("E_PARSE"), text ("malformed text") and exit code of a status. Never NULL, any value is safe. */
FURROW_API const char *furrow_status_name(furrow_status status);
FURROW_API const char *furrow_status_text(furrow_status status);
FURROW_API int furrow_status_exit_code(furrow_status status);

/* Writes "FILE:LINE:COLUMN: message (token)" with the parts that are known; always terminated if
 * size > 0. Returns the length that the whole text has, as snprintf does. */
FURROW_API size_t furrow_error_to_text(const furrow_error *error, char *text, size_t size);

#ifdef __cplusplus
}
#endif

#endif
