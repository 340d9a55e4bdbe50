/* io/input.h: a file that can be read at any offset, wherever it is: on this machine, in memory, in a file system of
 * the program. Everything in the library that reads a path does so through these functions and fw_dir_names_read. */
#ifndef FW_IO_INPUT_H
#define FW_IO_INPUT_H

#include <stdbool.h>
#include <sys/stat.h>

#include "furrow/status.h"

/* Returns the attributes of a path, like stat (links are followed). For other file systems st_mode is S_IFREG,
 * S_IFDIR or S_IFIFO (readable once, in order), and st_size and st_mtim are set. E_NOT_FOUND: there is nothing;
 * E_IO, or another status of the file system. */
furrow_status fw_path_stat(const char *path, struct stat *info, furrow_error *err) FURROW_MUST_USE;
/* Whether there is anything at the path, as far as this process can see. */
bool fw_path_exists(const char *path);
/* Whether the path is on this machine. */
bool fw_path_is_local(const char *path);

/* Reads a JSON file; free the text with fw_free. Blanks replace a byte order mark. E_FORMAT: not a regular file, or too
 * large. */
furrow_status fw_path_read_json(char **text, size_t *size, const char *path, furrow_error *err) FURROW_MUST_USE;

/* Whether a path is a link that leads outside of the folder. */
bool fw_path_leads_out(const char *path, const char *folder);

typedef struct fw_input fw_input;

furrow_status fw_input_open(fw_input **input, const char *path, furrow_error *err) FURROW_MUST_USE;
/* The same for a file that Furrow itself has written, which is never a pipe or a device: opening a pipe would wait
 * for its writer. E_ARGUMENT: it is one. */
furrow_status fw_input_open_regular(fw_input **input, const char *path, furrow_error *err) FURROW_MUST_USE;
/* Opens standard input, which is read in order. */
furrow_status fw_input_open_stdin(fw_input **input, furrow_error *err) FURROW_MUST_USE;
/* Accepts NULL. */
void fw_input_close(fw_input *input);
/* Like fw_path_stat, for the open file. */
furrow_status fw_input_stat(const fw_input *input, struct stat *info, furrow_error *err) FURROW_MUST_USE;
/* Reads size bytes at offset; *got is less only at the end of the file. Thread-safe. */
furrow_status fw_input_read_at(const fw_input *input, void *buffer, size_t size, uint64_t offset, size_t *got,
                               furrow_error *err) FURROW_MUST_USE;
/* Reads the bytes that are available now, at least one unless the file has ended. Files that are read in order
 * support only this function. */
furrow_status fw_input_read_some(const fw_input *input, void *buffer, size_t size, uint64_t offset, size_t *got,
                                 furrow_error *err) FURROW_MUST_USE;
/* Says that the bytes from `begin` to before `end` will be read, in order, so that a server is asked for them ahead. */
void fw_input_expect(const fw_input *input, uint64_t begin, uint64_t end);
/* Returns the whole content, valid until the input is closed; NULL if it is not in memory. */
const void *fw_input_memory(const fw_input *input, size_t *size);
/* Returns the descriptor, which the input owns; -1 if the file is not local. */
int fw_input_descriptor(const fw_input *input);

/* Like fw_input_read_at, for an open descriptor; the path is for messages. */
furrow_status fw_descriptor_read_at(int fd, const char *path, void *buffer, size_t size, uint64_t offset, size_t *got,
                                    furrow_error *err) FURROW_MUST_USE;

#endif
