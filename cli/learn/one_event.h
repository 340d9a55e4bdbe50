/* cli/learn/one_event.h: one event of a raw log, given on the command line. */
#ifndef CLI_LEARN_ONE_EVENT_H
#define CLI_LEARN_ONE_EVENT_H

#include "core/options.h"
#include "furrow/table.h"

/* Makes a log of the event, a file in memory, and returns its URI. */
furrow_status one_event_write(const text_list *pairs, const char **uri, furrow_error *err);
/* Checks the columns and values against the encoder of a model; NULL: it has none, which is an error. */
furrow_status one_event_check(const text_list *pairs, const furrow_encoder *encoder, furrow_error *err);
/* Names the values of categories that the model does not know. */
void one_event_print_notes(const text_list *pairs, const furrow_encoder *encoder);

#endif
