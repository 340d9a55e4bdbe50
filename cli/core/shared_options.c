/* cli/core/shared_options.c: options that several commands have. */
#include "core/shared_options.h"

#include "furrow/io.h"

static furrow_status load_plugin(const char *path, void *field, furrow_error *err) {
  (void)field;
  return furrow_plugin_load(path, err);
}

const option plugin_options[] = {{.name = "plugin",
                                  .kind = OPTION_PARSED,
                                  .argument = "FILE.so",
                                  .help = "add the formats of a shared object; may be given several times",
                                  .parse = load_plugin},
                                 {0}};
const option threads_options[] = {{.name = "threads",
                                   .kind = OPTION_THREADS,
                                   .argument = "T",
                                   .help = "threads to use (0, the default: one for each processor)"},
                                  {0}};
const option memory_options[] = {
    {.name = "memory", .kind = OPTION_BYTES, .argument = "BYTES", .help = "memory for elements, such as 256MiB (1GiB)"},
    {0}};
const option quiet_options[] = {
    {.name = "quiet", .letter = 'q', .kind = OPTION_FLAG, .help = "print no notes and no progress on stderr"}, {0}};
const option json_options[] = {{.name = "json", .kind = OPTION_FLAG, .help = "report as JSON"}, {0}};
