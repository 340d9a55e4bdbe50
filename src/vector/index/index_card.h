/* vector/index/index_card.h: the card of an index in memory (furrow/card.h). Distances are counted in bins, so that
 * counts of several calls, threads and processes add up to the same card in any order. */
#ifndef FW_VECTOR_INDEX_INDEX_CARD_H
#define FW_VECTOR_INDEX_INDEX_CARD_H

#include "furrow/card.h"
#include "vector/data/companion.h"

/* Bin 0 has distances below 2^-32, bin i > 0 those from fw_card_bin_start(i) on: 16 for each power of two. The last bin
 * has everything from 2^32 on. */
enum { FW_CARD_BINS = 64 * 16 + 2, FW_CARD_FACTORY = 256 };

typedef struct fw_card_part {
  uint64_t vectors, digest;
  uint64_t bins[FW_CARD_BINS];
} fw_card_part;

typedef struct fw_card_recall {
  double recall; /* NaN: not measured */
  uint64_t k, queries, vectors;
} fw_card_recall;

typedef struct fw_card {
  fw_companion file; /* only its stamp is used; the text is parsed when it is read */
  bool built_all;    /* new vectors count as added */
  char factory[FW_CARD_FACTORY];
  fw_card_part built, added;
  uint64_t removed;
  fw_card_recall recall;
  furrow_error *fault; /* NULL; else why there is no card, and everything above is empty */
} fw_card;

extern const fw_companion_kind fw_card_kind;

float fw_card_bin_start(size_t bin);
size_t fw_card_bin(float distance);

/* Makes the card of a new index. */
furrow_status fw_card_create(fw_card **card, const char *factory, furrow_error *err) FURROW_MUST_USE;
void fw_card_free(fw_card *card);
/* Whether there is a card, not the reason why there is none. */
static inline bool fw_card_is_kept(const fw_card *card) {
  return card && !card->fault;
}
/* Adds n vectors of d floats to the counts. distances[i] is that of vector i to its centroid; negative: it has none;
 * NaN: the vector was skipped. */
void fw_card_count_vectors(fw_card *card, const float *vectors, size_t n, size_t d, const float *distances);
void fw_card_count_removed(fw_card *card, uint64_t removed);
/* Counts n vectors that were replaced by the vectors that `fresh` has counted. */
void fw_card_count_updated(fw_card *card, const fw_card *fresh, uint64_t n);
/* Adds the counts of another card. The recall is that of other vectors afterwards: it is forgotten. */
void fw_card_join(fw_card *card, const fw_card *other);

/* ---- The text of a card (index_card_text.c) ---- */

/* Writes the file of a card that belongs to the index with that stamp. */
furrow_status fw_card_write(const fw_card *card, const fw_index_stamp *stamp, fw_buffer *text,
                            furrow_error *err) FURROW_MUST_USE;
/* Reads a file; `card` must be all zeros, and is after a failure. E_FORMAT. */
furrow_status fw_card_read(fw_card *card, const char *text, size_t size, const char *path,
                           furrow_error *err) FURROW_MUST_USE;

#endif
