/* kern/scan/scan_rows_tmpl.h: l2_rows and ip_rows of kern/scan/scan.h from a function of the file that includes this:
 *
 *   static inline float row(const float *x, const float *y, size_t d, bool l2)
 *
 * |x - y|^2 or <x, y>; y may be at any address. l2 is a constant in each loop, so that each is compiled for itself. */

static void l2_rows(const float *x, const void *rows, size_t n, size_t d, float *out) {
  const char *at = rows;
  for (size_t i = 0; i < n; i++, at += d * sizeof *x) out[i] = row(x, (const float *)at, d, true);
}

static void ip_rows(const float *x, const void *rows, size_t n, size_t d, float *out) {
  const char *at = rows;
  for (size_t i = 0; i < n; i++, at += d * sizeof *x) out[i] = row(x, (const float *)at, d, false);
}
