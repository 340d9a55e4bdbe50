/* serve/catalog/model_version.h: loads one version of a model. */
#ifndef SERVE_CATALOG_MODEL_VERSION_H
#define SERVE_CATALOG_MODEL_VERSION_H

#include "catalog/served_model.h"
#include "catalog/version_folder.h"

/* Reads a version without mapping a file, checks every record of its matrices, loads it, and scores a row. `threads`
 * load it (0: one for each processor); `users` threads may use it. Owner: the caller, as its first user. Errors: those
 * of version_folder_check, furrow_matrix_verify, furrow_scorer_load, furrow_recommender_open, furrow_item_table_load
 * and furrow_events_load; E_RANGE, numbers that are not finite; E_ARGUMENT, items or a log for a model without users
 * and items. */
furrow_status model_version_load(model_version **version, const model_source *source, const version_folder *folder,
                                 unsigned threads, unsigned users, furrow_error *err);

#endif
