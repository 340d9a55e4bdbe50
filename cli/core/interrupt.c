/* cli/core/interrupt.c: lets a command that writes files clean up before a signal ends it. */
#include "core/interrupt.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "core/fail.h"
#include "furrow/io.h"

static volatile sig_atomic_t caught;
static bool catching;

static volatile sig_atomic_t seen[NSIG];
static const char *volatile made; /* a directory */

/* The first signal of a kind lets the command end by itself. The second one ends the process when this handler
 * returns. */
static void mark_signal(int number) {
  caught = number;
  furrow_process_interrupt();
  if (!seen[number]) {
    seen[number] = 1;
    return;
  }
  furrow_process_clean_up();
  if (made) (void)rmdir(made);
  signal(number, SIG_DFL);
  raise(number);
}

static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};

bool interrupt_catch(void) {
  const bool fresh = !catching;
  struct sigaction action = {.sa_handler = mark_signal};
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
    if (sigaction(numbers[i], NULL, &old) == 0 && old.sa_handler == mark_signal) signal(numbers[i], SIG_DFL);
  }
  catching = false;
}

void interrupt_release(bool fresh, furrow_status status) {
  if (!fresh) return;
  interrupt_forget(); /* first: from here on nothing is left to clean up */
  if (status == FURROW_OK) interrupt_finish();
}

void interrupt_note_directory(const char *path) {
  made = path;
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
