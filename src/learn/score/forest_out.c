/* learn/score/forest_out.c: the forest of a scorer as a model file of another program. */
#include "base/error.h"
#include "furrow/io.h"
#include "learn/conf/conf_data.h"
#include "learn/nodes/forest_export.h"
#include "learn/score/scorer.h"

furrow_status furrow_forest_export(const furrow_scorer *scorer, const char *path, bool overwrite, furrow_error *err) {
  const fw_plan *plan = scorer->plan;
  fw_node_forest *made = NULL;
  fw_buffer text = {0};
  if (!scorer->forest && !scorer->nodes)
    return fw_fail(err, FURROW_E_STATE, "the model has no trees: it is not of gbdt");
  if (scorer->forest) FW_TRY(fw_forest_to_nodes(&made, scorer->forest, plan->train.lr, err));
  const fw_export_model model = {.forest = made ? made : scorer->nodes,
                                 .objective = furrow_learn_conf_get(scorer->conf, "objective"),
                                 .quantile = plan->graph.quantile,
                                 .names = (const char *const *)scorer->names,
                                 .name_count = scorer->name_count};
  furrow_status status = fw_xgboost_write(&model, &text, err);
  if (status == FURROW_OK) status = furrow_file_save(path, text.bytes, text.size, overwrite, err);
  fw_buffer_clear(&text);
  fw_node_forest_free(made);
  return status;
}
