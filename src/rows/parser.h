/* rows/parser.h: internal interface of parsers: opening them from a parsed URI, and in steps.
 *
 * A caller that must inspect the data before it reads rows opens the files, calls the functions below, and then starts
 * to read: the files are opened once to find the format, the names of the columns, and whether indices start at 0 or
 * 1. */
#ifndef FW_ROWS_PARSER_H
#define FW_ROWS_PARSER_H

#include "furrow/rows.h"
#include "io/uri.h"

/* furrow_parser_open for a parsed URI; its arguments need not come from a text. */
furrow_status fw_parser_open(furrow_parser **parser, const fw_uri *uri, const furrow_parser_params *params,
                             furrow_error *err) FURROW_MUST_USE;

/* The first step: finds the files, and the format if params or the URI's arguments name it. */
furrow_status fw_parser_open_files(furrow_parser **parser, const fw_uri *uri, const furrow_parser_params *params,
                                   furrow_error *err) FURROW_MUST_USE;
/* Whether some of the files can be read only once: standard input, a pipe. */
furrow_status fw_parser_reads_once(furrow_parser *parser, bool *once, furrow_error *err) FURROW_MUST_USE;
/* Returns the format that furrow_parser_open would choose. If nothing names it, reads the first bytes. */
furrow_status fw_parser_find_format(furrow_parser *parser, const char **name, furrow_error *err) FURROW_MUST_USE;
/* Whether the first bytes look like indices without values. */
furrow_status fw_parser_looks_like_dummy(furrow_parser *parser, bool *dummy, furrow_error *err) FURROW_MUST_USE;
/* The last step: opens the format of that name with the arguments of `uri`. Until the first row is read, it may be
 * called again with other arguments of the same format, even after a failure. */
furrow_status fw_parser_begin(furrow_parser *parser, const char *format, const fw_uri *uri,
                              furrow_error *err) FURROW_MUST_USE;

/* ---- Whether indices start at 0 or 1 ---- */

/* The evidence for the index base: whether there are features, and whether an index or a field is 0. For several parts,
 * take the larger of each number. */
typedef struct fw_base_signs {
  uint64_t features, zeros;
} fw_base_signs;

/* Returns 1 if there are features and no index (nor field) is 0. */
uint32_t fw_index_base(const fw_base_signs *signs);
/* Reads the parser's part until the base is known, and returns to the first row. The base must be 0. */
furrow_status fw_parser_find_signs(furrow_parser *parser, fw_base_signs *signs, furrow_error *err) FURROW_MUST_USE;
/* Finds the base of all parts and sets it, whatever indexing_mode says. E_ARGUMENT: the data can be read only once. */
furrow_status fw_parser_find_base(furrow_parser *parser, furrow_error *err) FURROW_MUST_USE;
/* Sets the number to subtract from every index. */
void fw_parser_set_base(furrow_parser *parser, uint32_t base);

/* For callers that keep all rows: E_RANGE if features that stand for missing cells of a raw log take more than 64 MiB
 * and 20 times the text that was read. */
furrow_status fw_parser_check_memory(const furrow_parser *parser, furrow_error *err) FURROW_MUST_USE;

/* Returns all rows of a parser as one block that borrows the arrays of rows in memory, valid until it is closed;
 * false if they are not one block. */
bool fw_parser_whole(furrow_parser *parser, furrow_rowblock *block);

#endif
