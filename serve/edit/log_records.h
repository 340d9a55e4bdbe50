/* serve/edit/log_records.h: the bytes of a log: its header and its records (docs/formats/index_log.md). */
#ifndef SERVE_EDIT_LOG_RECORDS_H
#define SERVE_EDIT_LOG_RECORDS_H

#include "edit/change_log.h"
#include "http/bytes.h"

enum { LOG_HEADER = 48 }; /* bytes */

/* The checksum of `size` bytes, a multiple of 8, of something that begins at byte `position` of log `sequence`. */
uint64_t log_checksum(const unsigned char *data, size_t size, uint64_t sequence, uint64_t position);
/* Writes the header of a log. */
void log_write_header(unsigned char header[LOG_HEADER], uint32_t d, uint64_t sequence, uint64_t previous,
                      uint64_t next_id);
/* Appends a record that will stand at byte `position` of log `sequence`; log_seal completes it.
 * Errors: E_ARGUMENT, a change that the reader would refuse; E_MEMORY. Nothing is appended then. */
furrow_status log_append_record(bytes *records, const index_change *change, uint32_t d, uint64_t sequence,
                                uint64_t position, furrow_error *err);
/* Completes records that will be written to byte `position` of a log, of which all before that is on the disk. */
void log_seal(bytes *records, uint64_t sequence, uint64_t position);

#endif
