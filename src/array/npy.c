/* array/npy.c: NumPy's header: magic, version, length, then the text of a Python dictionary. */
#include "array/npy.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/number_in.h"

#define MAGIC "\x93NUMPY"
#define PREFIX 8 /* magic, major and minor version */
#define MAX_TEXT ((uint32_t)1 << 20)

/* A position in the text of the dictionary. */
typedef struct cursor {
  const fw_bytes_in *in;
  const char *text, *s, *end;
  uint64_t base; /* offset of the text in the file */
  furrow_error *err;
} cursor;

static furrow_status fail_at(const cursor *c, const char *place, furrow_status status, const char *what) {
  fw_bytes_in_fail(c->in, c->base + (uint64_t)(place - c->text), c->err, status, "the header %s", what);
  const size_t left = (size_t)(c->end - place);
  fw_error_set_token(c->err, place, left < 24 ? left : 24);
  return status;
}

static void skip_blanks(cursor *c) {
  while (c->s < c->end && (*c->s == ' ' || *c->s == '\t' || *c->s == '\n' || *c->s == '\r')) c->s++;
}

/* Skips blanks; takes a byte if it is next. */
static bool take_byte(cursor *c, char byte) {
  skip_blanks(c);
  if (c->s == c->end || *c->s != byte) return false;
  c->s++;
  return true;
}

static bool take_word(cursor *c, const char *word) {
  const size_t n = strlen(word);
  skip_blanks(c);
  if ((size_t)(c->end - c->s) < n || memcmp(c->s, word, n) != 0) return false;
  c->s += n;
  return true;
}

/* Reads a string in single or double quotes without escapes. */
static bool take_string(cursor *c, const char **string, size_t *length) {
  skip_blanks(c);
  if (c->s == c->end || (*c->s != '\'' && *c->s != '"')) return false;
  const char *first = c->s + 1, *last = memchr(first, *c->s, (size_t)(c->end - first));
  if (!last || memchr(first, '\\', (size_t)(last - first))) return false;
  *string = first;
  *length = (size_t)(last - first);
  c->s = last + 1;
  return true;
}

static furrow_status read_descr(cursor *c, fw_npy_header *header) {
  const char *text, *place;
  size_t length;
  skip_blanks(c);
  place = c->s;
  if (take_byte(c, '[') || take_byte(c, '{')) return fail_at(c, place, FURROW_E_UNSUPPORTED, "has a structured type");
  if (!take_string(c, &text, &length)) return fail_at(c, place, FURROW_E_FORMAT, "has a descr that is not a string");
  if (length < 2 || length >= sizeof header->descr || !strchr("<>|=", text[0]))
    return fail_at(c, place, FURROW_E_UNSUPPORTED, "has a type of elements that is not supported");
  /* not covered: both comparisons matter only on machines of the other byte order */
  header->swapped = (text[0] == '>') != FW_BIG_ENDIAN && text[0] != '|' && text[0] != '=';
  memcpy(header->descr, text + 1, length - 1);
  header->descr[length - 1] = 0;
  return FURROW_OK;
}

static furrow_status read_order(cursor *c, fw_npy_header *header) {
  header->fortran_order = take_word(c, "True");
  if (header->fortran_order || take_word(c, "False")) return FURROW_OK;
  return fail_at(c, c->s, FURROW_E_FORMAT, "has a fortran_order that is neither True nor False");
}

static furrow_status read_shape(cursor *c, fw_npy_header *header) {
  bool overflow = false, comma = true;
  if (!take_byte(c, '(')) return fail_at(c, c->s, FURROW_E_FORMAT, "has a shape that is not a tuple");
  header->dimensions = 0;
  while (!take_byte(c, ')')) {
    const char *place = c->s;
    if (header->dimensions == FW_NPY_DIMENSIONS) return fail_at(c, place, FURROW_E_FORMAT, "has too many dimensions");
    uint64_t *count = &header->shape[header->dimensions++];
    if (!comma || c->s == c->end || *c->s < '0' || *c->s > '9')
      return fail_at(c, place, FURROW_E_FORMAT, "has a shape that is not a tuple of numbers");
    c->s = fw_read_u64(c->s, c->end, count, &overflow);
    if (overflow) return fail_at(c, place, FURROW_E_RANGE, "has a count that does not fit in 64 bits");
    if (c->s < c->end && *c->s == 'L') c->s++; /* Python 2 */
    comma = take_byte(c, ',');
  }
  /* (3) is a number, not a tuple */
  return header->dimensions == 1 && !comma ? fail_at(c, c->s, FURROW_E_FORMAT, "has a shape that is not a tuple")
                                           : FURROW_OK;
}

static furrow_status read_member(cursor *c, fw_npy_header *header, unsigned *seen) {
  static const struct {
    const char *key;
    furrow_status (*read)(cursor *c, fw_npy_header *header);
  } members[] = {{"descr", read_descr}, {"fortran_order", read_order}, {"shape", read_shape}};
  const char *key, *place;
  size_t length;
  skip_blanks(c);
  place = c->s;
  if (!take_string(c, &key, &length) || !take_byte(c, ':'))
    return fail_at(c, place, FURROW_E_FORMAT, "is not a dictionary");
  for (size_t i = 0; i < sizeof members / sizeof members[0]; i++) {
    if (strlen(members[i].key) != length || memcmp(members[i].key, key, length) != 0) continue;
    if (*seen & 1u << i) return fail_at(c, place, FURROW_E_FORMAT, "has a key twice");
    *seen |= 1u << i;
    return members[i].read(c, header);
  }
  return fail_at(c, place, FURROW_E_FORMAT, "has a key that is none of descr, fortran_order, shape");
}

static furrow_status read_dictionary(cursor *c, fw_npy_header *header) {
  unsigned seen = 0;
  bool comma = true;
  if (!take_byte(c, '{')) return fail_at(c, c->s, FURROW_E_FORMAT, "is not a dictionary");
  while (!take_byte(c, '}')) {
    if (!comma) return fail_at(c, c->s, FURROW_E_FORMAT, "is not a dictionary");
    FW_TRY(read_member(c, header, &seen));
    comma = take_byte(c, ',');
  }
  if (seen != 7) return fail_at(c, c->text, FURROW_E_FORMAT, "lacks descr, fortran_order or shape");
  skip_blanks(c);
  return c->s == c->end ? FURROW_OK : fail_at(c, c->s, FURROW_E_FORMAT, "continues after its dictionary");
}

/* C order and Fortran order differ only if more than one dimension is not 1. */
static bool order_matters(const fw_npy_header *header) {
  size_t real = 0;
  for (size_t i = 0; i < header->dimensions; i++) real += header->shape[i] != 1;
  return real > 1;
}

/* Reads the magic, the version and the length. */
static furrow_status read_prefix(fw_bytes_in *in, uint32_t *length, uint64_t *start, furrow_error *err) {
  unsigned char head[PREFIX + 4];
  furrow_status status = fw_bytes_in_read_all(in, head, PREFIX, "the header", err);
  if (status != FURROW_OK) return status;
  if (memcmp(head, MAGIC, 6) != 0) return fw_bytes_in_fail(in, 0, err, FURROW_E_FORMAT, "no npy file");
  if (head[6] < 1 || head[6] > 3 || head[7] != 0)
    return fw_bytes_in_fail(in, 6, err, FURROW_E_UNSUPPORTED, "version %u.%u of npy, not 1.0 to 3.0", head[6], head[7]);
  const size_t width = head[6] == 1 ? 2 : 4;
  status = fw_bytes_in_read_all(in, head + PREFIX, width, "the header", err);
  if (status != FURROW_OK) return status;
  *length = width == 2 ? fw_get_le16(head + PREFIX) : fw_get_le32(head + PREFIX);
  *start = PREFIX + width;
  const uint64_t size = fw_bytes_in_size(in);
  if (size != FW_BYTES_UNKNOWN && *length <= MAX_TEXT && *length > size - *start)
    return fw_bytes_in_fail(in, size, err, FURROW_E_FORMAT, "ends within its header of %u bytes", (unsigned)*length);
  if (*length > MAX_TEXT)
    return fw_bytes_in_fail(in, PREFIX, err, FURROW_E_FORMAT, "a header of %u bytes is too long", (unsigned)*length);
  return FURROW_OK;
}

furrow_status fw_npy_read_header(fw_npy_header *header, fw_bytes_in *in, furrow_error *err) {
  uint32_t length = 0;
  uint64_t start = 0;
  void *text = NULL;
  fw_npy_header found = {.dimensions = 0};
  furrow_status status = read_prefix(in, &length, &start, err);
  if (status == FURROW_OK) status = fw_alloc(&text, length, 1, err);
  if (status == FURROW_OK) status = fw_bytes_in_read_all(in, text, length, "the header", err);
  if (status == FURROW_OK) {
    const char *s = text;
    cursor c = {in, s, s, s + length, start, err};
    status = read_dictionary(&c, &found);
  }
  fw_free(text);
  if (status != FURROW_OK) return status;
  found.size = start + length;
  found.fortran_order = found.fortran_order && order_matters(&found);
  *header = found;
  return FURROW_OK;
}

/* ---- Writing -------------------------------------------------------------------------------------------- */

void fw_npy_write_header(char out[FW_NPY_HEADER], const char *descr, int dimensions, uint64_t rows, uint64_t columns) {
  char shape[64], text[FW_NPY_HEADER + 1];
  const unsigned long long r = rows, c = columns;
  if (dimensions == 0)
    snprintf(shape, sizeof shape, "()");
  else if (dimensions == 1)
    snprintf(shape, sizeof shape, "(%llu,)", r);
  else
    snprintf(shape, sizeof shape, "(%llu, %llu)", r, c);
  const int length =
      snprintf(text, sizeof text, "{'descr': '%s', 'fortran_order': False, 'shape': %s, }", descr, shape);
  memset(out, ' ', FW_NPY_HEADER);
  memcpy(out, MAGIC "\1\0", PREFIX);
  fw_put_le16(out + PREFIX, FW_NPY_HEADER - PREFIX - 2);
  memcpy(out + PREFIX + 2, text, (size_t)length);
  out[FW_NPY_HEADER - 1] = '\n';
}

void fw_npy_descr(char descr[8], fw_array_type type) {
  snprintf(descr, 8, "%c%s", fw_array_type_size(type) == 1 ? '|' : '<', fw_array_type_npy(type));
}
