/* cli/core/written.h: checks of the files that a command writes, before anything is read or written. */
#ifndef CLI_CORE_WRITTEN_H
#define CLI_CORE_WRITTEN_H

#include "core/command.h"

/* E_EXISTS: the file exists and force is not set; E_ARGUMENT: it is not a regular file. */
furrow_status written_check_path(const char *path, bool force, furrow_error *err);
/* E_ARGUMENT: the file to write is also read, perhaps under another name. Either may be NULL; - is standard input. */
furrow_status written_check_apart(const char *path, const char *input, furrow_error *err);
/* E_ARGUMENT: the rows of a URI come from the file to write, among others. Either may be NULL. */
furrow_status written_check_uri(const char *path, const char *uri, furrow_error *err);

/* For command_set_check. Compares each file that an option of the command writes (option.written) with all files and
 * folders that its other options and operands name. E_ARGUMENT: two of them are the same file, perhaps under different
 * names, or the file is part of a model that the command reads or writes. */
furrow_status written_check(const command *cmd, const void *values, furrow_error *err);

#endif
