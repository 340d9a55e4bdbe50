/* base/version.c: the version that this library was built as. */
#include "furrow/version.h"

const char *furrow_version(void) {
  return FURROW_VERSION;
}

unsigned furrow_version_number(void) {
  return FURROW_VERSION_NUMBER;
}
