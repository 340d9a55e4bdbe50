/* tests/fuzz/serve/fuzz_serve_settings.c: any bytes as the configuration file of the service: refused with an error, or
 * taken; and what is taken can be served by name. */
#include <string.h>

#include "api/serve_settings.h"
#include "fuzz/harness/fuzz_check.h"

static furrow_status do_nothing(const void *values, output *out, furrow_error *err) {
  (void)values;
  (void)out;
  (void)err;
  return FURROW_OK;
}

/* Options win over the file: the words of a command line without any. */
static void start_command(void) {
  static const command serve = {.name = "serve", .run = do_nothing}, *const verbs[] = {&serve, NULL};
  static const command root = {.name = "furrow", .verbs = verbs};
  static char *words[] = {"furrow", "serve", NULL};
  if (!command_words()) check(command_main(&root, 2, words) == 0);
}

static void check_served(const text_list *list) {
  for (size_t i = 0; i < list->count; i++) {
    char name[SERVED_NAME];
    const char *path = NULL;
    check(settings_split(list->texts[i], name, &path, NULL) == FURROW_OK);
    check(name[0] && strlen(name) < SERVED_NAME && path[0]);
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  serve_values given, *values = NULL;
  char *token = NULL;
  furrow_error err = {0};
  start_command();
  serve_values_init(&given);
  given.config = fuzz_path(data, size);
  const furrow_status status = settings_load(&values, &given, &token, &err);
  if (status == FURROW_OK) {
    check(values->models.count + values->indexes.count > 0);
    check_served(&values->models);
    check_served(&values->indexes);
    check(!token || strlen(token) > 0);
    check(token || values->insecure || settings_is_loopback(values->listen));
    settings_free(values);
    free(token);
  } else {
    check(err.status == status && err.message[0] && !values && !token);
  }
  return 0;
}
