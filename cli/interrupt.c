/* cli/interrupt.c: a command that writes files tidies up before a signal ends it. */
#include "interrupt.h"

#include <signal.h>
#include <string.h>

#include "fail.h"

static volatile sig_atomic_t caught;

static void mark(int number) {
  caught = number;
}

static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};

void interrupt_catch(void) {
  struct sigaction action = {.sa_handler = mark, .sa_flags = (int)SA_RESETHAND};
  sigemptyset(&action.sa_mask);
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
    struct sigaction old;
    /* nohup and shells without job control have signals ignored: they stay so */
    if (sigaction(numbers[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN) sigaction(numbers[i], &action, NULL);
  }
}

void interrupt_forget(void) {
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
    struct sigaction old;
    if (sigaction(numbers[i], NULL, &old) == 0 && old.sa_handler == mark) signal(numbers[i], SIG_DFL);
  }
}

furrow_status interrupt_check(furrow_error *err) {
  return caught ? fail(err, FURROW_E_STATE, "stopped by a signal; nothing was written") : FURROW_OK;
}

void interrupt_finish(void) {
  if (!caught) return;
  signal(caught, SIG_DFL);
  raise(caught);
}
