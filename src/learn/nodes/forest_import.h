/* learn/nodes/forest_import.h: forests in the model files of xgboost and LightGBM. */
#ifndef FW_LEARN_NODES_FOREST_IMPORT_H
#define FW_LEARN_NODES_FOREST_IMPORT_H

#include "learn/nodes/node_forest.h"

/* A forest with what its file says about it. */
typedef struct fw_imported {
  fw_node_forest *forest;
  const char *objective; /* Furrow's, as the key takes it */
  double quantile;       /* of reg:quantileerror */
  char from[64];         /* "xgboost 1.7.4" */
  char their_objective[64];
  char **names;                /* of all features; NULL: too many to be named */
  size_t rounds_there, rounds; /* rounds of the file, and rounds that were taken */
} fw_imported;

void fw_imported_clear(fw_imported *imported);

typedef struct fw_import_rules {
  bool all_rounds;  /* also those after the best iteration */
  const char *file; /* for errors */
} fw_import_rules;

/* What a file is, by its first bytes. */
typedef enum fw_import_kind { FW_IMPORT_NONE, FW_IMPORT_JSON, FW_IMPORT_UBJ, FW_IMPORT_LIGHTGBM } fw_import_kind;
fw_import_kind fw_import_probe(const void *bytes, size_t size);
enum { FW_IMPORT_HEAD = 512 }; /* bytes that are enough to tell */

/* The whole file; *imported is all zeros before, and is to be cleared after a failure, too. E_FORMAT: not such a file,
 * or damaged; E_UNSUPPORTED: a model that is not a forest of this kind, which the message names. */
furrow_status fw_import_bytes(fw_imported *imported, const void *bytes, size_t size, const fw_import_rules *rules,
                              furrow_error *err) FURROW_MUST_USE;
/* E_ARGUMENT: the file is none of these. */
furrow_status fw_import_file(fw_imported *imported, const char *path, const fw_import_rules *rules,
                             furrow_error *err) FURROW_MUST_USE;

/* The forest of a model: the file of another program, or forest.nodes in a directory. */
furrow_status fw_node_forest_load_model(fw_node_forest **forest, const char *model, furrow_error *err) FURROW_MUST_USE;
bool fw_node_forest_is_at(const char *model);

/* ---- One kind each (xgboost_import.c, lightgbm_import.c) ---- */

furrow_status fw_xgboost_read(fw_imported *imported, const char *text, size_t size, const fw_import_rules *rules,
                              furrow_error *err) FURROW_MUST_USE;
furrow_status fw_lightgbm_read(fw_imported *imported, const char *text, size_t size, const fw_import_rules *rules,
                               furrow_error *err) FURROW_MUST_USE;
/* Names features f0, f1 … unless they have names or are more than FW_IMPORT_NAMED. */
enum { FW_IMPORT_NAMED = 65536 };
furrow_status fw_import_name_features(fw_imported *imported, furrow_error *err) FURROW_MUST_USE;

/* ---- Texts (ubj_in.c) ---- */

/* Writes a UBJSON value as JSON, so that one reader serves both; NaN becomes null and infinite numbers 1e999. */
furrow_status fw_ubj_to_json(fw_buffer *json, const void *bytes, size_t size, furrow_error *err) FURROW_MUST_USE;
/* Copies JSON in which NaN and Infinity stand, as xgboost writes them, in the same way. */
void fw_json_replace_nan(fw_buffer *json, const char *text, size_t size);

#endif
