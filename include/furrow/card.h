/* furrow/card.h: the card of an index: what it was built from, the recall that was measured, and whether vectors that
 * were added since then still fit its centroids.
 *
 * An index file has no place for this, so it is stored next to the index, in INDEX.card (docs/formats/index_card.md).
 * Faiss ignores that file. An index that furrow_index_create made has a card from the beginning; one that is loaded has
 * it if furrow_index_load_params.card is set and there is one. furrow_index_add, remove, update and merge keep it
 * right, furrow_index_tune notes the recall, and furrow_index_save writes it if furrow_index_save_params.card is set.
 *
 *   furrow_index_card card;
 *   furrow_index_card_init(&card);
 *   if (furrow_index_get_card(index, &card, &err) == FURROW_OK && card.stale) printf("%s\n", card.advice);
 *
 * Threads: as in furrow/vector.h.
 */
#ifndef FURROW_CARD_H
#define FURROW_CARD_H

#include "furrow/vector.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Vectors of an index, and how far they were from their centroids when they were added. The centroid is that of the
 * vector's list or, without lists, what its code decodes to. */
typedef struct furrow_card_vectors {
  uint64_t vectors;  /* number of vectors */
  uint64_t digest;   /* of the vectors in any order: the sum of the XXH3-64 of each, as little-endian floats */
  uint64_t measured; /* vectors with a distance; 0 for kinds without centroids (flat vectors) */
  double mean;       /* mean distance to the centroid, not squared; NaN without a distance */
  double median;     /* median distance, rounded down by at most a sixteenth; NaN without a distance */
  double far;        /* 99 of 100 vectors are nearer; rounded up by at most a sixteenth; NaN without a distance */
} furrow_card_vectors;

/* What the card of an index says. */
typedef struct furrow_index_card {
  size_t size;               /* set by furrow_index_card_init */
  char factory[256];         /* the factory string that the index was built by */
  furrow_card_vectors built; /* the vectors that it was built from */
  furrow_card_vectors added; /* vectors that were added since then, also if they were removed again */
  uint64_t removed;          /* vectors that were removed since then */
  double recall;             /* share of the k nearest that searches with the stored settings find; NaN: not measured */
  uint64_t recall_k;         /* its k */
  uint64_t recall_queries;   /* queries that it was measured with */
  uint64_t recall_vectors;   /* vectors that the index had then */
  double distance_ratio;     /* added.mean / built.mean, corrected for centroids that are means of few vectors; NaN:
                                there is nothing to compare */
  bool stale;                /* the index should be rebuilt */
  char advice[192];          /* why; "" if it is not stale */
} furrow_index_card;

/* Sets the size, and everything else to 0. */
static inline void furrow_index_card_init(furrow_index_card *card) {
  memset(card, 0, sizeof *card);
  card->size = sizeof *card;
}

/* Fills *card, which furrow_index_card_init has initialised.
 * Errors: E_NOT_FOUND, the index has no card; E_FORMAT, there is a file of a card, but it is damaged or belongs to
 * another index (err->file is that file, and the message says what is wrong). */
FURROW_API furrow_status furrow_index_get_card(const furrow_index *index, furrow_index_card *card,
                                               furrow_error *err) FURROW_MUST_USE;
/* Ends the building of an index that furrow_index_create made: its vectors are what it was built from, and vectors that
 * are added later count as added. An index that is saved and loaded again is built, too. */
FURROW_API void furrow_index_end_build(furrow_index *index);
/* Moves the card of an index to another one of the same training, which goes on counting where the first one ended;
 * furrow_index_save_parts adds up the cards of its parts. */
FURROW_API void furrow_index_move_card(furrow_index *to, furrow_index *from);

#ifdef __cplusplus
}
#endif

#endif
