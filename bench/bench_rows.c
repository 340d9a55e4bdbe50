/* bench/bench_rows.c: times Furrow's parser over a file; options and output in rows_bench.h. */
#include "rows_bench.h"

#include "furrow/rows.h"

static void add_block(bench_sums *sums, const furrow_rowblock *block, bool check) {
  size_t first = block->offset[0], count = block->offset[block->size] - first;
  sums->rows += block->size;
  sums->features += count;
  if (!check) return;
  sums->index_sum += block->key_type == FURROW_KEY_U32 ? bench_sum_u32(block->index.u32 + first, count)
                                                       : bench_sum_u64(block->index.u64 + first, count);
  sums->value_sum += block->value.any ? bench_sum_f32(block->value.f32 + first, count) : (double)count;
  if (block->label.any) sums->label_sum += bench_sum_f32(block->label.f32, block->size);
}

static furrow_status read_all(const bench_options *options, bool check, bench_sums *sums, bench_clock *end,
                              furrow_error *err) {
  furrow_parser *parser = NULL;
  const furrow_rowblock *block;
  furrow_parser_params params;
  furrow_parser_params_init(&params);
  params.format = options->format;
  params.threads = options->threads;
  params.key_type = options->wide ? FURROW_KEY_U64 : FURROW_KEY_U32;
  furrow_status status = furrow_parser_open(&parser, options->uri, &params, err);
  while (status == FURROW_OK && (status = furrow_parser_next_block(parser, &block, err)) == FURROW_OK)
    add_block(sums, block, check);
  if (status == FURROW_END) sums->bytes = furrow_parser_bytes_read(parser);
  *end = bench_now();
  furrow_parser_close(parser);
  return status == FURROW_END ? FURROW_OK : status;
}

int main(int argc, char **argv) {
  bench_options options;
  furrow_error err;
  if (!bench_parse_options(argc, argv, &options)) return 2;
  bench_sums sums = {0};
  for (uint32_t i = 0; i <= options.repeat; i++) {
    bench_sums found = {0};
    bench_clock start = bench_now(), end = start;
    furrow_status status = read_all(&options, i == 0, &found, &end, &err);
    if (status != FURROW_OK) {
      char text[1024];
      furrow_error_to_text(&err, text, sizeof text);
      fprintf(stderr, "bench_rows: %s\n", text);
      return furrow_status_exit_code(status);
    }
    if (!bench_check_equal(i, &sums, &found)) return 1;
    if (i > 0) bench_report("furrow", &options, start, end, &sums);
  }
  return 0;
}
