/* kern/scan/scan_pack_tmpl.h: pack of kern/scan/scan.h, by transposing squares of bytes.
 *
 * Before including it, define vb, a register of 16 bytes, and vb_load(p), vb_load_half(p) of the first 8,
 * vb_store(p, v), vb_zero(), and vb_mix_low(a, b), vb_mix_high(a, b), which interleave the bytes of the lower or
 * upper halves. */

enum { TILE = 16 };

static inline vb load_row(const uint8_t *at, bool half) {
  return half ? vb_load_half(at) : vb_load(at);
}

/* Four times, row i and row i + 8 become rows 2 i and 2 i + 1, interleaved byte by byte, which transposes the
 * square. */
static inline void transpose(vb r[TILE]) {
  for (int round = 0; round < 4; round++) {
    vb t[TILE];
    for (int i = 0; i < 8; i++) {
      t[2 * i] = vb_mix_low(r[i], r[i + 8]);
      t[2 * i + 1] = vb_mix_high(r[i], r[i + 8]);
    }
    memcpy(r, t, sizeof t);
  }
}

/* Packs columns of TILE codes, `count` of which exist: 8 (half) or 16 of them. */
static inline __attribute__((always_inline)) void pack_tile(const uint8_t *rows, size_t m, size_t count, uint8_t *block,
                                                            size_t width, bool half) {
  vb r[TILE];
  for (size_t i = 0; i < TILE; i++) r[i] = i < count ? load_row(rows + i * m, half) : vb_zero();
  transpose(r);
  for (size_t k = 0; k < (half ? 8 : TILE); k++) vb_store(block + k * width, r[k]);
}

/* Packs all columns of TILE codes. The last tile begins early enough to be complete. */
static inline __attribute__((always_inline)) void pack_rows(const uint8_t *rows, size_t m, size_t count, uint8_t *block,
                                                            size_t width) {
  const size_t step = m < TILE ? 8 : TILE;
  for (size_t k = 0; k < m; k += step) {
    const size_t at = k + step <= m ? k : m - step;
    if (step == 8)
      pack_tile(rows + at, m, count, block + at * width, width, true);
    else
      pack_tile(rows + at, m, count, block + at * width, width, false);
  }
}

static void pack(const uint8_t *rows, size_t m, size_t count, uint8_t *block, size_t width) {
  if (m < 8) {
    fw_pack_plain(rows, m, count, block, width);
    return;
  }
  for (size_t i = 0; i < width; i += TILE) {
    const size_t left = count > i ? count - i : 0;
    if (left >= TILE)
      pack_rows(rows + i * m, m, TILE, block + i, width);
    else
      pack_rows(rows + i * m, m, left, block + i, width);
  }
}
