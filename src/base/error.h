/* base/error.h: filling in a furrow_error. All take err == NULL. */
#ifndef FW_BASE_ERROR_H
#define FW_BASE_ERROR_H

#include "furrow/status.h"

/* Sets status and message, clears file, line and token, and returns `status`, so that failing is one statement. */
furrow_status fw_fail(furrow_error *err, furrow_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* fw_fail with ": " and the text of errno. The caller chooses the status, whatever errno is. */
furrow_status fw_fail_errno(furrow_error *err, furrow_status status, int errnum, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* E_MEMORY: `bytes` could not be allocated. */
furrow_status fw_fail_memory(furrow_error *err, size_t bytes);

/* Add to an error that is set: the file (its end, if it is long), the text that is wrong (escaped, cut short). */
void fw_error_set_file(furrow_error *err, const char *file);
void fw_error_set_token(furrow_error *err, const char *token, size_t length);

/* Adds what to do about the error; the command shows it on a line of its own. */
void fw_error_set_hint(furrow_error *err, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The status of a caller's function that failed: E_IO for what is not a failure (END) or not a status. */
static inline furrow_status fw_failed_status(furrow_status status) {
  return status <= FURROW_END || status > FURROW_E_CANCELLED ? FURROW_E_IO : status;
}

/* Calls progress, unless it is NULL; E_CANCELLED when it says stop. */
furrow_status fw_report_progress(furrow_progress progress, void *user, const char *phase, uint64_t done, uint64_t total,
                                 furrow_error *err) FURROW_MUST_USE;

/* Returns the status of an expression that failed. Only for functions that own nothing. */
#define FW_TRY(expression)                    \
  do {                                        \
    furrow_status fw_try_ = (expression);     \
    if (fw_try_ != FURROW_OK) return fw_try_; \
  } while (0)

/* For messages: one byte is, two bytes are. */
static inline const char *fw_plural(uint64_t n, const char *one, const char *many) {
  return n == 1 ? one : many;
}

#endif
