/* learn/describe/model_json_walk.c: the values of a furrow.json, one after the other. */
#include <stdio.h>
#include <string.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/json_in.h"
#include "base/mem.h"
#include "io/input.h"
#include "learn/conf/conf_data.h"
#include "learn/conf/model_json.h"

enum { MEMBER_TEXT = 256 }; /* longer paths, which Furrow does not write, are cut */

typedef struct walk {
  furrow_json json;
  char member[MEMBER_TEXT];
  fw_buffer text;
  furrow_status (*visit)(void *user, const char *member, const char *text);
  void *user;
} walk;

static furrow_status walk_value(walk *w, furrow_error *err);

static furrow_status walk_scalar(walk *w, furrow_error *err) {
  furrow_json_text value = {0};
  const furrow_json_kind kind = furrow_json_peek(&w->json);
  FW_TRY(kind == FURROW_JSON_STRING ? furrow_json_string(&w->json, &value, err)
                                    : furrow_json_skip(&w->json, &value, err));
  fw_buffer_reset(&w->text);
  fw_buffer_append(&w->text, value.bytes, value.size);
  fw_buffer_byte(&w->text, 0);
  FW_TRY(fw_buffer_status(&w->text, err));
  return w->visit(w->user, w->member, kind == FURROW_JSON_NULL ? NULL : w->text.bytes);
}

static furrow_status walk_object(walk *w, furrow_error *err) {
  furrow_json_text key;
  const size_t before = strlen(w->member);
  furrow_status status;
  FW_TRY(furrow_json_object(&w->json, err));
  while ((status = furrow_json_member(&w->json, &key, err)) == FURROW_OK) {
    const int size = key.size < MEMBER_TEXT ? (int)key.size : MEMBER_TEXT;
    snprintf(w->member + before, sizeof w->member - before, "%s%.*s", before > 0 ? "/" : "", size, key.bytes);
    FW_TRY(walk_value(w, err)); /* END, too, if visit said so */
    w->member[before] = 0;
  }
  return status == FURROW_END ? FURROW_OK : status;
}

static furrow_status walk_array(walk *w, furrow_error *err) {
  furrow_status status;
  FW_TRY(furrow_json_array(&w->json, err));
  while ((status = furrow_json_element(&w->json, err)) == FURROW_OK) FW_TRY(walk_value(w, err));
  return status == FURROW_END ? FURROW_OK : status;
}

/* As deep as furrow_json goes. */
static furrow_status walk_value(walk *w, furrow_error *err) {
  const furrow_json_kind kind = furrow_json_peek(&w->json);
  return kind == FURROW_JSON_OBJECT  ? walk_object(w, err)
         : kind == FURROW_JSON_ARRAY ? walk_array(w, err)
                                     : walk_scalar(w, err);
}

/* All that a reader of the model would refuse. */
static furrow_status check(const char *text, size_t size, const char *path, furrow_error *err) {
  furrow_learn_conf *conf = NULL;
  furrow_status status = furrow_learn_conf_create(&conf, err);
  if (status == FURROW_OK) status = fw_model_json_read(conf, text, size, path, err);
  furrow_learn_conf_free(conf);
  return status;
}

furrow_status furrow_model_json_for_each(const char *path,
                                         furrow_status (*visit)(void *user, const char *member, const char *text),
                                         void *user, furrow_error *err) {
  walk w = {.visit = visit, .user = user};
  char *text = NULL;
  size_t size = 0;
  FW_TRY(fw_path_read_json(&text, &size, path, err));
  furrow_status status = check(text, size, path, err);
  if (status == FURROW_OK) {
    fw_json_open(&w.json, text, size, path);
    status = walk_object(&w, err);
    fw_json_close(&w.json);
  }
  fw_buffer_clear(&w.text);
  fw_free(text);
  return status;
}
