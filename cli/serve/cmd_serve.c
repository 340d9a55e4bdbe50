/* cli/serve/cmd_serve.c: furrow serve: starts the program furrow-serve, which has the libraries of a server. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/commands.h"
#include "core/fail.h"
#include "serve/serve_options.h"

/* Starts the program furrow-serve in the folder of this program. */
static void start_from_own_folder(char **argv) {
  char path[4096];
  const ssize_t length = readlink("/proc/self/exe", path, sizeof path - sizeof "furrow-serve");
  if (length <= 0) return;
  path[length] = 0;
  char *name = strrchr(path, '/');
  strcpy(name ? name + 1 : path, "furrow-serve");
  execv(path, argv);
}

static furrow_status run_serve(const void *values, output *out, furrow_error *err) {
  (void)values;
  (void)out;
  char **argv = command_words() + 1; /* "serve" and the words after it */
  start_from_own_folder(argv);
  execvp("furrow-serve", argv);
  fail(err, FURROW_E_NOT_FOUND, "the program furrow-serve cannot be started: %s", strerror(errno));
  return add_hint(err, "install the package furrow-serve, or build it: it needs libevent (libevent-dev)");
}

const command serve_command = {SERVE_COMMAND, .run = run_serve};
