/* tests/install/consumer.c: a program that uses the installed library. */
#include <furrow/furrow.h>

#include <stdio.h>
#include <string.h>

/* Opening a file that is not there goes deep enough to need whatever the library links. */
int main(void) {
  furrow_parser *parser = NULL;
  furrow_error err;
  furrow_status status = furrow_parser_open_part(&parser, "there/is/no/such/file", 0, 1, "libsvm", &err);
  printf("furrow %s, %s: %s\n", furrow_version(), furrow_isa(), furrow_status_name(status));
  if (strcmp(furrow_version(), FURROW_VERSION) != 0 || status != FURROW_E_NOT_FOUND) return 1;
  return parser == NULL ? 0 : 1;
}
