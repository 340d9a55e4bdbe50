/* cli/index/attribute_source.h: attributes of vectors, from a table. */
#ifndef CLI_INDEX_ATTRIBUTE_SOURCE_H
#define CLI_INDEX_ATTRIBUTE_SOURCE_H

#include "core/options.h"
#include "core/report.h"
#include "furrow/attributes.h"
#include "furrow/table.h"

/* What the options of attribute_options fill. */
typedef struct attribute_values {
  const char *path; /* NULL: no attributes are given */
  const char *key;  /* NULL: found by its name */
  text_list types;
} attribute_values;

extern const option attribute_options[];

/* A table that is joined with an index. All zeros: there is none. */
typedef struct attribute_source {
  furrow_columns *table;
  const char *key;
  furrow_attributes_fit fit;
  bool short_options; /* set before: the options are called --key and --type */
} attribute_source;

/* Reads the table, if one is given. before: the attributes of the index, whose columns keep their types; NULL: none.
 * named: whether the ids of the index have names. Clear it, even after a failure. */
furrow_status attribute_source_open(attribute_source *source, const attribute_values *values,
                                    const furrow_attributes *before, bool named, furrow_error *err);
void attribute_source_clear(attribute_source *source);
/* Gives the index the attributes of the table, and a row for each of its ids. *attributes NULL: it has none; they are
 * made if there is a table. */
furrow_status attribute_source_join(attribute_source *source, const attribute_values *values,
                                    furrow_attributes **attributes, const furrow_index *index,
                                    const furrow_id_names *names, furrow_error *err);
/* The same for n ids, which may belong to several indexes. */
furrow_status attribute_source_join_ids(attribute_source *source, const attribute_values *values,
                                        furrow_attributes **attributes, const int64_t *ids, size_t n,
                                        const furrow_id_names *names, furrow_error *err);
/* Reports the columns and, after a join, how many rows found their vectors. attributes NULL: reports nothing. */
void attributes_report(report *r, const furrow_attributes *attributes, const attribute_source *joined);

#endif
