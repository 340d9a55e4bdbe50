/* cli/core/written.h: refuses to write over what a command reads, before anything is read or written. */
#ifndef CLI_CORE_WRITTEN_H
#define CLI_CORE_WRITTEN_H

#include "core/command.h"

/* For command_set_check. Compares each file that an option of the command writes (option.written) with all files and
 * folders that its other options and operands name. E_ARGUMENT: two of them are the same file, perhaps under different
 * names, or the file is part of a model that the command reads or writes. */
furrow_status written_check(const command *cmd, const void *values, furrow_error *err);
/* E_ARGUMENT: the rows of a URI are, among others, those of the file to write. Either may be NULL. */
furrow_status written_check_uri(const char *path, const char *uri, furrow_error *err);

#endif
