#include "edit/index_editor.h"
#include "core/fail.h"
furrow_status index_editor_start(index_editor **editor, const index_source *source, index_base *base,
                                 const file_print *loaded, slot *views, furrow_error *err) {
  (void)editor, (void)source, (void)base, (void)loaded, (void)views;
  return fail(err, FURROW_E_UNSUPPORTED, "writable indexes are not there yet");
}
void index_editor_stop(index_editor *editor) {
  (void)editor;
}
furrow_status index_editor_add(index_editor *editor, const index_addition *addition, int64_t *ids, furrow_error *err) {
  (void)editor, (void)addition, (void)ids;
  return fail(err, FURROW_E_UNSUPPORTED, "not yet");
}
furrow_status index_editor_remove(index_editor *editor, const int64_t *ids, size_t n, uint64_t *removed,
                                  furrow_error *err) {
  (void)editor, (void)ids, (void)n, (void)removed;
  return fail(err, FURROW_E_UNSUPPORTED, "not yet");
}
furrow_status index_editor_checkpoint(index_editor *editor, furrow_error *err) {
  (void)editor;
  return fail(err, FURROW_E_UNSUPPORTED, "not yet");
}
void index_editor_get_figures(index_editor *editor, edit_figures *figures) {
  (void)editor, (void)figures;
}
bool index_editor_last_error(index_editor *editor, char *text, size_t size) {
  (void)editor, (void)text, (void)size;
  return false;
}
