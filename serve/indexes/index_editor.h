/* serve/indexes/index_editor.h: changes a writable index: one thread takes additions and removals, writes them to the
 * log and publishes them; another folds the log into the index file (a checkpoint).
 *
 * Requests that wait at the same time share one sync of the log (group commit). Searches never wait: they use the view
 * that was published last.
 */
#ifndef SERVE_INDEXES_INDEX_EDITOR_H
#define SERVE_INDEXES_INDEX_EDITOR_H

#include "indexes/served_index.h"
#include "shared/loaded_files.h"

typedef struct index_editor index_editor;

/* Checks that the index can be changed, takes the lock of its log, replays it, publishes the view in `views`, which
 * must outlive the editor, and starts the threads. The base is kept; `loaded` is its file. source->path is the path of
 * the file itself, not of a symbolic link.
 * Errors: E_UNSUPPORTED, a kind of index that cannot be changed by id; otherwise as change_log_open. */
furrow_status index_editor_start(index_editor **editor, const index_source *source, index_base *base,
                                 const file_print *loaded, slot *views, furrow_error *err);
/* Finishes the waiting jobs, makes a checkpoint if there are changes, and ends. Takes NULL.
 * Returns: whether the file has all changes. */
bool index_editor_stop(index_editor *editor);
/* As served_index_add, remove and checkpoint. */
furrow_status index_editor_add(index_editor *editor, const index_addition *addition, int64_t *ids, furrow_error *err);
furrow_status index_editor_remove(index_editor *editor, const int64_t *ids, size_t n, uint64_t *removed,
                                  furrow_error *err);
furrow_status index_editor_checkpoint(index_editor *editor, furrow_error *err);
void index_editor_get_figures(index_editor *editor, edit_figures *figures);
/* The error because of which changes are refused, or else of the last checkpoint, as one line; false: there is none. */
bool index_editor_last_error(index_editor *editor, char *text, size_t size);
/* Writes an error as clients may read it: with only the last part of its file's path. */
void index_error_text(const furrow_error *err, char *text, size_t size);

#endif
