/* kern/simd/unroll.h: unrolls loops over arrays of registers, which the compiler keeps in registers only if
 * unrolled. */
#ifndef FW_KERN_SIMD_UNROLL_H
#define FW_KERN_SIMD_UNROLL_H

/* UNROLL for (…) …: the loop's bounds must be compile-time constants. */
#if defined(__clang__)
#define UNROLL _Pragma("unroll")
#else
#define UNROLL _Pragma("GCC unroll 32")
#endif

#define INLINE static inline __attribute__((always_inline))

#endif
