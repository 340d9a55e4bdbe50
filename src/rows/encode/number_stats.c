/* rows/encode/number_stats.c: moments by piece, quantiles from a sample. */
#include "rows/encode/learn_fields.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"

void fw_number_stats_clear(fw_number_stats *stats) {
  fw_free(stats->pieces);
  fw_free(stats->sample);
  memset(stats, 0, sizeof *stats);
}

/* ---- The sample ---- */

/* The finalizer of splitmix64. */
uint64_t fw_hash_place(uint64_t piece, uint64_t record) {
  uint64_t x = (piece << 32) + record + 0x9e3779b97f4a7c15;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
  x = (x ^ x >> 27) * 0x94d049bb133111eb;
  return x ^ x >> 31;
}

/* Moves element `at` of the heap down to where it belongs. */
static void sift_down(fw_sampled_number *heap, size_t count, size_t at) {
  for (size_t child; (child = 2 * at + 1) < count; at = child) {
    if (child + 1 < count && heap[child + 1].hash > heap[child].hash) child++;
    if (heap[at].hash >= heap[child].hash) return;
    const fw_sampled_number larger = heap[child];
    heap[child] = heap[at];
    heap[at] = larger;
  }
}

static void sift_up(fw_sampled_number *heap, size_t at) {
  for (size_t parent; at > 0 && heap[parent = (at - 1) / 2].hash < heap[at].hash; at = parent) {
    const fw_sampled_number larger = heap[at];
    heap[at] = heap[parent];
    heap[parent] = larger;
  }
}

static furrow_status add_sample(fw_number_stats *stats, fw_sampled_number number, furrow_error *err) {
  if (stats->sampled == FW_SAMPLE_NUMBERS) {
    if (number.hash >= stats->sample[0].hash) return FURROW_OK;
    stats->sample[0] = number;
    sift_down(stats->sample, stats->sampled, 0);
    return FURROW_OK;
  }
  if (stats->sampled == stats->sample_capacity) {
    const size_t capacity = stats->sample_capacity ? 2 * stats->sample_capacity : 4;
    FW_TRY(FW_REALLOC(&stats->sample, capacity, err));
    stats->sample_capacity = capacity;
  }
  stats->sample[stats->sampled] = number;
  sift_up(stats->sample, stats->sampled++);
  return FURROW_OK;
}

/* ---- Pieces ---- */

static furrow_status add_piece(fw_number_stats *stats, fw_number_piece piece, furrow_error *err) {
  if (stats->piece_count == stats->piece_capacity) { /* many columns have one piece */
    const size_t capacity = stats->piece_capacity ? 2 * stats->piece_capacity : 1;
    FW_TRY(FW_REALLOC(&stats->pieces, capacity, err));
    stats->piece_capacity = capacity;
  }
  stats->pieces[stats->piece_count++] = piece;
  return FURROW_OK;
}

furrow_status fw_number_stats_add(fw_number_stats *stats, uint64_t piece, uint64_t record, double number,
                                  furrow_error *err) {
  if (stats->piece_count == 0) stats->most = number;
  if (stats->piece_count == 0 || stats->pieces[stats->piece_count - 1].piece != piece)
    FW_TRY(add_piece(stats, (fw_number_piece){.piece = piece}, err));
  fw_number_piece *here = &stats->pieces[stats->piece_count - 1];
  const double distance = number - here->mean;
  here->count++;
  here->mean += distance / (double)here->count;
  here->squares += distance * (number - here->mean);
  if (number > stats->most) stats->most = number;
  return add_sample(stats, (fw_sampled_number){fw_hash_place(piece, record), number}, err);
}

furrow_status fw_number_stats_merge(fw_number_stats *stats, const fw_number_stats *other, furrow_error *err) {
  if (other->piece_count == 0) return FURROW_OK;
  if (stats->piece_count == 0 || other->most > stats->most) stats->most = other->most;
  for (size_t i = 0; i < other->piece_count; i++) FW_TRY(add_piece(stats, other->pieces[i], err));
  for (size_t i = 0; i < other->sampled; i++) FW_TRY(add_sample(stats, other->sample[i], err));
  return FURROW_OK;
}

/* ---- Results ---- */

static int compare_pieces(const void *a, const void *b) {
  const fw_number_piece *x = a, *y = b;
  return (x->piece > y->piece) - (x->piece < y->piece);
}

void fw_number_stats_moments(fw_number_stats *stats, uint64_t *count, double *mean, double *deviation) {
  fw_number_piece all = {0};
  if (stats->piece_count > 1) qsort(stats->pieces, stats->piece_count, sizeof *stats->pieces, compare_pieces);
  if (stats->piece_count > 0)
    all = stats->pieces[0]; /* copied, not merged: a column of one value must have a deviation of exactly 0 */
  for (size_t i = 1; i < stats->piece_count; i++) {
    const fw_number_piece *p = &stats->pieces[i];
    const double n = (double)(all.count + p->count), distance = p->mean - all.mean;
    all.squares += p->squares + distance * distance * (double)all.count * (double)p->count / n;
    all.mean += distance * (double)p->count / n;
    all.count += p->count;
  }
  *count = all.count;
  *mean = all.mean;
  *deviation = all.count > 0 ? sqrt(all.squares / (double)all.count) : 0;
}

static int compare_numbers(const void *a, const void *b) {
  const double x = ((const fw_sampled_number *)a)->number, y = ((const fw_sampled_number *)b)->number;
  return (x > y) - (x < y);
}

size_t fw_number_stats_edges(fw_number_stats *stats, size_t bins, double *edges) {
  size_t count = 0;
  if (stats->sampled == 0) return 0;
  qsort(stats->sample, stats->sampled, sizeof *stats->sample, compare_numbers);
  for (size_t i = 1; i < bins; i++) {
    const double edge = stats->sample[i * stats->sampled / bins].number;
    if (edge > stats->sample[0].number && (count == 0 || edge > edges[count - 1])) edges[count++] = edge;
  }
  return count;
}
