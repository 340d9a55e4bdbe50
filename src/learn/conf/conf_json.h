/* learn/conf/conf_json.h: what the readers of the JSON file share. */
#ifndef FW_LEARN_CONF_CONF_JSON_H
#define FW_LEARN_CONF_CONF_JSON_H

#include "learn/conf/conf_data.h"

/* A string without blanks around it, as Angel takes them. */
furrow_status fw_json_trimmed(furrow_json *json, furrow_json_text *text, furrow_error *err) FURROW_MUST_USE;
/* A string that is one of the names. */
furrow_status fw_json_name(furrow_json *json, const fw_names *names, int64_t *which, furrow_error *err) FURROW_MUST_USE;
/* E_FORMAT: the member that has just begun is none of the known ones. */
furrow_status fw_json_unknown(furrow_json *json, furrow_json_text member, const char *const *known, size_t count,
                              furrow_error *err) FURROW_MUST_USE;

/* Each is a name, or an object with the name as `type`. */
furrow_status fw_json_optimizer(furrow_json *json, fw_optimizer_spec *spec, furrow_error *err) FURROW_MUST_USE;
furrow_status fw_json_activation(furrow_json *json, fw_activation_spec *spec, furrow_error *err) FURROW_MUST_USE;
furrow_status fw_json_loss(furrow_json *json, fw_loss_spec *spec, furrow_error *err) FURROW_MUST_USE;

/* An array of layers, or an object of them by name. */
furrow_status fw_json_layers(furrow_json *json, fw_graph_spec **graph, furrow_error *err) FURROW_MUST_USE;

#endif
