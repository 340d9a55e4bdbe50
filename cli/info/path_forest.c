/* cli/info/path_forest.c: forests in the model files of xgboost and LightGBM, for 'furrow info'. */
#include "furrow/learn.h"
#include "info/path_kind.h"

static bool is_forest_file(const path_inspection *look) {
  bool forest = false;
  return !look->folder && furrow_forest_probe(look->path, &forest, NULL) == FURROW_OK && forest;
}

static furrow_status tell_forest(path_inspection *look, furrow_error *err) {
  furrow_scorer *scorer = NULL;
  furrow_forest_info info;
  path_advise(look, "furrow predict --model @ --data ROWS");
  path_advise(look, "furrow model trees @ | head");
  path_advise(look, "furrow model import @ ^.model");
  const furrow_status status = furrow_scorer_load(&scorer, look->path, NULL, err);
  if (status != FURROW_OK) return status;
  furrow_forest_info_init(&info);
  furrow_scorer_get_forest_info(scorer, &info);
  report_u64(look->r, "trees", info.trees);
  report_u64(look->r, "classes", info.classes);
  report_u64(look->r, "depth", info.depth);
  report_u64(look->r, "leaves", info.leaves);
  report_text(look->r, "objective", furrow_learn_conf_get(furrow_scorer_conf(scorer), "objective"));
  furrow_scorer_free(scorer);
  return FURROW_OK;
}

const path_kind forest_kind = {.name = "forest",
                               .about = "a forest of trees that xgboost or LightGBM saved",
                               .is = is_forest_file,
                               .describe = tell_forest};
