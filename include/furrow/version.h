/* furrow/version.h: the version of the headers and of the library that is linked, and how it was built.
 *
 *   if (furrow_version_number() < FURROW_VERSION_NUMBER) puts("the library is older than the headers");
 *
 * Threads: all functions of this header may be called from any thread. */
#ifndef FURROW_VERSION_H
#define FURROW_VERSION_H

#include "furrow/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The version of the headers, as text. */
#define FURROW_VERSION "1.0.0"
/* The version of the headers as major * 10000 + minor * 100 + patch, for comparisons. */
#define FURROW_VERSION_NUMBER 10000

/* Returns: the FURROW_VERSION of the library; it differs from the macro if headers and library do not match.
 * Owner:   the library; valid for ever. */
FURROW_API const char *furrow_version(void);
/* Returns: the FURROW_VERSION_NUMBER of the library. */
FURROW_API unsigned furrow_version_number(void);

/* Returns: the instruction set that the library computes with: "generic", "avx2", "avx512" or "neon". It is the best
 * that the processor has, or the one that the environment variable FURROW_ISA names, if the processor has it. The
 *          library reads the variable once, when it first computes.
 * Owner:   the library; valid for ever. */
FURROW_API const char *furrow_isa(void);

/* Writes fact i about the build of the library and its environment, terminated and cut to size as snprintf does.
 * Returns: the name of the fact: "build type", "compiler", "processor", "instruction set", "sanitizers", "C library";
 *          NULL past the last one (then nothing is written).
 * Owner:   the library; the name is valid for ever. */
FURROW_API const char *furrow_build_fact(size_t i, char *text, size_t size);
/* Writes the version of the i-th library that Furrow uses, as it is loaded, terminated and cut to size as snprintf
 * does.
 * Returns: the name of the library: "zlib", "zstd", "xxhash"; NULL past the last one.
 * Owner:   the library; the name is valid for ever. */
FURROW_API const char *furrow_library_version(size_t i, char *text, size_t size);

#ifdef __cplusplus
}
#endif

#endif
