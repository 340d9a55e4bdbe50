/* python/src/py_matrix.c: furrow._core.Matrix: a matrix of a model as arrays, and the files of models.
 *
 * A matrix never changes: any number of threads may use one object. */
#include <stdlib.h>
#include <string.h>

#include "py_core.h"

typedef struct matrix_object {
  PyObject_HEAD furrow_matrix *matrix;
  furrow_matrix_meta *meta;
} matrix_object;

static PyTypeObject *matrix_type;

static void matrix_dealloc(PyObject *object) {
  matrix_object *self = (matrix_object *)object;
  furrow_matrix_free(self->matrix);
  furrow_matrix_meta_free(self->meta);
  fwpy_delete(object);
}

static PyObject *make_matrix(furrow_matrix *matrix, furrow_matrix_meta *meta) {
  matrix_object *self = fwpy_new(matrix_type);
  if (self) {
    self->matrix = matrix;
    self->meta = meta;
    return (PyObject *)self;
  }
  furrow_matrix_free(matrix);
  furrow_matrix_meta_free(meta);
  return NULL;
}

static bool append_item(PyObject *list, PyObject *value) {
  const bool ok = value && PyList_Append(list, value) == 0;
  Py_XDECREF(value);
  return ok;
}

/* ---- Loading ---------------------------------------------------------------------------------------------- */

typedef struct load_options {
  const char *separator, *format, *row_type, *meta_name;
  uint64_t memory;
  uint32_t threads;
} load_options;

static const fwpy_field load_fields[] = {FWPY_FIELD(load_options, separator, FWPY_TEXT),
                                         FWPY_FIELD(load_options, format, FWPY_TEXT),
                                         FWPY_FIELD(load_options, row_type, FWPY_TEXT),
                                         FWPY_FIELD(load_options, meta_name, FWPY_TEXT),
                                         FWPY_FIELD(load_options, memory, FWPY_UINT64),
                                         FWPY_FIELD(load_options, threads, FWPY_UINT32),
                                         {0}};

static furrow_status find_row_type(const char *name, int32_t *number, furrow_error *err) {
  const furrow_matrix_row_type *type = NULL;
  if (!name) return FURROW_OK;
  const furrow_status status = furrow_matrix_row_type_find(name, &type, err);
  if (status == FURROW_OK) *number = type->number;
  return status;
}

/* Loads a folder and the metadata that it was read by. */
static furrow_status load_folder(const char *folder, const load_options *options, furrow_matrix **matrix,
                                 furrow_matrix_meta **meta, furrow_error *err) {
  furrow_matrix_source_params reading;
  furrow_matrix_load_params params;
  furrow_matrix_source *source = NULL;
  furrow_matrix_source_params_init(&reading);
  furrow_matrix_load_params_init(&params);
  reading.separator = options->separator;
  reading.format = options->format;
  reading.meta_name = options->meta_name;
  params.threads = options->threads;
  params.memory = options->memory;
  furrow_status status = find_row_type(options->row_type, &reading.row_type, err);
  if (status == FURROW_OK) status = furrow_matrix_source_open(&source, folder, &reading, err);
  if (status == FURROW_OK) status = furrow_matrix_meta_copy(meta, furrow_matrix_source_meta(source), err);
  if (status == FURROW_OK) status = furrow_matrix_load_source(matrix, source, &params, err);
  furrow_matrix_source_close(source);
  if (status != FURROW_OK) furrow_matrix_meta_free(*meta);
  return status;
}

/* load(path, options dict) */
static PyObject *matrix_load(PyObject *type, PyObject *args) {
  PyObject *path = NULL, *dict;
  load_options options = {0};
  furrow_matrix *matrix = NULL;
  furrow_matrix_meta *meta = NULL;
  furrow_error err;
  furrow_status status = FURROW_E_ARGUMENT;
  (void)type;
  if (!PyArg_ParseTuple(args, "O&O!", PyUnicode_FSConverter, &path, &PyDict_Type, &dict)) return NULL;
  if (!fwpy_set_fields(&options, dict, load_fields)) {
    Py_DECREF(path);
    return NULL;
  }
  const char *folder = PyBytes_AsString(path);
  Py_BEGIN_ALLOW_THREADS;
  status = load_folder(folder, &options, &matrix, &meta, &err);
  Py_END_ALLOW_THREADS;
  Py_DECREF(path);
  return status == FURROW_OK ? make_matrix(matrix, meta) : fwpy_raise(&err);
}

/* ---- What it has ------------------------------------------------------------------------------------------ */

static fwpy_dtype dtype_of(furrow_element_type type) {
  switch (type) {
  case FURROW_ELEMENT_F64: return FWPY_F64;
  case FURROW_ELEMENT_F32: return FWPY_F32;
  case FURROW_ELEMENT_I64: return FWPY_I64;
  default: return FWPY_I32;
  }
}

/* type() -> "f32" … */
static PyObject *matrix_get_type(PyObject *object, PyObject *unused) {
  (void)unused;
  return fwpy_text(furrow_element_type_name(furrow_matrix_type(((matrix_object *)object)->matrix)));
}

static PyObject *panel_tuple(PyObject *owner, const furrow_panel *panel) {
  PyObject *columns = panel->col_ids ? fwpy_view(owner, panel->col_ids, FWPY_I64, panel->cols) : Py_NewRef(Py_None);
  return Py_BuildValue("(NNLN)", fwpy_view(owner, panel->row_ids, FWPY_I32, panel->rows), columns,
                       (long long)panel->first_col,
                       fwpy_view_2d(owner, panel->values.any, dtype_of(panel->type), panel->cols, panel->rows));
}

/* panels() -> [(row ids i32, column ids i64|None, first column, values columns x rows), …] */
static PyObject *matrix_panels(PyObject *object, PyObject *unused) {
  const furrow_matrix *matrix = ((matrix_object *)object)->matrix;
  PyObject *list = PyList_New(0);
  (void)unused;
  for (size_t i = 0; list && i < furrow_matrix_panel_count(matrix); i++)
    if (!append_item(list, panel_tuple(object, furrow_matrix_panel(matrix, i)))) Py_CLEAR(list);
  return list;
}

static const fwpy_field meta_fields[] = {FWPY_FIELD(furrow_matrix_meta, matrix_id, FWPY_INT32),
                                         {"name", FWPY_TEXT, offsetof(furrow_matrix_meta, matrix_name)},
                                         {"format", FWPY_TEXT, offsetof(furrow_matrix_meta, format_class_name)},
                                         {"rows", FWPY_INT32, offsetof(furrow_matrix_meta, row)},
                                         {"columns", FWPY_INT64, offsetof(furrow_matrix_meta, col)},
                                         FWPY_FIELD(furrow_matrix_meta, block_row, FWPY_INT32),
                                         FWPY_FIELD(furrow_matrix_meta, block_col, FWPY_INT64),
                                         {"partitions", FWPY_SIZE, offsetof(furrow_matrix_meta, part_count)},
                                         {0}};

static PyObject *options_dict(const furrow_matrix_meta *meta) {
  PyObject *dict = PyDict_New();
  for (size_t i = 0; dict && i < meta->option_count; i++) {
    PyObject *value = fwpy_text(meta->options[i].value);
    if (!value || PyDict_SetItemString(dict, meta->options[i].key, value) < 0) Py_CLEAR(dict);
    Py_XDECREF(value);
  }
  return dict;
}

static PyObject *matrix_meta(PyObject *object, PyObject *unused) {
  const furrow_matrix_meta *meta = ((matrix_object *)object)->meta;
  const furrow_matrix_row_type *type = furrow_matrix_row_type_get(meta->row_type);
  (void)unused;
  PyObject *dict = fwpy_get_fields(meta, meta_fields), *name = fwpy_text(type ? type->name : NULL);
  PyObject *options = options_dict(meta);
  if (!dict || !name || !options || PyDict_SetItemString(dict, "row_type", name) < 0 ||
      PyDict_SetItemString(dict, "options", options) < 0)
    Py_CLEAR(dict);
  Py_XDECREF(name);
  Py_XDECREF(options);
  return dict;
}

/* ---- Saving ----------------------------------------------------------------------------------------------- */

typedef struct save_options {
  furrow_matrix_spec spec;
  furrow_matrix_write_params write;
  const char *row_type;
} save_options;

#define SPEC(member, kind) \
  { #member, kind, offsetof(save_options, spec) + offsetof(furrow_matrix_spec, member) }
#define WRITE(member, kind) \
  { #member, kind, offsetof(save_options, write) + offsetof(furrow_matrix_write_params, member) }
static const fwpy_field save_fields[] = {SPEC(name, FWPY_TEXT),
                                         SPEC(format, FWPY_TEXT),
                                         SPEC(matrix_id, FWPY_INT32),
                                         SPEC(rows, FWPY_INT32),
                                         SPEC(cols, FWPY_INT64),
                                         SPEC(first_col, FWPY_INT64),
                                         SPEC(hash_parts, FWPY_INT32),
                                         SPEC(block_cols, FWPY_INT64),
                                         SPEC(block_rows, FWPY_INT32),
                                         SPEC(part_size, FWPY_INT64),
                                         SPEC(max_parts, FWPY_INT32),
                                         SPEC(servers, FWPY_INT32),
                                         SPEC(parts_per_file, FWPY_INT32),
                                         WRITE(separator, FWPY_TEXT),
                                         WRITE(meta_name, FWPY_TEXT),
                                         WRITE(angel_bytes, FWPY_BOOL),
                                         WRITE(overwrite, FWPY_BOOL),
                                         WRITE(threads, FWPY_UINT32),
                                         FWPY_FIELD(save_options, row_type, FWPY_TEXT),
                                         {0}};
#undef SPEC
#undef WRITE

/* Panels that borrow Python's arrays. */
typedef struct panel_list {
  furrow_panel *panels;
  Py_buffer *views; /* three for each panel */
  size_t count, view_count;
} panel_list;

static void drop_panels(panel_list *list) {
  for (size_t i = 0; i < list->view_count; i++) PyBuffer_Release(&list->views[i]);
  free(list->views);
  free(list->panels);
}

static const void *hold(panel_list *list, PyObject *object, const char *name, fwpy_dtype dtype, int ndim) {
  Py_buffer *view = &list->views[list->view_count];
  if (!fwpy_get_array(object, name, dtype, ndim, view)) return NULL;
  list->view_count++;
  return view->buf;
}

/* (row ids i32, column ids i64|None, first column, values columns x rows) */
static bool hold_panel(panel_list *list, PyObject *tuple, furrow_element_type type, furrow_panel *panel) {
  PyObject *rows, *columns, *values;
  long long first;
  if (!PyArg_ParseTuple(tuple, "OOLO", &rows, &columns, &first, &values)) return false;
  panel->type = type;
  panel->first_col = first;
  if (!(panel->row_ids = hold(list, rows, "row ids", FWPY_I32, 1))) return false;
  panel->rows = (size_t)list->views[list->view_count - 1].shape[0];
  if (!(panel->values.any = hold(list, values, "values", dtype_of(type), 2))) return false;
  const Py_ssize_t *shape = list->views[list->view_count - 1].shape;
  panel->cols = (size_t)shape[0];
  bool fits = (size_t)shape[1] == panel->rows;
  if (columns != Py_None) {
    if (!(panel->col_ids = hold(list, columns, "column ids", FWPY_I64, 1))) return false;
    fits = fits && (size_t)list->views[list->view_count - 1].shape[0] == panel->cols;
  }
  if (!fits) PyErr_SetString(PyExc_ValueError, "the arrays of a panel do not fit each other");
  return fits;
}

static bool find_element_type(const char *name, furrow_element_type *type) {
#define FURROW_X(id, c, text) \
  if (strcmp(name, text) == 0) return *type = FURROW_ELEMENT_##id, true;
  FURROW_ELEMENT_TYPES(FURROW_X)
#undef FURROW_X
  PyErr_Format(PyExc_ValueError, "there is no type of elements %s", name);
  return false;
}

static bool hold_panels(panel_list *list, PyObject *panels, const char *type_name) {
  furrow_element_type type;
  if (!find_element_type(type_name, &type)) return false;
  list->count = (size_t)PyList_Size(panels);
  list->panels = calloc(list->count + 1, sizeof *list->panels);
  list->views = calloc(3 * list->count + 1, sizeof *list->views);
  if (!list->panels || !list->views) return PyErr_NoMemory() != NULL;
  for (size_t i = 0; i < list->count; i++)
    if (!hold_panel(list, PyList_GetItem(panels, (Py_ssize_t)i), type, &list->panels[i])) return false;
  return true;
}

static furrow_status save_folder(const char *folder, const panel_list *list, save_options *options, furrow_error *err) {
  furrow_matrix *matrix = NULL;
  furrow_matrix_meta *plan = NULL;
  furrow_status status = find_row_type(options->row_type, &options->spec.row_type, err);
  if (status == FURROW_OK) status = furrow_matrix_borrow(&matrix, list->panels, list->count, NULL, NULL, err);
  if (status == FURROW_OK) {
    options->spec.saved_rows = furrow_matrix_row_ids(matrix);
    options->spec.saved_row_count = furrow_matrix_row_count(matrix);
    status = furrow_matrix_plan(&plan, &options->spec, err);
  }
  if (status == FURROW_OK) status = furrow_matrix_save(matrix, folder, plan, &options->write, err);
  furrow_matrix_meta_free(plan);
  furrow_matrix_free(matrix);
  return status;
}

/* save_matrix(path, type, list of panels as panels() gives them, options dict) */
static PyObject *save_matrix(PyObject *module, PyObject *args) {
  PyObject *path = NULL, *panels, *dict;
  const char *type;
  save_options options = {0};
  panel_list list = {0};
  furrow_error err;
  furrow_status status = FURROW_OK;
  (void)module;
  furrow_matrix_spec_init(&options.spec);
  furrow_matrix_write_params_init(&options.write);
  if (!PyArg_ParseTuple(args, "O&sO!O!", PyUnicode_FSConverter, &path, &type, &PyList_Type, &panels, &PyDict_Type,
                        &dict))
    return NULL;
  if (fwpy_set_fields(&options, dict, save_fields) && hold_panels(&list, panels, type)) {
    const char *folder = PyBytes_AsString(path);
    Py_BEGIN_ALLOW_THREADS;
    status = save_folder(folder, &list, &options, &err);
    Py_END_ALLOW_THREADS;
    if (status != FURROW_OK) fwpy_raise(&err);
  }
  drop_panels(&list);
  Py_DECREF(path);
  if (PyErr_Occurred()) return NULL;
  Py_RETURN_NONE;
}

/* ---- Model directories ------------------------------------------------------------------------------------ */

static PyObject *list_entries(const furrow_model_entry *entries, size_t count) {
  PyObject *list = PyList_New(0);
  for (size_t i = 0; list && i < count; i++)
    if (!append_item(list, Py_BuildValue("(NN)", fwpy_text(entries[i].name), fwpy_text(entries[i].folder))))
      Py_CLEAR(list);
  return list;
}

/* list_model(path) -> ([(name, folder), …] of matrices, [(name, None), …] of files) */
static PyObject *list_model(PyObject *module, PyObject *args) {
  PyObject *path = NULL;
  furrow_model_listing *listing = NULL;
  furrow_error err;
  furrow_status status = FURROW_E_ARGUMENT;
  (void)module;
  if (!PyArg_ParseTuple(args, "O&", PyUnicode_FSConverter, &path)) return NULL;
  const char *folder = PyBytes_AsString(path);
  Py_BEGIN_ALLOW_THREADS;
  status = furrow_model_listing_load(&listing, folder, &err);
  Py_END_ALLOW_THREADS;
  Py_DECREF(path);
  if (status != FURROW_OK) return fwpy_raise(&err);
  PyObject *result = Py_BuildValue("(NN)", list_entries(listing->matrices, listing->matrix_count),
                                   list_entries(listing->files, listing->file_count));
  furrow_model_listing_free(listing);
  return result;
}

typedef struct copying {
  const char *source, *target;
  furrow_model_convert_params params;
  furrow_matrix_write_params write;
} copying;

static furrow_status run_copy(void *user, fwpy_job *job, furrow_error *err) {
  copying *c = user;
  c->params.write = &c->write;
  c->params.progress = fwpy_job_progress;
  c->params.progress_user = job;
  return furrow_model_convert(c->source, c->target, &c->params, NULL, err);
}

/* copy_model(source, target, overwrite): appears in one step */
static PyObject *copy_model(PyObject *module, PyObject *args) {
  PyObject *source = NULL, *target = NULL;
  int overwrite;
  copying c;
  (void)module;
  if (!PyArg_ParseTuple(args, "O&O&p", PyUnicode_FSConverter, &source, PyUnicode_FSConverter, &target, &overwrite)) {
    Py_XDECREF(source);
    return NULL;
  }
  furrow_model_convert_params_init(&c.params);
  furrow_matrix_write_params_init(&c.write);
  c.source = PyBytes_AsString(source);
  c.target = PyBytes_AsString(target);
  c.write.overwrite = overwrite != 0;
  const bool ok = fwpy_job_run(run_copy, &c, NULL);
  Py_DECREF(source);
  Py_DECREF(target);
  if (!ok) return NULL;
  Py_RETURN_NONE;
}

/* ---- The type --------------------------------------------------------------------------------------------- */

static PyMethodDef matrix_methods[] = {{"load", matrix_load, METH_VARARGS | METH_STATIC, NULL},
                                       {"type", matrix_get_type, METH_NOARGS, NULL},
                                       {"panels", matrix_panels, METH_NOARGS, NULL},
                                       {"meta", matrix_meta, METH_NOARGS, NULL},
                                       {NULL, NULL, 0, NULL}};

static PyMethodDef functions[] = {{"save_matrix", save_matrix, METH_VARARGS, NULL},
                                  {"list_model", list_model, METH_VARARGS, NULL},
                                  {"copy_model", copy_model, METH_VARARGS, NULL},
                                  {NULL, NULL, 0, NULL}};

static PyType_Slot matrix_slots[] = {{Py_tp_dealloc, matrix_dealloc}, {Py_tp_methods, matrix_methods}, {0, NULL}};
static PyType_Spec matrix_spec = {"furrow._core.Matrix", sizeof(matrix_object), 0,
                                  Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, matrix_slots};

int fwpy_add_matrix(PyObject *module) {
  if (fwpy_add_type(module, &matrix_spec, &matrix_type) < 0) return -1;
  return PyModule_AddFunctions(module, functions);
}
