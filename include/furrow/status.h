/* furrow/status.h: what all functions share: status codes, errors, progress, memory, structs that can grow.
 *
 * Every function that can fail returns a furrow_status. Its last argument is an optional furrow_error that the caller
 * owns; the function writes it only on failure. Results come through out-parameters, which stay untouched on failure.
 * Pointers, paths and names must not be NULL unless a comment says what NULL means. A function of the caller that the
 * library calls returns FURROW_OK or a failure; END, where its comment does not ask for it, and numbers that are not
 * statuses count as E_IO.
 *
 * Structs that a caller allocates and later versions may extend (parameters, infos, tables of functions) begin with
 * `size_t size`, which their inline _init sets. The library does not read or write fields past that size, so a program
 * that was compiled with an older header runs with a newer library: fields that it does not know have their defaults. A
 * struct of parameters whose size is 0 was not initialised: E_ARGUMENT; an info whose size is 0 is not written. One
 * that is larger than the library knows comes from a newer header: E_UNSUPPORTED. Structs without `size` (furrow_error,
 * rows, blocks, panels, scores, points of curves) keep their layout as long as the soname; structs that the library
 * allocates and passes by pointer may grow at their end.
 *
 * Threads: all functions of this header may be called from any thread.
 */
#ifndef FURROW_STATUS_H
#define FURROW_STATUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Marks the functions that the shared library exports. */
#if defined(_WIN32)
#define FURROW_API
#else
#define FURROW_API __attribute__((visibility("default")))
#endif
/* Makes compilers warn where a status is ignored. */
#if defined(__GNUC__)
#define FURROW_MUST_USE __attribute__((warn_unused_result))
#else
#define FURROW_MUST_USE
#endif

/* Marks functions that are inline in C and C++ and exported as well, for languages that bind to the shared library. */
#define FURROW_INLINE FURROW_API inline

/* X(name, number, exit code of the command, text): the enum, the texts, the exit codes and the exceptions of bindings
 * all come from this list. Numbers never change. END is not a failure: the reader has reached the end of its data. */
#define FURROW_STATUS_LIST(X)                       \
  X(OK, 0, 0, "ok")                                 \
  X(END, 1, 0, "end of data")                       \
  X(E_ARGUMENT, 2, 2, "bad argument")               \
  X(E_NOT_FOUND, 3, 3, "not found")                 \
  X(E_IO, 4, 4, "read or write failed")             \
  X(E_PARSE, 5, 5, "malformed text")                \
  X(E_RANGE, 6, 6, "number does not fit its type")  \
  X(E_FORMAT, 7, 7, "not a valid file of its kind") \
  X(E_STALE, 8, 8, "made from other data")          \
  X(E_MEMORY, 9, 9, "out of memory")                \
  X(E_UNSUPPORTED, 10, 10, "not built in")          \
  X(E_EXISTS, 11, 11, "exists already")             \
  X(E_STATE, 12, 12, "not possible in this state")  \
  X(E_CANCELLED, 13, 13, "stopped by the caller")

/* The result of a call: OK, END, or the kind of failure. */
typedef enum furrow_status {
#define FURROW_X(name, number, code, text) FURROW_##name = number,
  FURROW_STATUS_LIST(FURROW_X)
#undef FURROW_X
} furrow_status;

/* The offset of an error that does not belong to a byte of a file. */
#define FURROW_NO_OFFSET UINT64_MAX

/* What went wrong, where, and what to do about it. Plain data without pointers, which may be copied; layout fixed. It
 * needs no initialisation: a function that fails sets all of it. */
typedef struct furrow_error {
  furrow_status status; /* what the function returned */
  uint64_t line;        /* 1-based, 0 = unknown */
  uint64_t column;      /* 1-based, in bytes, 0 = unknown */
  uint64_t offset;      /* byte offset in the file (in its uncompressed text), or FURROW_NO_OFFSET */
  char file[512];       /* the file that the error is about, "" = none; a longer path keeps its end */
  char token[64];       /* the offending text, escaped and cut short; "" = none */
  char message[256];    /* what is wrong, one line, no full stop */
  char hint[256];       /* what to do about it, one line, no full stop; "" = none */
} furrow_error;

/* Returns: the name ("E_PARSE") or the text ("malformed text") of a status, for any value; never NULL.
 * Owner:   the library; valid for ever. */
FURROW_API const char *furrow_status_name(furrow_status status);
FURROW_API const char *furrow_status_text(furrow_status status);
/* Returns: the exit code that the command gives for a status; 1 for a value that is not a status. */
FURROW_API int furrow_status_exit_code(furrow_status status);

/* Writes "FILE:LINE:COLUMN: message (token)" with the parts that are known, without the hint. The text is cut to `size`
 * bytes with its terminator; with size 0 nothing is written, and text may be NULL.
 * Returns: the length of the whole text, as snprintf does. */
FURROW_API size_t furrow_error_to_text(const furrow_error *error, char *text, size_t size);

/* A function of the caller that long jobs call from time to time. The function gets the name of the phase ("reading",
 * "coarse" …), how much of the phase is done, and its total (0: unknown), both in units of the phase. `user` is the
 * caller's pointer.
 * Returns: true to go on; false ends the job with E_CANCELLED, as if it had failed.
 * Owner:   the library; phase is valid during the call.
 * Threads: one call at a time, but not always from the same thread. */
typedef bool (*furrow_progress)(void *user, const char *phase, uint64_t done, uint64_t total);

/* Frees memory that a function of the library handed over. Takes NULL. */
FURROW_API void furrow_free(void *memory);

#ifdef __cplusplus
}
#endif

#endif
