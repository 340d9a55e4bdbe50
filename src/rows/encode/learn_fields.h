/* rows/encode/learn_fields.h: what is learned of the fields of a table: texts counted, numbers measured. */
#ifndef FW_ROWS_ENCODE_LEARN_FIELDS_H
#define FW_ROWS_ENCODE_LEARN_FIELDS_H

#include <stddef.h>
#include <stdint.h>

#include "comm/collectives.h"
#include "furrow/status.h"
#include "rows/encode/dictionary.h"
#include "rows/encode/encoder.h"

/* ---- Texts and their counts ------------------------------------------------------------------------------ */

/* Everything that a lookup compares and changes lies together, so that it waits for memory once. */
typedef struct fw_counted_text {
  uint64_t hash, count;
  uint32_t length;
  char text[]; /* then bytes up to a multiple of 8 */
} fw_counted_text;

/* The caller's struct; all zeros is an empty counter. */
typedef struct fw_text_counter {
  char *records; /* counted texts, one behind the other */
  size_t size, capacity;
  size_t count;
  uint64_t *slots; /* upper half of the hash, place of the record / 8 + 1; 0: free */
  size_t mask;
} fw_text_counter;

void fw_text_counter_clear(fw_text_counter *counter);

/* Adds n times the text, whose hash is fw_string_table_hash; the text is copied when it is new. */
furrow_status fw_text_counter_add(fw_text_counter *counter, uint64_t hash, const char *text, uint32_t length,
                                  uint64_t n, furrow_error *err) FURROW_MUST_USE;
/* To add a batch: hash each text, prefetch the slots, prefetch the records, then add them all. */
static inline void fw_text_counter_prefetch(const fw_text_counter *counter, uint64_t hash) {
  if (counter->slots) __builtin_prefetch(&counter->slots[hash & counter->mask]);
}
static inline void fw_text_counter_prefetch_record(const fw_text_counter *counter, uint64_t hash) {
  if (!counter->slots) return;
  for (size_t at = hash & counter->mask;; at = (at + 1) & counter->mask) {
    const uint64_t slot = counter->slots[at];
    if (slot == 0) return;
    if ((slot ^ hash) >> 32) continue;
    const char *record = counter->records + 8 * (size_t)((uint32_t)slot - 1);
    __builtin_prefetch(record, 1);
    __builtin_prefetch(record + 40); /* often in the next line */
    return;
  }
}
/* Adds all of `other`. */
furrow_status fw_text_counter_merge(fw_text_counter *counter, const fw_text_counter *other,
                                    furrow_error *err) FURROW_MUST_USE;
/* Gives the texts, the most frequent first, equally frequent ones in the order of their bytes. The list is the
 * caller's (fw_free), the texts are the counter's until something is added. */
furrow_status fw_text_counter_sort(const fw_text_counter *counter, const fw_counted_text ***sorted,
                                   furrow_error *err) FURROW_MUST_USE;

/* ---- Mean, deviation and quantiles of the numbers of a column -------------------------------------------- */

/* Data comes in numbered pieces, in any order and to several of these; merged, they give the same bits whatever the
 * order was: sums are made by piece and added up in the order of the pieces, and the sample for quantiles holds the
 * numbers whose places in the data have the smallest hashes. */

#define FW_SAMPLE_NUMBERS 8192

typedef struct fw_number_piece {
  uint64_t piece, count;
  double mean, squares; /* squares: sum of the squared distances from the mean */
} fw_number_piece;

typedef struct fw_sampled_number {
  uint64_t hash;
  double number;
} fw_sampled_number;

/* The caller's struct; all zeros: no numbers. */
typedef struct fw_number_stats {
  fw_number_piece *pieces;
  size_t piece_count, piece_capacity;
  fw_sampled_number *sample; /* a heap, the largest hash first */
  size_t sampled;
  double most; /* the largest number */
} fw_number_stats;

void fw_number_stats_clear(fw_number_stats *stats);
/* Adds a number of a piece; `record` is its place there. The pieces may come in any order, all numbers of one in
 * theirs. */
furrow_status fw_number_stats_add(fw_number_stats *stats, uint64_t piece, uint64_t record, double number,
                                  furrow_error *err) FURROW_MUST_USE;
furrow_status fw_number_stats_merge(fw_number_stats *stats, const fw_number_stats *other,
                                    furrow_error *err) FURROW_MUST_USE;
/* Count, mean and standard deviation of all. */
void fw_number_stats_moments(fw_number_stats *stats, uint64_t *count, double *mean, double *deviation);
/* Cuts the numbers into up to `bins` bins of about as many: at most bins - 1 edges, ascending, none twice; number x is
 * in the bin of the edges that are <= x. Returns how many edges there are. */
size_t fw_number_stats_edges(fw_number_stats *stats, size_t bins, double *edges);

/* ---- One pass over a table ------------------------------------------------------------------------------- */

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
