/* cli/demo_page.c: the report of the demo. */
#include "demo_results.h"
#include "text_file.h"

furrow_status demo_page_write(const demo_results *results, const char *path, furrow_error *err) {
  (void)results;
  text_file file;
  furrow_status status = text_file_begin(&file, err);
  if (status != FURROW_OK) return status;
  fprintf(file.out, "<!doctype html>\n");
  return text_file_end(&file, path, true, err);
}
