/* bench/bench_matrix_formats.c: how fast do the formats of matrices turn bytes into numbers and back?
 *
 *   bench_matrix_formats [--records N] [--rounds R] [--rows K] [--json]
 *
 * N (200,000) records of each format, element type and width of column ids; column formats have K (8) values a
 * record. Decoding goes block by block, as the reader does it; so does encoding. In turns with it, a plain loop in C
 * does the same: strtof, strtod and strtoll over the text, snprintf to it, one byte swap after the other for the
 * binary formats. MB are 10^6 bytes of the format; times are the thread's own (CPU), medians of the rounds, and the
 * ratio is the median of theirs. Before that, what was decoded is compared with what was encoded. Exits with 1 if it
 * differs. */
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/endian.h"
#include "base/rng.h"
#include "furrow/model.h"
#include "model/format/matrix_format.h"

enum { BLOCK = 8192, PAD = 64, MOST_ROUNDS = 101 };

typedef struct options {
  uint64_t records, rounds, rows;
  bool json;
} options;

/* One format with one type: the records, their bytes, and where they are decoded to. */
typedef struct job {
  const furrow_matrix_format *format;
  furrow_matrix_format_context context;
  size_t values; /* of a record */
  furrow_panel panel;
  char *bytes; /* PAD before and behind */
  size_t size;
  furrow_matrix_records records;
  char *text; /* one block, encoded */
} job;

static void *must_alloc(size_t bytes) {
  void *memory = calloc(1, bytes + 2 * PAD * sizeof(double));
  if (memory == NULL) abort();
  return memory;
}

static void fail(const furrow_error *err) {
  fprintf(stderr, "bench_matrix_formats: %s\n", err->message);
  exit(1);
}

/* ---- Data ----------------------------------------------------------------------------------------------- */

static void put_element(void *values, furrow_element_type type, size_t i, fw_rng *rng) {
  switch (type) {
  case FURROW_ELEMENT_F64: ((double *)values)[i] = fw_rng_normal(rng); break;
  case FURROW_ELEMENT_F32: ((float *)values)[i] = (float)fw_rng_normal(rng); break;
  case FURROW_ELEMENT_I64: ((int64_t *)values)[i] = (int64_t)fw_rng_next(rng) >> 20; break;
  default: ((int32_t *)values)[i] = (int32_t)fw_rng_next(rng) >> 10; break;
  }
}

static void encode_all(job *j, bool keep);

static job make_job(const furrow_matrix_format *format, furrow_element_type type, int key_bits, const options *o) {
  static const int32_t row_ids[1024];
  const bool by_column = format->flags & FURROW_MATRIX_FORMAT_BY_COLUMN;
  job j = {.format = format,
           .context = {.type = type, .key_bits = key_bits, .separator = ",", .separator_length = 1},
           .values = by_column ? o->rows : 1};
  const size_t element = fw_element_bytes(type);
  j.context.record_values = j.values;
  size_t least, most;
  format->record_size(&j.context, &least, &most);
  void *values = must_alloc(o->records * j.values * element);
  int64_t *cols = must_alloc(o->records * sizeof *cols);
  fw_rng rng;
  fw_rng_init(&rng, 1);
  for (size_t i = 0; i < o->records; i++) cols[i] = (i ? cols[i - 1] : 0) + 1 + (int64_t)fw_rng_below(&rng, 100);
  if (key_bits == 64)
    for (size_t i = 0; i < o->records; i++) cols[i] += INT64_C(1) << 50;
  for (size_t i = 0; i < o->records * j.values; i++) put_element(values, type, i, &rng);
  j.panel = (furrow_panel){
      .rows = j.values, .row_ids = row_ids, .cols = o->records, .col_ids = cols, .type = type, .values = {values}};
  const size_t longest = format->flags & FURROW_MATRIX_FORMAT_TEXT ? 48 + 32 * j.values : most; /* of what there is */
  j.bytes = (char *)must_alloc(o->records * longest + 2 * PAD) + PAD;
  j.text = must_alloc(BLOCK * most);
  j.records = (furrow_matrix_records){.capacity = BLOCK,
                                      .row_ids = must_alloc(BLOCK * sizeof(int32_t)),
                                      .col_ids = must_alloc(BLOCK * sizeof(int64_t)),
                                      .values = must_alloc(BLOCK * j.values * element)};
  encode_all(&j, true);
  return j;
}

static void free_job(job *j) {
  free((void *)(uintptr_t)j->panel.values.any);
  free((void *)(uintptr_t)j->panel.col_ids);
  free(j->bytes - PAD);
  free(j->text);
  free(j->records.row_ids);
  free(j->records.col_ids);
  free(j->records.values);
}

/* ---- Ours ----------------------------------------------------------------------------------------------- */

static void encode_all(job *j, bool keep) {
  furrow_error err;
  size_t total = 0;
  for (size_t first = 0; first < j->panel.cols; first += BLOCK) {
    const size_t count = j->panel.cols - first < BLOCK ? j->panel.cols - first : BLOCK;
    size_t written;
    if (j->format->encode(&j->context, &j->panel, first, count, j->text, &written, &err) != FURROW_OK) fail(&err);
    if (keep) memcpy(j->bytes + total, j->text, written);
    total += written;
  }
  j->size = total;
}

static void check_block(const job *j, size_t first) {
  const size_t element = fw_element_bytes(j->context.type) * j->values;
  const bool keys = j->format->flags & FURROW_MATRIX_FORMAT_COL_IDS;
  if (memcmp(j->records.values, (const char *)j->panel.values.any + first * element, j->records.count * element) == 0 &&
      (!keys || memcmp(j->records.col_ids, j->panel.col_ids + first, j->records.count * sizeof(int64_t)) == 0))
    return;
  fprintf(stderr, "bench_matrix_formats: %s gives other records than it was given\n", j->format->name);
  exit(1);
}

static void decode_all(job *j, bool check) {
  furrow_error err;
  size_t at = 0, records = 0;
  while (at < j->size) {
    size_t used;
    if (j->format->decode(&j->context, j->bytes + at, j->size - at, true, &used, &j->records, &err) != FURROW_OK)
      fail(&err);
    if (check) check_block(j, records);
    at += used;
    records += j->records.count;
  }
  if (records != j->panel.cols) abort();
}

static void ours_decode(job *j) {
  decode_all(j, false);
}

static void ours_encode(job *j) {
  encode_all(j, false);
}

/* ---- The plain way -------------------------------------------------------------------------------------- */

static const char *plain_value(const char *s, const job *j, size_t i) {
  char *end = NULL;
  void *values = j->records.values;
  switch (j->context.type) {
  case FURROW_ELEMENT_F64: ((double *)values)[i] = strtod(s, &end); break;
  case FURROW_ELEMENT_F32: ((float *)values)[i] = strtof(s, &end); break;
  case FURROW_ELEMENT_I64: ((int64_t *)values)[i] = strtoll(s, &end, 10); break;
  default: ((int32_t *)values)[i] = (int32_t)strtol(s, &end, 10); break;
  }
  return end + 1; /* the separator or line end */
}

static void plain_text_decode(job *j) {
  const char *s = j->bytes;
  for (size_t k = 0; k < j->panel.cols; k++) {
    const size_t i = k % BLOCK;
    char *end;
    if (j->format->flags & FURROW_MATRIX_FORMAT_ROW_IDS) {
      j->records.row_ids[i] = (int32_t)strtol(s, &end, 10);
      s = end + 1;
    }
    if (j->format->flags & FURROW_MATRIX_FORMAT_COL_IDS) {
      j->records.col_ids[i] = strtoll(s, &end, 10);
      s = end + 1;
    }
    for (size_t v = 0; v < j->values; v++) s = plain_value(s, j, i * j->values + v);
  }
}

static void plain_text_encode(job *j) {
  char *out = j->text;
  for (size_t k = 0; k < j->panel.cols; k++) {
    if (k % BLOCK == 0) out = j->text;
    if (j->format->flags & FURROW_MATRIX_FORMAT_ROW_IDS) out += sprintf(out, "%" PRId32 ",", j->panel.row_ids[0]);
    if (j->format->flags & FURROW_MATRIX_FORMAT_COL_IDS) out += sprintf(out, "%" PRId64 ",", j->panel.col_ids[k]);
    for (size_t v = 0; v < j->values; v++) {
      const size_t i = k * j->values + v;
      const char end = v + 1 < j->values ? ',' : '\n';
      switch (j->context.type) {
      case FURROW_ELEMENT_F64: out += sprintf(out, "%.17g%c", j->panel.values.f64[i], end); break;
      case FURROW_ELEMENT_F32: out += sprintf(out, "%.9g%c", (double)j->panel.values.f32[i], end); break;
      case FURROW_ELEMENT_I64: out += sprintf(out, "%" PRId64 "%c", j->panel.values.i64[i], end); break;
      default: out += sprintf(out, "%" PRId32 "%c", j->panel.values.i32[i], end); break;
      }
    }
  }
}

/* Sizes that the compiler does not know, as in a loop over a table of columns. */
static void swap_number(char *to, const char *from, size_t size) {
  for (size_t i = 0; i < size; i++) to[i] = from[size - 1 - i];
}

static void plain_binary_decode(job *j) {
  const char *s = j->bytes;
  const size_t key = (size_t)j->context.key_bits / 8;
  const size_t element = fw_element_bytes(j->context.type);
  for (size_t k = 0; k < j->panel.cols; k++) {
    const size_t i = k % BLOCK;
    if (j->format->flags & FURROW_MATRIX_FORMAT_ROW_IDS) {
      j->records.row_ids[i] = (int32_t)fw_get_be32(s);
      s += 4;
    }
    if (j->format->flags & FURROW_MATRIX_FORMAT_COL_IDS) {
      j->records.col_ids[i] = key == 4 ? (int32_t)fw_get_be32(s) : (int64_t)fw_get_be64(s);
      s += key;
    }
    for (size_t v = 0; v < j->values; v++, s += element)
      swap_number((char *)j->records.values + (i * j->values + v) * element, s, element);
  }
}

static void plain_binary_encode(job *j) {
  char *out = j->text;
  const size_t element = fw_element_bytes(j->context.type);
  for (size_t k = 0; k < j->panel.cols; k++) {
    if (k % BLOCK == 0) out = j->text;
    if (j->format->flags & FURROW_MATRIX_FORMAT_ROW_IDS) {
      fw_put_be32(out, (uint32_t)j->panel.row_ids[0]);
      out += 4;
    }
    if (j->format->flags & FURROW_MATRIX_FORMAT_COL_IDS) {
      const uint64_t col = (uint64_t)j->panel.col_ids[k];
      if (j->context.key_bits == 32)
        fw_put_be32(out, (uint32_t)col);
      else
        fw_put_be64(out, col);
      out += j->context.key_bits / 8;
    }
    for (size_t v = 0; v < j->values; v++, out += element)
      swap_number(out, (const char *)j->panel.values.any + (k * j->values + v) * element, element);
  }
}

/* ---- Measuring ------------------------------------------------------------------------------------------ */

static double seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static int compare_doubles(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static double median(double *v, size_t n) {
  qsort(v, n, sizeof *v, compare_doubles);
  return n % 2 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}

static double timed(void (*pass)(job *), job *j) {
  const double start = seconds();
  pass(j);
  return seconds() - start;
}

static void contest(job *j, const char *what, void (*ours)(job *), void (*plain)(job *), const options *o) {
  double a[MOST_ROUNDS], b[MOST_ROUNDS], ratio[MOST_ROUNDS];
  for (size_t r = 0; r < o->rounds; r++) {
    a[r] = timed(ours, j);
    b[r] = timed(plain, j);
    ratio[r] = b[r] / a[r];
  }
  const double bytes = (double)j->size / 1e6;
  const char *form = o->json
                         ? "{\"format\": \"%s\", \"type\": \"%s\", \"key_bits\": %d, \"what\": \"%s\", \"bytes\": %zu, "
                           "\"mb_per_s\": %.0f, \"plain_mb_per_s\": %.0f, \"ratio\": %.2f}\n"
                         : "%-32s %s %d %s %10zu bytes %7.0f MB/s   plain %6.0f MB/s %7.2f\n";
  printf(form, j->format->name, furrow_element_type_name(j->context.type), j->context.key_bits, what, j->size,
         bytes / median(a, o->rounds), bytes / median(b, o->rounds), median(ratio, o->rounds));
  fflush(stdout);
}

static void measure(const furrow_matrix_format *format, furrow_element_type type, int key_bits, const options *o) {
  const bool text = format->flags & FURROW_MATRIX_FORMAT_TEXT;
  job j = make_job(format, type, key_bits, o);
  decode_all(&j, true);
  contest(&j, "decode", ours_decode, text ? plain_text_decode : plain_binary_decode, o);
  contest(&j, "encode", ours_encode, text ? plain_text_encode : plain_binary_encode, o);
  free_job(&j);
}

static bool parse_options(int argc, char **argv, options *o) {
  static const struct option names[] = {{"records", required_argument, NULL, 'n'},
                                        {"rounds", required_argument, NULL, 'r'},
                                        {"rows", required_argument, NULL, 'k'},
                                        {"json", no_argument, NULL, 'j'},
                                        {NULL, 0, NULL, 0}};
  *o = (options){.records = 200000, .rounds = 9, .rows = 8};
  int c;
  while ((c = getopt_long(argc, argv, "", names, NULL)) != -1) {
    if (c == 'n') o->records = strtoull(optarg, NULL, 10);
    if (c == 'r') o->rounds = strtoull(optarg, NULL, 10);
    if (c == 'k') o->rows = strtoull(optarg, NULL, 10);
    if (c == 'j') o->json = true;
    if (c == '?') return false;
  }
  return optind == argc && o->records > 0 && o->rounds > 0 && o->rounds <= MOST_ROUNDS && o->rows > 0 &&
         o->rows <= 1024;
}

int main(int argc, char **argv) {
  options o;
  if (!parse_options(argc, argv, &o)) {
    fprintf(stderr, "usage: bench_matrix_formats [--records N] [--rounds R] [--rows K] [--json]\n");
    return 2;
  }
  const furrow_matrix_format *format;
  for (size_t i = 0; (format = furrow_matrix_format_at(i)) != NULL; i++) {
    if (!format->encode) continue;
    for (int key_bits = 32; key_bits <= 64; key_bits += 32) {
      if (key_bits == 64 && !(format->flags & FURROW_MATRIX_FORMAT_COL_IDS)) continue;
      for (int type = FURROW_ELEMENT_F64; type <= FURROW_ELEMENT_I32; type++)
        measure(format, (furrow_element_type)type, key_bits, &o);
    }
  }
  return 0;
}
