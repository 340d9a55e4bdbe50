/* cli/core/interrupt.c: lets a command that writes files clean up before a signal ends it. */
#include "core/interrupt.h"

#include <signal.h>
#include <string.h>

#include "core/fail.h"

static volatile sig_atomic_t caught;
static bool catching;

static void mark(int number) {
  caught = number;
}

static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};

bool interrupt_catch(void) {
  const bool fresh = !catching;
  struct sigaction action = {.sa_handler = mark, .sa_flags = (int)SA_RESETHAND};
  sigemptyset(&action.sa_mask);
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
    struct sigaction old;
    /* nohup and shells without job control ignore signals; keep that */
    if (sigaction(numbers[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN) sigaction(numbers[i], &action, NULL);
  }
  catching = true;
  return fresh;
}

void interrupt_forget(void) {
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
    struct sigaction old;
    if (sigaction(numbers[i], NULL, &old) == 0 && old.sa_handler == mark) signal(numbers[i], SIG_DFL);
  }
  catching = false;
}

bool interrupt_came(void) {
  return caught != 0;
}

furrow_status interrupt_check(furrow_error *err) {
  return caught ? fail(err, FURROW_E_STATE, "stopped by a signal; no part of the result was written") : FURROW_OK;
}

void interrupt_finish(void) {
  if (!caught) return;
  signal(caught, SIG_DFL);
  raise(caught);
}
