/* rows/schema/column_names.c: finds the meaning of a column from its name, and which of two classes is the positive
 * one. */
#include "rows/schema/column_names.h"

#include <ctype.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>

enum { NAME_TEXT = 48 }; /* longer names are ignored */

/* Lists of names, the strongest first, each terminated by NULL. */
static const char *const label_names[] = {"label",  "target",  "y",        "class",    "click",     "clicked",
                                          "rating", "outcome", "response", "survived", "converted", NULL};
/* Results of an event; then names that may be counts or features if there is another label. All have the same
 * priority. */
static const char *const result_names[] = {"liked",       "isliked",     "bought",  "isbought",
                                           "purchased",   "ispurchased", "isclick", "isclicked",
                                           "isconverted", "conversion",  NULL};
static const char *const likely_names[] = {"like", "stars", "clicks", NULL};
static const char *const weight_names[] = {"sampleweight", "instanceweight", "rowweight",
                                           "caseweight",   "importance",     NULL};
static const char *const group_names[] = {"qid",       "query",    "queryid", "session",
                                          "sessionid", "searchid", "groupid", NULL};
static const char *const row_names[] = {"index", "row", "rownumber", "rowid", "unnamed0", "0", NULL};
/* With or without "id" after them. */
static const char *const user_names[] = {"user",    "uid",     "customer", "visitor", "member",   "username",
                                         "buyer",   "shopper", "reader",   "viewer",  "listener", "client",
                                         "account", "person",  "reviewer", NULL};
static const char *const item_names[] = {"item", "iid",   "movie", "product", "sku",  "article", "book",
                                         "song", "track", "video", "isbn",    "asin", "anime",   NULL};
/* Only with "id" after them. */
static const char *const item_ids[] = {"ad",         "news",     "document", "doc",      "listing", "hotel",
                                       "restaurant", "business", "recipe",   "game",     "app",     "offer",
                                       "post",       "photo",    "image",    "show",     "artist",  "course",
                                       "podcast",    "event",    "content",  "creative", "page",    NULL};
static const char *const time_names[] = {"timestamp", "time",           "ts",        "datetime", "date",
                                         "eventtime", "eventtimestamp", "createdat", "created",  "when",
                                         "unixtime",  "epoch",          NULL};
static const char *const time_endings[] = {"timestamp", "datetime", "time", "date", NULL};

/* Extracts the letters, in lower case, and digits of a name; returns false if it is too long. */
static bool plain_name(const char *name, char plain[NAME_TEXT]) {
  size_t n = 0;
  for (; *name; name++) {
    if (!isalnum((unsigned char)*name)) continue;
    if (n + 1 == NAME_TEXT) return false;
    plain[n++] = (char)tolower((unsigned char)*name);
  }
  plain[n] = 0;
  return n > 0;
}

static bool ends_with(const char *name, const char *ending) {
  const size_t n = strlen(name), m = strlen(ending);
  return n > m && strcmp(name + n - m, ending) == 0;
}

static size_t priority_in(const char *const *list, const char *name) {
  for (size_t i = 0; list[i]; i++)
    if (strcmp(list[i], name) == 0) return i;
  return SIZE_MAX;
}

static bool is_in(const char *const *list, const char *name) {
  char plain[NAME_TEXT];
  return plain_name(name, plain) && priority_in(list, plain) != SIZE_MAX;
}

size_t fw_label_name_priority(const char *name) {
  for (size_t i = 0; label_names[i]; i++)
    if (strcasecmp(label_names[i], name) == 0) return i;
  return SIZE_MAX;
}

size_t fw_likely_label_name_priority(const char *name) {
  return is_in(result_names, name) || is_in(likely_names, name) ? 1 : SIZE_MAX;
}

bool fw_is_outcome_name(const char *name) {
  if (is_in(result_names, name)) return true;
  return fw_label_name_priority(name) != SIZE_MAX && strcasecmp(name, "y") != 0 && strcasecmp(name, "class") != 0;
}

bool fw_is_weight_name(const char *name) {
  return is_in(weight_names, name);
}

bool fw_is_group_name(const char *name) {
  return is_in(group_names, name);
}

bool fw_is_row_number_name(const char *name) {
  return is_in(row_names, name);
}

bool fw_is_number_name(const char *name) {
  static const char *const endings[] = {" number", "_number", "Number", " no", " No", "_no", "_nr", NULL};
  for (size_t i = 0; endings[i]; i++)
    if (ends_with(name, endings[i])) return true;
  return false;
}

bool fw_is_id_name(const char *name) {
  const size_t n = strlen(name);
  if (n < 2 || strcasecmp(name + n - 2, "id") != 0) return false;
  if (n == 2 || !isalnum((unsigned char)name[n - 3])) return true;
  return name[n - 2] == 'I' && !isupper((unsigned char)name[n - 3]); /* movieId, movieID; not PAID */
}

/* The priority of a name that ends in "id" or, if the list has such names, does not; ids are ordered by their names. */
static size_t priority_of_thing(const char *plain, const char *const *names, const char *const *ids) {
  char bare[NAME_TEXT];
  strcpy(bare, plain);
  const bool id = ends_with(plain, "id");
  size_t priority = priority_in(names, plain);
  if (priority != SIZE_MAX || !id) return priority;
  bare[strlen(bare) - 2] = 0;
  priority = priority_in(names, bare);
  if (priority != SIZE_MAX || !ids) return priority;
  priority = priority_in(ids, bare);
  return priority == SIZE_MAX ? SIZE_MAX : priority + 100;
}

static size_t priority_of_time(const char *plain, const char *name) {
  const size_t priority = priority_in(time_names, plain), n = strlen(name);
  if (priority != SIZE_MAX) return priority;
  for (size_t i = 0; time_endings[i]; i++)
    if (ends_with(plain, time_endings[i])) return 100 + i;
  return n > 3 && strcasecmp(name + n - 3, "_at") == 0 ? 200 : SIZE_MAX;
}

size_t fw_role_name_priority(fw_role role, const char *name) {
  char plain[NAME_TEXT];
  if (!plain_name(name, plain)) return SIZE_MAX;
  if (role == FW_ROLE_USER) return priority_of_thing(plain, user_names, NULL);
  if (role == FW_ROLE_ITEM) return priority_of_thing(plain, item_names, item_ids);
  return role == FW_ROLE_TIME ? priority_of_time(plain, name) : SIZE_MAX;
}

bool fw_says_id(const char *name) {
  return fw_is_id_name(name) || fw_is_row_number_name(name) || fw_is_number_name(name) ||
         fw_role_name_priority(FW_ROLE_USER, name) != SIZE_MAX || fw_role_name_priority(FW_ROLE_ITEM, name) != SIZE_MAX;
}

/* ---- Names of classes ------------------------------------------------------------------------------------ */

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

/* A purchase is the positive class, whatever the other class is. */
static bool is_purchase(class_name name) {
  static const char *const words[] = {"buy", "bought", "purchase", "purchased"};
  for (size_t i = 0; i < sizeof words / sizeof *words; i++)
    if (is_word(name, words[i])) return true;
  return false;
}

/* Whether `name` negates `what`, as "dislike", "not_clicked" and "no purchase" do. */
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
