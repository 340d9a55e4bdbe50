/* python/src/py_index_attributes.c: attributes of the ids of an index: tables of them, their values, filters by them.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "py_index.h"

static furrow_status fail(furrow_error *err, furrow_status status, const char *message, const char *hint) {
  *err = (furrow_error){.status = status, .offset = FURROW_NO_OFFSET};
  strncat(err->message, message, sizeof err->message - 1);
  strncat(err->hint, hint, sizeof err->hint - 1);
  return status;
}

/* ---- Attributes that several threads use ------------------------------------------------------------------ */

furrow_status fwpy_attributes_wrap(index_attributes **wrapped, furrow_attributes *attributes, furrow_error *err) {
  index_attributes *made = malloc(sizeof *made);
  if (!made) {
    furrow_attributes_free(attributes);
    return fail(err, FURROW_E_MEMORY, "out of memory", "");
  }
  atomic_init(&made->uses, 1);
  made->attributes = attributes;
  *wrapped = made;
  return FURROW_OK;
}

furrow_status fwpy_attributes_copy(index_attributes **copy, const index_attributes *attributes, furrow_error *err) {
  furrow_attributes *made = NULL;
  furrow_status status = furrow_attributes_create(&made, err);
  if (status == FURROW_OK && attributes) status = furrow_attributes_merge(made, attributes->attributes, 0, err);
  if (status == FURROW_OK) return fwpy_attributes_wrap(copy, made, err);
  furrow_attributes_free(made);
  return status;
}

void fwpy_attributes_release(index_attributes *attributes) {
  if (!attributes || atomic_fetch_sub(&attributes->uses, 1) > 1) return;
  furrow_attributes_free(attributes->attributes);
  free(attributes);
}

/* The attributes of an index for the calling thread, NULL if it has none. Returns false with an exception. */
static bool use_attributes(index_object *self, index_attributes **attributes) {
  furrow_error err;
  furrow_status status = FURROW_OK;
  *attributes = NULL;
  Py_BEGIN_ALLOW_THREADS;
  status = fwpy_index_begin_read(self, &err);
  if (status == FURROW_OK) {
    *attributes = self->attributes;
    if (*attributes) atomic_fetch_add(&(*attributes)->uses, 1);
    fwpy_index_end_read(self);
  }
  Py_END_ALLOW_THREADS;
  if (status != FURROW_OK) fwpy_raise(&err);
  return status == FURROW_OK;
}

/* ---- Tables ----------------------------------------------------------------------------------------------- */

/* A table of attributes that was read. */
struct attribute_table {
  furrow_columns *columns;
  char *key;     /* the column that matches rows with vectors; NULL: one with the usual name, if there is one */
  bool in_order; /* without a key, rows belong to the vectors in their order */
};

static const char table_name[] = "furrow.attribute_table";

static void free_table(PyObject *capsule) {
  attribute_table *table = PyCapsule_GetPointer(capsule, table_name);
  furrow_columns_free(table->columns);
  free(table->key);
  free(table);
}

bool fwpy_attribute_table_get(PyObject *object, const attribute_table **table) {
  *table = NULL;
  if (object == Py_None) return true;
  *table = PyCapsule_GetPointer(object, table_name);
  return *table != NULL;
}

static const furrow_column *find_column(const furrow_columns *columns, const char *name) {
  for (size_t i = 0; i < columns->count; i++)
    if (strcmp(columns->columns[i].name, name) == 0) return &columns->columns[i];
  return NULL;
}

/* The first `given` names are columns that the table must have. */
static furrow_status load_table(attribute_table *table, const char *uri, const furrow_columns_params *params,
                                size_t given, furrow_error *err) {
  furrow_status status = furrow_columns_load(&table->columns, uri, params, err);
  for (size_t i = 0; status == FURROW_OK && i < given; i++) {
    if (find_column(table->columns, params->names[i])) continue;
    status = fail(err, FURROW_E_ARGUMENT, "the table has no column of this name", "");
    strncat(err->token, params->names[i], sizeof err->token - 1);
  }
  return status;
}

/* Types by their names. Free *types with PyMem_Free. */
static bool get_types(PyObject *tuple, size_t count, furrow_column_type **types) {
  const char **names = NULL;
  size_t n = 0;
  if (!fwpy_index_texts(tuple, &names, &n)) return false;
  *types = PyMem_Malloc((n + 1) * sizeof **types);
  bool ok = n == count && *types;
  for (size_t i = 0; ok && i < n; i++) ok = furrow_column_type_find(names[i], &(*types)[i]);
  if (!ok) PyErr_SetString(PyExc_ValueError, "the type of a column is 'number', 'text', 'set' or 'time'");
  PyMem_Free((void *)names);
  return ok;
}

static PyObject *wrap_table(attribute_table *made) {
  attribute_table *table = malloc(sizeof *table);
  if (!table) PyErr_NoMemory();
  if (table) *table = *made;
  PyObject *capsule = table ? PyCapsule_New(table, table_name, free_table) : NULL;
  if (capsule) return capsule;
  free(table);
  furrow_columns_free(made->columns);
  free(made->key);
  return NULL;
}

/* attribute_table(uri, key|None, in_order, names, types, given): a capsule */
static PyObject *make_table(PyObject *module, PyObject *args) {
  PyObject *path = NULL, *names, *types, *result = NULL;
  const char *key;
  int in_order;
  Py_ssize_t given;
  attribute_table table = {0};
  furrow_column_type *known = NULL;
  furrow_columns_params params;
  furrow_error err;
  furrow_status status = FURROW_OK;
  (void)module;
  furrow_columns_params_init(&params);
  if (!PyArg_ParseTuple(args, "O&zpOOn", PyUnicode_FSConverter, &path, &key, &in_order, &names, &types, &given))
    return NULL;
  table.in_order = in_order != 0;
  if (fwpy_index_texts(names, (const char ***)(uintptr_t)&params.names, &params.typed) &&
      get_types(types, params.typed, &known)) {
    const char *uri = PyBytes_AsString(path);
    params.types = known;
    Py_BEGIN_ALLOW_THREADS;
    status = load_table(&table, uri, &params, (size_t)given, &err);
    if (status == FURROW_OK && key && !(table.key = strdup(key)))
      status = fail(&err, FURROW_E_MEMORY, "out of memory", "");
    Py_END_ALLOW_THREADS;
    if (status == FURROW_OK)
      result = wrap_table(&table);
    else
      furrow_columns_free(table.columns);
    if (status != FURROW_OK) fwpy_raise(&err);
  }
  PyMem_Free((void *)(uintptr_t)params.names);
  PyMem_Free(known);
  Py_DECREF(path);
  return result;
}

/* ---- Joining ---------------------------------------------------------------------------------------------- */

static const furrow_column *key_of(const attribute_table *table, bool named) {
  const furrow_column *key = NULL;
  if (table->key) return find_column(table->columns, table->key);
  if (named) key = find_column(table->columns, "name");
  return key ? key : find_column(table->columns, "id");
}

/* Whether a row of a table in order names the vector that it belongs to. */
static bool key_fits(const furrow_column *key, size_t row, int64_t id, const furrow_id_names *names) {
  char number[24];
  size_t size = 0;
  const char *text = number;
  size = (size_t)snprintf(number, sizeof number, "%" PRId64, id);
  if (names) text = furrow_id_names_text(names, id, &size);
  if (key->type != FURROW_COLUMN_TEXT || !key->texts[row] || !text) return false;
  return strlen(key->texts[row]) == size && memcmp(key->texts[row], text, size) == 0;
}

/* Row i belongs to ids[i]. */
static furrow_status set_in_order(furrow_attributes *attributes, const attribute_table *table, const int64_t *ids,
                                  size_t n, const furrow_id_names *names, furrow_error *err) {
  const furrow_columns *columns = table->columns;
  const furrow_column *key = key_of(table, names != NULL);
  if (columns->rows != n) {
    fail(err, FURROW_E_ARGUMENT, "", "attribute_key= names the column with the id or the name of each row's vector");
    snprintf(err->message, sizeof err->message, "there are %zu rows of attributes for %zu vectors", columns->rows, n);
    return FURROW_E_ARGUMENT;
  }
  for (size_t i = 0; key && i < n; i++) {
    if (key_fits(key, i, ids[i], names)) continue;
    fail(err, FURROW_E_ARGUMENT, "", "attribute_key= matches rows with vectors by a column; otherwise rename it");
    snprintf(err->message, sizeof err->message, "column %s does not have the %s of the vectors in their order",
             key->name, names ? "names" : "ids");
    return FURROW_E_ARGUMENT;
  }
  furrow_column *kept = malloc((columns->count + 1) * sizeof *kept);
  size_t count = 0;
  if (!kept) return fail(err, FURROW_E_MEMORY, "out of memory", "");
  for (size_t i = 0; i < columns->count; i++)
    if (&columns->columns[i] != key) kept[count++] = columns->columns[i];
  const furrow_status status = furrow_attributes_set(attributes, ids, n, kept, count, err);
  free(kept);
  return status;
}

furrow_status fwpy_attributes_extend(furrow_attributes *attributes, const furrow_index *index, const int64_t *ids,
                                     size_t n, const furrow_id_names *names, const attribute_table *table,
                                     furrow_attributes_fit *fit, furrow_error *err) {
  const bool in_order = table && table->in_order && !table->key;
  const furrow_column *key = table && !in_order ? key_of(table, names != NULL) : NULL;
  furrow_ids all;
  if (table && !in_order && !key) {
    fail(err, FURROW_E_ARGUMENT, "the table has no column that tells which vector a row belongs to",
         "attribute_key= names the column with the id or the name of each row's vector");
    strncat(err->token, table->key ? table->key : "id", sizeof err->token - 1);
    return FURROW_E_ARGUMENT;
  }
  if (in_order) {
    const furrow_status status = set_in_order(attributes, table, ids, n, names, err);
    if (status != FURROW_OK) return status;
  }
  furrow_status status = furrow_index_get_ids(index, &all, err);
  if (status != FURROW_OK) return status;
  int64_t *list = malloc((all.count + n + 1) * sizeof *list);
  if (list) {
    memcpy(list, all.ids, all.count * sizeof *list);
    if (n > 0) memcpy(list + all.count, ids, n * sizeof *list);
    status = furrow_attributes_join_ids(attributes, list, all.count + n, names, key ? table->columns : NULL,
                                        key ? key->name : NULL, fit, err);
  } else {
    status = fail(err, FURROW_E_MEMORY, "out of memory", "");
  }
  free(list);
  furrow_ids_clear(&all);
  return status;
}

static int ascending(const void *a, const void *b) {
  const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return (x > y) - (x < y);
}

/* Gives the vectors of the index the values of a table; rows in order are by ascending id. */
static furrow_status join_table(index_object *self, const attribute_table *table, furrow_attributes *attributes,
                                furrow_attributes_fit *fit, furrow_error *err) {
  furrow_ids ids;
  size_t n = 0;
  furrow_status status = furrow_index_get_ids(self->index, &ids, err);
  if (status != FURROW_OK) return status;
  qsort(ids.ids, ids.count, sizeof *ids.ids, ascending);
  for (size_t i = 0; i < ids.count; i++)
    if (i == 0 || ids.ids[i] != ids.ids[i - 1]) ids.ids[n++] = ids.ids[i];
  status = fwpy_attributes_extend(attributes, self->index, ids.ids, n, self->names ? self->names->names : NULL, table,
                                  fit, err);
  furrow_ids_clear(&ids);
  return status;
}

/* table NULL: removes the attributes. */
static furrow_status set_attributes(index_object *self, const attribute_table *table, furrow_attributes_fit *fit,
                                    furrow_error *err) {
  index_attributes *made = NULL;
  furrow_status status = fwpy_index_begin_change(self, err);
  if (status != FURROW_OK) return status;
  if (table) status = fwpy_attributes_copy(&made, self->attributes, err);
  if (status == FURROW_OK && table) status = join_table(self, table, made->attributes, fit, err);
  if (status == FURROW_OK) {
    index_attributes *before = self->attributes;
    self->attributes = made;
    made = before;
  }
  fwpy_index_end_change(self);
  fwpy_attributes_release(made);
  return status;
}

/* set_attributes(table | None): how many vectors have no row in the table */
PyObject *fwpy_index_set_attributes(PyObject *self, PyObject *args) {
  PyObject *object;
  const attribute_table *table;
  furrow_attributes_fit fit;
  furrow_error err;
  furrow_status status = FURROW_OK;
  furrow_attributes_fit_init(&fit);
  if (!PyArg_ParseTuple(args, "O", &object) || !fwpy_attribute_table_get(object, &table)) return NULL;
  Py_BEGIN_ALLOW_THREADS;
  status = set_attributes((index_object *)self, table, &fit, &err);
  Py_END_ALLOW_THREADS;
  return status == FURROW_OK ? PyLong_FromUnsignedLongLong(fit.without) : fwpy_raise(&err);
}

/* ---- Reading ---------------------------------------------------------------------------------------------- */

static bool get_column(const index_attributes *attributes, size_t i, furrow_attribute_info *info) {
  furrow_error err;
  furrow_attribute_info_init(info);
  if (furrow_attributes_get_column(attributes->attributes, i, info, &err) == FURROW_OK) return true;
  fwpy_raise(&err);
  return false;
}

/* attribute_types(): a list of (name, type) in the order of the columns; None: there are no attributes */
PyObject *fwpy_index_attribute_types(PyObject *self, PyObject *unused) {
  index_attributes *attributes;
  (void)unused;
  if (!use_attributes((index_object *)self, &attributes)) return NULL;
  PyObject *list = attributes ? PyList_New(0) : Py_NewRef(Py_None);
  const size_t count = attributes ? furrow_attributes_column_count(attributes->attributes) : 0;
  for (size_t i = 0; list && i < count; i++) {
    furrow_attribute_info info;
    PyObject *item = get_column(attributes, i, &info) ? Py_BuildValue("Ns", fwpy_text_n(info.name, info.name_size),
                                                                      furrow_column_type_name(info.type))
                                                      : NULL;
    if (!item || PyList_Append(list, item) != 0) Py_CLEAR(list);
    Py_XDECREF(item);
  }
  fwpy_attributes_release(attributes);
  return list;
}

static PyObject *text_of(const furrow_attributes *attributes, int64_t id, size_t column, size_t value) {
  size_t size = 0;
  const char *text = furrow_attributes_text(attributes, id, column, value, &size);
  return text ? fwpy_text_n(text, size) : Py_NewRef(Py_None);
}

static PyObject *set_of(const furrow_attributes *attributes, int64_t id, size_t column) {
  const size_t count = furrow_attributes_values(attributes, id, column);
  if (count == 0) Py_RETURN_NONE;
  PyObject *tuple = PyTuple_New((Py_ssize_t)count);
  for (size_t i = 0; tuple && i < count; i++) {
    PyObject *text = text_of(attributes, id, column, i);
    if (!text || PyTuple_SetItem(tuple, (Py_ssize_t)i, text) != 0) Py_CLEAR(tuple);
  }
  return tuple;
}

static PyObject *text_column(const furrow_attributes *attributes, const int64_t *ids, size_t n, size_t column,
                             bool sets) {
  PyObject *list = PyList_New((Py_ssize_t)n);
  for (size_t i = 0; list && i < n; i++) {
    PyObject *value = sets ? set_of(attributes, ids[i], column) : text_of(attributes, ids[i], column, 0);
    if (!value || PyList_SetItem(list, (Py_ssize_t)i, value) != 0) Py_CLEAR(list);
  }
  return list;
}

static PyObject *number_column(const furrow_attributes *attributes, const int64_t *ids, size_t n, size_t column) {
  double *numbers = malloc((n + 1) * sizeof *numbers);
  if (!numbers) return PyErr_NoMemory();
  for (size_t i = 0; i < n; i++) numbers[i] = furrow_attributes_number(attributes, ids[i], column);
  return fwpy_view_allocated(numbers, FWPY_F64, n);
}

static PyObject *column_values(const furrow_attributes *attributes, const Py_buffer *ids, size_t column,
                               furrow_column_type type) {
  const size_t n = (size_t)ids->shape[0];
  if (type == FURROW_COLUMN_NUMBER || type == FURROW_COLUMN_TIME) return number_column(attributes, ids->buf, n, column);
  return text_column(attributes, ids->buf, n, column, type == FURROW_COLUMN_SET);
}

/* attribute_columns(ids): a list of (name, type, values): doubles, or a list of str or of tuples of str, where None is
 * missing; None: there are no attributes */
PyObject *fwpy_index_attribute_columns(PyObject *self, PyObject *args) {
  PyObject *array;
  index_attributes *attributes;
  Py_buffer ids;
  if (!PyArg_ParseTuple(args, "O", &array) || !use_attributes((index_object *)self, &attributes)) return NULL;
  if (!attributes) Py_RETURN_NONE;
  PyObject *list = fwpy_get_array(array, "ids", FWPY_I64, 1, &ids) ? PyList_New(0) : NULL;
  const bool held = list != NULL;
  for (size_t i = 0; list && i < furrow_attributes_column_count(attributes->attributes); i++) {
    furrow_attribute_info info;
    PyObject *values =
        get_column(attributes, i, &info) ? column_values(attributes->attributes, &ids, i, info.type) : NULL;
    PyObject *item = values ? Py_BuildValue("NsN", fwpy_text_n(info.name, info.name_size),
                                            furrow_column_type_name(info.type), values)
                            : NULL;
    if (!item || PyList_Append(list, item) != 0) Py_CLEAR(list);
    Py_XDECREF(item);
  }
  if (held) PyBuffer_Release(&ids);
  fwpy_attributes_release(attributes);
  return list;
}

/* ---- Filters ---------------------------------------------------------------------------------------------- */

static furrow_status select_ids(const index_object *self, const char *where, furrow_selection **selection,
                                furrow_error *err) {
  if (!self->attributes)
    return fail(err, FURROW_E_STATE, "the index has no attributes that a filter could compare",
                "set_attributes, or attributes= of build and add, give it some");
  const furrow_status status = furrow_attributes_select(self->attributes->attributes, where, selection, err);
  if (status == FURROW_E_ARGUMENT) snprintf(err->file, sizeof err->file, "where");
  return status;
}

static bool keeps_both(void *user, int64_t id) {
  const index_where *w = user;
  return furrow_id_filter_keeps(w->other, id) && furrow_id_filter_keeps(furrow_selection_filter(w->selection), id);
}

furrow_status fwpy_where_open(index_where *w, const index_object *self, furrow_search_params *params, bool ranged,
                              furrow_error *err) {
  if (!w->text) return FURROW_OK;
  furrow_status status = select_ids(self, w->text, &w->selection, err);
  if (status != FURROW_OK) return status;
  w->other = params->filter;
  params->filter = furrow_selection_filter(w->selection);
  if (w->other) {
    furrow_id_filter_init(&w->both);
    w->both.kind = FURROW_ID_FILTER_CALLBACK;
    w->both.keep = keeps_both;
    w->both.user = w;
    params->filter = &w->both;
  }
  if (ranged) return FURROW_OK;
  furrow_filtered_params filtered;
  furrow_filtered_params_init(&filtered);
  filtered.search = params;
  filtered.recall = w->recall;
  status = furrow_filtered_create(&w->filtered, self->searcher, &filtered, err);
  if (status != FURROW_OK) fwpy_where_close(w, params);
  return status;
}

void fwpy_where_close(index_where *w, furrow_search_params *params) {
  if (!w->text) return;
  furrow_filtered_free(w->filtered);
  furrow_selection_free(w->selection);
  params->filter = w->other;
  w->filtered = NULL;
  w->selection = NULL;
}

/* select(where): the ids that match, ascending */
PyObject *fwpy_index_select(PyObject *object, PyObject *args) {
  index_object *self = (index_object *)object;
  const char *where;
  furrow_selection *selection = NULL;
  furrow_error err;
  furrow_status status = FURROW_OK;
  if (!PyArg_ParseTuple(args, "s", &where)) return NULL;
  Py_BEGIN_ALLOW_THREADS;
  status = fwpy_index_begin_read(self, &err);
  if (status == FURROW_OK) {
    status = select_ids(self, where, &selection, &err);
    fwpy_index_end_read(self);
  }
  Py_END_ALLOW_THREADS;
  if (status != FURROW_OK) return fwpy_raise(&err);
  const size_t n = furrow_selection_count(selection);
  int64_t *ids = malloc((n + 1) * sizeof *ids);
  for (size_t i = 0; ids && i < n; i++) ids[i] = furrow_selection_id(selection, i);
  furrow_selection_free(selection);
  return ids ? fwpy_view_allocated(ids, FWPY_I64, n) : PyErr_NoMemory();
}

PyMethodDef fwpy_index_attribute_methods[] = {{"attribute_table", make_table, METH_VARARGS, NULL},
                                              {NULL, NULL, 0, NULL}};
