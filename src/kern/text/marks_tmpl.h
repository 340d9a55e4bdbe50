/* kern/text/marks_tmpl.h: classifies marks. Before including it, define equal_mask(p, c), the bits of the 64 bytes
 * at p that are c, and inside(i, n), the bits of numbers i … i+63 that are below n. */

/* Sets the bits of the marks by their bytes. */
static void classify(fw_marks *marks, char extra) {
  uint64_t odd = 0;
  for (size_t i = 0; i < marks->count; i += 64) {
    const uint64_t all = inside(i, marks->count);
    marks->extras[i / 64] = equal_mask(marks->chars + i, extra) & all;
    marks->ends[i / 64] = equal_mask(marks->chars + i, '\n') & all;
    odd |= ~(marks->extras[i / 64] | marks->ends[i / 64] | equal_mask(marks->chars + i, ' ')) & all;
  }
  marks->odd = odd != 0;
}
