/* base/suggestion.h: the candidate nearest to a misspelled word. */
#ifndef FW_BASE_SUGGESTION_H
#define FW_BASE_SUGGESTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FW_SUGGESTION_LENGTH 64 /* longer candidates are ignored, and so are words of twice that length */

/* Start with {NULL, SIZE_MAX}. */
typedef struct fw_suggestion {
  const char *word;
  size_t distance; /* letters to insert or remove; a replaced letter counts as both. Case is ignored */
} fw_suggestion;

/* Keeps the candidate if it is nearer to the written word than the best one so far. */
void fw_suggestion_offer(fw_suggestion *suggestion, const char *written, const char *candidate);
/* Whether the best candidate is near enough to be what was meant. Long words are more often near to each other by
 * chance than short ones. */
bool fw_suggestion_is_near(const fw_suggestion *suggestion, const char *written);

#endif
