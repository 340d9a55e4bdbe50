/* io/process/build_facts.c: facts about the build of the library, and the versions of the libraries that it uses. */
#include <stdio.h>
#include <xxhash.h>
#include <zlib.h>
#include <zstd.h>

#include "furrow/version.h"

#ifdef __GLIBC__
#include <gnu/libc-version.h>
#endif

/* Defined by the build. */
#ifndef FW_BUILD_TYPE
#define FW_BUILD_TYPE "unknown"
#endif
#ifndef FW_SANITIZERS
#define FW_SANITIZERS ""
#endif

#if defined(__clang__)
#define COMPILER "clang " __clang_version__
#elif defined(__GNUC__)
#define COMPILER "gcc " __VERSION__
#else
#define COMPILER "unknown"
#endif

static const char *processor(void) {
#if defined(__x86_64__)
  return "x86-64";
#elif defined(__aarch64__)
  return "aarch64";
#else
  return "other";
#endif
}

static const char *c_library(void) {
#ifdef __GLIBC__
  return gnu_get_libc_version();
#else
  return "other";
#endif
}

const char *furrow_build_fact(size_t i, char *text, size_t size) {
  const struct {
    const char *name, *text;
  } facts[] = {{"build type", FW_BUILD_TYPE},
               {"compiler", COMPILER},
               {"sanitizers", FW_SANITIZERS[0] ? FW_SANITIZERS : "none"},
               {"processor", processor()},
               {"instruction set", furrow_isa()},
               {"C library", c_library()}};
  if (i >= sizeof facts / sizeof *facts) return NULL;
  snprintf(text, size, "%s", facts[i].text);
  return facts[i].name;
}

const char *furrow_library_version(size_t i, char *text, size_t size) {
  const unsigned hash = XXH_versionNumber(); /* 802 means 0.8.2 */
  switch (i) {
  case 0: snprintf(text, size, "%s", zlibVersion()); return "zlib";
  case 1: snprintf(text, size, "%s", ZSTD_versionString()); return "zstd";
  case 2: snprintf(text, size, "%u.%u.%u", hash / 10000, hash / 100 % 100, hash % 100); return "xxhash";
  default: return NULL;
  }
}
