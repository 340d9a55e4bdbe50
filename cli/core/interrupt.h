/* cli/core/interrupt.h: a command that writes files tidies up before a signal ends it. */
#ifndef CLI_CORE_INTERRUPT_H
#define CLI_CORE_INTERRUPT_H

#include <stdbool.h>

#include "furrow/status.h"

/* From now on SIGINT, SIGTERM and SIGHUP only leave a mark; a second one ends the process at once. Returns whether that
 * is new. */
bool interrupt_catch(void);
/* Signals do again what they do by themselves: for a new process, and where nothing is left to tidy up. */
void interrupt_forget(void);
/* E_STATE once a signal has come. */
furrow_status interrupt_check(furrow_error *err);
/* Whether one has. */
bool interrupt_came(void);
/* Ends the process by the signal that has come, if one has: for when everything is tidied up. */
void interrupt_finish(void);

#endif
