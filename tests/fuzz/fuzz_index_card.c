/* tests/fuzz/fuzz_index_card.c: cards of indexes, from hostile bytes.
 *
 * The first byte of the input says what the rest is: 0, a card as it is; 1, one whose digest is made right, so that
 * everything after it is reached. A card that is accepted and written again is read again with the same counts, and
 * the second time it has the same bytes. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "fuzz/harness/fuzz_check.h"
#include "vector/index/index_card.h"

enum { HEX = 16, ENDING = HEX + 3 };

/* Writes the digest of everything before the last member into it. */
static void complete(char *text, size_t size) {
  static const char key[] = ",\n\"digest\": \"";
  char hex[HEX + 1];
  const size_t length = sizeof key - 1 + ENDING;
  if (size < length || memcmp(text + size - length, key, sizeof key - 1) != 0) return;
  snprintf(hex, sizeof hex, "%016" PRIx64, XXH3_64bits(text, size - length));
  memcpy(text + size - ENDING, hex, HEX);
}

static void write_again(const fw_card *card, fw_buffer *text) {
  check(fw_card_write(card, &card->file.stamp, text, NULL) == FURROW_OK);
}

static void read_card(char *text, size_t size) {
  static fw_card card, again;
  furrow_error err;
  memset(&card, 0, sizeof card);
  memset(&again, 0, sizeof again);
  const furrow_status status = fw_card_read(&card, text, size, "fuzz", &err);
  check(status == FURROW_OK || (status == FURROW_E_FORMAT && err.offset <= size));
  if (status != FURROW_OK) return;
  fw_buffer first = {0}, second = {0};
  write_again(&card, &first);
  check(fw_card_read(&again, first.bytes, first.size, "fuzz", &err) == FURROW_OK);
  check(memcmp(&card.built, &again.built, sizeof card.built) == 0);
  check(memcmp(&card.added, &again.added, sizeof card.added) == 0);
  check(card.removed == again.removed && strcmp(card.factory, again.factory) == 0);
  write_again(&again, &second);
  check(first.size == second.size && memcmp(first.bytes, second.bytes, first.size) == 0);
  fw_buffer_clear(&first);
  fw_buffer_clear(&second);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size == 0) return 0;
  char *copy = malloc(size); /* of its own, so that a read past the end is seen */
  check(copy != NULL);
  memcpy(copy, data + 1, size - 1);
  if (data[0] == 1) complete(copy, size - 1);
  read_card(copy, size - 1);
  free(copy);
  return 0;
}
