/* learn/metrics/score_list.c: scores of rows of two classes, one by one, and their order. */
#include "learn/metrics/metrics.h"

#include "base/error.h"
#include "base/mem.h"
#include "base/sort.h"

void fw_score_list_clear(fw_score_list *list) {
  fw_free(list->key);
  fw_free(list->weight);
  *list = (fw_score_list){0};
}

furrow_status fw_score_list_reserve(fw_score_list *list, size_t count, furrow_error *err) {
  FW_TRY(FW_GROW(&list->key, &list->key_capacity, count, err));
  return FW_GROW(&list->weight, &list->weight_capacity, count, err);
}

/* ---- Radix sort, from the lowest digit ------------------------------------------------------------------ */

/* 11 bits: a float has 3 digits, a double 6, and the 2048 output positions fit into the cache. */
enum { DIGIT_BITS = 11, DIGITS = 1 << DIGIT_BITS };

static uint32_t weight_bits(float weight) {
  uint32_t bits;
  memcpy(&bits, &weight, sizeof bits);
  return bits;
}

static size_t digit_of(uint64_t number, unsigned shift) {
  return (size_t)(number >> shift) & (DIGITS - 1);
}

/* From the number of rows of each digit to the offset of its first row. */
static void fill_offsets(size_t *offset) {
  size_t next = 0;
  for (size_t d = 0; d < DIGITS; d++) {
    const size_t rows = offset[d];
    offset[d] = next;
    next += rows;
  }
}

/* Bits that are not the same in all rows: digits without them need no pass. */
typedef struct differences {
  uint64_t key;
  uint32_t weight;
  bool floats; /* all scores are */
} differences;

static differences find_differences(const fw_score_list *list) {
  differences found = {.floats = true};
  for (size_t i = 0; i < list->count; i++) {
    const double score = fw_key_score(list->key[i]);
    found.key |= list->key[i] ^ list->key[0];
    found.weight |= weight_bits(list->weight[i]) ^ weight_bits(list->weight[0]);
    found.floats &= (double)(float)score == score;
  }
  /* Where weights differ by the class alone, the order within a tie changes no sum. */
  if ((found.weight & 0x7fffffff) == 0) found.weight = 0;
  return found;
}

/* ---- Floats: key and weight are one number -------------------------------------------------------------- */

static uint64_t pack(uint64_t key, float weight) {
  const float score = (float)fw_key_score(key);
  uint32_t bits;
  memcpy(&bits, &score, sizeof bits);
  bits = bits >> 31 ? ~bits : bits | (uint32_t)1 << 31;
  return (uint64_t)bits << 32 | weight_bits(weight);
}

static void unpack(uint64_t packed, uint64_t *key, float *weight) {
  const uint32_t low = (uint32_t)packed;
  uint32_t bits = (uint32_t)(packed >> 32);
  bits = bits >> 31 ? bits & 0x7fffffff : ~bits;
  float score;
  memcpy(&score, &bits, sizeof score);
  memcpy(weight, &low, sizeof low);
  *key = fw_score_key((double)score);
}

static void move_numbers(const uint64_t *from, uint64_t *to, size_t count, unsigned shift) {
  size_t offset[DIGITS] = {0};
  for (size_t i = 0; i < count; i++) offset[digit_of(from[i], shift)]++;
  fill_offsets(offset);
  for (size_t i = 0; i < count; i++) to[offset[digit_of(from[i], shift)]++] = from[i];
}

static furrow_status sort_floats(fw_score_list *list, const differences *differ, furrow_error *err) {
  uint64_t *other = NULL;
  FW_TRY(FW_ALLOC(&other, list->count, err));
  uint64_t *from = list->key, *to = other;
  for (size_t i = 0; i < list->count; i++) from[i] = pack(from[i], list->weight[i]);
  for (unsigned shift = differ->weight ? 0 : 32; shift < 64; shift += DIGIT_BITS) {
    move_numbers(from, to, list->count, shift);
    uint64_t *const moved = to;
    to = from;
    from = moved;
  }
  for (size_t i = 0; i < list->count; i++) unpack(from[i], &list->key[i], &list->weight[i]);
  fw_free(other);
  return FURROW_OK;
}

/* ---- Doubles -------------------------------------------------------------------------------------------- */

static inline size_t row_digit(const fw_score_list *list, size_t i, bool by_weight, unsigned shift) {
  return digit_of(by_weight ? weight_bits(list->weight[i]) : list->key[i], shift);
}

/* Copies all rows, ordered by one digit of their key or of their weight; rows of one digit keep their order. */
static inline void move_rows(const fw_score_list *from, fw_score_list *to, bool by_weight, unsigned shift) {
  size_t offset[DIGITS] = {0};
  for (size_t i = 0; i < from->count; i++) offset[row_digit(from, i, by_weight, shift)]++;
  fill_offsets(offset);
  for (size_t i = 0; i < from->count; i++) {
    const size_t at = offset[row_digit(from, i, by_weight, shift)]++;
    to->key[at] = from->key[i];
    to->weight[at] = from->weight[i];
  }
}

static void swap(fw_score_list *a, fw_score_list *b) {
  const fw_score_list kept = *a;
  *a = *b;
  *b = kept;
}

/* Orders rows by the digits of their keys from `lowest` on; by their weights before that, where these differ. */
static void sort_digits(fw_score_list *list, fw_score_list *other, const differences *differ, unsigned lowest) {
  for (unsigned shift = 0; shift < 32; shift += DIGIT_BITS) {
    if (!digit_of(differ->weight, shift)) continue;
    move_rows(list, other, true, shift);
    swap(list, other);
  }
  for (unsigned shift = lowest; shift < 64; shift += DIGIT_BITS) {
    if (!digit_of(differ->key, shift)) continue;
    move_rows(list, other, false, shift);
    swap(list, other);
  }
}

/* Sorts rows that are almost sorted; returns false if they are not, and gives up. */
static bool finish_order(fw_score_list *list) {
  size_t left = 2 * list->count;
  for (size_t i = 1; i < list->count; i++) {
    const uint64_t key = list->key[i];
    const float weight = list->weight[i];
    size_t at = i;
    for (; at > 0 && list->key[at - 1] > key && left > 0; at--, left--) {
      list->key[at] = list->key[at - 1];
      list->weight[at] = list->weight[at - 1];
    }
    list->key[at] = key;
    list->weight[at] = weight;
    if (left == 0) return false;
  }
  return true;
}

/* Scores mostly differ in their upper half already. */
static furrow_status sort_doubles(fw_score_list *list, const differences *differ, furrow_error *err) {
  fw_score_list other = {0};
  const furrow_status status = fw_score_list_reserve(&other, list->count, err);
  other.count = list->count;
  if (status == FURROW_OK) {
    sort_digits(list, &other, differ, 3 * DIGIT_BITS);
    if (!finish_order(list)) sort_digits(list, &other, differ, 0);
  }
  fw_score_list_clear(&other);
  return status;
}

furrow_status fw_score_list_sort(fw_score_list *list, furrow_error *err) {
  const differences differ = find_differences(list);
  if (!differ.key && !differ.weight) return FURROW_OK;
  return (differ.floats ? sort_floats : sort_doubles)(list, &differ, err);
}

/* ---- With all threads: ranges of scores, each sorted by one ---- */

enum { RANGES = 64, PROBES = 4, LEAST_ROWS = 1 << 14 };

typedef struct range_sort {
  fw_score_list *list, other;
  uint64_t limit[RANGES - 1]; /* the first key of each range but the first */
  size_t at[RANGES][RANGES];  /* for each block and range: the number of rows, later their offset */
  size_t begin[RANGES + 1];   /* begins of ranges, in `other` */
  furrow_status status[RANGES];
} range_sort;

/* Chooses limits from the keys of some rows, so that each range has about the same number of rows. */
static void choose_limits(range_sort *s) {
  uint64_t probe[RANGES * PROBES];
  for (size_t i = 0; i < RANGES * PROBES; i++) probe[i] = s->list->key[s->list->count * i / (RANGES * PROBES)];
  fw_sort_u64(probe, RANGES * PROBES);
  for (size_t i = 1; i < RANGES; i++) s->limit[i - 1] = probe[i * PROBES];
}

/* The number of limits that are not above the key, by halving without branches. */
static inline size_t range_of(const range_sort *s, uint64_t key) {
  size_t range = 0;
  for (size_t step = RANGES / 2; step > 0; step /= 2) range += s->limit[range + step - 1] <= key ? step : 0;
  return range;
}

static size_t block_begin(const range_sort *s, size_t block) {
  return s->list->count * block / RANGES;
}

static void count_block(void *context, size_t block) {
  range_sort *s = context;
  memset(s->at[block], 0, sizeof s->at[block]);
  for (size_t i = block_begin(s, block); i < block_begin(s, block + 1); i++)
    s->at[block][range_of(s, s->list->key[i])]++;
}

static void place_blocks(range_sort *s) {
  size_t next = 0;
  for (size_t range = 0; range < RANGES; range++) {
    s->begin[range] = next;
    for (size_t block = 0; block < RANGES; block++) {
      const size_t rows = s->at[block][range];
      s->at[block][range] = next;
      next += rows;
    }
  }
  s->begin[RANGES] = next;
}

static void move_block(void *context, size_t block) {
  range_sort *s = context;
  for (size_t i = block_begin(s, block); i < block_begin(s, block + 1); i++) {
    const size_t to = s->at[block][range_of(s, s->list->key[i])]++;
    s->other.key[to] = s->list->key[i];
    s->other.weight[to] = s->list->weight[i];
  }
}

static void copy_rows(const fw_score_list *from, size_t at, fw_score_list *to, size_t to_at, size_t count) {
  if (count == 0) return;
  memcpy(to->key + to_at, from->key + at, count * sizeof *to->key);
  memcpy(to->weight + to_at, from->weight + at, count * sizeof *to->weight);
}

/* Sorting swaps arrays, so a range is sorted in a list of its own. After a failure the range has its rows in undefined
 * order. */
static void sort_range(void *context, size_t range) {
  range_sort *s = context;
  const size_t begin = s->begin[range], count = s->begin[range + 1] - begin;
  fw_score_list own = {0};
  s->status[range] = fw_score_list_reserve(&own, count, NULL);
  if (s->status[range] == FURROW_OK) {
    copy_rows(&s->other, begin, &own, 0, count);
    own.count = count;
    s->status[range] = fw_score_list_sort(&own, NULL);
  }
  if (own.count == count)
    copy_rows(&own, 0, s->list, begin, count);
  else
    copy_rows(&s->other, begin, s->list, begin, count);
  fw_score_list_clear(&own);
}

furrow_status fw_score_list_sort_in(fw_score_list *list, fw_spin_pool *pool, furrow_error *err) {
  if (list->count < LEAST_ROWS || fw_spin_pool_threads(pool) == 1) return fw_score_list_sort(list, err);
  range_sort s = {.list = list};
  furrow_status status = fw_score_list_reserve(&s.other, list->count, err);
  if (status == FURROW_OK) {
    choose_limits(&s);
    fw_spin_pool_run(pool, RANGES, count_block, &s);
    place_blocks(&s);
    fw_spin_pool_run(pool, RANGES, move_block, &s);
    fw_spin_pool_run(pool, RANGES, sort_range, &s);
    for (size_t i = 0; i < RANGES; i++)
      if (s.status[i] != FURROW_OK) status = fw_fail_memory(err, list->count);
  }
  fw_score_list_clear(&s.other);
  return status;
}
