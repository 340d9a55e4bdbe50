/* rows/schema/propose.h: from the statistics of columns to a schema. */
#ifndef FW_ROWS_SCHEMA_PROPOSE_H
#define FW_ROWS_SCHEMA_PROPOSE_H

#include "rows/schema/column_sketch.h"
#include "rows/schema/schema.h"

/* The meaning of a column, by its name or as given by the caller. */
typedef enum fw_meaning {
  FW_MEANS_NOTHING,
  FW_MEANS_LABEL,
  FW_MEANS_WEIGHT,
  FW_MEANS_GROUP,
  FW_MEANS_USER,
  FW_MEANS_ITEM,
  FW_MEANS_TIME,
  FW_MEANS_TAG, /* a tag of Vowpal Wabbit's text */
  FW_MEANS_COUNT
} fw_meaning;

typedef struct fw_evidence {
  char *name;
  fw_column_sketch sketch;
  uint64_t distinct; /* set by fw_evidence_close */
  bool exact;        /* distinct is exact, not an estimate */
  fw_meaning meaning;
  bool given;              /* given by the caller */
  bool amounts;            /* integers with few values are numbers */
  fw_number_format likely; /* for a column that is not a column of numbers: the format of the cells that are numbers */
  const char *doubt;       /* the doubt about the proposal, and what to write in the schema if it is wrong; NULL:
                              none */
  const char *other; /* the column's name means a label, but the column with this name is the label; "": but there is no
                        label; NULL: neither */
} fw_evidence;

/* Call it after the last cell. */
void fw_evidence_close(fw_evidence *evidence);
/* Whether nearly all values of at least 20 cells are different. */
bool fw_evidence_is_unique(const fw_evidence *evidence);
/* Decides the formats of the numbers and dates of the columns, and settles their sketches; call it once, before
 * fw_evidence_find_meanings. `delimiter`: of the table; 0: it has none. */
furrow_status fw_evidence_settle_formats(fw_evidence *columns, size_t count, char delimiter,
                                         furrow_error *err) FURROW_MUST_USE;
/* Finds the meanings that the caller did not give, among the columns without a given meaning. unwanted: bits
 * 1 << FW_MEANS_… of meanings that no column gets. E_ARGUMENT: several columns may be the label. */
furrow_status fw_evidence_find_meanings(fw_evidence *columns, size_t count, unsigned unwanted,
                                        furrow_error *err) FURROW_MUST_USE;
/* Adds the column to the schema. `table`: it belongs to a table that is joined. E_ARGUMENT: the column cannot have the
 * meaning that the caller gave. */
furrow_status fw_evidence_decide(const fw_evidence *evidence, bool table, furrow_schema *schema,
                                 furrow_error *err) FURROW_MUST_USE;
/* For a log with a user and an item. E_ARGUMENT: the names of two classes do not say which is the positive one; or a
 * label is wanted, none was found, and a column looks like one. */
furrow_status fw_evidence_check_doubts(const fw_evidence *columns, size_t count, bool label,
                                       const furrow_schema *schema, furrow_error *err) FURROW_MUST_USE;

/* The proposal without bins. params: complete, with a comm. */
furrow_status fw_schema_propose(furrow_schema **schema, const char *uri, const furrow_schema_propose_params *params,
                                furrow_error *err) FURROW_MUST_USE;

#endif
