/* furrow/version.h: the version of the headers and of the library that is linked. */
#ifndef FURROW_VERSION_H
#define FURROW_VERSION_H

#include "furrow/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The version of the headers: as text, and as major * 10000 + minor * 100 + patch for comparisons. */
#define FURROW_VERSION "1.0.0"
#define FURROW_VERSION_NUMBER 10000

/* Returns: the FURROW_VERSION of the library; differs from the macro if headers and library do not match.
 * Owner:   the library; valid for ever. */
FURROW_API const char *furrow_version(void);
/* Returns: the FURROW_VERSION_NUMBER of the library. */
FURROW_API unsigned furrow_version_number(void);

/* The instruction set that the kernels run with: "generic", "avx2", "avx512" or "neon". The best that the
 * processor has, or what the environment variable FURROW_ISA names (a level that it lacks is not taken). */
FURROW_API const char *furrow_isa(void);

/* How the library was built and what it runs with, one fact after the other: its name ("build type", "compiler",
 * "processor", "instruction set", "sanitizers", "C library"), NULL past the end. Its text is written as snprintf does,
 * cut where there is no room. */
FURROW_API const char *furrow_build_fact(size_t i, char *text, size_t size);
/* The same of the libraries that it uses: "zlib", "zstd", "xxhash", with the versions that are loaded. */
FURROW_API const char *furrow_library_version(size_t i, char *text, size_t size);

#ifdef __cplusplus
}
#endif

#endif
