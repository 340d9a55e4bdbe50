/* rows/encode/learn_fields.h: learns the fields of a table: counts texts, measures numbers. */
#ifndef FW_ROWS_ENCODE_LEARN_FIELDS_H
#define FW_ROWS_ENCODE_LEARN_FIELDS_H

#include <stddef.h>
#include <stdint.h>

#include "comm/collectives.h"
#include "furrow/status.h"
#include "rows/encode/dictionary.h"
#include "rows/encode/encoder.h"

/* ---- Texts and their counts ------------------------------------------------------------------------------ */

/* Everything that a lookup compares and changes is stored together, so that it waits for memory only once. */
typedef struct fw_counted_text {
  uint64_t hash, count;
  uint32_t length;
  char text[]; /* padded to a multiple of 8 bytes */
} fw_counted_text;

/* The caller's struct; all zeros is an empty counter. */
typedef struct fw_text_counter {
  char *records; /* counted texts, one after the other */
  size_t size, capacity;
  size_t count;
  uint64_t *slots; /* upper half of the hash, offset of the record / 8 + 1; 0: free */
  size_t mask;
} fw_text_counter;

void fw_text_counter_clear(fw_text_counter *counter);

/* Adds n occurrences of the text, whose hash is fw_string_table_hash; copies a new text. */
furrow_status fw_text_counter_add(fw_text_counter *counter, uint64_t hash, const char *text, uint32_t length,
                                  uint64_t n, furrow_error *err) FURROW_MUST_USE;
/* Adding a batch has four steps: hash each text, prefetch the slots, prefetch the records, add the texts. */
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
    __builtin_prefetch(record + 40); /* often in the next cache line */
    return;
  }
}
/* Adds all of `other`. */
furrow_status fw_text_counter_merge(fw_text_counter *counter, const fw_text_counter *other,
                                    furrow_error *err) FURROW_MUST_USE;
/* Returns the texts, the most frequent first, equally frequent ones in byte order. The caller owns the list
 * (fw_free), the counter owns the texts until something is added. */
furrow_status fw_text_counter_sort(const fw_text_counter *counter, const fw_counted_text ***sorted,
                                   furrow_error *err) FURROW_MUST_USE;

/* ---- Mean, deviation and quantiles of the numbers of a column -------------------------------------------- */

/* Data comes in numbered pieces, in any order, and is divided among several of these. Merged, they give the same
 * bits whatever the order was: sums are exact, and the sample for quantiles holds the numbers whose positions in the
 * data have the smallest hashes. The moments are the same for any pieces, so for any format of the data; so is the
 * sample, unless there are more numbers than it holds. */

#define FW_SAMPLE_NUMBERS 8192

/* Hashes a position in the data: a record of a piece. */
uint64_t fw_hash_place(uint64_t piece, uint64_t record);

#define FW_SUM_DIGITS 44

/* An exact sum of doubles below 2^256, up to 2^63 of them: digits of 32 bits, the first of weight 2^-1088, each with
 * space for the carries of many additions. */
typedef struct fw_exact_sum {
  int64_t digits[FW_SUM_DIGITS];
  uint64_t added; /* since the carries were added to their digits */
} fw_exact_sum;

typedef struct fw_number_sums {
  fw_exact_sum numbers, squares;
} fw_number_sums;

typedef struct fw_sampled_number {
  uint64_t hash;
  double number;
} fw_sampled_number;

/* The caller's struct; all zeros: no numbers. */
typedef struct fw_number_stats {
  uint64_t count;
  fw_number_sums *sums;      /* NULL: no numbers */
  fw_sampled_number *sample; /* a heap, the largest hash first */
  size_t sampled, sample_capacity;
  double least, most; /* the smallest and the largest number */
} fw_number_stats;

void fw_number_stats_clear(fw_number_stats *stats);
/* Adds a number of a piece; `record` is its position there. */
furrow_status fw_number_stats_add(fw_number_stats *stats, uint64_t piece, uint64_t record, double number,
                                  furrow_error *err) FURROW_MUST_USE;
furrow_status fw_number_stats_merge(fw_number_stats *stats, const fw_number_stats *other,
                                    furrow_error *err) FURROW_MUST_USE;
/* Computes count, mean and standard deviation of all numbers. */
void fw_number_stats_moments(const fw_number_stats *stats, uint64_t *count, double *mean, double *deviation);
/* Divides the numbers into up to `bins` bins of about equal size: at most bins - 1 different edges, ascending.
 * Number x is in the bin whose number is the count of edges <= x. Returns the number of edges. */
size_t fw_number_stats_edges(fw_number_stats *stats, size_t bins, double *edges);

/* ---- One pass over a table ------------------------------------------------------------------------------- */

/* What is learned about a field. */
typedef struct fw_learned {
  fw_text_counter texts;
  fw_number_stats numbers;
  uint64_t present, missing; /* records that have a cell, and the others */
} fw_learned;

void fw_learned_clear(fw_learned *learned);

/* Scans the whole source, each of several ranks a part, so that all ranks learn the same. learned[f] is for field f
 * of the dictionary, all zeros at first. Records that the encoding would reject are rejected (fw_table_refuse) or do
 * not count. */
furrow_status fw_learn_fields(fw_table_source *source, const furrow_encoder *encoder, const fw_encode_view *view,
                              const fw_table_scan_params *params, const furrow_comm *comm, fw_learned *learned,
                              furrow_parser_stats *stats, furrow_error *err) FURROW_MUST_USE;
/* Combines the statistics of a field over all ranks; all ranks call it and get the result. */
furrow_status fw_learned_join(fw_learned *learned, const furrow_comm *comm, furrow_error *err) FURROW_MUST_USE;
/* Which new names are kept: those that occur more often than `count`, and `ties` of those that occur as often. */
typedef struct fw_name_limit {
  uint64_t count, ties;
  uint64_t left_out; /* counted by fw_learned_finish */
} fw_name_limit;

/* Sets the members of a field from its statistics (all except `first` and the list of added features), and makes its
 * images; the field's texts point into them. before: the field of a dictionary that grows, whose names come first;
 * NULL: there is none. limit NULL: all names are kept. */
furrow_status fw_learned_finish(fw_field *field, const fw_field *before, fw_learned *learned, fw_name_limit *limit,
                                fw_field_image *image, furrow_error *err) FURROW_MUST_USE;
/* Appends the counts of the names that a field could get to counts: 8 bytes each. */
furrow_status fw_learned_new_counts(const fw_field *field, const fw_field *before, const fw_learned *learned,
                                    fw_buffer *counts, furrow_error *err) FURROW_MUST_USE;
/* Whether the field learns anything from the data. */
bool fw_field_learns(const fw_field *field);

#endif
