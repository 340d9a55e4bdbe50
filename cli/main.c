/* cli/main.c: the command furrow: its nouns and its version. */
#include <signal.h>
#include <stddef.h>

#include "core/commands.h"
#include "core/fail.h"
#include "core/interrupt.h"
#include "core/ranks.h"
#include "core/report.h"
#include "core/written.h"
#include "furrow/furrow.h"
#include "learn/learn_options.h"

typedef struct root_values {
  bool version, verbose, json;
} root_values;

static const option root_options[] = {
    {.name = "version",
     .letter = 'V',
     .kind = OPTION_FLAG,
     .help = "print the version",
     .offset = offsetof(root_values, version)},
    {.name = "verbose",
     .letter = 'v',
     .kind = OPTION_FLAG,
     .help = "with --version: also print build settings, instruction set and library versions",
     .offset = offsetof(root_values, verbose)},
    {.name = "json", .kind = OPTION_FLAG, .help = "with --version: print JSON", .offset = offsetof(root_values, json)},
    {0}};

static const option_group root_groups[] = {{.title = "Options", .options = root_options}, {0}};

/* Reports the name and text pairs that `at` gives for 0, 1 … */
static void report_all(report *r, const char *(*at)(size_t i, char *text, size_t size)) {
  char text[256];
  const char *name;
  for (size_t i = 0; (name = at(i, text, sizeof text)) != NULL; i++) report_text(r, name, text);
}

static furrow_status run_root(const void *values, output *out, furrow_error *err) {
  const root_values *root = values;
  if (!root->version) {
    fail(err, FURROW_E_ARGUMENT, "'furrow' needs a command");
    return add_hint(err, "'furrow --help' lists the commands");
  }
  if (!root->json && !root->verbose) {
    output_format(out, "furrow %s\n", furrow_version());
    return FURROW_OK;
  }
  report r;
  report_start(&r, out, root->json);
  report_text(&r, "furrow", furrow_version());
  report_all(&r, furrow_build_fact);
  report_section(&r, "libraries");
  report_all(&r, furrow_library_version);
  report_end(&r);
  report_finish(&r);
  return FURROW_OK;
}

static void print_exit_codes(output *out) {
  static const furrow_status statuses[] = {
#define FURROW_X(name, number, code, text) FURROW_##name,
      FURROW_STATUS_LIST(FURROW_X)
#undef FURROW_X
  };
  output_text(out, "\nExit codes:\n");
  for (size_t i = 0; i < sizeof statuses / sizeof *statuses; i++) {
    if (statuses[i] == FURROW_END) continue;
    output_format(out, "  %3d  %s\n", furrow_status_exit_code(statuses[i]), furrow_status_text(statuses[i]));
    if (statuses[i] == FURROW_OK) output_text(out, "    1  the inputs differ (model diff)\n");
  }
  output_format(out, "  %3d  done, but the report could not be written\n", EXIT_UNREPORTED);
  output_text(out, "  130  stopped by Ctrl-C (128 + the number of the signal)\n");
}

static const command *const nouns[] = {&demo_command,       &info_command,      &rows_command,  &model_command,
                                       &train_command,      &tune_command,      &learn_command, &predict_command,
                                       &eval_command,       &recommend_command, &index_command, &serve_command,
                                       &completion_command, &complete_command,  &man_command,   NULL};

const command root_command = {
    .name = "furrow",
    .example = "furrow rows info train.libsvm\nfurrow train --model fm --train train.libsvm --out fm.model",
    .about = "Rows in, models out, vectors found.",
    .more = print_exit_codes,
    .verbs = nouns,
    .groups = root_groups,
    .size = sizeof(root_values),
    .run = run_root,
};

int main(int argc, char **argv) {
  signal(SIGPIPE, SIG_IGN); /* a reader that stops early shows as EPIPE */
  signal(SIGXFSZ, SIG_IGN); /* a file that must not grow (ulimit -f) shows as EFBIG */
  learn_options_fill();
  command_set_check(written_check);
  int code = ranks_open(argc, argv);
  if (code == 0) code = command_main(&root_command, argc, argv);
  interrupt_finish();
  return code;
}
