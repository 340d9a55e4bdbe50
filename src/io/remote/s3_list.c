/* io/remote/s3_list.c: reads the few elements of the XML that matter. */
#include "io/remote/s3_list.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/utf8.h"

typedef struct span {
  const char *at, *end;
} span;

static const char *find_text(span in, const char *text) {
  return memmem(in.at, (size_t)(in.end - in.at), text, strlen(text));
}

/* Finds the next <name> … </name>, and moves *rest past it. */
static bool next_element(span *rest, const char *name, span *inside) {
  char open[40], close[40];
  snprintf(open, sizeof open, "<%s>", name);
  snprintf(close, sizeof close, "</%s>", name);
  const char *begin = find_text(*rest, open);
  if (!begin) return false;
  begin += strlen(open);
  const char *end = find_text((span){begin, rest->end}, close);
  if (!end) return false;
  *inside = (span){begin, end};
  rest->at = end + strlen(close);
  return true;
}

/* &amp; &lt; &gt; &quot; &apos; &#10; &#xA; returns the number of bytes, 0 if it is none of them. */
static size_t decode_entity(const char *text, size_t size, fw_buffer *out) {
  static const struct {
    const char *name, *text;
  } entities[] = {{"&amp;", "&"}, {"&lt;", "<"}, {"&gt;", ">"}, {"&quot;", "\""}, {"&apos;", "'"}};
  for (size_t i = 0; i < sizeof entities / sizeof *entities; i++) {
    const size_t n = strlen(entities[i].name);
    if (size < n || memcmp(text, entities[i].name, n) != 0) continue;
    fw_buffer_text(out, entities[i].text);
    return n;
  }
  const char *semicolon = size > 3 && text[1] == '#' ? memchr(text, ';', size < 12 ? size : 12) : NULL;
  if (!semicolon) return 0;
  char digits[12] = "", *end = NULL;
  const bool hex = text[2] == 'x';
  memcpy(digits, text + 2 + hex, (size_t)(semicolon - text) - 2 - hex);
  const unsigned long code = strtoul(digits, &end, hex ? 16 : 10);
  if (end == digits || *end || code == 0 || code > 0x10ffff) return 0;
  char bytes[4];
  fw_buffer_append(out, bytes, fw_utf8_write(bytes, (uint32_t)code));
  return (size_t)(semicolon - text) + 1;
}

static void decode_text(span text, fw_buffer *out) {
  while (text.at < text.end) {
    const size_t n = *text.at == '&' ? decode_entity(text.at, (size_t)(text.end - text.at), out) : 0;
    if (n == 0) fw_buffer_byte(out, *text.at);
    text.at += n ? n : 1;
  }
}

bool fw_s3_element(const char *xml, size_t size, const char *name, fw_buffer *text) {
  span rest = {xml, xml + size}, inside;
  if (size == 0 || !next_element(&rest, name, &inside)) return false;
  decode_text(inside, text);
  return true;
}

typedef struct names {
  const char *prefix;
  furrow_file_name found;
  void *listing;
  size_t *count;
} names;

/* Reports one name; "" is the folder itself, and a name with a slash at its front or end cannot be a file. */
static furrow_status report(const names *n, span element, furrow_error *err) {
  fw_buffer key = {0};
  decode_text(element, &key);
  fw_buffer_byte(&key, 0);
  furrow_status status = fw_buffer_status(&key, err);
  const size_t length = strlen(n->prefix);
  if (status == FURROW_OK && strncmp(key.bytes, n->prefix, length) != 0)
    status = fw_fail(err, FURROW_E_FORMAT, "the server lists names that were not asked for");
  if (status == FURROW_OK) {
    char *name = key.bytes + length;
    const size_t size = strlen(name);
    if (size > 0 && name[size - 1] == '/') name[size - 1] = 0;
    if (name[0] && !strchr(name, '/')) {
      ++*n->count;
      status = n->found ? n->found(n->listing, name, err) : FURROW_OK;
    } else if (size == 0) {
      ++*n->count;
    }
  }
  fw_buffer_clear(&key);
  return status;
}

/* Reports the element `name` of every element `parent`. */
static furrow_status report_all(const names *n, span all, const char *parent, const char *name, furrow_error *err) {
  span one, text;
  while (next_element(&all, parent, &one))
    if (next_element(&one, name, &text)) FW_TRY(report(n, text, err));
  return FURROW_OK;
}

furrow_status fw_s3_list_parse(const char *xml, size_t size, const char *prefix, furrow_file_name found, void *listing,
                               fw_buffer *next, size_t *count, furrow_error *err) {
  const span all = {xml, xml + size};
  const names n = {prefix, found, listing, count};
  fw_buffer_reset(next);
  if (size == 0 || !find_text(all, "<ListBucketResult") || !find_text(all, "</ListBucketResult>"))
    return fw_fail(err, FURROW_E_FORMAT, "the server's answer is not a list of objects");
  FW_TRY(report_all(&n, all, "Contents", "Key", err));
  FW_TRY(report_all(&n, all, "CommonPrefixes", "Prefix", err));
  span rest = all, text;
  if (next_element(&rest, "IsTruncated", &text) && text.end - text.at == 4 && memcmp(text.at, "true", 4) == 0) {
    rest = all;
    if (!next_element(&rest, "NextContinuationToken", &text) || text.at == text.end)
      return fw_fail(err, FURROW_E_FORMAT, "the server's list of objects is cut short");
    decode_text(text, next);
  }
  return fw_buffer_status(next, err);
}
