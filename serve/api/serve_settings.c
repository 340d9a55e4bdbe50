/* serve/api/serve_settings.c: the settings of the program: options, a configuration file, defaults.
 *
 * The members of the file become words as the command line has them ("max_body": "1MiB" is --max-body=1MiB), which the
 * same tables read before the words of the command line: lists are appended, and for other options the last word wins.
 */
#include "api/serve_settings.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/mem.h"
#include "core/fail.h"
#include "core/shown_text.h"
#include "furrow/json.h"
#include "http/http_parse.h"

enum { CONFIG_BYTES = 1 << 20, TOKEN_LEAST = 8, TOKEN_MOST = 1024, MOST_MEMBERS = 64 };

typedef struct settings {
  serve_values values; /* the first member: settings_free gets its address */
  char **words;        /* words of the configuration file; values point into them */
  size_t count, capacity;
} settings;

typedef struct config_reader {
  settings *to;
  furrow_json *json;
  const char *file;
  bool seen[MOST_MEMBERS]; /* members of the outer object, in the order of `names` */
  const char *names[MOST_MEMBERS];
  size_t name_count;
} config_reader;

/* ---- Names and addresses ---- */

static bool is_name(const char *text, size_t size) {
  static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.";
  if (size == 0 || size >= SERVED_NAME || strchr("_-.", text[0])) return false;
  for (size_t i = 0; i < size; i++)
    if (!text[i] || !strchr(letters, text[i])) return false;
  return true;
}

furrow_status settings_split(const char *text, char name[SERVED_NAME], const char **path, furrow_error *err) {
  const char *equals = strchr(text, '=');
  if (!equals || !equals[1]) return fail_token(err, text, "what is served is given as NAME=PATH");
  if (!is_name(text, (size_t)(equals - text))) {
    fail_token(err, text, "this does not begin with a name");
    return add_hint(err, "names have up to %d letters, digits, '_', '-' and '.', and begin with a letter or digit",
                    SERVED_NAME - 1);
  }
  memcpy(name, text, (size_t)(equals - text));
  name[equals - text] = 0;
  *path = equals + 1;
  return FURROW_OK;
}

bool settings_is_loopback(const char *listen) {
  char host[64];
  struct in_addr address;
  const char *colon = strrchr(listen, ':');
  const size_t length = colon ? (size_t)(colon - listen) : strlen(listen);
  if (length >= sizeof host) return false;
  memcpy(host, listen, length);
  host[length] = 0;
  if (strcasecmp(host, "localhost") == 0 || strcmp(host, "[::1]") == 0) return true;
  return inet_pton(AF_INET, host, &address) == 1 && ntohl(address.s_addr) >> 24 == 127;
}

/* ---- Words of the configuration file ---- */

/* Keeps --option=text. */
static furrow_status keep_word(settings *to, const char *opt, const char *text, furrow_error *err) {
  void *words = (void *)to->words;
  if (fw_grow(&words, &to->capacity, to->count + 1, sizeof *to->words, NULL) != FURROW_OK) return fail_memory(err);
  to->words = words;
  const size_t size = strlen(opt) + strlen(text) + 4;
  char *word = malloc(size);
  if (!word) return fail_memory(err);
  snprintf(word, size, "--%s%s%s", opt, *text ? "=" : "", text);
  to->words[to->count++] = word;
  return FURROW_OK;
}

/* Fails about the value that was read last. */
static furrow_status fail_here(config_reader *r, furrow_error *err, const char *what) {
  return furrow_json_fail(r->json, furrow_json_offset(r->json), NULL, err, "%s", what);
}

/* Fails about a member whose value has not been read yet. */
static furrow_status fail_member(config_reader *r, furrow_error *err, const char *what) {
  return furrow_json_fail(r->json, furrow_json_next_offset(r->json), NULL, err, "%s", what);
}

/* Reads a string that is not empty. Owner: the caller frees *text. */
static furrow_status read_text(config_reader *r, char **text, furrow_error *err) {
  furrow_json_text string;
  FW_TRY(furrow_json_string(r->json, &string, err));
  if (string.size == 0) return fail_here(r, err, "is empty");
  if (memchr(string.bytes, 0, string.size)) return fail_here(r, err, "contains a 0 byte");
  *text = malloc(string.size + 1);
  if (!*text) return fail_memory(err);
  memcpy(*text, string.bytes, string.size);
  (*text)[string.size] = 0;
  return FURROW_OK;
}

/* Reads a path, which is relative to the folder of the file, and keeps --option=NAME=PATH, or --option=PATH. */
static furrow_status keep_path(config_reader *r, const char *opt, const char *name, furrow_error *err) {
  char *path = NULL;
  const char *slash = strrchr(r->file, '/');
  FW_TRY(read_text(r, &path, err));
  const bool joins = slash && path[0] != '/' && !strstr(path, "://");
  const int folder = joins ? (int)(slash - r->file) + 1 : 0;
  const size_t size = strlen(path) + (size_t)folder + SERVED_NAME + 2;
  char *whole = malloc(size);
  if (whole) snprintf(whole, size, "%s%s%.*s%s", name ? name : "", name ? "=" : "", folder, r->file, path);
  furrow_status status = whole ? keep_word(r->to, opt, whole, err) : fail_memory(err);
  free(whole);
  free(path);
  return status;
}

/* Fails about an unknown member and lists the known ones. */
static furrow_status fail_unknown(config_reader *r, furrow_json_text key, const char *const *names, size_t count,
                                  furrow_error *err) {
  char word[64];
  snprintf(word, sizeof word, "%.*s", (int)(key.size < 63 ? key.size : 63), key.bytes);
  const char *closest = closest_word(word, names, count);
  fail_member(r, err, "is not a setting");
  return closest ? add_hint(err, "did you mean \"%s\"?", closest)
                 : add_hint(err, "'furrow serve --help' lists the options; members have '_' for '-'");
}

/* {"path": …, "items": …, "seen": …} of a model; {"path": …, "writable": …} of an index. */
static furrow_status read_source(config_reader *r, const char *opt, const char *name, furrow_error *err) {
  static const char *const of_models[] = {"path", "items", "seen"}, *const of_indexes[] = {"path", "writable"};
  const bool is_model = strcmp(opt, "model") == 0;
  bool has_path = false, writable = false;
  furrow_json_text key;
  furrow_status status = furrow_json_object(r->json, err);
  while (status == FURROW_OK && (status = furrow_json_member(r->json, &key, err)) == FURROW_OK) {
    if (furrow_json_is(key, "path")) {
      if (has_path) return fail_member(r, err, "occurs twice");
      has_path = true;
      status = keep_path(r, opt, name, err);
    } else if (is_model && furrow_json_is(key, "items"))
      status = keep_path(r, "items", name, err);
    else if (is_model && furrow_json_is(key, "seen"))
      status = keep_path(r, "seen", name, err);
    else if (!is_model && furrow_json_is(key, "writable"))
      status = furrow_json_bool(r->json, &writable, err);
    else
      status = fail_unknown(r, key, is_model ? of_models : of_indexes, is_model ? 3 : 2, err);
  }
  if (status != FURROW_END) return status;
  if (!has_path) return fail_here(r, err, "has no \"path\"");
  return writable ? keep_word(r->to, "writable", name, err) : FURROW_OK;
}

/* {NAME: PATH or an object, …} */
static furrow_status read_sources(config_reader *r, const char *opt, furrow_error *err) {
  furrow_json_text key;
  furrow_status status = furrow_json_object(r->json, err);
  while (status == FURROW_OK && (status = furrow_json_member(r->json, &key, err)) == FURROW_OK) {
    char name[SERVED_NAME];
    if (!is_name(key.bytes, key.size)) return fail_member(r, err, "is not a name of letters, digits, '_', '-' and '.'");
    memcpy(name, key.bytes, key.size);
    name[key.size] = 0;
    status =
        furrow_json_peek(r->json) == FURROW_JSON_OBJECT ? read_source(r, opt, name, err) : keep_path(r, opt, name, err);
  }
  return status == FURROW_END ? FURROW_OK : status;
}

/* ---- Members ---- */

static const option *find_option(const char *member, size_t size) {
  for (const option_group *group = serve_groups; group->title; group++)
    for (const option *o = group->options; o->name; o++) {
      size_t i = 0;
      while (i < size && o->name[i] && member[i] == (o->name[i] == '-' ? '_' : o->name[i])) i++;
      if (i == size && !o->name[i]) return o;
    }
  return NULL;
}

static furrow_status read_flag(config_reader *r, const option *o, furrow_error *err) {
  bool value = false;
  FW_TRY(furrow_json_bool(r->json, &value, err));
  return value ? keep_word(r->to, o->name, "", err) : FURROW_OK;
}

static furrow_status read_number(config_reader *r, const option *o, furrow_error *err) {
  furrow_json_text raw;
  char text[64];
  double number;
  FW_TRY(furrow_json_skip(r->json, &raw, err));
  if (raw.size >= sizeof text || raw.bytes[0] == '"') return fail_here(r, err, "is not a number");
  memcpy(text, raw.bytes, raw.size);
  text[raw.size] = 0;
  return read_real(text, &number) ? keep_word(r->to, o->name, text, err) : fail_here(r, err, "is not a number");
}

static furrow_status read_string(config_reader *r, const option *o, furrow_error *err) {
  char *text = NULL;
  FW_TRY(read_text(r, &text, err));
  furrow_status status = keep_word(r->to, o->name, text, err);
  free(text);
  return status;
}

/* Reads a string, or an array of them. */
static furrow_status read_list(config_reader *r, const option *o, furrow_error *err) {
  if (furrow_json_peek(r->json) != FURROW_JSON_ARRAY) return read_string(r, o, err);
  furrow_status status = furrow_json_array(r->json, err);
  while (status == FURROW_OK && (status = furrow_json_element(r->json, err)) == FURROW_OK)
    status = read_string(r, o, err);
  return status == FURROW_END ? FURROW_OK : status;
}

static furrow_status read_value(config_reader *r, const char *name, furrow_error *err) {
  if (strcmp(name, "models") == 0) return read_sources(r, "model", err);
  if (strcmp(name, "indexes") == 0) return read_sources(r, "index", err);
  const option *o = find_option(name, strlen(name));
  const bool is_string = furrow_json_peek(r->json) == FURROW_JSON_STRING;
  const bool is_path = strcmp(o->name, "token-file") == 0 || strcmp(o->name, "access-log-file") == 0;
  if (is_path) return keep_path(r, o->name, NULL, err);
  if (o->kind == OPTION_FLAG) return read_flag(r, o, err);
  if (o->kind == OPTION_LIST) return read_list(r, o, err);
  if (o->kind == OPTION_TEXT || o->kind == OPTION_ENUM || (o->kind == OPTION_BYTES && is_string))
    return read_string(r, o, err);
  return read_number(r, o, err);
}

static furrow_status read_member(config_reader *r, furrow_json_text key, furrow_error *err) {
  for (size_t i = 0; i < r->name_count; i++) {
    if (!furrow_json_is(key, r->names[i])) continue;
    if (r->seen[i]) return fail_member(r, err, "occurs twice");
    r->seen[i] = true;
    return read_value(r, r->names[i], err);
  }
  return fail_unknown(r, key, r->names, r->name_count, err);
}

/* The members that the outer object may have: models, indexes, and every option that is not about one of them, with '_'
 * for '-'. */
static void list_names(config_reader *r, char names[MOST_MEMBERS][32]) {
  r->names[r->name_count++] = "models";
  r->names[r->name_count++] = "indexes";
  for (const option_group *group = serve_groups; group->title; group++)
    for (const option *o = group->options; o->name && r->name_count < MOST_MEMBERS; o++) {
      const bool is_source = o->kind == OPTION_LIST && group->options == serve_groups[0].options;
      if (is_source || strcmp(o->name, "config") == 0 || strcmp(o->name, "version") == 0) continue;
      char *name = names[r->name_count];
      snprintf(name, 32, "%s", o->name);
      for (char *c = name; *c; c++)
        if (*c == '-') *c = '_';
      r->names[r->name_count++] = name;
    }
}

/* ---- The configuration file ---- */

/* Owner: the caller frees *text. */
static furrow_status read_file(const char *path, char **text, size_t *size, furrow_error *err) {
  furrow_status status = FURROW_OK;
  FILE *file = fopen(path, "rb");
  if (!file) return fail_file(err, FURROW_E_NOT_FOUND, path, "cannot be opened", errno);
  char *data = malloc(CONFIG_BYTES + 1);
  if (!data) status = fail_memory(err);
  if (status == FURROW_OK) {
    *size = fread(data, 1, CONFIG_BYTES + 1, file);
    if (ferror(file)) status = fail_file(err, FURROW_E_IO, path, "cannot be read", errno);
    if (*size > CONFIG_BYTES) status = fail_file(err, FURROW_E_FORMAT, path, "is longer than 1 MiB", 0);
  }
  fclose(file);
  if (status == FURROW_OK) *text = data;
  if (status != FURROW_OK) free(data);
  return status;
}

static furrow_status read_members(config_reader *r, const char *text, size_t size, furrow_error *err) {
  char names[MOST_MEMBERS][32];
  furrow_json_text key;
  FW_TRY(furrow_json_create(&r->json, err));
  list_names(r, names);
  furrow_json_start(r->json, text, size, r->file);
  furrow_status status = furrow_json_object(r->json, err);
  while (status == FURROW_OK && (status = furrow_json_member(r->json, &key, err)) == FURROW_OK)
    status = read_member(r, key, err);
  return status == FURROW_END ? furrow_json_end(r->json, err) : status;
}

/* Fills in to->values from the file, then from the words of the command line. */
static furrow_status merge(settings *to, const char *path, furrow_error *err) {
  config_reader reader = {.to = to, .file = path};
  common_values common;
  char *text = NULL;
  size_t size = 0;
  int argc = 0;
  char **argv = command_words() + 2; /* the words after furrow serve */
  while (argv[argc]) argc++;
  FW_TRY(read_file(path, &text, &size, err));
  furrow_status status = read_members(&reader, text, size, err);
  furrow_json_free(reader.json);
  free(text);
  if (status != FURROW_OK) return status;
  status = options_parse("furrow serve", serve_groups, NULL, (int)to->count, to->words, &to->values, &common, err);
  if (status != FURROW_OK) {
    if (err) snprintf(err->file, sizeof err->file, "%s", path);
    return status;
  }
  return options_parse("furrow serve", serve_groups, NULL, argc, argv, &to->values, &common, err);
}

/* ---- Checks ---- */

/* Whether one of the first `count` texts is NAME=…. */
static bool has_name(const text_list *list, size_t count, const char *text, size_t size) {
  for (size_t i = 0; i < count; i++)
    if (strncmp(list->texts[i], text, size) == 0 && list->texts[i][size] == '=') return true;
  return false;
}

static furrow_status check_sources(const text_list *list, const char *what, furrow_error *err) {
  for (size_t i = 0; i < list->count; i++) {
    char name[SERVED_NAME];
    const char *path;
    FW_TRY(settings_split(list->texts[i], name, &path, err));
    if (has_name(list, i, name, strlen(name))) return fail_token(err, name, "two %s have the same name", what);
  }
  return FURROW_OK;
}

/* Checks that --writable, --items and --seen name something that is served. */
static furrow_status check_about(const text_list *list, const char *opt, bool has_path, const text_list *served,
                                 const char *what, furrow_error *err) {
  for (size_t i = 0; i < list->count; i++) {
    const char *text = list->texts[i], *equals = strchr(text, '=');
    if (has_path && (!equals || !equals[1])) return fail_token(err, text, "--%s takes NAME=FILE", opt);
    if (!has_name(served, served->count, text, has_path ? (size_t)(equals - text) : strlen(text)))
      return fail_token(err, text, "--%s: no served %s has this name", opt, what);
  }
  return FURROW_OK;
}

static furrow_status check_count(const char *opt, uint64_t value, uint64_t least, uint64_t most, furrow_error *err) {
  if (value >= least && value <= most) return FURROW_OK;
  return fail(err, FURROW_E_ARGUMENT, "--%s %llu is not from %llu to %llu", opt, (unsigned long long)value,
              (unsigned long long)least, (unsigned long long)most);
}

static furrow_status check_seconds(const char *opt, double value, bool may_be_zero, furrow_error *err) {
  if ((value > 0 || (may_be_zero && value == 0)) && value <= 1000000) return FURROW_OK;
  return fail(err, FURROW_E_ARGUMENT, "--%s %g is not %s and at most 1000000 seconds", opt, value,
              may_be_zero ? "0 or more" : "more than 0");
}

static furrow_status check_limits(const serve_values *v, furrow_error *err) {
  const uint64_t most = UINT32_MAX;
  FW_TRY(check_count("max-memory", v->max_memory, 1024, SIZE_MAX / 4, err));
  FW_TRY(check_count("max-body", v->max_body, 1024, SIZE_MAX / 4, err));
  if (v->max_body > v->max_memory) {
    fail(err, FURROW_E_ARGUMENT, "--max-body %llu is more than --max-memory %llu: such a request could never be read",
         (unsigned long long)v->max_body, (unsigned long long)v->max_memory);
    return add_hint(err, "raise --max-memory, which is for the requests and answers of all connections");
  }
  FW_TRY(check_count("max-rows", v->max_rows, 1, most, err));
  FW_TRY(check_count("max-results", v->max_results, 1, most, err));
  FW_TRY(check_count("max-queue", v->max_queue, 1, 1000000, err));
  FW_TRY(check_count("max-connections", v->max_connections, 1, 10000000, err));
  FW_TRY(check_count("checkpoint-after", v->checkpoint_after, 1, UINT64_MAX, err));
  FW_TRY(check_count("max-fresh", v->max_fresh, 1, UINT64_MAX, err));
  FW_TRY(check_seconds("timeout", v->timeout, false, err));
  FW_TRY(check_seconds("idle-timeout", v->idle_timeout, false, err));
  FW_TRY(check_seconds("slow", v->slow, true, err));
  FW_TRY(check_seconds("drain", v->drain, true, err));
  return check_seconds("checkpoint-seconds", v->checkpoint_seconds, false, err);
}

/* Checks the form HOST:PORT; the host is looked up later. */
static furrow_status check_listen(const char *listen, furrow_error *err) {
  const char *colon = strrchr(listen, ':'), *port = colon ? colon + 1 : listen;
  const size_t digits = strspn(port, "0123456789");
  const bool is_port = digits > 0 && digits <= 5 && !port[digits] && strtoul(port, NULL, 10) <= 65535;
  const bool is_bare = colon && listen[0] != '[' && memchr(listen, ':', (size_t)(colon - listen));
  if (colon && is_port && !is_bare) return FURROW_OK;
  fail_token(err, listen, "--listen takes HOST:PORT");
  if (is_bare) return add_hint(err, "an IPv6 address is written in brackets: [::1]:8080");
  return add_hint(err, "127.0.0.1:%s is reachable only from this machine", is_port ? port : "8080");
}

static furrow_status check_loopback(const char *listen, furrow_error *err) {
  if (settings_is_loopback(listen)) return FURROW_OK;
  fail_token(err, listen,
             listen[0] == ':' ? "without a host, --listen means all addresses, which other machines can reach"
                              : "other machines can reach this address");
  return add_hint(err,
                  "--listen 127.0.0.1%s is reachable only from this machine; for other machines give --token-file "
                  "FILE, or --insecure to accept requests from anyone",
                  strrchr(listen, ':'));
}

/* Patterns are refused: nothing would match them. */
static bool is_host(const char *text) {
  http_text name, port;
  return http_split_host((http_text){text, strlen(text)}, &name, &port) && name.size > 0 &&
         !strpbrk(text, "!$%&'()*+;=~");
}

static furrow_status check_hosts(const text_list *hosts, furrow_error *err) {
  for (size_t i = 0; i < hosts->count; i++)
    if (!is_host(hosts->texts[i])) return fail_token(err, hosts->texts[i], "--allowed-host takes NAME or NAME:PORT");
  return FURROW_OK;
}

static furrow_status check_origins(const text_list *origins, furrow_error *err) {
  for (size_t i = 0; i < origins->count; i++) {
    const char *text = origins->texts[i];
    const size_t scheme = strncmp(text, "http://", 7) == 0 ? 7 : strncmp(text, "https://", 8) == 0 ? 8 : 0;
    if (scheme > 0 && is_host(text + scheme)) continue;
    fail_token(err, text, "--allowed-origin takes http:// or https://, a host, and a port if it is not the usual one");
    return add_hint(err, "an origin has no path: https://shop.example");
  }
  return FURROW_OK;
}

static furrow_status check_settings(serve_values *v, furrow_error *err) {
  const size_t usual = (size_t)16 << 20;
  if (v->max_body == SIZE_MAX) v->max_body = v->max_memory < usual ? v->max_memory : usual;
  if (v->models.count + v->indexes.count == 0)
    return fail(err, FURROW_E_ARGUMENT, "nothing to serve: give --model NAME=DIR or --index NAME=FILE");
  FW_TRY(check_sources(&v->models, "models", err));
  FW_TRY(check_sources(&v->indexes, "indexes", err));
  FW_TRY(check_about(&v->writable, "writable", false, &v->indexes, "index", err));
  FW_TRY(check_about(&v->items, "items", true, &v->models, "model", err));
  FW_TRY(check_about(&v->seen, "seen", true, &v->models, "model", err));
  FW_TRY(check_limits(v, err));
  if (v->access_log_file && v->access_log == ACCESS_OFF)
    return fail(err, FURROW_E_ARGUMENT, "--access-log-file needs --access-log common or --access-log json");
  FW_TRY(check_hosts(&v->allowed_hosts, err));
  FW_TRY(check_origins(&v->allowed_origins, err));
  FW_TRY(check_listen(v->listen, err));
  return v->token_file || v->insecure ? FURROW_OK : check_loopback(v->listen, err);
}

/* ---- The token ---- */

static const char *why_not_a_token(const char *text, size_t size) {
  if (size == 0) return "the first line, the token, is empty";
  if (size < TOKEN_LEAST) return "the first line, the token, has fewer than 8 bytes";
  if (size > TOKEN_MOST) return "the first line, the token, has more than 1024 bytes";
  for (size_t i = 0; i < size; i++)
    if (text[i] <= ' ' || text[i] > '~') return "the first line, the token, has bytes that are not printable ASCII";
  return NULL;
}

static void note_mode(FILE *file, const char *path) {
  struct stat info;
  if (fstat(fileno(file), &info) == 0 && (info.st_mode & 0044) != 0)
    say("furrow: note: others can read the token file %s (mode %03o): chmod 600 prevents that\n", path,
        (unsigned)info.st_mode & 0777);
}

static furrow_status read_token(const char *path, char **token, furrow_error *err) {
  char text[TOKEN_MOST + 3];
  FILE *file = fopen(path, "rb");
  if (!file) return fail_file(err, FURROW_E_NOT_FOUND, path, "the token file cannot be opened", errno);
  const size_t size = fread(text, 1, sizeof text, file);
  const bool failed = ferror(file) != 0;
  const int errnum = errno;
  note_mode(file, path);
  fclose(file);
  if (failed) return fail_file(err, FURROW_E_IO, path, "the token file cannot be read", errnum);
  const char *end = memchr(text, '\n', size);
  size_t length = end ? (size_t)(end - text) : size;
  while (length > 0 && text[length - 1] == '\r') length--;
  const char *problem = why_not_a_token(text, length);
  if (problem) return fail_file(err, FURROW_E_FORMAT, path, problem, 0);
  *token = strndup(text, length);
  return *token ? FURROW_OK : fail_memory(err);
}

/* ---- All of it ---- */

furrow_status settings_load(serve_values **values, const serve_values *given, char **token, furrow_error *err) {
  settings *to = calloc(1, sizeof *to);
  if (!to) return fail_memory(err);
  furrow_status status = FURROW_OK;
  if (given->config) {
    serve_values_init(&to->values);
    status = merge(to, given->config, err);
  } else {
    to->values = *given;
  }
  if (!to->values.listen) to->values.listen = "127.0.0.1:8080";
  if (status == FURROW_OK) status = check_settings(&to->values, err);
  if (status == FURROW_OK && to->values.token_file) status = read_token(to->values.token_file, token, err);
  if (status == FURROW_OK) *values = &to->values;
  if (status != FURROW_OK) settings_free(&to->values);
  return status;
}

void settings_free(serve_values *values) {
  settings *s = (settings *)values;
  if (!s) return;
  for (size_t i = 0; i < s->count; i++) free(s->words[i]);
  free(s->words);
  free(s);
}
