/* learn/conf/settle.h: what data, encoders and earlier models decide, as typed values that a configuration takes. */
#ifndef FW_LEARN_CONF_SETTLE_H
#define FW_LEARN_CONF_SETTLE_H

#include "learn/conf/conf_data.h"

typedef struct fw_settled_count {
  bool set;
  uint64_t value;
} fw_settled_count;

typedef struct fw_settled_real {
  bool set;
  double value; /* nine digits of it are kept */
} fw_settled_real;

typedef struct fw_settled_loss {
  bool set;
  fw_loss_type value;
} fw_settled_loss;

typedef struct fw_settled_labels {
  const double *values; /* ascending */
  size_t count;         /* 0: not set */
} fw_settled_labels;

typedef struct fw_settled_fields {
  const uint64_t *values; /* the field of the id first */
  size_t count;           /* 0: not set */
} fw_settled_fields;

/* Each field is a key of the same name. All zeros: nothing is set. */
typedef struct fw_settled {
  const char *format, *columns, *label_column, *weight_column, *delimiter; /* NULL: not set */
  const furrow_matrix_row_type *model_type;                                /* NULL: not set */
  fw_settled_loss loss;
  fw_settled_labels labels;
  fw_settled_fields user_fields, item_fields;
  fw_settled_count index_base, range, fields, hour_field, classes, epochs, trees;
  fw_settled_real huber_delta, l2;
  bool short_rows; /* false: not set */
} fw_settled;

/* Makes a copy of a configuration with these values as its keys. E_ARGUMENT: a key does not take its value. */
furrow_status fw_conf_settle(furrow_learn_conf **settled_conf, const furrow_learn_conf *conf, const fw_settled *settled,
                             furrow_error *err) FURROW_MUST_USE;
/* Whether the data still decides the value of a key: it is empty, -1 or auto. */
bool fw_conf_is_open(const furrow_learn_conf *conf, fw_key key);
/* Makes a copy of a configuration whose open keys have what a model's own configuration says: how rows are read, what
 * classes and slots there are, and what all trees of a model have in common. */
furrow_status fw_conf_inherit(furrow_learn_conf **inherited, const furrow_learn_conf *conf,
                              const furrow_learn_conf *model, furrow_error *err) FURROW_MUST_USE;

#endif
