/* base/suggestion.c: the candidate nearest to a misspelled word. */
#include "base/suggestion.h"

#include <ctype.h>
#include <string.h>

static size_t least_of(size_t a, size_t b, size_t c) {
  const size_t ab = a < b ? a : b;
  return ab < c ? ab : c;
}

static size_t distance(const char *a, const char *b, size_t n) {
  size_t row[FW_SUGGESTION_LENGTH + 1];
  for (size_t k = 0; k <= n; k++) row[k] = k;
  for (; *a; a++) {
    size_t diagonal = row[0]++;
    for (size_t k = 1; k <= n; k++) {
      const size_t above = row[k];
      const size_t change = tolower((unsigned char)*a) == tolower((unsigned char)b[k - 1]) ? 0 : 2;
      row[k] = least_of(above + 1, row[k - 1] + 1, diagonal + change);
      diagonal = above;
    }
  }
  return row[n];
}

void fw_suggestion_offer(fw_suggestion *suggestion, const char *written, const char *candidate) {
  const size_t n = strlen(candidate), m = strnlen(written, 2 * FW_SUGGESTION_LENGTH);
  if (n > FW_SUGGESTION_LENGTH || m == 2 * FW_SUGGESTION_LENGTH) return;
  if ((n > m ? n - m : m - n) >= suggestion->distance)
    return; /* at least this many letters would have to be inserted or removed */
  const size_t d = distance(written, candidate, n);
  if (d >= suggestion->distance) return;
  suggestion->distance = d;
  suggestion->word = candidate;
}

bool fw_suggestion_is_near(const fw_suggestion *suggestion, const char *written) {
  return suggestion->word && suggestion->distance <= 1 + strlen(written) / 3;
}
