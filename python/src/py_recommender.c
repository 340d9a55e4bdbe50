/* python/src/py_recommender.c: furrow._core.Recommender, and the events that it reads.
 *
 * Recommendations may run at once from any number of threads; preparing an index waits for them, and they for it. */
#include <pthread.h>
#include <string.h>

#include "py_core.h"

enum { FEW_USERS = 4, FEW_ITEMS = 1 << 14 }; /* few enough that Ctrl-C may wait for them */

typedef struct recommender_object {
  PyObject_HEAD furrow_recommender *recommender;
  PyObject *folder;      /* bytes: the model's path */
  pthread_rwlock_t lock; /* held without the interpreter's lock only */
} recommender_object;

/* Events of a log, with the numbers that one recommender has for users and items. */
typedef struct events_object {
  PyObject_HEAD furrow_events *events;
  PyObject *recommender;
} events_object;

typedef struct new_users_object {
  PyObject_HEAD furrow_new_users *users;
  PyObject *recommender;
} new_users_object;

static PyTypeObject *recommender_type, *events_type, *new_users_type;

static void recommender_dealloc(PyObject *object) {
  recommender_object *self = (recommender_object *)object;
  furrow_recommender_free(self->recommender);
  Py_XDECREF(self->folder);
  pthread_rwlock_destroy(&self->lock);
  fwpy_delete(object);
}

static void events_dealloc(PyObject *object) {
  events_object *self = (events_object *)object;
  furrow_events_free(self->events);
  Py_XDECREF(self->recommender);
  fwpy_delete(object);
}

static void new_users_dealloc(PyObject *object) {
  new_users_object *self = (new_users_object *)object;
  furrow_new_users_free(self->users);
  Py_XDECREF(self->recommender);
  fwpy_delete(object);
}

/* ---- Opening ---------------------------------------------------------------------------------------------- */

typedef struct open_job {
  const char *folder;
  furrow_recommender_params params;
  furrow_recommender *recommender;
} open_job;

static furrow_status run_open(void *user, fwpy_job *job, furrow_error *err) {
  open_job *o = user;
  (void)job;
  return furrow_recommender_open(&o->recommender, o->folder, &o->params, err);
}

static const fwpy_field open_fields[] = {FWPY_FIELD(furrow_recommender_params, threads, FWPY_UINT32), {0}};

/* open(folder, options) */
static PyObject *recommender_open(PyObject *type, PyObject *args) {
  open_job job = {0};
  PyObject *folder = NULL, *options;
  (void)type;
  furrow_recommender_params_init(&job.params);
  if (!PyArg_ParseTuple(args, "O&O", PyUnicode_FSConverter, &folder, &options)) return NULL;
  job.folder = PyBytes_AsString(folder);
  const bool ok = fwpy_set_fields(&job.params, options, open_fields) && fwpy_job_run(run_open, &job, NULL);
  recommender_object *self = ok ? fwpy_new(recommender_type) : NULL;
  if (!self) {
    furrow_recommender_free(job.recommender);
    Py_DECREF(folder);
    return NULL;
  }
  pthread_rwlock_init(&self->lock, NULL);
  self->recommender = job.recommender;
  self->folder = folder;
  return (PyObject *)self;
}

/* ---- Fitting ---------------------------------------------------------------------------------------------- */

static const fwpy_field fit_fields[] = {FWPY_FIELD(furrow_recommender_fit_params, k, FWPY_SIZE),
                                        FWPY_FIELD(furrow_recommender_fit_params, threads, FWPY_UINT32),
                                        FWPY_FIELD(furrow_recommender_fit_params, on_bad, FWPY_UINT32),
                                        {0}};

typedef struct fit_job {
  const char *log, *encoder, *folder;
  furrow_recommender_fit_params params;
} fit_job;

static furrow_status run_fit(void *user, fwpy_job *job, furrow_error *err) {
  fit_job *f = user;
  furrow_encoder *encoder = NULL;
  furrow_recommender *recommender = NULL;
  f->params.progress = fwpy_job_progress;
  f->params.progress_user = job;
  furrow_status status = furrow_encoder_load(&encoder, f->encoder, err);
  if (status == FURROW_OK) status = furrow_recommender_fit(&recommender, f->log, encoder, &f->params, err);
  if (recommender) encoder = NULL; /* the recommender owns it */
  if (status == FURROW_OK) status = furrow_recommender_save(recommender, f->folder, false, err);
  furrow_recommender_free(recommender);
  furrow_encoder_free(encoder);
  return status;
}

/* fit(log, encoder folder, folder, options, progress): chooses a recommender for a log and saves it */
static PyObject *recommender_fit(PyObject *type, PyObject *args) {
  fit_job job = {0};
  PyObject *log = NULL, *encoder = NULL, *folder = NULL, *options, *progress;
  (void)type;
  furrow_recommender_fit_params_init(&job.params);
  if (!PyArg_ParseTuple(args, "O&O&O&OO", PyUnicode_FSConverter, &log, PyUnicode_FSConverter, &encoder,
                        PyUnicode_FSConverter, &folder, &options, &progress))
    return NULL;
  job.log = PyBytes_AsString(log);
  job.encoder = PyBytes_AsString(encoder);
  job.folder = PyBytes_AsString(folder);
  const bool ok = fwpy_set_fields(&job.params, options, fit_fields) && fwpy_job_run(run_fit, &job, progress);
  Py_DECREF(log);
  Py_DECREF(encoder);
  Py_DECREF(folder);
  if (!ok) return NULL;
  Py_RETURN_NONE;
}

/* ---- What it is ------------------------------------------------------------------------------------------- */

static const fwpy_field info_fields[] = {FWPY_FIELD(furrow_recommender_info, method, FWPY_UINT32),
                                         FWPY_FIELD(furrow_recommender_info, rescored, FWPY_BOOL),
                                         FWPY_FIELD(furrow_recommender_info, vector_size, FWPY_SIZE),
                                         FWPY_FIELD(furrow_recommender_info, context_fields, FWPY_SIZE),
                                         FWPY_FIELD(furrow_recommender_info, nlist, FWPY_UINT64),
                                         FWPY_FIELD(furrow_recommender_info, m, FWPY_UINT64),
                                         FWPY_FIELD(furrow_recommender_info, nprobe, FWPY_UINT64),
                                         FWPY_FIELD(furrow_recommender_info, fetch, FWPY_SIZE),
                                         FWPY_FIELD(furrow_recommender_info, recall, FWPY_DOUBLE),
                                         FWPY_FIELD(furrow_recommender_info, sample, FWPY_SIZE),
                                         FWPY_FIELD(furrow_recommender_info, positive, FWPY_DOUBLE),
                                         {0}};

static PyObject *recommender_info(PyObject *object, PyObject *unused) {
  recommender_object *self = (recommender_object *)object;
  furrow_recommender_info info;
  (void)unused;
  furrow_recommender_info_init(&info);
  Py_BEGIN_ALLOW_THREADS;
  pthread_rwlock_rdlock(&self->lock);
  furrow_recommender_get_info(self->recommender, &info);
  pthread_rwlock_unlock(&self->lock);
  Py_END_ALLOW_THREADS;
  return fwpy_get_fields(&info, info_fields);
}

static const fwpy_field ranking_fields[] = {FWPY_FIELD(furrow_recommender_figures, k, FWPY_SIZE),
                                            FWPY_FIELD(furrow_recommender_figures, users, FWPY_UINT64),
                                            FWPY_FIELD(furrow_recommender_figures, repeats, FWPY_DOUBLE),
                                            FWPY_FIELD(furrow_recommender_figures, of_log, FWPY_BOOL),
                                            FWPY_FIELD(furrow_recommender_figures, ndcg, FWPY_DOUBLE),
                                            FWPY_FIELD(furrow_recommender_figures, popular_ndcg, FWPY_DOUBLE),
                                            FWPY_FIELD(furrow_recommender_figures, gain, FWPY_DOUBLE),
                                            FWPY_FIELD(furrow_recommender_figures, gain_error, FWPY_DOUBLE),
                                            FWPY_FIELD(furrow_recommender_figures, user_features, FWPY_BOOL),
                                            {0}};

/* figures() -> (figures, candidates: list of (name, ndcg, gain, gain error, chosen)) */
static PyObject *recommender_figures(PyObject *object, PyObject *unused) {
  furrow_recommender_figures figures;
  (void)unused;
  furrow_recommender_figures_init(&figures);
  furrow_recommender_get_figures(((recommender_object *)object)->recommender, &figures);
  PyObject *list = PyList_New((Py_ssize_t)figures.candidate_count);
  for (size_t i = 0; list && i < figures.candidate_count; i++) {
    const furrow_recommender_candidate *c = &figures.candidates[i];
    PyObject *candidate = Py_BuildValue("sdddN", c->name, c->ndcg, c->gain, c->gain_error, PyBool_FromLong(c->chosen));
    if (!candidate || PyList_SetItem(list, (Py_ssize_t)i, candidate) < 0) Py_CLEAR(list);
  }
  return list ? Py_BuildValue("NN", fwpy_get_fields(&figures, ranking_fields), list) : NULL;
}

/* counts() -> (users, items); columns() -> (column of the users, of the items) */
static PyObject *recommender_counts(PyObject *object, PyObject *unused) {
  const furrow_recommender *r = ((recommender_object *)object)->recommender;
  (void)unused;
  return Py_BuildValue("KK", (unsigned long long)furrow_recommender_user_count(r),
                       (unsigned long long)furrow_recommender_item_count(r));
}

static PyObject *recommender_columns(PyObject *object, PyObject *unused) {
  const furrow_recommender *r = ((recommender_object *)object)->recommender;
  const char *user = furrow_recommender_user_column(r), *item = furrow_recommender_item_column(r);
  (void)unused;
  return Py_BuildValue("NN", fwpy_name(user, strlen(user)), fwpy_name(item, strlen(item)));
}

/* names(items) -> list of str: all items or all users, in the order of their numbers */
static PyObject *recommender_names(PyObject *object, PyObject *args) {
  const furrow_recommender *r = ((recommender_object *)object)->recommender;
  int items;
  if (!PyArg_ParseTuple(args, "p", &items)) return NULL;
  const uint64_t count = items ? furrow_recommender_item_count(r) : furrow_recommender_user_count(r);
  PyObject *list = PyList_New((Py_ssize_t)count);
  for (uint64_t i = 0; list && i < count; i++) {
    const char *text = items ? furrow_recommender_item_name(r, i) : furrow_recommender_user_name(r, i);
    PyObject *name = fwpy_name(text, strlen(text));
    if (!name || PyList_SetItem(list, (Py_ssize_t)i, name) < 0) Py_CLEAR(list);
  }
  return list;
}

/* Writes the number of a name; UINT64_MAX: unknown, where that is not an error. */
static bool find_one(const furrow_recommender *r, bool items, PyObject *name, bool skip, uint64_t *number) {
  furrow_error err;
  furrow_error *wanted =
      skip ? NULL : &err; /* without an error the library does not search for a similar name, which takes time */
  if (!PyBytes_Check(name)) {
    PyErr_Format(PyExc_TypeError, "names are bytes, not %R", name);
    return false;
  }
  const char *text = PyBytes_AsString(name);
  const size_t length = (size_t)PyBytes_Size(name);
  const furrow_status status = items ? furrow_recommender_find_item(r, text, length, number, wanted)
                                     : furrow_recommender_find_user(r, text, length, number, wanted);
  if (status == FURROW_OK) return true;
  *number = UINT64_MAX;
  if (!skip) fwpy_raise(&err);
  return skip;
}

/* find(items, names: list of bytes, numbers u64 out, skip): UINT64_MAX is a name that the model does not know */
static PyObject *recommender_find(PyObject *object, PyObject *args) {
  const furrow_recommender *r = ((recommender_object *)object)->recommender;
  int items, skip;
  PyObject *names, *numbers;
  Py_buffer out;
  if (!PyArg_ParseTuple(args, "pO!Op", &items, &PyList_Type, &names, &numbers, &skip) ||
      !fwpy_get_output(numbers, "numbers", FWPY_U64, 1, &out))
    return NULL;
  bool ok = out.shape[0] == PyList_Size(names);
  if (!ok) PyErr_SetString(PyExc_ValueError, "there must be a number for each name");
  for (Py_ssize_t i = 0; ok && i < out.shape[0]; i++)
    ok = find_one(r, items != 0, PyList_GetItem(names, i), skip != 0, (uint64_t *)out.buf + i);
  PyBuffer_Release(&out);
  if (!ok) return NULL;
  Py_RETURN_NONE;
}

/* ---- Events ----------------------------------------------------------------------------------------------- */

static const fwpy_field events_fields[] = {FWPY_FIELD(furrow_events_params, from, FWPY_DOUBLE),
                                           FWPY_FIELD(furrow_events_params, threads, FWPY_UINT32),
                                           FWPY_FIELD(furrow_events_params, on_bad, FWPY_UINT32),
                                           {0}};

static const fwpy_field events_info_fields[] = {FWPY_FIELD(furrow_events_info, rows, FWPY_UINT64),
                                                FWPY_FIELD(furrow_events_info, below, FWPY_UINT64),
                                                FWPY_FIELD(furrow_events_info, unknown_users, FWPY_UINT64),
                                                FWPY_FIELD(furrow_events_info, unknown_items, FWPY_UINT64),
                                                FWPY_FIELD(furrow_events_info, users, FWPY_UINT64),
                                                FWPY_FIELD(furrow_events_info, bad, FWPY_UINT64),
                                                {0}};

typedef struct events_job {
  const furrow_recommender *recommender;
  const char *uri;
  furrow_events_params params;
  furrow_events *events; /* one of these two is made */
  furrow_new_users *users;
} events_job;

static furrow_status run_events(void *user, fwpy_job *job, furrow_error *err) {
  events_job *e = user;
  e->params.progress = fwpy_job_progress;
  e->params.progress_user = job;
  return furrow_events_load(&e->events, e->recommender, e->uri, &e->params, err);
}

static furrow_status run_new_users(void *user, fwpy_job *job, furrow_error *err) {
  events_job *e = user;
  e->params.progress = fwpy_job_progress;
  e->params.progress_user = job;
  return furrow_new_users_load(&e->users, e->recommender, e->uri, &e->params, err);
}

static bool read_events(PyObject *object, PyObject *args, events_job *job,
                        furrow_status (*run)(void *user, fwpy_job *job, furrow_error *err)) {
  PyObject *uri = NULL, *options, *progress;
  if (!PyArg_ParseTuple(args, "O&OO", PyUnicode_FSConverter, &uri, &options, &progress)) return false;
  furrow_events_params_init(&job->params);
  job->recommender = ((recommender_object *)object)->recommender;
  job->uri = PyBytes_AsString(uri);
  const bool ok = fwpy_set_fields(&job->params, options, events_fields) && fwpy_job_run(run, job, progress);
  Py_DECREF(uri);
  return ok;
}

/* events(uri, options, progress) -> Events */
static PyObject *recommender_events(PyObject *object, PyObject *args) {
  events_job job = {0};
  events_object *made = read_events(object, args, &job, run_events) ? fwpy_new(events_type) : NULL;
  if (!made) {
    furrow_events_free(job.events);
    return NULL;
  }
  made->events = job.events;
  made->recommender = Py_NewRef(object);
  return (PyObject *)made;
}

static PyObject *events_info(PyObject *object, PyObject *unused) {
  furrow_events_info info;
  (void)unused;
  furrow_events_info_init(&info);
  furrow_events_get_info(((events_object *)object)->events, &info);
  return fwpy_get_fields(&info, events_info_fields);
}

/* new_users(uri, options, progress) -> NewUsers */
static PyObject *recommender_new_users(PyObject *object, PyObject *args) {
  events_job job = {0};
  new_users_object *made = read_events(object, args, &job, run_new_users) ? fwpy_new(new_users_type) : NULL;
  if (!made) {
    furrow_new_users_free(job.users);
    return NULL;
  }
  made->users = job.users;
  made->recommender = Py_NewRef(object);
  return (PyObject *)made;
}

static PyObject *new_users_info(PyObject *object, PyObject *unused) {
  furrow_events_info info;
  (void)unused;
  furrow_events_info_init(&info);
  furrow_new_users_get_info(((new_users_object *)object)->users, &info);
  return fwpy_get_fields(&info, events_info_fields);
}

static PyObject *new_users_names(PyObject *object, PyObject *unused) {
  const furrow_new_users *users = ((new_users_object *)object)->users;
  const size_t count = furrow_new_users_count(users);
  PyObject *list = PyList_New((Py_ssize_t)count);
  (void)unused;
  for (size_t i = 0; list && i < count; i++) {
    const char *text = furrow_new_users_name(users, i);
    PyObject *name = fwpy_name(text, strlen(text));
    if (!name || PyList_SetItem(list, (Py_ssize_t)i, name) < 0) Py_CLEAR(list);
  }
  return list;
}

/* ---- Preparing -------------------------------------------------------------------------------------------- */

static const fwpy_field prepare_fields[] = {FWPY_FIELD(furrow_prepare_params, method, FWPY_UINT32),
                                            FWPY_FIELD(furrow_prepare_params, users, FWPY_UINT64),
                                            FWPY_FIELD(furrow_prepare_params, k, FWPY_SIZE),
                                            FWPY_FIELD(furrow_prepare_params, candidates, FWPY_SIZE),
                                            FWPY_FIELD(furrow_prepare_params, recall, FWPY_DOUBLE),
                                            FWPY_FIELD(furrow_prepare_params, threads, FWPY_UINT32),
                                            {0}};

typedef struct prepare_job {
  recommender_object *self;
  furrow_prepare_params params;
} prepare_job;

static furrow_status run_prepare(void *user, fwpy_job *job, furrow_error *err) {
  prepare_job *p = user;
  (void)job;
  pthread_rwlock_wrlock(&p->self->lock);
  const furrow_status status = furrow_recommender_prepare(p->self->recommender, &p->params, err);
  pthread_rwlock_unlock(&p->self->lock);
  return status;
}

/* prepare(options) */
static PyObject *recommender_prepare(PyObject *object, PyObject *args) {
  prepare_job job = {.self = (recommender_object *)object};
  PyObject *options;
  if (!PyArg_ParseTuple(args, "O", &options)) return NULL;
  furrow_prepare_params_init(&job.params);
  job.params.keep = false; /* the folder of the model is in memory */
  if (!fwpy_set_fields(&job.params, options, prepare_fields) || !fwpy_job_run(run_prepare, &job, NULL)) return NULL;
  Py_RETURN_NONE;
}

/* ---- Recommending ----------------------------------------------------------------------------------------- */

static const fwpy_field recommend_fields[] = {FWPY_FIELD(furrow_recommend_params, k, FWPY_SIZE),
                                              FWPY_FIELD(furrow_recommend_params, candidates, FWPY_SIZE),
                                              FWPY_FIELD(furrow_recommend_params, threads, FWPY_UINT32),
                                              FWPY_FIELD(furrow_recommend_params, include_seen, FWPY_BOOL),
                                              {0}};

/* What a recommendation borrows from Python. */
typedef struct recommend_job {
  recommender_object *self;
  furrow_recommend_params params;
  Py_buffer allowed, users, results; /* obj NULL: not there */
  furrow_pair *context;
  const furrow_events *truth;
  furrow_new_users *new_users;
  uint64_t item;
  furrow_rank_figures figures;
} recommend_job;

static void clear_job(recommend_job *job) {
  if (job->allowed.obj) PyBuffer_Release(&job->allowed);
  if (job->users.obj) PyBuffer_Release(&job->users);
  if (job->results.obj) PyBuffer_Release(&job->results);
  PyMem_Free(job->context);
}

/* Borrows a byte for each item; None: all items. */
static bool get_allowed(recommend_job *job, PyObject *allowed) {
  if (allowed == Py_None) return true;
  if (!fwpy_get_array(allowed, "allowed", FWPY_U8, 1, &job->allowed)) return false;
  if ((uint64_t)job->allowed.shape[0] == furrow_recommender_item_count(job->self->recommender)) {
    job->params.allowed = job->allowed.buf;
    return true;
  }
  PyErr_SetString(PyExc_ValueError, "allowed: a byte for each item is needed");
  return false;
}

/* Events of this recommender; None: NULL. */
static bool get_events(const recommend_job *job, PyObject *object, const furrow_events **events) {
  *events = NULL;
  if (object == Py_None) return true;
  if (Py_TYPE(object) == events_type && ((events_object *)object)->recommender == (PyObject *)job->self) {
    *events = ((events_object *)object)->events;
    return true;
  }
  PyErr_SetString(PyExc_TypeError, "events that this recommender read are needed");
  return false;
}

/* Borrows the results: for each row k pairs of item and score, 2 k doubles. */
static bool get_results(recommend_job *job, PyObject *results, size_t rows) {
  if (!fwpy_get_output(results, "results", FWPY_F64, 2, &job->results)) return false;
  job->params.k = (size_t)job->results.shape[1] / 2;
  if ((size_t)job->results.shape[0] == rows && job->results.shape[1] % 2 == 0) return true;
  PyErr_SetString(PyExc_ValueError, "results do not have the shape users x 2 k");
  return false;
}

static bool get_context(recommend_job *job, PyObject *context) {
  if (!fwpy_get_pairs(context, &job->context, &job->params.context_count)) return false;
  job->params.context = job->params.context_count > 0 ? job->context : NULL;
  return true;
}

static void let_report(recommend_job *job, fwpy_job *running) {
  job->params.progress = fwpy_job_progress;
  job->params.progress_user = running;
}

/* job NULL: in the calling thread */
static furrow_status run_recommend(void *user, fwpy_job *job, furrow_error *err) {
  recommend_job *r = user;
  if (job) let_report(r, job);
  pthread_rwlock_rdlock(&r->self->lock);
  const furrow_status status = furrow_recommender_recommend(r->self->recommender, r->users.buf,
                                                            (size_t)r->users.shape[0], &r->params, r->results.buf, err);
  pthread_rwlock_unlock(&r->self->lock);
  return status;
}

/* A user takes microseconds, and starting a thread takes as long: few users are handled in the calling thread. */
static bool recommend_few(recommend_job *job) {
  furrow_error err;
  furrow_status status = FURROW_OK;
  job->params.threads = 1;
  Py_BEGIN_ALLOW_THREADS;
  status = run_recommend(job, NULL, &err);
  Py_END_ALLOW_THREADS;
  if (status != FURROW_OK) fwpy_raise(&err);
  return status == FURROW_OK;
}

/* recommend(users u64, results f64 users x 2k, options, allowed u8|None, seen Events|None, context, progress): a
 * result is an item, whose 8 bytes are a u64, and its score */
static PyObject *recommender_recommend(PyObject *object, PyObject *args) {
  recommend_job job = {.self = (recommender_object *)object};
  PyObject *users, *results, *options, *allowed, *seen, *context, *progress;
  if (!PyArg_ParseTuple(args, "OOOOOO!O", &users, &results, &options, &allowed, &seen, &PyTuple_Type, &context,
                        &progress))
    return NULL;
  furrow_recommend_params_init(&job.params);
  bool ok = fwpy_set_fields(&job.params, options, recommend_fields) &&
            fwpy_get_array(users, "users", FWPY_U64, 1, &job.users) &&
            get_results(&job, results, (size_t)job.users.shape[0]) && get_allowed(&job, allowed) &&
            get_events(&job, seen, &job.params.seen) && get_context(&job, context);
  const bool few = ok && progress == Py_None && job.users.shape[0] <= FEW_USERS &&
                   furrow_recommender_item_count(job.self->recommender) <= FEW_ITEMS;
  ok = ok && (few ? recommend_few(&job) : fwpy_job_run(run_recommend, &job, progress));
  clear_job(&job);
  if (!ok) return NULL;
  Py_RETURN_NONE;
}

static furrow_status run_recommend_new(void *user, fwpy_job *job, furrow_error *err) {
  recommend_job *r = user;
  (void)job;
  pthread_rwlock_rdlock(&r->self->lock);
  const furrow_status status =
      furrow_recommender_recommend_new(r->self->recommender, r->new_users, &r->params, r->results.buf, err);
  pthread_rwlock_unlock(&r->self->lock);
  return status;
}

/* recommend_new(users NewUsers, results f64 users x 2k, options, allowed u8|None) */
static PyObject *recommender_recommend_new(PyObject *object, PyObject *args) {
  recommend_job job = {.self = (recommender_object *)object};
  PyObject *users, *results, *options, *allowed;
  if (!PyArg_ParseTuple(args, "O!OOO", new_users_type, &users, &results, &options, &allowed)) return NULL;
  if (((new_users_object *)users)->recommender != object)
    return PyErr_Format(PyExc_TypeError, "users that this recommender read are needed");
  job.new_users = ((new_users_object *)users)->users;
  furrow_recommend_params_init(&job.params);
  bool ok = fwpy_set_fields(&job.params, options, recommend_fields) &&
            get_results(&job, results, furrow_new_users_count(job.new_users)) && get_allowed(&job, allowed);
  ok = ok && fwpy_job_run(run_recommend_new, &job, NULL);
  clear_job(&job);
  if (!ok) return NULL;
  Py_RETURN_NONE;
}

/* similar(item, results f64 1 x 2k, allowed u8|None) */
static PyObject *recommender_similar(PyObject *object, PyObject *args) {
  recommend_job job = {.self = (recommender_object *)object};
  PyObject *results, *allowed;
  unsigned long long item;
  furrow_error err;
  furrow_status status = FURROW_E_ARGUMENT;
  if (!PyArg_ParseTuple(args, "KOO", &item, &results, &allowed)) return NULL;
  furrow_recommend_params_init(&job.params);
  const bool ok = get_results(&job, results, 1) && get_allowed(&job, allowed);
  if (ok) {
    Py_BEGIN_ALLOW_THREADS;
    pthread_rwlock_rdlock(&job.self->lock);
    status = furrow_recommender_similar(job.self->recommender, item, &job.params, job.results.buf, &err);
    pthread_rwlock_unlock(&job.self->lock);
    Py_END_ALLOW_THREADS;
  }
  clear_job(&job);
  if (!ok) return NULL;
  if (status != FURROW_OK) return fwpy_raise(&err);
  Py_RETURN_NONE;
}

/* explain(user, item, most) -> list of (item, part of the score) */
static PyObject *recommender_explain(PyObject *object, PyObject *args) {
  unsigned long long user, item;
  Py_ssize_t most;
  furrow_error err;
  size_t found = 0;
  if (!PyArg_ParseTuple(args, "KKn", &user, &item, &most)) return NULL;
  if (most < 1 || most > INT32_MAX) return PyErr_Format(PyExc_ValueError, "the number of reasons must be above 0");
  furrow_recommend_reason *reasons = PyMem_Calloc((size_t)most, sizeof *reasons);
  if (!reasons) return PyErr_NoMemory();
  const furrow_status status = furrow_recommender_explain(((recommender_object *)object)->recommender, user, item,
                                                          reasons, (size_t)most, &found, &err);
  PyObject *list = status == FURROW_OK ? PyList_New((Py_ssize_t)found) : fwpy_raise(&err);
  for (size_t i = 0; list && i < found; i++) {
    PyObject *reason = Py_BuildValue("Kd", (unsigned long long)reasons[i].item, reasons[i].part);
    if (!reason || PyList_SetItem(list, (Py_ssize_t)i, reason) < 0) Py_CLEAR(list);
  }
  PyMem_Free(reasons);
  return list;
}

/* ---- Measuring -------------------------------------------------------------------------------------------- */

static const fwpy_field figures_fields[] = {FWPY_FIELD(furrow_rank_figures, k, FWPY_SIZE),
                                            FWPY_FIELD(furrow_rank_figures, users, FWPY_UINT64),
                                            FWPY_FIELD(furrow_rank_figures, relevant, FWPY_UINT64),
                                            FWPY_FIELD(furrow_rank_figures, unknown, FWPY_UINT64),
                                            FWPY_FIELD(furrow_rank_figures, coverage, FWPY_DOUBLE),
#define FIGURE(name)                                                             \
  {#name, FWPY_DOUBLE, offsetof(furrow_rank_figures, name.mean)}, {              \
#name "_interval", FWPY_DOUBLE, offsetof(furrow_rank_figures, name.interval) \
  }
                                            FIGURE(ndcg),
                                            FIGURE(recall),
                                            FIGURE(map),
                                            FIGURE(mrr),
                                            FIGURE(hit),
                                            FIGURE(popular_ndcg),
                                            FIGURE(own_ndcg),
#undef FIGURE
                                            FWPY_FIELD(furrow_rank_figures, popular_gain, FWPY_DOUBLE),
                                            FWPY_FIELD(furrow_rank_figures, popular_gain_error, FWPY_DOUBLE),
                                            FWPY_FIELD(furrow_rank_figures, own_gain, FWPY_DOUBLE),
                                            FWPY_FIELD(furrow_rank_figures, own_gain_error, FWPY_DOUBLE),
                                            {0}};

static furrow_status run_evaluate(void *user, fwpy_job *job, furrow_error *err) {
  recommend_job *r = user;
  let_report(r, job);
  pthread_rwlock_rdlock(&r->self->lock);
  const furrow_status status =
      furrow_recommender_evaluate(r->self->recommender, r->truth, &r->params, &r->figures, err);
  pthread_rwlock_unlock(&r->self->lock);
  return status;
}

/* evaluate(truth Events, options, allowed u8|None, seen Events|None, context, progress) -> dict */
static PyObject *recommender_evaluate(PyObject *object, PyObject *args) {
  recommend_job job = {.self = (recommender_object *)object};
  PyObject *truth, *options, *allowed, *seen, *context, *progress;
  if (!PyArg_ParseTuple(args, "O!OOOO!O", events_type, &truth, &options, &allowed, &seen, &PyTuple_Type, &context,
                        &progress))
    return NULL;
  furrow_recommend_params_init(&job.params);
  furrow_rank_figures_init(&job.figures);
  bool ok = fwpy_set_fields(&job.params, options, recommend_fields) && get_events(&job, truth, &job.truth) &&
            get_allowed(&job, allowed) && get_events(&job, seen, &job.params.seen) && get_context(&job, context);
  ok = ok && fwpy_job_run(run_evaluate, &job, progress);
  clear_job(&job);
  return ok ? fwpy_get_fields(&job.figures, figures_fields) : NULL;
}

/* ---- Vectors ---------------------------------------------------------------------------------------------- */

typedef struct vectors_job {
  const char *folder;
  furrow_side side;
  Py_buffer out;  /* rows x d floats */
  Py_buffer rest; /* of users: rows doubles, z(query) */
} vectors_job;

/* Every user or item is a row of the encoder. */
static furrow_status write_vectors(const vectors_job *v, const furrow_scorer *scorer, fwpy_job *job,
                                   furrow_container *rows, furrow_error *err) {
  const furrow_encoder *encoder = furrow_scorer_encoder(scorer);
  const size_t number = furrow_encoder_side_field(encoder, v->side);
  const size_t count = (size_t)v->out.shape[0], d = (size_t)v->out.shape[1];
  furrow_status status = FURROW_OK;
  for (size_t i = 0; status == FURROW_OK && i < count; i++) {
    furrow_rowblock block;
    float *vector = (float *)v->out.buf + i * d;
    furrow_container_clear(rows);
    status = furrow_encoder_push_side(encoder, v->side, furrow_encoder_entry(encoder, number, i), rows, err);
    if (status == FURROW_OK) status = furrow_container_get_block(rows, &block, err);
    if (status != FURROW_OK) return status;
    const furrow_row row = furrow_rowblock_row(&block, 0);
    status = v->side == FURROW_SIDE_ITEM
                 ? furrow_scorer_item_vector(scorer, &row, vector, err)
                 : furrow_scorer_query_vector(scorer, &row, vector, (double *)v->rest.buf + i, err);
    if (i % 4096 == 0 && !fwpy_job_progress(job, "vectors", i, count)) return FURROW_E_CANCELLED;
  }
  return status;
}

static furrow_status run_vectors(void *user, fwpy_job *job, furrow_error *err) {
  vectors_job *v = user;
  furrow_scorer *scorer = NULL;
  furrow_container *rows = NULL;
  furrow_status status = furrow_scorer_load(&scorer, v->folder, NULL, err);
  if (status == FURROW_OK) status = furrow_container_create(&rows, FURROW_KEY_U64, FURROW_VALUE_F32, err);
  if (status == FURROW_OK) status = write_vectors(v, scorer, job, rows, err);
  furrow_container_free(rows);
  furrow_scorer_free(scorer);
  return status;
}

/* vectors(items, out f32 n x d, rest f64 n): the vectors t of all items; or q of all users, and z(query) in rest */
static PyObject *recommender_vectors(PyObject *object, PyObject *args) {
  recommender_object *self = (recommender_object *)object;
  vectors_job job = {.folder = PyBytes_AsString(self->folder)};
  PyObject *out, *rest;
  int items;
  furrow_recommender_info info;
  if (!PyArg_ParseTuple(args, "pOO", &items, &out, &rest)) return NULL;
  furrow_recommender_info_init(&info);
  furrow_recommender_get_info(self->recommender, &info);
  const uint64_t count =
      items ? furrow_recommender_item_count(self->recommender) : furrow_recommender_user_count(self->recommender);
  job.side = items ? FURROW_SIDE_ITEM : FURROW_SIDE_USER;
  if (!fwpy_get_output(out, "out", FWPY_F32, 2, &job.out)) return NULL;
  bool ok = fwpy_get_output(rest, "rest", FWPY_F64, 1, &job.rest);
  if (ok && ((uint64_t)job.out.shape[0] != count || (uint64_t)job.rest.shape[0] != count ||
             (size_t)job.out.shape[1] != info.vector_size || info.vector_size == 0)) {
    PyErr_SetString(PyExc_ValueError, "out does not have the shape of the vectors");
    ok = false;
  }
  ok = ok && fwpy_job_run(run_vectors, &job, NULL);
  if (job.rest.obj) PyBuffer_Release(&job.rest);
  PyBuffer_Release(&job.out);
  if (!ok) return NULL;
  Py_RETURN_NONE;
}

/* ---- The types -------------------------------------------------------------------------------------------- */

static PyMethodDef recommender_methods[] = {{"open", recommender_open, METH_VARARGS | METH_STATIC, NULL},
                                            {"fit", recommender_fit, METH_VARARGS | METH_STATIC, NULL},
                                            {"figures", recommender_figures, METH_NOARGS, NULL},
                                            {"explain", recommender_explain, METH_VARARGS, NULL},
                                            {"info", recommender_info, METH_NOARGS, NULL},
                                            {"counts", recommender_counts, METH_NOARGS, NULL},
                                            {"columns", recommender_columns, METH_NOARGS, NULL},
                                            {"names", recommender_names, METH_VARARGS, NULL},
                                            {"find", recommender_find, METH_VARARGS, NULL},
                                            {"events", recommender_events, METH_VARARGS, NULL},
                                            {"new_users", recommender_new_users, METH_VARARGS, NULL},
                                            {"prepare", recommender_prepare, METH_VARARGS, NULL},
                                            {"recommend", recommender_recommend, METH_VARARGS, NULL},
                                            {"recommend_new", recommender_recommend_new, METH_VARARGS, NULL},
                                            {"similar", recommender_similar, METH_VARARGS, NULL},
                                            {"evaluate", recommender_evaluate, METH_VARARGS, NULL},
                                            {"vectors", recommender_vectors, METH_VARARGS, NULL},
                                            {NULL, NULL, 0, NULL}};

static PyType_Slot recommender_slots[] = {
    {Py_tp_dealloc, recommender_dealloc}, {Py_tp_methods, recommender_methods}, {0, NULL}};
static PyType_Spec recommender_spec = {"furrow._core.Recommender", sizeof(recommender_object), 0,
                                       Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, recommender_slots};

static PyMethodDef events_methods[] = {{"info", events_info, METH_NOARGS, NULL}, {NULL, NULL, 0, NULL}};

static PyType_Slot events_slots[] = {{Py_tp_dealloc, events_dealloc}, {Py_tp_methods, events_methods}, {0, NULL}};
static PyType_Spec events_spec = {"furrow._core.Events", sizeof(events_object), 0,
                                  Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, events_slots};

static PyMethodDef new_users_methods[] = {
    {"info", new_users_info, METH_NOARGS, NULL}, {"names", new_users_names, METH_NOARGS, NULL}, {NULL, NULL, 0, NULL}};

static PyType_Slot new_users_slots[] = {
    {Py_tp_dealloc, new_users_dealloc}, {Py_tp_methods, new_users_methods}, {0, NULL}};
static PyType_Spec new_users_spec = {"furrow._core.NewUsers", sizeof(new_users_object), 0,
                                     Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, new_users_slots};

int fwpy_add_recommender(PyObject *module) {
  if (fwpy_add_type(module, &recommender_spec, &recommender_type) < 0) return -1;
  if (fwpy_add_type(module, &events_spec, &events_type) < 0) return -1;
  return fwpy_add_type(module, &new_users_spec, &new_users_type);
}
