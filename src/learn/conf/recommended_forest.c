/* learn/conf/recommended_forest.c: Furrow's own defaults of boosted trees, where no configuration of Angel's is read.
 * docs/design/defaults.md has what was measured. */
#include "learn/conf/conf_data.h"

enum { OBJECTIVES = 4 };

/* One value for all objectives, or one for each in the order of FW_OBJECTIVES. */
typedef struct recommended {
  fw_key key;
  const char *text[OBJECTIVES];
} recommended;

#define SAME(text) \
  { text, text, text, text }

/* multi:softmax halves its steps (its hessians are twice p (1 - p)), so that its rate is twice as large. The hessians
 * of reg:squarederror are numbers of rows, those of the others a quarter of that at most: lambda and the least leaf are
 * larger there. */
static const recommended table[] = {
    {FW_KEY_LR, {"0.1", "0.1", "0.2", "0.1"}},
    {FW_KEY_TREES, SAME("200")},
    {FW_KEY_DEPTH, SAME("6")},
    {FW_KEY_LEAVES, {"16", "12", "12", "12"}},
    {FW_KEY_SPLITS, SAME("254")},
    {FW_KEY_FEATURE_RATIO, {"0.8", "0.5", "0.5", "0.8"}},
    {FW_KEY_ROW_RATIO, {"0.6", "0.5", "0.8", "0.6"}},
    {FW_KEY_MIN_CHILD_WEIGHT, SAME("0")},
    {FW_KEY_MIN_ROWS, {"2", "0", "2", "2"}},
    {FW_KEY_REG_LAMBDA, {"2", "20", "1", "2"}},
    {FW_KEY_FROM_AVERAGE, SAME("yes")},
};

const char *fw_recommended_forest(fw_key key, int64_t objective) {
  for (size_t i = 0; i < sizeof table / sizeof *table; i++)
    if (table[i].key == key) return table[i].text[objective];
  return NULL;
}
