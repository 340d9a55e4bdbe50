/* learn/data/samples.h: the data behind a feed, block by block. */
#ifndef FW_LEARN_DATA_SAMPLES_H
#define FW_LEARN_DATA_SAMPLES_H

#include "learn/data/feed.h"

/* All rows; NULL: they are streamed. */
const furrow_rowblock *fw_samples_block(const fw_samples *samples);
/* What was found where the conf has `auto`; -1: the conf says it, or the format has none. */
int fw_samples_index_base(const fw_samples *samples);
/* What is named in messages. */
const char *fw_samples_name(const fw_samples *samples);
/* That of the parser: what was asked for, or what was found. */
const char *fw_samples_format(const fw_samples *samples);
/* What was left out and passed over when the rows were loaded; nothing of streamed ones. */
void fw_samples_get_stats(const fw_samples *samples, furrow_parser_stats *stats);

/* One pass over streamed samples. */
typedef struct fw_pass_over fw_pass_over;

furrow_status fw_pass_over_open(fw_pass_over **pass, const fw_samples *samples, furrow_error *err)
    __attribute__((warn_unused_result));
void fw_pass_over_close(fw_pass_over *pass);
/* The next block, valid until the next call; END at the end. */
furrow_status fw_pass_over_next(fw_pass_over *pass, const furrow_rowblock **block, furrow_error *err)
    __attribute__((warn_unused_result));
void fw_pass_over_get_stats(const fw_pass_over *pass, furrow_parser_stats *stats);
furrow_status fw_pass_over_rewind(fw_pass_over *pass, furrow_error *err) __attribute__((warn_unused_result));

#endif
