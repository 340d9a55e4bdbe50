/* base/error.h: filling in a furrow_error. All functions accept err == NULL. */
#ifndef FW_BASE_ERROR_H
#define FW_BASE_ERROR_H

#include "furrow/status.h"

/* Sets status and message, clears file, line and token, and returns `status`, so that failing is one statement. */
furrow_status fw_fail(furrow_error *err, furrow_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Like fw_fail; appends ": " and the text of errno. The caller chooses the status, whatever errno is. */
furrow_status fw_fail_errno(furrow_error *err, furrow_status status, int errnum, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* Fails with E_MEMORY: `bytes` could not be allocated. */
furrow_status fw_fail_memory(furrow_error *err, size_t bytes);

/* These add to an error that is set: the file (the end of its path, if it is long) and the offending text (escaped,
 * cut short). */
void fw_error_set_file(furrow_error *err, const char *file);
void fw_error_set_token(furrow_error *err, const char *token, size_t length);

/* Adds advice on how to fix the error; the command shows it on a line of its own. */
void fw_error_set_hint(furrow_error *err, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The status to report when a caller's function failed. E_IO replaces a value that is not a failure (END) or not a
 * status. */
static inline furrow_status fw_failed_status(furrow_status status) {
  return status <= FURROW_END || status > FURROW_E_CANCELLED ? FURROW_E_IO : status;
}

/* Calls progress, unless it is NULL. Fails with E_CANCELLED when it asks to stop. */
furrow_status fw_report_progress(furrow_progress progress, void *user, const char *phase, uint64_t done, uint64_t total,
                                 furrow_error *err) FURROW_MUST_USE;

/* Evaluates an expression and returns its status if it failed. Only for functions that own nothing. */
#define FW_TRY(expression)                    \
  do {                                        \
    furrow_status fw_try_ = (expression);     \
    if (fw_try_ != FURROW_OK) return fw_try_; \
  } while (0)

/* Ends a function that creates something: gives it to *out, or frees it after a failure. Its value is the status. */
#define FW_HAND_OVER(status, out, made, free_made) \
  ((status) == FURROW_OK ? (void)(*(out) = (made)) : free_made(made), (status))

/* Chooses between "byte is" and "bytes are" in messages. */
static inline const char *fw_plural(uint64_t n, const char *one, const char *many) {
  return n == 1 ? one : many;
}

#endif
