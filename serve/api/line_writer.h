/* serve/api/line_writer.h: lines that loops write and must not wait for: a thread writes them to a file, which may be
 * slow, full, or a pipe without a reader. Lines that do not fit into the buffer are dropped and counted. */
#ifndef SERVE_API_LINE_WRITER_H
#define SERVE_API_LINE_WRITER_H

#include "base/buffer.h"

typedef struct line_writer line_writer;

/* Opens a file for appending, or makes it; path NULL: `descriptor`, which stays open. Starts the thread, which writes
 * nothing before line_writer_begin. Owner: the caller ends it with line_writer_end. Errors: E_IO; E_MEMORY. */
furrow_status line_writer_create(line_writer **writer, const char *path, int descriptor, furrow_error *err);
void line_writer_begin(line_writer *writer);
/* Takes complete lines; from any thread. */
void line_writer_put(line_writer *writer, const fw_buffer *lines);
/* Makes the thread open the path again: the file was renamed. */
void line_writer_reopen(line_writer *writer);
/* Lines that were dropped, because the buffer was full or the file could not be written. */
uint64_t line_writer_dropped(line_writer *writer);
/* Writes the remaining lines, and ends. Gives up on a write that does not return within a second. Takes NULL. */
void line_writer_end(line_writer *writer);

#endif
