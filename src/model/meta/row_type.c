/* model/meta/row_type.c: element types and Angel's row types. */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/error.h"
#include "base/number_in.h"
#include "furrow/model.h"

size_t furrow_element_size(furrow_element_type type) {
  switch (type) {
#define FURROW_X(name, ctype, text) \
  case FURROW_ELEMENT_##name: return sizeof(ctype);
    FURROW_ELEMENT_TYPES(FURROW_X)
#undef FURROW_X
  }
  return 0;
}

const char *furrow_element_type_name(furrow_element_type type) {
  switch (type) {
#define FURROW_X(name, ctype, text) \
  case FURROW_ELEMENT_##name: return text;
    FURROW_ELEMENT_TYPES(FURROW_X)
#undef FURROW_X
  }
  return "?";
}

#define OBJECTS(number, name, key_bits, dense) \
  { number, name, FURROW_ELEMENT_F64, key_bits, dense, true }

static const furrow_matrix_row_type row_types[FURROW_MATRIX_ROW_TYPES] = {
#define FURROW_X(kind, suffix, key_bits, dense) {kind, "T_DOUBLE" suffix, FURROW_ELEMENT_F64, key_bits, dense, false},
    FURROW_MATRIX_ROW_KINDS(FURROW_X)
#undef FURROW_X
#define FURROW_X(kind, suffix, key_bits, dense) \
  {7 + kind, "T_FLOAT" suffix, FURROW_ELEMENT_F32, key_bits, dense, false},
        FURROW_MATRIX_ROW_KINDS(FURROW_X)
#undef FURROW_X
#define FURROW_X(kind, suffix, key_bits, dense) \
  {14 + kind, "T_LONG" suffix, FURROW_ELEMENT_I64, key_bits, dense, false},
            FURROW_MATRIX_ROW_KINDS(FURROW_X)
#undef FURROW_X
#define FURROW_X(kind, suffix, key_bits, dense) {21 + kind, "T_INT" suffix, FURROW_ELEMENT_I32, key_bits, dense, false},
                FURROW_MATRIX_ROW_KINDS(FURROW_X)
#undef FURROW_X
                    OBJECTS(28, "T_ANY_INTKEY_DENSE", 32, true),
    OBJECTS(29, "T_ANY_INTKEY_SPARSE", 32, false),
    OBJECTS(30, "T_ANY_LONGKEY_SPARSE", 64, false),
    OBJECTS(31, "T_ANY_STRINGKEY_SPARSE", 64, false),
    OBJECTS(32, "T_ANY_ANYKEY_SPARSE", 64, false),
};

const furrow_matrix_row_type *furrow_matrix_row_type_get(int32_t number) {
  return number >= 0 && number < FURROW_MATRIX_ROW_TYPES ? &row_types[number] : NULL;
}

static const furrow_matrix_row_type *find_row_type(const char *name) {
  const char *end = name + strlen(name);
  int32_t number;
  bool overflow = false;
  if (fw_read_i32(name, end, &number, &overflow) == end && !overflow) return furrow_matrix_row_type_get(number);
  for (size_t i = 0; i < FURROW_MATRIX_ROW_TYPES; i++)
    if (strcasecmp(name, row_types[i].name) == 0 || strcasecmp(name, row_types[i].name + 2) == 0) return &row_types[i];
  return NULL;
}

furrow_status furrow_matrix_row_type_find(const char *name, const furrow_matrix_row_type **type, furrow_error *err) {
  const furrow_matrix_row_type *found = name ? find_row_type(name) : NULL;
  if (found) {
    *type = found;
    return FURROW_OK;
  }
  fw_fail(err, FURROW_E_ARGUMENT, "no such row type");
  fw_error_set_hint(err, "row types are 0 … 27: T_{DOUBLE,FLOAT,LONG,INT}_{DENSE,DENSE_COMPONENT,"
                         "DENSE_LONGKEY_COMPONENT,SPARSE,SPARSE_COMPONENT,SPARSE_LONGKEY,SPARSE_LONGKEY_COMPONENT}");
  if (name) fw_error_set_token(err, name, strlen(name));
  return FURROW_E_ARGUMENT;
}
