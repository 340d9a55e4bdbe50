/* cli/core/fail.h: errors that the command itself finds. */
#ifndef CLI_CORE_FAIL_H
#define CLI_CORE_FAIL_H

#include "furrow/status.h"

/* Sets status and message, forgets any place, and returns `status`. */
furrow_status fail(furrow_error *err, furrow_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* The same about a file. errnum 0: `what` says it all; otherwise the text of errno follows. */
furrow_status fail_file(furrow_error *err, furrow_status status, const char *path, const char *what, int errnum);
/* fail about a file, with a message of one's own. */
furrow_status fail_in(furrow_error *err, furrow_status status, const char *path, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* E_ARGUMENT about a text that the user wrote, which is shown behind the message. */
furrow_status fail_token(furrow_error *err, const char *token, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
furrow_status fail_memory(furrow_error *err);

/* Prints "furrow: …" to stderr. Nothing for OK and END. */
void print_failure(furrow_status status, const furrow_error *err);

#endif
