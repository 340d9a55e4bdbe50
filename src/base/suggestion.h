/* base/suggestion.h: the candidate nearest to a misspelled word. */
#ifndef FW_BASE_SUGGESTION_H
#define FW_BASE_SUGGESTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FW_SUGGESTION_LENGTH 64 /* longer candidates are not considered, nor words of twice that length */

/* Start with {NULL, SIZE_MAX}. */
typedef struct fw_suggestion {
  const char *word;
  size_t distance; /* letters to insert or remove; a change is both. Case does not count */
} fw_suggestion;

/* Keeps the candidate if it is nearer to the written word than the one before. */
void fw_suggestion_offer(fw_suggestion *suggestion, const char *written, const char *candidate);
/* Whether it is near enough to be what was meant; long words are near to each other by chance sooner than short ones.
 */
bool fw_suggestion_is_near(const fw_suggestion *suggestion, const char *written);

#endif
