/* serve/models/served_model.h: a model that is served, and one version of it.
 *
 * The source is a model directory, or a folder of numbered ones (1, 2, 17 …), of which the highest is served. A version
 * is read without mapping a file (they may be replaced or cut while it is loaded or served), checked, loaded,
 * warmed by a row, and then takes the place of the one before, which goes when its last request is answered. A version
 * that cannot be used is refused and remembered: the newest one that can be used is served.
 */
#ifndef SERVE_MODELS_SERVED_MODEL_H
#define SERVE_MODELS_SERVED_MODEL_H

#include "models/model_version.h"

typedef struct served_model served_model;

/* Makes it without a version. `threads`: the number of threads that may call model_version_scratch.
 * Owner: the caller frees it with served_model_free. */
furrow_status served_model_create(served_model **model, const model_source *source, unsigned threads,
                                  furrow_error *err);
void served_model_free(served_model *model);
const char *served_model_name(const served_model *model);
/* Loads the newest version if it is not the one that is served or its items or log have changed, or if `force`. If the
 * newest cannot be used, it falls back to the newest one that can, but not to one below the served one: then it returns
 * OK with result->is_older, and *err and served_model_last_error say what is wrong with the newest. Slow: never on a
 * thread of a loop. One call runs, and one waits; further calls are E_STATE. */
furrow_status served_model_reload(served_model *model, bool force, reload_result *result, furrow_error *err);
/* Returns whether the source has a version that is newer than the one served and was not refused before, or no longer
 * has one that was refused: then a reload is worth trying. Cheap. */
bool served_model_has_newer(served_model *model);
/* The version that is served, kept for the caller, who releases it with shared_release(&version->shared); NULL: none is
 * ready. */
model_version *served_model_get(served_model *model);
/* Writes an error of a reload as clients may read it, in one line: paths of files are shown without the path of the
 * source. */
void served_model_error_text(const served_model *model, const furrow_error *err, char *text, size_t size);
/* The error of the last reload, in the same form; false: it succeeded. */
bool served_model_last_error(served_model *model, char *text, size_t size);

#endif
