/* vector/index/index_card.c: counts what an index is built from and what is added later, and judges whether it should
 * be rebuilt. docs/formats/index_card.md has the measurements behind the limits. */
#include "vector/index/index_card.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/params.h"
#include "io/digest.h"
#include "vector/index/index.h"

/* ---- Bins of distances ---------------------------------------------------------------------------------- */

enum { BIN_BITS = 19 }; /* of the 23 bits after the point; the first 4 number the bins of a power of two */
#define LEAST 0x1p-32f
#define MOST 0x1p32f

static uint32_t bits_of(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

size_t fw_card_bin(float distance) {
  if (!(distance >= LEAST)) return 0;
  if (distance >= MOST) return FW_CARD_BINS - 1;
  return (size_t)((bits_of(distance) - bits_of(LEAST)) >> BIN_BITS) + 1;
}

float fw_card_bin_start(size_t bin) {
  if (bin == 0) return 0;
  const uint32_t bits = bits_of(LEAST) + ((uint32_t)(bin - 1) << BIN_BITS);
  float start;
  memcpy(&start, &bits, sizeof start);
  return start;
}

static double bin_middle(size_t bin) {
  if (bin == 0) return 0;
  return bin + 1 == FW_CARD_BINS ? (double)MOST
                                 : ((double)fw_card_bin_start(bin) + (double)fw_card_bin_start(bin + 1)) / 2;
}

/* ---- Counting ------------------------------------------------------------------------------------------- */

furrow_status fw_card_create(fw_card **card, const char *factory, furrow_error *err) {
  fw_card *made = NULL;
  FW_TRY(FW_ALLOC_ZERO(&made, 1, err));
  snprintf(made->factory, sizeof made->factory, "%s", factory);
  made->recall.recall = NAN;
  *card = made;
  return FURROW_OK;
}

void fw_card_free(fw_card *card) {
  if (!card) return;
  fw_companion_clear(&card->file);
  fw_free(card->fault);
  fw_free(card);
}

void fw_card_count_vectors(fw_card *card, const float *vectors, size_t n, size_t d, const float *distances) {
  fw_card_part *part = card->built_all ? &card->added : &card->built;
  for (size_t i = 0; i < n; i++) {
    if (isnan(distances[i])) continue;
    part->vectors++;
    part->digest += fw_digest_elements(vectors + i * d, sizeof(float), d, 0);
    if (distances[i] >= 0) part->bins[fw_card_bin(distances[i])]++;
  }
}

void fw_card_count_removed(fw_card *card, uint64_t removed) {
  card->removed += removed;
}

static void join_part(fw_card_part *part, const fw_card_part *other) {
  part->vectors += other->vectors;
  part->digest += other->digest;
  for (size_t i = 0; i < FW_CARD_BINS; i++) part->bins[i] += other->bins[i];
}

void fw_card_count_updated(fw_card *card, const fw_card *fresh, uint64_t n) {
  join_part(card->built_all ? &card->added : &card->built, &fresh->built);
  card->removed += n;
}

void fw_card_join(fw_card *card, const fw_card *other) {
  join_part(&card->built, &other->built);
  join_part(&card->added, &other->added);
  card->removed += other->removed;
  card->built_all = card->built_all || other->built_all;
  card->recall = (fw_card_recall){.recall = NAN};
}

void furrow_index_end_build(furrow_index *index) {
  if (index->card) index->card->built_all = true;
}

void furrow_index_move_card(furrow_index *to, furrow_index *from) {
  if (to == from) return;
  fw_card_free(to->card);
  to->card = from->card;
  from->card = NULL;
}

/* ---- Figures -------------------------------------------------------------------------------------------- */

/* The first bin so that `share` of the distances are in it or below it. */
static size_t quantile(const fw_card_part *part, uint64_t measured, double share) {
  const double wanted = share * (double)measured;
  uint64_t below = 0;
  for (size_t i = 0; i < FW_CARD_BINS; i++) {
    below += part->bins[i];
    if (part->bins[i] > 0 && (double)below >= wanted) return i;
  }
  return FW_CARD_BINS - 1;
}

static furrow_card_vectors describe(const fw_card_part *part) {
  furrow_card_vectors v = {.vectors = part->vectors, .digest = part->digest, .mean = NAN, .median = NAN, .far = NAN};
  double sum = 0;
  for (size_t i = 0; i < FW_CARD_BINS; i++) {
    v.measured += part->bins[i];
    sum += (double)part->bins[i] * bin_middle(i);
  }
  if (v.measured == 0) return v;
  v.mean = sum / (double)v.measured;
  v.median = (double)fw_card_bin_start(quantile(part, v.measured, 0.5));
  v.far = (double)fw_card_bin_start(quantile(part, v.measured, 0.99) + 1);
  return v;
}

/* Standard error of the mean of the distances. */
static double mean_error(const fw_card_part *part, const furrow_card_vectors *v) {
  double sum = 0;
  for (size_t i = 0; i < FW_CARD_BINS; i++) {
    const double off = bin_middle(i) - v->mean;
    sum += (double)part->bins[i] * off * off;
  }
  return sqrt(sum) / (double)v->measured;
}

/* Centroids that are means of vectors: of the lists or, without lists, of a sub-quantizer. 0: the kind has none. */
static uint64_t centroids_of(const furrow_index *index) {
  for (; index; index = index->child[0]) {
    if (fw_index_is_ivf(index)) return index->ivf.nlist;
    const fw_pq *pq = fw_index_pq(index);
    if (pq) return (uint64_t)1 << pq->nbits;
  }
  return 0;
}

/* ---- Judging -------------------------------------------------------------------------------------------- */

/* Fewer added vectors say too little about where the data went, and matter too little to searches. */
enum { LEAST_ADDED = 100, LEAST_SHARE = 100 /* of the vectors that the index was built from: 1 / 100 */ };
/* The ratio of the distances above which recall was seen to drop, with this many standard errors of certainty. */
#define FAR_RATIO 1.3
#define CERTAIN 3.0
/* After this share of the vectors is gone, neighbours are in lists that searches do not probe any more. */
#define GONE_SHARE 0.9

/* Training vectors are nearer to a centroid that is the mean of m of them than other vectors are: their squared
 * distances are (m - 1) / m of the variance, those of the others (m + 1) / m. */
static double expected_ratio(const furrow_index *index, const furrow_index_card *card) {
  const uint64_t centroids = centroids_of(index);
  const double m = centroids > 0 ? (double)card->built.measured / (double)centroids : INFINITY;
  return isinf(m) ? 1 : m > 1 ? sqrt((m + 1) / (m - 1)) : INFINITY;
}

static void judge_distances(const furrow_index *index, const fw_card *own, furrow_index_card *card) {
  if (!(card->built.mean > 0) || card->added.measured == 0) return;
  const double expected = expected_ratio(index, card) * card->built.mean;
  if (isinf(expected)) return; /* each centroid is a vector */
  card->distance_ratio = card->added.mean / expected;
  const double error = mean_error(&own->added, &card->added) / expected;
  if (card->added.measured < LEAST_ADDED || card->added.measured < card->built.measured / LEAST_SHARE ||
      card->distance_ratio - CERTAIN * error <= FAR_RATIO)
    return;
  card->stale = true;
  snprintf(card->advice, sizeof card->advice,
           "stale: rebuild: the %" PRIu64
           " vectors that were added lie %.1f times as far from their centroids as the %" PRIu64
           " that the index was built from",
           card->added.measured, card->distance_ratio, card->built.measured);
}

/* Whether searches look at some of the vectors only, by lists. */
static void judge_removed(const furrow_index *index, furrow_index_card *card) {
  const double all = (double)card->built.vectors + (double)card->added.vectors;
  const furrow_index *ivf = furrow_index_ivf(index);
  if (card->stale || !ivf || ivf->ivf.nprobe >= ivf->ivf.nlist || (double)card->removed <= GONE_SHARE * all) return;
  card->stale = true;
  snprintf(card->advice, sizeof card->advice,
           "stale: rebuild: %" PRIu64
           " of %.0f vectors were removed, so the nearest of the others are in more lists than "
           "searches probe",
           card->removed, all);
}

furrow_status furrow_index_get_card(const furrow_index *index, furrow_index_card *card, furrow_error *err) {
  const fw_card *own = index->card;
  if (!own) return fw_fail(err, FURROW_E_NOT_FOUND, "the index has no card");
  if (own->fault) {
    if (err) *err = *own->fault;
    return FURROW_E_FORMAT;
  }
  furrow_index_card full = {.built = describe(&own->built),
                            .added = describe(&own->added),
                            .removed = own->removed,
                            .recall = own->recall.recall,
                            .recall_k = own->recall.k,
                            .recall_queries = own->recall.queries,
                            .recall_vectors = own->recall.vectors,
                            .distance_ratio = NAN};
  memcpy(full.factory, own->factory, sizeof full.factory);
  judge_distances(index, own, &full);
  judge_removed(index, &full);
  fw_info_write(card, &full, sizeof full);
  return FURROW_OK;
}
