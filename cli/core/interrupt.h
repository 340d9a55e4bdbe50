/* cli/core/interrupt.h: lets a command that writes files clean up before a signal ends it. */
#ifndef CLI_CORE_INTERRUPT_H
#define CLI_CORE_INTERRUPT_H

#include <stdbool.h>

#include "furrow/status.h"

/* From now on the first SIGINT, SIGTERM or SIGHUP only sets a flag; a second one ends the process at once. Returns
 * false if signals were already caught. */
bool interrupt_catch(void);
/* Restores the default actions of the signals: for a new process, and where nothing is left to clean up. */
void interrupt_forget(void);
/* Returns E_STATE if a signal was caught. */
furrow_status interrupt_check(furrow_error *err);
/* Returns whether a signal was caught. */
bool interrupt_came(void);
/* Ends the process by the caught signal, if there is one. Call it after cleaning up. */
void interrupt_finish(void);

#endif
