/* examples/00_rows.c: counts the rows and features of a data set, and multiplies each row with a vector of weights.
 *
 *   00_rows [URI]     any format that Furrow reads; without a URI the program writes a small data set
 */
#define _POSIX_C_SOURCE 200809L
#include <furrow/furrow.h>

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static const char sample[] = "# label[:weight] index:value ...\n"
                             "1 0:0.5 3:1.25\n"
                             "0:2 1:1\n"
                             "1 0:-0.5 2:4 3:2\n";

typedef struct totals {
  size_t rows, features, labels;
  double label_sum, dot_sum;
} totals;

/* A block is a batch of rows in columns; a row is a view of it. */
static furrow_status add_block(totals *t, const furrow_rowblock *block, const double *weights, size_t n,
                               furrow_error *err) {
  for (size_t i = 0; i < block->size; i++) {
    const furrow_row row = furrow_rowblock_row(block, i);
    double dot;
    furrow_status status = furrow_row_dot_f64(&row, weights, n, &dot, err);
    if (status != FURROW_OK) return status;
    t->rows++;
    t->features += row.length;
    t->labels += row.label.any != NULL;
    t->label_sum += furrow_row_get_label(&row); /* 0 if the row has none */
    t->dot_sum += dot;
    if (t->rows <= 3) printf("row %zu: %zu features, dot %g\n", t->rows, row.length, dot);
  }
  return FURROW_OK;
}

static void print_totals(const totals *t, uint64_t columns) {
  printf("rows %zu, features %zu, columns %llu\n", t->rows, t->features, (unsigned long long)columns);
  if (t->labels > 0)
    printf("mean of the labels %g\n", t->label_sum / (double)t->labels);
  else
    printf("no labels\n");
  printf("sum of the dots %g\n", t->dot_sum);
}

/* The block iterator knows the number of columns from the start. A parser does not, but needs memory for one block. */
static furrow_status read_rows(const char *uri, furrow_error *err) {
  furrow_blockiter *iter = NULL;
  const furrow_rowblock *block;
  totals t = {0};
  double *weights = NULL;
  furrow_status status = furrow_blockiter_open(&iter, uri, NULL, err);
  if (status != FURROW_OK) return status;
  const size_t n = (size_t)furrow_blockiter_num_col(iter);
  weights = malloc((n > 0 ? n : 1) * sizeof *weights);
  if (!weights) {
    *err = (furrow_error){.status = FURROW_E_MEMORY, .offset = FURROW_NO_OFFSET};
    status = FURROW_E_MEMORY;
    goto done;
  }
  for (size_t i = 0; i < n; i++) weights[i] = 1.0 / (double)(i + 1);
  while ((status = furrow_blockiter_next_block(iter, &block, err)) == FURROW_OK) {
    status = add_block(&t, block, weights, n, err);
    if (status != FURROW_OK) goto done;
  }
  if (status == FURROW_END) { /* not a failure: everything was read */
    print_totals(&t, n);
    status = FURROW_OK;
  }
done:
  free(weights);
  furrow_blockiter_close(iter);
  return status;
}

/* Writes the sample to a new temporary file; `path` ends in XXXXXX. */
static int write_sample(char *path) {
  const int fd = mkstemp(path);
  if (fd < 0) return -1;
  const ssize_t written = write(fd, sample, sizeof sample - 1);
  return close(fd) == 0 && written == (ssize_t)(sizeof sample - 1) ? 0 : -1;
}

int main(int argc, char **argv) {
  char path[] = "/tmp/furrow-rows-XXXXXX";
  if (argc > 2) {
    fprintf(stderr, "usage: 00_rows [URI]\n");
    return 2;
  }
  if (argc == 1 && write_sample(path) != 0) {
    perror(path);
    return 1;
  }
  furrow_error err;
  const furrow_status status = read_rows(argc == 2 ? argv[1] : path, &err);
  if (argc == 1) unlink(path);
  if (status != FURROW_OK) {
    char text[1024];
    furrow_error_to_text(&err, text, sizeof text); /* FILE:LINE:COLUMN: message (token) */
    fprintf(stderr, "00_rows: %s\n", text);
  }
  return furrow_status_exit_code(status);
}
