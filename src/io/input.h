/* io/input.h: a file to be read at any place, wherever it lies: on this machine, in memory, in a file system of the
 * program's. Everything in the library that reads a path does so through these functions and through
 * fw_dir_names_read. */
#ifndef FW_IO_INPUT_H
#define FW_IO_INPUT_H

#include <stdbool.h>
#include <sys/stat.h>

#include "furrow/status.h"

/* What lies at a path, as stat tells it (links are followed). For other file systems st_mode is S_IFREG, S_IFDIR or
 * S_IFIFO (read once, in order) and st_size and st_mtim are set. E_NOT_FOUND: nothing; E_IO and what else the file
 * system says. */
furrow_status fw_path_stat(const char *path, struct stat *info, furrow_error *err) FURROW_MUST_USE;
/* Whether there is anything, as far as can be told. */
bool fw_path_exists(const char *path);
/* Whether the path is one of this machine. */
bool fw_path_is_local(const char *path);

/* The text of a file of JSON, to be freed with fw_free. E_FORMAT: not a regular file, or too large for one. */
furrow_status fw_path_read_json(char **text, size_t *size, const char *path, furrow_error *err) FURROW_MUST_USE;

/* Whether a path is a link, and what it leads to is not below the folder. */
bool fw_path_leads_out(const char *path, const char *folder);

typedef struct fw_input fw_input;

furrow_status fw_input_open(fw_input **input, const char *path, furrow_error *err) FURROW_MUST_USE;
/* The same for a file that Furrow itself has written, which is never a pipe, nor a device: opening a pipe would wait
 * for its writer. E_ARGUMENT: it is one. */
furrow_status fw_input_open_regular(fw_input **input, const char *path, furrow_error *err) FURROW_MUST_USE;
/* Standard input, which is read in order. */
furrow_status fw_input_open_stdin(fw_input **input, furrow_error *err) FURROW_MUST_USE;
/* Takes NULL. */
void fw_input_close(fw_input *input);
/* fw_path_stat of what was opened. */
furrow_status fw_input_stat(const fw_input *input, struct stat *info, furrow_error *err) FURROW_MUST_USE;
/* Reads size bytes at offset; *got is less only at the end of the file. Thread-safe. */
furrow_status fw_input_read_at(const fw_input *input, void *buffer, size_t size, uint64_t offset, size_t *got,
                               furrow_error *err) FURROW_MUST_USE;
/* Reads what there is at once, at least one byte unless the file ends; files that are read in order take this alone. */
furrow_status fw_input_read_some(const fw_input *input, void *buffer, size_t size, uint64_t offset, size_t *got,
                                 furrow_error *err) FURROW_MUST_USE;
/* The whole content, valid until the input is closed; NULL if it is not in memory. */
const void *fw_input_memory(const fw_input *input, size_t *size);
/* The descriptor, which stays the input's; -1 if the file is not one of this machine. */
int fw_input_descriptor(const fw_input *input);

/* Reads at a place of an open descriptor, as fw_input_read_at; the path is for messages. */
furrow_status fw_descriptor_read_at(int fd, const char *path, void *buffer, size_t size, uint64_t offset, size_t *got,
                                    furrow_error *err) FURROW_MUST_USE;

#endif
