/* kern/scan/scan_sift_tmpl.h: sift of kern/scan/scan.h, a block at a time, from a function of the file that includes
 * this:
 *
 *   static uint64_t sift_block(const fw_lut *lut, const fw_code_block *block, float limit)
 *
 * The bits of the vectors of a block that pass; those beyond its width mean nothing. */

static size_t sift(const fw_lut *lut, const fw_code_list *list, size_t *next, float limit,
                   uint64_t masks[FW_BLOCK_GROUP]) {
  const size_t n = list->n, blocks = (n + FW_BLOCK - 1) / FW_BLOCK;
  for (size_t b = *next; b < blocks; b++) {
    const size_t left = n - b * FW_BLOCK;
    const fw_code_block block = fw_code_list_block(list, lut->m, b, blocks);
    masks[0] = sift_block(lut, &block, limit);
    if (left < FW_BLOCK) masks[0] &= ((uint64_t)1 << left) - 1;
    *next = b + 1;
    if (masks[0]) return b;
  }
  return *next = blocks;
}
