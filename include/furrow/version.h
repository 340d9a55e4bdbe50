/* furrow/version.h: the version of the headers and of the library that is linked. */
#ifndef FURROW_VERSION_H
#define FURROW_VERSION_H

#include "furrow/status.h"

#ifdef __cplusplus
extern "C" {
#endif

#define FURROW_VERSION "0.1.0"

/* The library's own FURROW_VERSION; differs from the macro when headers and library do not match. */
FURROW_API const char *furrow_version(void);

/* The instruction set that the kernels run with: "generic", "avx2", "avx512" or "neon". The best that the
 * processor has, or what the environment variable FURROW_ISA names (a level that it lacks is not taken). */
FURROW_API const char *furrow_isa(void);

#ifdef __cplusplus
}
#endif

#endif
