/* rows/text/writer_text.h: writes rows as text. */
#ifndef FW_ROWS_TEXT_WRITER_TEXT_H
#define FW_ROWS_TEXT_WRITER_TEXT_H

#include "furrow/rows.h"
#include "io/atomic_file.h"

typedef struct fw_text_writer fw_text_writer;

/* Whether a text format of that name can be written, and the names of all, for messages. */
bool fw_text_writer_knows(const char *format);
extern const char fw_text_writer_names[];

/* Checks that the parameters, whose format must be known, fit together. `records`: every line is a record of RecordIO.
 */
furrow_status fw_text_writer_check(const furrow_rows_writer_params *params, bool records,
                                   furrow_error *err) FURROW_MUST_USE;
/* Takes ownership of the file, even when it fails. */
furrow_status fw_text_writer_open(fw_text_writer **writer, fw_atomic_file *file,
                                  const furrow_rows_writer_params *params, bool records,
                                  furrow_error *err) FURROW_MUST_USE;
/* Writes a block completely or not at all. */
furrow_status fw_text_writer_push(fw_text_writer *writer, const furrow_rowblock *block,
                                  furrow_error *err) FURROW_MUST_USE;
/* Finishes the file except for its name; the first rank commits it. All ranks call it. */
furrow_status fw_text_writer_complete(fw_text_writer *writer, fw_atomic_file **file, furrow_error *err) FURROW_MUST_USE;
/* Accepts NULL. */
void fw_text_writer_close(fw_text_writer *writer);

#endif
