/* kern/scan/scan_kth_tmpl.h: kth_bound of kern/scan/scan.h, by bisection. Before including it, define
 *   count_not_below(numbers, n, limit)        how many are at least `limit`
 *   find_range(numbers, n, *low, *high)       the smallest that is not -infinity, and the largest; NaN is skipped */

static float kth_bound(const float *numbers, size_t n, size_t k) {
  enum { ROUNDS = 12 };
  float low, high;
  find_range(numbers, n, &low, &high);
  if (!isfinite(low) || !isfinite(high) || count_not_below(numbers, n, low) < k) return -INFINITY;
  if (k == 1) return high;
  for (int i = 0; i < ROUNDS; i++) {
    const float middle = low + (high - low) / 2;
    const size_t count = count_not_below(numbers, n, middle);
    if (count >= k)
      low = middle;
    else
      high = middle;
    if (count >= k && count <= k + k / 8) break;
  }
  return low;
}
