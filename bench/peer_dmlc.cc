// bench/peer_dmlc.cc: times dmlc-core's parser over a file; options and output in rows_bench.h.
// --threads has no effect: dmlc-core decides itself (a reader thread, a parser thread, and workers on large machines).
#include <dmlc/data.h>

#include <exception>
#include <memory>

#include "rows_bench.h"

static uint64_t sum_indices(const uint32_t *a, size_t n) {
  return bench_sum_u32(a, n);
}

static uint64_t sum_indices(const uint64_t *a, size_t n) {
  return bench_sum_u64(a, n);
}

template <typename Index> static void add_block(bench_sums *sums, const dmlc::RowBlock<Index> &block, bool check) {
  size_t first = block.offset[0], count = block.offset[block.size] - first;
  sums->rows += block.size;
  sums->features += count;
  if (!check) return;
  sums->index_sum += sum_indices(block.index + first, count);
  sums->value_sum += block.value ? bench_sum_f32(block.value + first, count) : static_cast<double>(count);
  if (block.label) sums->label_sum += bench_sum_f32(block.label, block.size);
}

template <typename Index>
static void read_all(const bench_options &options, bool check, bench_sums *sums, bench_clock *end) {
  std::unique_ptr<dmlc::Parser<Index>> parser(dmlc::Parser<Index>::Create(options.uri, 0, 1, options.format));
  while (parser->Next()) add_block(sums, parser->Value(), check);
  sums->bytes = parser->BytesRead();
  *end = bench_now();
}

int main(int argc, char **argv) {
  bench_options options;
  if (!bench_parse_options(argc, argv, &options)) return 2;
  try {
    bench_sums sums = {};
    for (uint32_t i = 0; i <= options.repeat; i++) {
      bench_sums found = {};
      bench_clock start = bench_now(), end = start;
      if (options.wide) {
        read_all<uint64_t>(options, i == 0, &found, &end);
      } else {
        read_all<uint32_t>(options, i == 0, &found, &end);
      }
      if (!bench_check_equal(i, &sums, &found)) return 1;
      if (i > 0) bench_report("dmlc", &options, start, end, &sums);
    }
  } catch (const std::exception &error) {
    fprintf(stderr, "peer_dmlc: %s\n", error.what());
    return 1;
  }
  return 0;
}
