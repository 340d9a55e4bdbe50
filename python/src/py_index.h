/* python/src/py_index.h: what py_index.c and py_index_edit.c share: the object, its lock, filters of ids. */
#ifndef FURROW_PYTHON_INDEX_H
#define FURROW_PYTHON_INDEX_H

#include <pthread.h>
#include <stdatomic.h>

#include "py_core.h"

/* Names of ids, which never change: a change makes new ones. So they can be read without the lock of the index, which
 * may not be held while objects of Python are made (that may run any of the caller's code). */
typedef struct index_names {
  atomic_size_t uses;
  furrow_id_names *names;
} index_names;

/* The same for attributes. */
typedef struct index_attributes {
  atomic_size_t uses;
  furrow_attributes *attributes;
} index_attributes;

/* Searches may run at once from any number of threads; a change waits for them, and they wait for it. */
typedef struct index_object {
  PyObject_HEAD furrow_index *index;
  furrow_searcher *searcher;    /* NULL: not made since the last change */
  index_names *names;           /* NULL: ids have no names */
  index_attributes *attributes; /* NULL: none; otherwise with a row for each id */
  int64_t next_id; /* next id of a vector that is added without an id; -1: not known since the last change */
  size_t d;
  bool broken;                          /* a fork came while another thread changed it */
  bool changing;                        /* in fwpy_index_begin_change … fwpy_index_end_change */
  pthread_rwlock_t lock;                /* protects everything above; waited for without the interpreter's lock only */
  struct index_object *next, *previous; /* all objects of the process, by the interpreter's lock */
} index_object;

/* Takes the lock for reading. On failure it is free. */
furrow_status fwpy_index_begin_read(index_object *self, furrow_error *err);
void fwpy_index_end_read(index_object *self);
/* Takes the lock for writing and frees the searcher, which the change would invalidate. On failure it is free. */
furrow_status fwpy_index_begin_change(index_object *self, furrow_error *err);
void fwpy_index_end_change(index_object *self);

/* An object of an index, its names and its attributes (NULL: none), which it takes, also on failure. */
PyObject *fwpy_index_make(furrow_index *index, index_names *names, index_attributes *attributes);
/* The object if it is an index; else NULL and a TypeError. */
index_object *fwpy_index_check(PyObject *object);

/* Whether ids are the numbers of the vectors: neither lists nor an id map store them. */
bool fwpy_index_counts_ids(const furrow_index *index);

/* A filter of ids with the array that it borrows. */
typedef struct index_filter {
  furrow_id_filter filter;
  Py_buffer array;
  bool held; /* array is to be released */
} index_filter;

/* From None or one of ("range", invert, first, end), ("sorted", invert, int64 array), ("bitmap", invert, uint8 array).
 * *used is NULL for None. */
bool fwpy_index_filter_get(PyObject *object, index_filter *filter, const furrow_id_filter **used);
void fwpy_index_filter_release(index_filter *filter);

/* Names to fill: a copy of others (NULL: none). */
furrow_status fwpy_names_copy(index_names **copy, const index_names *names, furrow_error *err);
/* Takes names; frees them on failure. */
furrow_status fwpy_names_wrap(index_names **wrapped, furrow_id_names *names, furrow_error *err);
/* Ends one use. Takes NULL. */
void fwpy_names_release(index_names *names);

/* The same for attributes. */
furrow_status fwpy_attributes_copy(index_attributes **copy, const index_attributes *attributes, furrow_error *err);
furrow_status fwpy_attributes_wrap(index_attributes **wrapped, furrow_attributes *attributes, furrow_error *err);
void fwpy_attributes_release(index_attributes *attributes);

/* A table of attributes that was read: None (*table is NULL), or what attribute_table() of the module made. */
typedef struct attribute_table attribute_table;
bool fwpy_attribute_table_get(PyObject *object, const attribute_table **table);
/* Gives attributes a row for each id of the index and for n more ids, and the values of the table (NULL: none), whose
 * rows belong to these n ids in their order or are matched by its key. names: of the ids of both; NULL: none. */
furrow_status fwpy_attributes_extend(furrow_attributes *attributes, const furrow_index *index, const int64_t *ids,
                                     size_t n, const furrow_id_names *names, const attribute_table *table,
                                     furrow_attributes_fit *fit, furrow_error *err);

/* A filter by attributes. */
typedef struct index_where {
  const char *text; /* NULL: there is none */
  double recall;
  furrow_selection *selection;
  furrow_filtered *filtered;     /* NULL: of a search by radius */
  const furrow_id_filter *other; /* the filter of ids that counts as well; NULL: none */
  furrow_id_filter both;
} index_where;

/* Prepares the filter and puts it into params, with the lock held for reading and a searcher made. */
furrow_status fwpy_where_open(index_where *w, const index_object *self, furrow_search_params *params, bool ranged,
                              furrow_error *err);
/* Restores the filter of ids in params. */
void fwpy_where_close(index_where *w, furrow_search_params *params);

/* UTF-8 texts of a tuple of str, which the tuple keeps alive. Free *texts with PyMem_Free. */
bool fwpy_index_texts(PyObject *tuple, const char ***texts, size_t *count);

/* Methods of py_index_edit.c. */
PyObject *fwpy_index_create(PyObject *type, PyObject *args);
PyObject *fwpy_index_train(PyObject *self, PyObject *args);
PyObject *fwpy_index_add(PyObject *self, PyObject *args);
PyObject *fwpy_index_remove(PyObject *self, PyObject *args);
PyObject *fwpy_index_update(PyObject *self, PyObject *args);
PyObject *fwpy_index_merge(PyObject *self, PyObject *args);
PyObject *fwpy_index_set_nprobe(PyObject *self, PyObject *args);
PyObject *fwpy_index_set_direct_map(PyObject *self, PyObject *args);
PyObject *fwpy_index_next_id(PyObject *self, PyObject *unused);

/* Methods of py_index_names.c. */
PyObject *fwpy_index_set_names(PyObject *self, PyObject *args);
PyObject *fwpy_index_get_names(PyObject *self, PyObject *args);
PyObject *fwpy_index_find_names(PyObject *self, PyObject *args);
PyObject *fwpy_index_has_names(PyObject *self, PyObject *unused);
PyObject *fwpy_index_name_items(PyObject *self, PyObject *unused);

/* Methods of py_index_attributes.c, and its functions of the module. */
PyObject *fwpy_index_set_attributes(PyObject *self, PyObject *args);
PyObject *fwpy_index_attribute_types(PyObject *self, PyObject *unused);
PyObject *fwpy_index_attribute_columns(PyObject *self, PyObject *args);
PyObject *fwpy_index_select(PyObject *self, PyObject *args);
extern PyMethodDef fwpy_index_attribute_methods[];

/* Methods of py_index_file.c, and its functions of the module. */
PyObject *fwpy_index_load(PyObject *type, PyObject *args);
PyObject *fwpy_index_read(PyObject *type, PyObject *args);
PyObject *fwpy_index_save(PyObject *self, PyObject *args);
PyObject *fwpy_index_to_bytes(PyObject *self, PyObject *args);
extern PyMethodDef fwpy_index_file_methods[];

/* Methods of py_index_choose.c, and its functions of the module. */
PyObject *fwpy_index_factory(PyObject *self, PyObject *unused);
PyObject *fwpy_index_tune(PyObject *self, PyObject *args);
PyObject *fwpy_index_card(PyObject *self, PyObject *unused);
PyObject *fwpy_index_end_build(PyObject *self, PyObject *unused);
extern PyMethodDef fwpy_index_choose_methods[];

#endif
