/* array/convert_one_tmpl.h: one conversion.
 *   TARGET, TARGET_KIND   see array/convert_tmpl.h
 *   SOURCE, SOURCE_KIND   the other type; FROM_REAL, FROM_SIGNED, FROM_UNSIGNED
 *   FUNCTION              its name */

/* Returns n, or the index of the first element that does not fit. */
static size_t FUNCTION(void *out, const void *in, size_t n) {
  const SOURCE *s = in;
  TARGET *t = out;
  for (size_t i = 0; i < n; i++) {
#if TARGET_KIND == TO_F32 && SOURCE_KIND == FROM_REAL
    t[i] = (float)s[i];
    /* infinity from a number */
    if (isinf(t[i]) && !isinf(s[i])) return i;
#elif TARGET_KIND == TO_F64 || TARGET_KIND == TO_F32
    t[i] = (TARGET)s[i];
#elif SOURCE_KIND == FROM_REAL
    /* The bounds are powers of two and exact in any real type; NaN compares false. */
    const double whole = nearbyint((double)s[i]);
    const double bound = TARGET_KIND == TO_I64 ? 0x1p63 : 0x1p31;
    if (!(whole >= -bound && whole < bound)) return i;
    t[i] = (TARGET)whole;
#elif SOURCE_KIND == FROM_SIGNED
    if ((int64_t)s[i] != (int64_t)(TARGET)s[i]) return i;
    t[i] = (TARGET)s[i];
#else
    const TARGET value = (TARGET)s[i];
    if (value < 0 || (uint64_t)value != s[i]) return i;
    t[i] = value;
#endif
  }
  return n;
}

#undef SOURCE
#undef SOURCE_KIND
#undef FUNCTION
