/* tests/interop/programs/select_ids.c INDEX: the ids that each filter of standard input keeps, for filter_python.sh: a
 * line for each line, with ids between blanks, or "!" and the column of a mistake. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "furrow/furrow.h"

int main(int argc, char **argv) {
  static char line[1 << 16];
  furrow_attributes *attributes = NULL;
  furrow_error err;
  if (argc != 2 || furrow_attributes_load(&attributes, argv[1], &err) != FURROW_OK) {
    fprintf(stderr, "%s\n", argc == 2 ? err.message : "select_ids INDEX");
    return 1;
  }
  while (fgets(line, sizeof line, stdin)) {
    furrow_selection *selection = NULL;
    line[strcspn(line, "\n")] = 0;
    if (furrow_attributes_select(attributes, line, &selection, &err) != FURROW_OK) printf("!%" PRIu64, err.column);
    for (size_t i = 0; selection && i < furrow_selection_count(selection); i++)
      printf("%" PRId64 " ", furrow_selection_id(selection, i));
    printf("\n");
    furrow_selection_free(selection);
  }
  furrow_attributes_free(attributes);
  return 0;
}
