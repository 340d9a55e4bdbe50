/* cli/core/interrupt.h: lets a command that writes files clean up before a signal ends it. */
#ifndef CLI_CORE_INTERRUPT_H
#define CLI_CORE_INTERRUPT_H

#include <stdbool.h>

#include "furrow/status.h"

/* From now on the first SIGINT, SIGTERM or SIGHUP only sets a flag, which ends waiting for pipes; a second one of the
 * same kind removes temporary files and ends the process at once. Returns false if signals were already caught. */
bool interrupt_catch(void);
/* Names a directory that the command is about to make: a second signal removes it, too, if it is empty. The path must
 * stay valid until the next call; NULL: none. */
void interrupt_note_directory(const char *path);
/* Ends a save that began with interrupt_catch; `fresh` is what that returned. From now on signals end the process
 * again; if one came during a save that succeeded, it ends the process now. */
void interrupt_release(bool fresh, furrow_status status);
/* Restores the default actions of the signals: for a new process, and where nothing is left to clean up. */
void interrupt_forget(void);
/* Returns E_STATE if a signal was caught. */
furrow_status interrupt_check(furrow_error *err);
/* Returns whether a signal was caught. */
bool interrupt_came(void);
/* Ends the process by the caught signal, if there is one. Call it after cleaning up. */
void interrupt_finish(void);

#endif
