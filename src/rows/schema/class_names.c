/* rows/schema/class_names.c: which of two classes is the positive one, by their names. */
#include "rows/schema/class_names.h"

#include <string.h>
#include <strings.h>

typedef struct class_name {
  const char *text;
  size_t length;
} class_name;

static bool is_word(class_name name, const char *word) {
  return strlen(word) == name.length && strncasecmp(name.text, word, name.length) == 0;
}

static bool is_pair(class_name negative, class_name positive) {
  static const char *const pairs[][2] = {
      {"no", "yes"},
      {"n", "y"},
      {"false", "true"},
      {"f", "t"},
      {"zero", "one"},
      {"negative", "positive"},
      {"neg", "pos"},
      {"-", "+"},
      {"off", "on"},
      {"down", "up"},
      {"bad", "good"},
      {"skip", "play"},
      {"skipped", "played"},
      {"skip", "click"},
      {"reject", "accept"},
      {"rejected", "accepted"},
      {"decline", "accept"},
      {"declined", "accepted"},
      {"rejected", "approved"},
      {"declined", "approved"},
      {"view", "click"},
      {"viewed", "clicked"},
      {"show", "click"},
      {"shown", "clicked"},
      {"impression", "click"},
      {"ham", "spam"},
      {"benign", "malignant"},
      {"failure", "success"},
      {"lost", "won"},
  };
  for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
    if (is_word(negative, pairs[i][0]) && is_word(positive, pairs[i][1])) return true;
  return false;
}

/* What an event is counted for, beside whatever else. */
static bool is_purchase(class_name name) {
  static const char *const words[] = {"buy", "bought", "purchase", "purchased"};
  for (size_t i = 0; i < sizeof words / sizeof *words; i++)
    if (is_word(name, words[i])) return true;
  return false;
}

/* As "dislike", "not_clicked" and "no purchase" negate what is behind. */
static bool negates(class_name name, class_name what) {
  static const char *const beginnings[] = {"no", "not", "non", "un", "dis"};
  for (size_t i = 0; i < sizeof beginnings / sizeof *beginnings; i++) {
    const size_t n = strlen(beginnings[i]);
    if (name.length <= n || strncasecmp(name.text, beginnings[i], n) != 0) continue;
    const size_t gap = memchr(" _-", name.text[n], 3) ? 1 : 0;
    const class_name rest = {name.text + n + gap, name.length - n - gap};
    if (rest.length > 0 && rest.length == what.length && strncasecmp(rest.text, what.text, rest.length) == 0)
      return true;
  }
  return false;
}

static bool is_negative_of(class_name a, class_name b) {
  return is_pair(a, b) || negates(a, b) || (is_purchase(b) && !is_purchase(a));
}

int fw_class_order(const char *a, size_t a_length, const char *b, size_t b_length) {
  const class_name first = {a, a_length}, second = {b, b_length};
  return is_negative_of(first, second) ? -1 : is_negative_of(second, first) ? 1 : 0;
}
