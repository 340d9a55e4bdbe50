/* serve/indexes/attribute_texts.h: attributes of single vectors as JSON objects: in requests, in the log, and of
 * vectors that are not in the index file yet. An index takes the columns that its file has.
 *
 * The log has the same texts without spaces and missing values, and times as seconds since 1970:
 * {"price":9.5,"lang":"de","tags":["new"],"added":1717113600}. */
#ifndef SERVE_INDEXES_ATTRIBUTE_TEXTS_H
#define SERVE_INDEXES_ATTRIBUTE_TEXTS_H

#include "base/buffer.h"
#include "furrow/furrow.h"

/* Finds a column by its name and sets *i to its number. Returns whether there is one. */
bool attribute_column_find(const furrow_attributes *columns, const char *name, size_t size, size_t *i);

/* Reads an object whose members are columns of `columns`, and appends it as the log has it, ended by a 0.
 * Errors: E_FORMAT at the place in the JSON: an unknown column, one that comes twice, or a value of another type;
 *         E_MEMORY. */
furrow_status attribute_text_read(furrow_json *json, const furrow_attributes *columns, fw_buffer *to,
                                  furrow_error *err);
/* Appends the value of a column of an id as JSON: null, a number, a text, an array of texts; a time as seconds or, with
 * `dates`, as ISO 8601. */
void attribute_value_put(fw_buffer *to, const furrow_attributes *attributes, int64_t id, size_t column, bool dates);
/* Appends the row of an id as the log has it, without a 0; nothing if it has no values. */
void attribute_text_put(fw_buffer *to, const furrow_attributes *attributes, int64_t id);
/* Gives n ids, each of which comes once, the rows of their texts ("": no values), in all columns of `columns`.
 * Errors: E_FORMAT, a text is not what attribute_text_read has made of such columns; E_MEMORY. */
furrow_status attribute_texts_set(furrow_attributes *attributes, const furrow_attributes *columns, const int64_t *ids,
                                  const char *const *texts, size_t n, furrow_error *err);

#endif
