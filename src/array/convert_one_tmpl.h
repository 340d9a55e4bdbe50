/* array/convert_one_tmpl.h: one conversion.
 *   TARGET, TARGET_KIND   see array/convert_tmpl.h
 *   SOURCE, SOURCE_KIND   the other type; FROM_REAL, FROM_SIGNED, FROM_UNSIGNED, FROM_HALF
 *   FUNCTION              its name */

/* Returns n, or the index of the first element that does not fit. */
static size_t FUNCTION(void *out, const void *in, size_t n) {
  const SOURCE *s = in;
  TARGET *t = out;
  for (size_t i = 0; i < n; i++) {
#if SOURCE_KIND == FROM_HALF
    const float x = float_of_half(s[i]);
#else
    const SOURCE x = s[i];
#endif
#if TARGET_KIND == TO_F32 && SOURCE_KIND == FROM_REAL
    t[i] = (float)x;
    /* a finite number became infinite */
    if (isinf(t[i]) && !isinf(x)) return i;
#elif TARGET_KIND == TO_F64 || TARGET_KIND == TO_F32
    t[i] = (TARGET)x;
#elif SOURCE_KIND == FROM_REAL || SOURCE_KIND == FROM_HALF
    /* The bounds are powers of two and exact in any real type; comparisons with NaN are false. */
    const double whole = nearbyint((double)x);
    const double bound = TARGET_KIND == TO_I64 ? 0x1p63 : 0x1p31;
    if (!(whole >= -bound && whole < bound)) return i;
    t[i] = (TARGET)whole;
#elif SOURCE_KIND == FROM_SIGNED
    if ((int64_t)x != (int64_t)(TARGET)x) return i;
    t[i] = (TARGET)x;
#else
    const TARGET value = (TARGET)x;
    if (value < 0 || (uint64_t)value != x) return i;
    t[i] = value;
#endif
  }
  return n;
}

#undef SOURCE
#undef SOURCE_KIND
#undef FUNCTION
