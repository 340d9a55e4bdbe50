/* kern/scan/scan_rows_tmpl.h: l2_rows and ip_rows of kern/scan/scan.h, with four independent sums.
 *
 * Before including it, define
 *   ROW_WIDTH      floats of a register
 *   vf             a register of floats
 *   vf_zero(), vf_load(p) from any address, vf_add(a, b), vf_total(v): the sum of its floats
 *   vf_fold(sum, a, b, l2)     sum + (a - b)^2, or sum + a * b
 * or OWN_ROW and the function row below, which may be better where a part of a register can be loaded. */

#if !defined(OWN_ROW)
/* x - y|^2 or <x, y>; y may be at any address. l2 is a constant in each loop, so that each is compiled separately. */
static inline __attribute__((always_inline)) float row(const float *x, const float *y, size_t d, bool l2) {
  vf sum[4] = {vf_zero(), vf_zero(), vf_zero(), vf_zero()};
  size_t j = 0;
  for (; j + 4 * ROW_WIDTH <= d; j += 4 * ROW_WIDTH)
    for (int i = 0; i < 4; i++)
      sum[i] = vf_fold(sum[i], vf_load(x + j + ROW_WIDTH * i), vf_load(y + j + ROW_WIDTH * i), l2);
  for (; j + ROW_WIDTH <= d; j += ROW_WIDTH) sum[0] = vf_fold(sum[0], vf_load(x + j), vf_load(y + j), l2);
  if (j < d) {
    float a[ROW_WIDTH] = {0}, b[ROW_WIDTH] = {0};
    memcpy(a, x + j, (d - j) * sizeof *x);
    memcpy(b, (const char *)y + j * sizeof *y, (d - j) * sizeof *y);
    sum[1] = vf_fold(sum[1], vf_load(a), vf_load(b), l2);
  }
  return vf_total(vf_add(vf_add(sum[0], sum[1]), vf_add(sum[2], sum[3])));
}
#endif

static void l2_rows(const float *x, const void *rows, size_t n, size_t d, float *out) {
  const char *at = rows;
  for (size_t i = 0; i < n; i++, at += d * sizeof *x) out[i] = row(x, (const float *)at, d, true);
}

static void ip_rows(const float *x, const void *rows, size_t n, size_t d, float *out) {
  const char *at = rows;
  for (size_t i = 0; i < n; i++, at += d * sizeof *x) out[i] = row(x, (const float *)at, d, false);
}

#undef ROW_WIDTH
#undef OWN_ROW
