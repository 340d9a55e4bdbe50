/* model/format/element_convert_tmpl.h: the loop of fw_elements_copy for one pair of types.
 *
 * NAME       name of the function
 * FROM, TO   C types
 * FITS(x)    whether the value x of type FROM can be represented in TO */
static size_t NAME(void *to, size_t to_stride, const void *from, size_t from_stride, size_t count) {
  TO *dst = to;
  const FROM *src = from;
  for (size_t i = 0; i < count; i++) {
    const FROM x = src[i * from_stride];
    if (!FITS(x)) return i;
    dst[i * to_stride] = (TO)x;
  }
  return count;
}
#undef NAME
#undef FROM
#undef TO
#undef FITS
