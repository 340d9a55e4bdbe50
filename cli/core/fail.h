/* cli/core/fail.h: errors that the command itself reports. */
#ifndef CLI_CORE_FAIL_H
#define CLI_CORE_FAIL_H

#include "furrow/status.h"

/* Sets status and message, clears everything else, and returns `status`. */
furrow_status fail(furrow_error *err, furrow_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* The same about a file. If errnum is not 0, its text follows `what`. */
furrow_status fail_file(furrow_error *err, furrow_status status, const char *path, const char *what, int errnum);
/* The same about a file, with a formatted message. */
furrow_status fail_in(furrow_error *err, furrow_status status, const char *path, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* E_ARGUMENT about a text that the user wrote; the text is shown after the message. */
furrow_status fail_token(furrow_error *err, const char *token, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
furrow_status fail_memory(furrow_error *err);
/* Adds what to do about an error that is set, in words of the command (options, other commands), and returns the
 * error's status. It replaces the library's hint. */
furrow_status add_hint(furrow_error *err, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Prints "furrow: …" and, if there is one, "hint: …" to stderr. Prints nothing for OK and END. */
void print_failure(furrow_status status, const furrow_error *err);
/* The same with `who` before the message: "furrow: rank 2 of 4 (host): …". */
void print_failure_of(const char *who, furrow_status status, const furrow_error *err);

#endif
