/* learn/conf/plan_rules.h: what follows from a plan for the rows that its net takes. */
#ifndef FW_LEARN_CONF_PLAN_RULES_H
#define FW_LEARN_CONF_PLAN_RULES_H

#include "learn/conf/conf.h"
#include "learn/data/minibatch.h"

/* The plan of a conf whose data format tells whether rows have fields (libffm, libfm). */
furrow_status fw_plan_of_conf(fw_plan **plan, const furrow_learn_conf *conf, furrow_error *err) FURROW_MUST_USE;
bool fw_format_has_fields(const char *format);
/* What every row must be like. The plan must outlive the rules. */
fw_batcher_params fw_plan_rules(const fw_plan *plan);

#endif
