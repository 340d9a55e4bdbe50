/* serve/api/watcher.h: a thread that looks for newer versions, so that a load that takes long does not delay signals.
 */
#ifndef SERVE_API_WATCHER_H
#define SERVE_API_WATCHER_H

#include "api/service.h"

typedef struct watcher watcher;

/* Starts it. It looks every `seconds`; 0: only when asked.
 * Errors: E_MEMORY; E_IO, the thread cannot be started. */
furrow_status watcher_start(watcher **w, service *s, unsigned seconds, furrow_error *err);
/* Looks at everything at once, also at what has no newer version. */
void watcher_ask(watcher *w);
/* Ends it. Returns false: it still loads something after wait_ms, and goes on: the process must not free anything that
 * it uses. Takes NULL. */
bool watcher_stop(watcher *w, unsigned wait_ms);

#endif
