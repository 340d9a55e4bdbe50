/* serve/http/http_parse.c: the head and the chunks of a request (RFC 9112), in one pass over the bytes, without
 * allocations. */
#include "http/http_parse.h"

#include <string.h>
#include <strings.h>

enum {
  MOST_EMPTY_LINES = 8, /* before a head */
  MOST_METHOD = 32,
  MOST_TRAILER = 4096
};

/* Character classes: what a byte may be a part of. */
enum { TOKEN = 1, TARGET = 2, VALUE = 4, HOST = 8 };

#define LETTER (TOKEN | TARGET | VALUE | HOST)
static const unsigned char classes[256] = {
    ['\t'] = VALUE,
    [' '] = VALUE,
    ['!'] = TOKEN | TARGET | VALUE | HOST,
    ['"'] = TARGET | VALUE,
    ['#'] = TOKEN | VALUE,
    ['$'] = TOKEN | TARGET | VALUE | HOST,
    ['%'] = TOKEN | TARGET | VALUE | HOST,
    ['&'] = TOKEN | TARGET | VALUE | HOST,
    ['\''] = TOKEN | TARGET | VALUE | HOST,
    ['('] = TARGET | VALUE | HOST,
    [')'] = TARGET | VALUE | HOST,
    ['*'] = TOKEN | TARGET | VALUE | HOST,
    ['+'] = TOKEN | TARGET | VALUE | HOST,
    [','] = TARGET | VALUE,
    ['-'] = TOKEN | TARGET | VALUE | HOST,
    ['.'] = TOKEN | TARGET | VALUE | HOST,
    ['/'] = TARGET | VALUE,
    ['0' ... '9'] = LETTER,
    [':'] = TARGET | VALUE | HOST,
    [';'] = TARGET | VALUE | HOST,
    ['<'] = TARGET | VALUE,
    ['='] = TARGET | VALUE | HOST,
    ['>'] = TARGET | VALUE,
    ['?'] = TARGET | VALUE,
    ['@'] = TARGET | VALUE,
    ['A' ... 'Z'] = LETTER,
    ['['] = TARGET | VALUE | HOST,
    ['\\'] = TARGET | VALUE,
    [']'] = TARGET | VALUE | HOST,
    ['^'] = TOKEN | TARGET | VALUE,
    ['_'] = TOKEN | TARGET | VALUE | HOST,
    ['`'] = TOKEN | TARGET | VALUE,
    ['a' ... 'z'] = LETTER,
    ['{'] = TARGET | VALUE,
    ['|'] = TOKEN | TARGET | VALUE,
    ['}'] = TARGET | VALUE,
    ['~'] = TOKEN | TARGET | VALUE | HOST,
    [0x80 ... 0xff] = VALUE,
};

static bool is_in(char c, unsigned class) {
  return (classes[(unsigned char)c] & class) != 0;
}

static const char *skip_class(const char *at, const char *end, unsigned class) {
  while (at < end && is_in(*at, class)) at++;
  return at;
}

/* The end of a header's value; eight bytes at a time as long as none of them is a control character. */
static const char *skip_value(const char *at, const char *end) {
  const uint64_t ones = UINT64_C(0x0101010101010101);
  for (uint64_t word; end - at >= 8; at += 8) {
    memcpy(&word, at, sizeof word);
    const uint64_t deleted = word ^ ones * 0x7f;
    if ((((word - ones * ' ') & ~word) | ((deleted - ones) & ~deleted)) & ones * 0x80) break;
  }
  return skip_class(at, end, VALUE);
}

static int digit_of(char c) {
  return c >= '0' && c <= '9' ? c - '0' : (c | 0x20) >= 'a' && (c | 0x20) <= 'f' ? (c | 0x20) - 'a' + 10 : -1;
}

bool http_text_is(http_text text, const char *literal) {
  return strlen(literal) == text.size && (text.size == 0 || memcmp(text.at, literal, text.size) == 0);
}

static bool is_word(http_text text, const char *literal) {
  return strlen(literal) == text.size && (text.size == 0 || strncasecmp(text.at, literal, text.size) == 0);
}

http_text http_header_value(const http_head *head, const char *name) {
  const size_t length = strlen(name);
  for (size_t i = 0; i < head->header_count; i++) {
    const http_header *header = &head->headers[i];
    if (header->name.size == length && strncasecmp(header->name.at, name, length) == 0) return header->value;
  }
  return (http_text){0};
}

/* ---- Hosts ---- */

static bool is_port(const char *at, const char *end) {
  unsigned port = 0;
  for (; at < end && port <= UINT16_MAX; at++) {
    if (*at < '0' || *at > '9') return false;
    port = port * 10 + (unsigned)(*at - '0');
  }
  return at == end && port <= UINT16_MAX;
}

bool http_split_host(http_text text, http_text *name, http_text *port) {
  const char *begin = text.at, *end = text.at + text.size, *at = begin;
  if (at < end && *at == '[') {
    at++;
    while (at < end && (digit_of(*at) >= 0 || *at == ':' || *at == '.')) at++;
    if (at == end || *at != ']' || at == begin + 1) return false;
    at++;
  } else {
    while (at < end && is_in(*at, HOST) && !memchr(":[]", *at, 3)) at++;
  }
  *name = (http_text){begin, (size_t)(at - begin)};
  *port = (http_text){at, 0};
  if (at == end) return true;
  *port = (http_text){at + 1, (size_t)(end - at - 1)};
  return *at == ':' && name->size > 0 && is_port(at + 1, end);
}

/* ---- Where parsing ends ---- */

static http_parsed bad(int status, const char *problem) {
  return (http_parsed){.state = HTTP_PARSE_BAD, .status = status, .problem = problem};
}

static http_parsed more(void) {
  return (http_parsed){.state = HTTP_PARSE_MORE};
}

static http_parsed taken(const char *begin, const char *at) {
  return (http_parsed){.state = HTTP_PARSE_DONE, .used = (size_t)(at - begin)};
}

/* Parses the end of a line at `at`; *next is the byte after it. */
static http_parsed line_end(const char *at, const char *end, const char **next, const char *problem) {
  if (at == end) return more();
  if (*at != '\r') return bad(400, problem);
  if (at + 1 == end) return more();
  if (at[1] != '\n') return bad(400, "a line ends with CR but not LF");
  *next = at + 2;
  return taken(at, at + 2);
}

/* ---- The request line ---- */

static http_method method_of(http_text name) {
  return http_text_is(name, "GET")    ? HTTP_GET
         : http_text_is(name, "POST") ? HTTP_POST
         : http_text_is(name, "HEAD") ? HTTP_HEAD
                                      : HTTP_OTHER;
}

/* Removes the scheme and host of "http://host/path", the form that a proxy sends. */
static bool take_origin(http_text *target, http_text *host) {
  const size_t scheme = target->size >= 7 && strncasecmp(target->at, "http://", 7) == 0    ? 7
                        : target->size >= 8 && strncasecmp(target->at, "https://", 8) == 0 ? 8
                                                                                           : 0;
  if (scheme == 0) return false;
  const char *begin = target->at + scheme, *end = target->at + target->size;
  const char *at = skip_class(begin, end, HOST);
  if (at == begin || (at < end && *at != '/' && *at != '?')) return false;
  http_text name, port;
  *host = (http_text){begin, (size_t)(at - begin)};
  if (!http_split_host(*host, &name, &port)) return false;
  *target = (http_text){at, (size_t)(end - at)};
  return true;
}

static bool split_target(http_head *head, http_text target, http_text *host) {
  if (target.at[0] != '/' && !take_origin(&target, host)) return false;
  const char *mark = target.size > 0 ? memchr(target.at, '?', target.size) : NULL;
  head->path = (http_text){target.at, mark ? (size_t)(mark - target.at) : target.size};
  if (head->path.size == 0) head->path = (http_text){"/", 1};
  if (mark) head->query = (http_text){mark + 1, (size_t)(target.at + target.size - mark - 1)};
  return true;
}

static http_parsed parse_version(http_head *head, const char *at, const char *end, const char **next) {
  static const char form[] = "HTTP/d.d";
  for (size_t i = 0; i < 8; i++) {
    if (at + i == end) return more();
    if (form[i] == 'd' ? at[i] < '0' || at[i] > '9' : at[i] != form[i])
      return bad(400, "the request line does not end with HTTP/1.1");
  }
  const http_parsed parsed = line_end(at + 8, end, next, "the request line goes on after its version");
  if (parsed.state != HTTP_PARSE_DONE) return parsed;
  if (at[5] != '1' || at[7] > '1') return bad(505, "only HTTP/1.1 and HTTP/1.0 are supported");
  head->http_1_0 = at[7] == '0';
  head->keep_alive = !head->http_1_0;
  return parsed;
}

static http_parsed parse_request_line(http_head *head, const char *begin, const char *end, const char **next,
                                      http_text *host) {
  const char *at = skip_class(begin, end, TOKEN);
  if (at - begin > MOST_METHOD) return bad(400, "the method is too long");
  if (at == end) return more();
  if (at == begin || *at != ' ') return bad(400, "the request line does not begin with a method and a blank");
  head->method_name = (http_text){begin, (size_t)(at - begin)};
  head->method = method_of(head->method_name);
  begin = ++at;
  at = skip_class(begin, end, TARGET);
  if (at == end) return more();
  if (at == begin || *at != ' ') return bad(400, "the target of the request has a byte that must be percent-encoded");
  const http_text target = {begin, (size_t)(at - begin)};
  const http_parsed parsed = parse_version(head, at + 1, end, next);
  if (parsed.state != HTTP_PARSE_DONE) return parsed;
  return split_target(head, target, host) ? parsed : bad(400, "the target of the request is not a path");
}

/* ---- Headers ---- */

/* Takes the next member of a comma-separated list, without blanks around it. */
static bool next_member(http_text *list, http_text *member) {
  while (list->size > 0 && (*list->at == ',' || *list->at == ' ' || *list->at == '\t')) list->at++, list->size--;
  if (list->size == 0) return false;
  const char *comma = memchr(list->at, ',', list->size);
  size_t size = comma ? (size_t)(comma - list->at) : list->size;
  *member = (http_text){list->at, size};
  list->at += size;
  list->size -= size;
  while (member->size > 0 && (member->at[member->size - 1] == ' ' || member->at[member->size - 1] == '\t'))
    member->size--;
  return true;
}

static http_parsed read_connection(http_head *head, http_text value) {
  http_text member;
  while (next_member(&value, &member)) {
    if (is_word(member, "close")) {
      head->keep_alive = false;
      head->says_close = true;
    } else if (is_word(member, "keep-alive")) {
      head->keep_alive = !head->says_close;
    }
  }
  return taken(NULL, NULL);
}

/* Whether a weight is above 0: "q=0.5"; one that cannot be read is not. */
static bool has_weight(http_text parameters) {
  const char *at = parameters.at, *end = at + parameters.size;
  while (at < end && (*at == ' ' || *at == '\t' || *at == ';')) at++;
  if (at == end) return true;
  if (end - at < 3 || (*at != 'q' && *at != 'Q') || at[1] != '=') return false;
  for (at += 2; at < end; at++)
    if (*at >= '1' && *at <= '9') return true;
  return false;
}

static http_parsed read_accept_encoding(http_head *head, http_text value) {
  http_text member;
  while (next_member(&value, &member)) {
    http_text name = {member.at, (size_t)(skip_class(member.at, member.at + member.size, TOKEN) - member.at)};
    if (is_word(name, "gzip") || is_word(name, "x-gzip"))
      head->accepts_gzip = has_weight((http_text){name.at + name.size, member.size - name.size});
  }
  return taken(NULL, NULL);
}

static http_parsed read_content_length(http_head *head, http_text value) {
  if (head->has_length) return bad(400, "Content-Length occurs twice");
  if (value.size == 0 || value.size > 18) return bad(400, "Content-Length is not a number of bytes");
  for (size_t i = 0; i < value.size; i++) {
    if (value.at[i] < '0' || value.at[i] > '9') return bad(400, "Content-Length is not a number of bytes");
    head->content_length = head->content_length * 10 + (uint64_t)(value.at[i] - '0');
  }
  head->has_length = true;
  return taken(NULL, NULL);
}

static http_parsed read_transfer_encoding(http_head *head, http_text value) {
  static const char *const codings[] = {"gzip", "x-gzip", "deflate", "compress", "x-compress", "identity", "chunked"};
  if (head->chunked) return bad(400, "Transfer-Encoding occurs twice");
  head->chunked = is_word(value, "chunked");
  if (head->chunked) return taken(NULL, NULL);
  http_text member = {0};
  bool is_known = value.size > 0;
  while (is_known && next_member(&value, &member)) {
    is_known = false;
    for (size_t i = 0; i < sizeof codings / sizeof *codings; i++) is_known |= is_word(member, codings[i]);
  }
  return is_known ? bad(501, "the only supported Transfer-Encoding is chunked")
                  : bad(400, "Transfer-Encoding is not chunked");
}

static http_parsed read_expect(http_head *head, http_text value) {
  if (!is_word(value, "100-continue")) return bad(417, "the only supported Expect is 100-continue");
  head->expects_continue = !head->http_1_0;
  return taken(NULL, NULL);
}

static http_parsed read_host(http_head *head, http_text value) {
  if (head->has_host) return bad(400, "Host occurs twice");
  http_text name, port;
  if (!http_split_host(value, &name, &port)) return bad(400, "Host is not a host and a port");
  head->has_host = true;
  return taken(NULL, NULL);
}

static http_parsed read_content_encoding(http_head *head, http_text value) {
  static const char *const names[] = {"", "identity", "gzip", "x-gzip", "zstd"};
  static const http_coding codings[] = {HTTP_PLAIN, HTTP_PLAIN, HTTP_GZIP, HTTP_GZIP, HTTP_ZSTD};
  head->coding = HTTP_UNKNOWN_CODING;
  for (size_t i = 0; !head->has_coding && i < sizeof names / sizeof *names; i++)
    if (is_word(value, names[i])) head->coding = codings[i];
  head->has_coding = true;
  return taken(NULL, NULL);
}

/* An id is short, and of bytes that need no escape in a log. Another one is as good as none. */
static http_parsed read_request_id(http_head *head, http_text value) {
  bool is_usable = value.size > 0 && value.size <= HTTP_MOST_ID && !head->has_id;
  for (size_t i = 0; is_usable && i < value.size; i++)
    is_usable = value.at[i] > ' ' && value.at[i] < 0x7f && value.at[i] != '"' && value.at[i] != '\\';
  head->id = is_usable ? value : (http_text){0};
  head->has_id = true;
  return taken(NULL, NULL);
}

/* Headers that decide how the request is read. The lengths of their names differ, so that a length finds them. */
static http_parsed read_header(http_head *head, const http_header *header) {
  static const struct {
    const char *name;
    http_parsed (*read)(http_head *head, http_text value);
  } known[] = {[4] = {"host", read_host},
               [6] = {"expect", read_expect},
               [10] = {"connection", read_connection},
               [12] = {"x-request-id", read_request_id},
               [14] = {"content-length", read_content_length},
               [15] = {"accept-encoding", read_accept_encoding},
               [16] = {"content-encoding", read_content_encoding},
               [17] = {"transfer-encoding", read_transfer_encoding}};
  const size_t length = header->name.size;
  const bool is_known = length < sizeof known / sizeof *known && known[length].name &&
                        strncasecmp(header->name.at, known[length].name, length) == 0;
  return is_known ? known[length].read(head, header->value) : taken(NULL, NULL);
}

static http_parsed parse_header(http_head *head, const char *begin, const char *end, const char **next) {
  const char *at = skip_class(begin, end, TOKEN);
  if (at == end) return more();
  if (at == begin) return bad(400, "a line of the head does not begin with a name");
  if (*at != ':') return bad(400, "the name of a header is not followed by a colon");
  if (head->header_count == HTTP_MOST_HEADERS) return bad(431, "there are more than 64 headers");
  http_header *header = &head->headers[head->header_count];
  header->name = (http_text){begin, (size_t)(at - begin)};
  at++;
  while (at < end && (*at == ' ' || *at == '\t')) at++;
  begin = at;
  at = skip_value(begin, end);
  const http_parsed parsed = line_end(at, end, next, "a header has a byte that it must not have");
  if (parsed.state != HTTP_PARSE_DONE) return parsed;
  while (at > begin && (at[-1] == ' ' || at[-1] == '\t')) at--;
  header->value = (http_text){begin, (size_t)(at - begin)};
  head->header_count++;
  return read_header(head, header);
}

/* Checks that need all headers. `host` is the host of the request target, if it had one. */
static http_parsed check_head(const http_head *head, http_text host) {
  if (!head->has_host && !head->http_1_0) return bad(400, "Host is missing");
  if (head->chunked && head->has_length)
    return bad(400, "Content-Length and Transfer-Encoding cannot be used together");
  if (head->chunked && head->http_1_0) return bad(400, "HTTP/1.0 does not have Transfer-Encoding");
  if (host.size > 0 && head->has_host) {
    const http_text named = http_header_value(head, "Host");
    if (named.size != host.size || strncasecmp(named.at, host.at, host.size) != 0)
      return bad(400, "Host is not the host of the target");
  }
  return taken(NULL, NULL);
}

static http_parsed parse_lines(http_head *head, const char *data, const char *end) {
  const char *at = data;
  http_text host = {0};
  http_parsed parsed;
  for (unsigned lines = 0; at < end && *at == '\r'; lines++) {
    if (lines == MOST_EMPTY_LINES) return bad(400, "there are empty lines before the request");
    parsed = line_end(at, end, &at, "");
    if (parsed.state != HTTP_PARSE_DONE) return parsed;
  }
  parsed = parse_request_line(head, at, end, &at, &host);
  while (parsed.state == HTTP_PARSE_DONE) {
    if (at == end) return more();
    if (*at == '\r') {
      parsed = line_end(at, end, &at, "");
      if (parsed.state == HTTP_PARSE_DONE) parsed = check_head(head, host);
      return parsed.state == HTTP_PARSE_DONE ? taken(data, at) : parsed;
    }
    parsed = parse_header(head, at, end, &at);
  }
  return parsed;
}

http_parsed http_parse_head(http_head *head, const char *data, size_t size) {
  const bool is_full = size >= HTTP_HEAD_BYTES;
  memset(head, 0, offsetof(http_head, headers));
  const http_parsed parsed = parse_lines(head, data, data + (is_full ? HTTP_HEAD_BYTES : size));
  if (parsed.state == HTTP_PARSE_MORE && is_full) return bad(431, "the head of the request is too long");
  return parsed;
}

/* ---- Chunks ---- */

/* What the next byte of a body is. */
enum {
  SIZE_FIRST, /* the first digit */
  SIZE_MORE,
  EXTENSION_FIRST, /* the first byte of an extension's name */
  EXTENSION_NAME,
  EXTENSION_VALUE, /* the first byte of an extension's value */
  EXTENSION_TOKEN,
  EXTENSION_QUOTED,
  EXTENSION_ESCAPED, /* the byte after a backslash in quotes */
  EXTENSION_END,     /* after the quotes */
  SIZE_LF,
  DATA,
  DATA_CR,
  DATA_LF,
  TRAILER_FIRST, /* the first byte of a trailer line, or the empty line at the end */
  TRAILER_NAME,
  TRAILER_VALUE,
  TRAILER_LF,
  LAST_LF,
  ENDED
};

static const char *add_digit(http_chunks *chunks, char c) {
  const int digit = digit_of(c);
  if (digit < 0) return "the size of a chunk is not a hexadecimal number";
  if (chunks->left >> 56 != 0) return "the size of a chunk is too large";
  chunks->left = chunks->left * 16 + (unsigned)digit;
  return NULL;
}

/* Skips a byte of an extension or a trailer, and goes on with `state`. */
static const char *skip_extra(http_chunks *chunks, char c, unsigned class, int state) {
  chunks->state = state;
  if (!is_in(c, class)) return "a line between chunks has a byte that it must not have";
  return ++chunks->trailer > MOST_TRAILER ? "there is too much between chunks" : NULL;
}

/* Takes a byte of ";name", ";name=token" or ";name=\"text\"", which may follow each other after a size. */
static const char *step_extension(http_chunks *chunks, char c) {
  const bool is_name = chunks->state == EXTENSION_NAME;
  switch (chunks->state) {
  case EXTENSION_FIRST: return skip_extra(chunks, c, TOKEN, EXTENSION_NAME);
  case EXTENSION_VALUE:
    return skip_extra(chunks, c, c == '"' ? VALUE : TOKEN, c == '"' ? EXTENSION_QUOTED : EXTENSION_TOKEN);
  case EXTENSION_QUOTED:
    return skip_extra(chunks, c, VALUE, c == '"' ? EXTENSION_END : c == '\\' ? EXTENSION_ESCAPED : EXTENSION_QUOTED);
  case EXTENSION_ESCAPED: return skip_extra(chunks, c, VALUE, EXTENSION_QUOTED);
  default: break;
  }
  if (c == '\r') {
    chunks->state = SIZE_LF;
    return NULL;
  }
  if (c == ';') return skip_extra(chunks, c, VALUE, EXTENSION_FIRST);
  if (c == '=' && is_name) return skip_extra(chunks, c, VALUE, EXTENSION_VALUE);
  if (chunks->state == EXTENSION_END) return "an extension of a chunk goes on after its quotes";
  return skip_extra(chunks, c, TOKEN, chunks->state);
}

/* Takes a byte of a trailer line, which has the form of a header. */
static const char *step_trailer(http_chunks *chunks, char c) {
  if (chunks->state == TRAILER_FIRST) {
    if (c != '\r') return skip_extra(chunks, c, TOKEN, TRAILER_NAME);
    chunks->state = LAST_LF;
    return NULL;
  }
  if (chunks->state == TRAILER_NAME)
    return skip_extra(chunks, c, c == ':' ? VALUE : TOKEN, c == ':' ? TRAILER_VALUE : TRAILER_NAME);
  if (c != '\r') return skip_extra(chunks, c, VALUE, TRAILER_VALUE);
  chunks->state = TRAILER_LF;
  return NULL;
}

/* Takes one byte that is not content. Returns what is wrong; NULL: nothing. */
static const char *step(http_chunks *chunks, char c) {
  static const char no_end[] = "a chunk does not end with CR LF";
  switch (chunks->state) {
  case SIZE_FIRST:
    chunks->left = 0;
    chunks->state = SIZE_MORE;
    return add_digit(chunks, c);
  case SIZE_MORE:
    if (c != ';' && c != '\r') return add_digit(chunks, c);
    chunks->state = c == ';' ? EXTENSION_FIRST : SIZE_LF;
    return NULL;
  case SIZE_LF: chunks->state = chunks->left > 0 ? DATA : TRAILER_FIRST; return c == '\n' ? NULL : no_end;
  case DATA_CR: chunks->state = DATA_LF; return c == '\r' ? NULL : no_end;
  case DATA_LF: chunks->state = SIZE_FIRST; return c == '\n' ? NULL : no_end;
  case TRAILER_FIRST:
  case TRAILER_NAME:
  case TRAILER_VALUE: return step_trailer(chunks, c);
  case TRAILER_LF: chunks->state = TRAILER_FIRST; return c == '\n' ? NULL : no_end;
  case LAST_LF: chunks->state = ENDED; return c == '\n' ? NULL : no_end;
  case ENDED: return "the body has ended";
  default: return step_extension(chunks, c);
  }
}

http_parsed http_parse_chunks(http_chunks *chunks, char *data, size_t size, size_t *content) {
  size_t at = 0;
  *content = 0;
  while (at < size) {
    if (chunks->state == DATA) {
      const size_t count = chunks->left < size - at ? (size_t)chunks->left : size - at;
      memmove(data + *content, data + at, count);
      *content += count;
      at += count;
      chunks->left -= count;
      if (chunks->left == 0) chunks->state = DATA_CR;
      continue;
    }
    const char *problem = step(chunks, data[at++]);
    if (problem) return bad(400, problem);
    if (chunks->state == ENDED) return taken(data, data + at);
  }
  return (http_parsed){.state = HTTP_PARSE_MORE, .used = size};
}
