/* rows/encode/learn_fields.h: one pass over a table that counts texts and measures numbers. */
#ifndef FW_ROWS_ENCODE_LEARN_FIELDS_H
#define FW_ROWS_ENCODE_LEARN_FIELDS_H

#include "comm/collectives.h"
#include "rows/encode/dictionary_image.h"
#include "rows/encode/encoder.h"
#include "rows/encode/number_stats.h"
#include "rows/encode/text_counter.h"

/* What is learned of a field. */
typedef struct fw_learned {
  fw_text_counter texts;
  fw_number_stats numbers;
  uint64_t missing;
} fw_learned;

void fw_learned_clear(fw_learned *learned);

/* Reads all of the source, each of several ranks a part, so that all of them have learned the same; learned[f] is for
 * field f of the dictionary, all zeros at first. Records that the encoding will refuse are refused (fw_table_refuse),
 * or do not count. */
furrow_status fw_learn_fields(fw_table_source *source, const furrow_encoder *encoder, const fw_encode_view *view,
                              const fw_table_scan_params *params, const furrow_comm *comm, fw_learned *learned,
                              furrow_parser_stats *stats, furrow_error *err) FURROW_MUST_USE;
/* Makes what this rank learned of a field what all ranks did; all of them call it. */
furrow_status fw_learned_join(fw_learned *learned, const furrow_comm *comm, furrow_error *err) FURROW_MUST_USE;
/* Sets what a field learned (all but `first`), and makes its images; its texts are used where they lie in them. */
furrow_status fw_learned_finish(fw_field *field, fw_learned *learned, fw_field_image *image,
                                furrow_error *err) FURROW_MUST_USE;
/* Whether anything must be learned of the field from the data. */
bool fw_field_learns(const fw_field *field);

#endif
