/* cli/model/forest_source.c: opens the gbdt models of the commands about trees. */
#include "model/forest_source.h"

#include <string.h>

#include "core/fail.h"

bool forest_is_listed(const furrow_model_listing *listing) {
  for (size_t i = 0; !listing->single && i < listing->matrix_count; i++)
    if (strcmp(listing->matrices[i].name, "gbdt.split.feature") == 0) return true;
  return false;
}

static bool has_graph(const furrow_model_listing *listing) {
  for (size_t i = 0; i < listing->file_count; i++)
    if (strcmp(listing->files[i].name, "graph.json") == 0) return true;
  return false;
}

static furrow_status open_listed(furrow_scorer **scorer, const furrow_model_listing *listing, uint32_t threads,
                                 furrow_error *err) {
  furrow_scorer_params params;
  furrow_learn_conf *conf = NULL;
  furrow_status status = FURROW_OK;
  furrow_scorer_params_init(&params);
  params.threads = threads;
  if (!has_graph(listing)) {
    status = furrow_learn_conf_create(&conf, err);
    if (status == FURROW_OK) status = furrow_learn_conf_set_algorithm(conf, "gbdt", err);
    if (status == FURROW_OK) status = furrow_learn_conf_set(conf, "defaults", "angel", err);
    params.conf = conf;
  }
  if (status == FURROW_OK) status = furrow_scorer_load(scorer, listing->path, &params, err);
  furrow_learn_conf_free(conf);
  return status;
}

furrow_status forest_open(furrow_scorer **scorer, const char *folder, uint32_t threads, furrow_error *err) {
  furrow_model_listing *listing = NULL;
  furrow_status status = furrow_model_listing_load(&listing, folder, err);
  if (status == FURROW_OK && !forest_is_listed(listing))
    status = fail_in(err, FURROW_E_STATE, folder, "the model has no trees: there is no matrix gbdt.split.feature");
  if (status == FURROW_OK) status = open_listed(scorer, listing, threads, err);
  furrow_model_listing_free(listing);
  return status;
}
