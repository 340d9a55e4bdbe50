/* kern/simd/unroll.h: loops over registers, which only are registers when the loop is gone. */
#ifndef FW_KERN_SIMD_UNROLL_H
#define FW_KERN_SIMD_UNROLL_H

/* UNROLL for (…) …: the loop's bounds must be known when it is compiled. */
#if defined(__clang__)
#define UNROLL _Pragma("unroll")
#else
#define UNROLL _Pragma("GCC unroll 32")
#endif

#define INLINE static inline __attribute__((always_inline))

#endif
