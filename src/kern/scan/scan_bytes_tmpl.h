/* kern/scan/scan_bytes_tmpl.h: l2_bytes of kern/scan/scan.h, with rows fetched before they are read. Before including
 * it, define
 *   byte_square(x, y, stride)   the squared distance of two rows */

static inline void prefetch_row(const uint8_t *row, size_t stride) {
  for (size_t j = 0; j < stride; j += 64) __builtin_prefetch(row + j, 0, 3);
}

static void l2_bytes(const uint8_t *x, const uint8_t *rows, size_t stride, const int32_t *ids, size_t n, float *out) {
  for (size_t i = 0; i < n && i < FW_BYTES_AHEAD; i++) prefetch_row(rows + (size_t)ids[i] * stride, stride);
  for (size_t i = 0; i < n; i++) {
    if (i + FW_BYTES_AHEAD < n) prefetch_row(rows + (size_t)ids[i + FW_BYTES_AHEAD] * stride, stride);
    out[i] = (float)byte_square(x, rows + (size_t)ids[i] * stride, stride);
  }
}
