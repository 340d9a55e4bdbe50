/* python/src/py_trainer.c: furrow._core.Trainer: a model in training, with the configuration that it was made from.
 *
 * One call at a time changes a trainer. A call that finds it busy fails at once instead of waiting: the function that
 * is called after each epoch may use the same object. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "py_core.h"

typedef struct trainer_object {
  PyObject_HEAD furrow_learn_conf *conf;
  furrow_trainer *trainer;
  pthread_rwlock_t lock; /* taken by the try functions only */
} trainer_object;

static PyTypeObject *trainer_type;

static void trainer_dealloc(PyObject *object) {
  trainer_object *self = (trainer_object *)object;
  furrow_trainer_free(self->trainer);
  furrow_learn_conf_free(self->conf);
  pthread_rwlock_destroy(&self->lock);
  fwpy_delete(object);
}

static void *raise_busy(void) {
  furrow_error err = {.status = FURROW_E_STATE, .offset = FURROW_NO_OFFSET};
  snprintf(err.message, sizeof err.message, "the model is being trained by another call");
  return fwpy_raise(&err);
}

static bool lock_to_read(trainer_object *self) {
  return pthread_rwlock_tryrdlock(&self->lock) == 0 || raise_busy();
}

static bool lock_to_change(trainer_object *self) {
  return pthread_rwlock_trywrlock(&self->lock) == 0 || raise_busy();
}

/* ---- Configurations --------------------------------------------------------------------------------------- */

static bool set_key(furrow_learn_conf *conf, PyObject *pair) {
  const char *key, *value;
  furrow_error err;
  if (!PyArg_ParseTuple(pair, "ss", &key, &value)) return false;
  return furrow_learn_conf_set(conf, key, value, &err) == FURROW_OK || fwpy_raise(&err);
}

/* settings: a tuple of pairs (key, text) */
static bool set_keys(furrow_learn_conf *conf, PyObject *settings) {
  const Py_ssize_t count = PyTuple_Size(settings);
  for (Py_ssize_t i = 0; i < count; i++)
    if (!set_key(conf, PyTuple_GetItem(settings, i))) return false;
  return count >= 0;
}

static bool make_conf(furrow_learn_conf **conf, const char *algorithm, PyObject *settings) {
  furrow_error err;
  furrow_status status = furrow_learn_conf_create(conf, &err);
  if (status == FURROW_OK) status = furrow_learn_conf_set_algorithm(*conf, algorithm, &err);
  if (status != FURROW_OK) return fwpy_raise(&err);
  if (!set_keys(*conf, settings)) return false;
  status = furrow_learn_conf_check(*conf, &err);
  return status == FURROW_OK || fwpy_raise(&err);
}

static const fwpy_field create_fields[] = {FWPY_FIELD(furrow_trainer_params, threads, FWPY_UINT32),
                                           FWPY_FIELD(furrow_trainer_params, hogwild, FWPY_BOOL),
                                           FWPY_FIELD(furrow_trainer_params, load, FWPY_TEXT),
                                           FWPY_FIELD(furrow_trainer_params, max_features, FWPY_UINT64),
                                           {0}};

/* create(algorithm, settings, options): settings are pairs of texts, options the fields of furrow_trainer_params */
static PyObject *trainer_create(PyObject *type, PyObject *args) {
  const char *algorithm;
  PyObject *settings, *options;
  furrow_trainer_params params;
  furrow_error err;
  furrow_status status = FURROW_E_ARGUMENT;
  (void)type;
  furrow_trainer_params_init(&params);
  if (!PyArg_ParseTuple(args, "sOO", &algorithm, &settings, &options)) return NULL;
  if (!fwpy_set_fields(&params, options, create_fields)) return NULL;
  trainer_object *self = fwpy_new(trainer_type);
  if (!self) return NULL;
  pthread_rwlock_init(&self->lock, NULL);
  if (!make_conf(&self->conf, algorithm, settings)) {
    Py_DECREF(self);
    return NULL;
  }
  Py_BEGIN_ALLOW_THREADS;
  status = furrow_trainer_create(&self->trainer, self->conf, &params, &err);
  Py_END_ALLOW_THREADS;
  if (status == FURROW_OK) return (PyObject *)self;
  Py_DECREF(self);
  return fwpy_raise(&err);
}

static PyObject *describe_key(const furrow_learn_key *key) {
  return Py_BuildValue("{ssssszsssz}", "name", key->name, "value", key->value, "default", key->fallback, "help",
                       key->help, "angel_key", key->angel_key);
}

/* learn_keys(): all keys of configurations, in the order of the library */
static PyObject *learn_keys(PyObject *module, PyObject *unused) {
  const furrow_learn_key *key;
  PyObject *list = PyList_New(0);
  (void)module, (void)unused;
  for (size_t i = 0; list && (key = furrow_learn_key_at(i)); i++) {
    PyObject *entry = describe_key(key);
    if (!entry || PyList_Append(list, entry) < 0) Py_CLEAR(list);
    Py_XDECREF(entry);
  }
  return list;
}

/* recommended(algorithm, key): Furrow's own default of a key, or None */
static PyObject *recommended(PyObject *module, PyObject *args) {
  const char *algorithm, *key;
  (void)module;
  if (!PyArg_ParseTuple(args, "ss", &algorithm, &key)) return NULL;
  return fwpy_text(furrow_learn_recommended(algorithm, key));
}

/* ---- Epochs ------------------------------------------------------------------------------------------------ */

#define METRIC(member) FWPY_FIELD(furrow_learn_metrics, member, FWPY_DOUBLE)
static const fwpy_field metric_fields[] = {FWPY_FIELD(furrow_learn_metrics, rows, FWPY_UINT64),
                                           METRIC(weight),
                                           METRIC(loss),
                                           METRIC(auc),
                                           METRIC(accuracy),
                                           METRIC(logloss),
                                           METRIC(rmse),
                                           METRIC(mae),
                                           METRIC(mean_label),
                                           METRIC(mean_prediction),
                                           METRIC(pr_auc),
                                           METRIC(precision),
                                           METRIC(recall),
                                           METRIC(f1),
                                           METRIC(r2),
                                           METRIC(constant_logloss),
                                           METRIC(constant_accuracy),
                                           METRIC(constant_rmse),
                                           METRIC(ndcg),
                                           METRIC(pinball),
                                           METRIC(deviance),
                                           METRIC(constant_loss),
                                           FWPY_FIELD(furrow_learn_metrics, binned, FWPY_UINT64),
                                           {0}};

static const fwpy_field epoch_fields[] = {FWPY_FIELD(furrow_epoch, epoch, FWPY_UINT32),
                                          FWPY_FIELD(furrow_epoch, best, FWPY_BOOL),
                                          FWPY_FIELD(furrow_epoch, learning_rate, FWPY_DOUBLE),
                                          FWPY_FIELD(furrow_epoch, seconds, FWPY_DOUBLE),
                                          {0}};

static bool add_metrics(PyObject *dict, const char *name, const furrow_learn_metrics *metrics) {
  PyObject *figures = fwpy_get_fields(metrics, metric_fields);
  const bool ok = figures && PyDict_SetItemString(dict, name, figures) == 0;
  Py_XDECREF(figures);
  return ok;
}

/* A dict of the epoch, with dicts `train` and `valid`. */
static PyObject *describe_epoch(const furrow_epoch *epoch) {
  PyObject *dict = fwpy_get_fields(epoch, epoch_fields);
  if (dict && add_metrics(dict, "train", epoch->train) && add_metrics(dict, "valid", epoch->valid)) return dict;
  Py_XDECREF(dict);
  return NULL;
}

static PyObject *trainer_history(PyObject *object, PyObject *unused) {
  trainer_object *self = (trainer_object *)object;
  (void)unused;
  if (!lock_to_read(self)) return NULL;
  const size_t count = furrow_trainer_epoch_count(self->trainer);
  PyObject *list = PyList_New(0);
  for (size_t i = 0; list && i < count; i++) {
    PyObject *epoch = describe_epoch(furrow_trainer_get_epoch(self->trainer, i));
    if (!epoch || PyList_Append(list, epoch) < 0) Py_CLEAR(list);
    Py_XDECREF(epoch);
  }
  pthread_rwlock_unlock(&self->lock);
  return list;
}

/* ---- Training ---------------------------------------------------------------------------------------------- */

typedef struct fit_call {
  trainer_object *self;
  const char *train, *valid;
  furrow_trainer_fit_params params;
  furrow_parser_params parser;
  fwpy_job *job;
  PyObject *epoch;            /* callable of a dict; NULL: none */
  const furrow_epoch *ended;  /* the epoch that it gets */
  furrow_status epoch_status; /* what it answered */
} fit_call;

/* Calls the caller's function, in the calling thread. An exception ends the training; False ends it well. */
static void call_epoch(void *user) {
  fit_call *call = user;
  PyObject *dict = describe_epoch(call->ended);
  PyObject *answer = dict ? PyObject_CallFunctionObjArgs(call->epoch, dict, NULL) : NULL;
  call->epoch_status = !answer ? FURROW_E_CANCELLED : answer == Py_False ? FURROW_END : FURROW_OK;
  Py_XDECREF(answer);
  Py_XDECREF(dict);
}

static furrow_status tell_epoch(void *user, const furrow_epoch *epoch, furrow_error *err) {
  fit_call *call = user;
  call->ended = epoch;
  if (fwpy_job_ask(call->job, call_epoch, call) && call->epoch_status != FURROW_E_CANCELLED) return call->epoch_status;
  *err = (furrow_error){.status = FURROW_E_CANCELLED, .offset = FURROW_NO_OFFSET};
  return FURROW_E_CANCELLED;
}

static furrow_status run_fit(void *user, fwpy_job *job, furrow_error *err) {
  fit_call *call = user;
  call->params.progress_user = call->job = job;
  return furrow_trainer_fit(call->self->trainer, call->train, call->valid, &call->params, err);
}

static const fwpy_field fit_fields[] = {FWPY_FIELD(furrow_trainer_fit_params, stream, FWPY_BOOL),
                                        FWPY_FIELD(furrow_trainer_fit_params, metric, FWPY_TEXT),
                                        FWPY_FIELD(furrow_trainer_fit_params, patience, FWPY_UINT32),
                                        FWPY_FIELD(furrow_trainer_fit_params, keep_best, FWPY_BOOL),
                                        FWPY_FIELD(furrow_trainer_fit_params, checkpoint, FWPY_TEXT),
                                        FWPY_FIELD(furrow_trainer_fit_params, checkpoint_every, FWPY_UINT32),
                                        FWPY_FIELD(furrow_trainer_fit_params, resume, FWPY_BOOL),
                                        FWPY_FIELD(furrow_trainer_fit_params, folds, FWPY_UINT32),
                                        FWPY_FIELD(furrow_trainer_fit_params, fold, FWPY_UINT32),
                                        FWPY_FIELD(furrow_trainer_fit_params, share, FWPY_DOUBLE),
                                        {0}};

static const fwpy_field parser_fields[] = {FWPY_FIELD(furrow_parser_params, format, FWPY_TEXT),
                                           FWPY_FIELD(furrow_parser_params, threads, FWPY_UINT32),
                                           FWPY_FIELD(furrow_parser_params, on_bad, FWPY_UINT32),
                                           {0}};

static void init_fit(fit_call *call, PyObject *self) {
  *call = (fit_call){.self = (trainer_object *)self};
  furrow_trainer_fit_params_init(&call->params);
  furrow_parser_params_init(&call->parser);
  call->params.metric = NULL; /* the loss decides */
  call->params.parser = &call->parser;
  call->params.progress = fwpy_job_progress;
  call->params.epoch_user = call;
}

/* An exception of the caller's function wins over the status that it caused. */
/* fit(train, valid, options, parser, epoch, progress): URIs, fields of furrow_trainer_fit_params and
 * furrow_parser_params, a callable of a dict after each epoch (False ends the training well) */
static PyObject *trainer_fit(PyObject *object, PyObject *args) {
  trainer_object *self = (trainer_object *)object;
  fit_call call;
  PyObject *options, *parser, *epoch, *progress;
  init_fit(&call, object);
  if (!PyArg_ParseTuple(args, "szOOOO", &call.train, &call.valid, &options, &parser, &epoch, &progress)) return NULL;
  if (!fwpy_set_fields(&call.params, options, fit_fields)) return NULL;
  if (!fwpy_set_fields(&call.parser, parser, parser_fields)) return NULL;
  if (epoch != Py_None) {
    call.epoch = epoch;
    call.params.epoch = tell_epoch;
  }
  if (!lock_to_change(self)) return NULL;
  const bool ok = fwpy_job_run(run_fit, &call, progress);
  pthread_rwlock_unlock(&self->lock);
  if (!ok) return NULL;
  Py_RETURN_NONE;
}

typedef struct step_call {
  trainer_object *self;
  const char *uri;
  size_t batch; /* rows of an update */
  uint64_t rows;
  double loss; /* sum over the rows */
} step_call;

/* Updates from the rows of a block, `batch` at a time. */
static furrow_status step_block(step_call *call, const furrow_rowblock *block, fwpy_job *job, furrow_error *err) {
  for (size_t first = 0; first < block->size; first += call->batch) {
    const size_t end = block->size - first > call->batch ? first + call->batch : block->size;
    furrow_rowblock batch;
    double loss = 0;
    furrow_status status = furrow_rowblock_slice(block, first, end, &batch, err);
    if (status == FURROW_OK) status = furrow_trainer_step(call->self->trainer, &batch, &loss, err);
    if (status != FURROW_OK) return status;
    call->rows += batch.size;
    call->loss += loss * (double)batch.size;
    if (!fwpy_job_progress(job, "training", call->rows, 0)) {
      *err = (furrow_error){.status = FURROW_E_CANCELLED, .offset = FURROW_NO_OFFSET};
      return FURROW_E_CANCELLED;
    }
  }
  return FURROW_OK;
}

static furrow_status run_steps(void *user, fwpy_job *job, furrow_error *err) {
  step_call *call = user;
  furrow_sample_reader *reader = NULL;
  const furrow_rowblock *block = NULL;
  furrow_status status = furrow_sample_reader_open(&reader, call->self->conf, call->uri, NULL, err);
  while (status == FURROW_OK) {
    status = furrow_sample_reader_next(reader, &block, err);
    if (status == FURROW_OK) status = step_block(call, block, job, err);
  }
  furrow_sample_reader_close(reader);
  return status == FURROW_END ? FURROW_OK : status;
}

/* step(uri, batch, progress): one pass of updates over rows, `batch` of them at a time; (rows, mean loss) */
static PyObject *trainer_step(PyObject *object, PyObject *args) {
  trainer_object *self = (trainer_object *)object;
  step_call call = {.self = self};
  PyObject *progress;
  Py_ssize_t batch;
  if (!PyArg_ParseTuple(args, "snO", &call.uri, &batch, &progress)) return NULL;
  if (batch <= 0) return PyErr_Format(PyExc_ValueError, "batch must be above 0, not %zd", batch);
  call.batch = (size_t)batch;
  if (!lock_to_change(self)) return NULL;
  const bool ok = fwpy_job_run(run_steps, &call, progress);
  pthread_rwlock_unlock(&self->lock);
  if (!ok) return NULL;
  return Py_BuildValue("Kd", (unsigned long long)call.rows, call.rows > 0 ? call.loss / (double)call.rows : 0.0);
}

/* ---- What came of it --------------------------------------------------------------------------------------- */

/* notes(): pairs (text, whether it is a warning) */
static PyObject *trainer_notes(PyObject *object, PyObject *unused) {
  trainer_object *self = (trainer_object *)object;
  (void)unused;
  if (!lock_to_read(self)) return NULL;
  const size_t count = furrow_trainer_note_count(self->trainer);
  PyObject *list = PyList_New(0);
  for (size_t i = 0; list && i < count; i++) {
    bool warning = false;
    const char *text = furrow_trainer_get_note(self->trainer, i, &warning);
    PyObject *pair = Py_BuildValue("NN", fwpy_text(text), PyBool_FromLong(warning));
    if (!pair || PyList_Append(list, pair) < 0) Py_CLEAR(list);
    Py_XDECREF(pair);
  }
  pthread_rwlock_unlock(&self->lock);
  return list;
}

/* result(): best epoch, whether the minimum is exact, rows that were skipped in the files */
static PyObject *trainer_result(PyObject *object, PyObject *unused) {
  trainer_object *self = (trainer_object *)object;
  furrow_parser_stats stats;
  (void)unused;
  furrow_parser_stats_init(&stats);
  if (!lock_to_read(self)) return NULL;
  furrow_trainer_get_stats(self->trainer, &stats, NULL);
  PyObject *dict = Py_BuildValue("{sIsNsKsK}", "best_epoch", furrow_trainer_best_epoch(self->trainer), "exact",
                                 PyBool_FromLong(furrow_trainer_is_exact(self->trainer)), "rows",
                                 (unsigned long long)stats.rows, "bad_rows", (unsigned long long)stats.bad_rows);
  pthread_rwlock_unlock(&self->lock);
  return dict;
}

/* fold_metrics(): figures of the rows that the last fit left out as a fold */
static PyObject *trainer_fold_metrics(PyObject *object, PyObject *unused) {
  trainer_object *self = (trainer_object *)object;
  furrow_learn_metrics metrics;
  (void)unused;
  furrow_learn_metrics_init(&metrics);
  if (!lock_to_read(self)) return NULL;
  furrow_trainer_get_fold_metrics(self->trainer, &metrics);
  pthread_rwlock_unlock(&self->lock);
  return fwpy_get_fields(&metrics, metric_fields);
}

/* scorer(): a Scorer of the parameters as they are now */
static PyObject *trainer_scorer(PyObject *object, PyObject *unused) {
  trainer_object *self = (trainer_object *)object;
  furrow_scorer *scorer = NULL;
  furrow_error err;
  furrow_status status = FURROW_OK;
  (void)unused;
  if (!lock_to_read(self)) return NULL;
  Py_BEGIN_ALLOW_THREADS;
  status = furrow_scorer_create(&scorer, self->trainer, &err);
  Py_END_ALLOW_THREADS;
  pthread_rwlock_unlock(&self->lock);
  return status == FURROW_OK ? fwpy_scorer_new(scorer) : fwpy_raise(&err);
}

/* save(folder, overwrite) */
static PyObject *trainer_save(PyObject *object, PyObject *args) {
  trainer_object *self = (trainer_object *)object;
  furrow_trainer_save_params params;
  PyObject *folder = NULL;
  int overwrite;
  furrow_error err;
  furrow_status status = FURROW_OK;
  furrow_trainer_save_params_init(&params);
  if (!PyArg_ParseTuple(args, "O&p", PyUnicode_FSConverter, &folder, &overwrite)) return NULL;
  params.overwrite = overwrite != 0;
  const char *path = PyBytes_AsString(folder);
  if (!lock_to_read(self)) {
    Py_DECREF(folder);
    return NULL;
  }
  Py_BEGIN_ALLOW_THREADS;
  status = furrow_trainer_save(self->trainer, path, &params, &err);
  Py_END_ALLOW_THREADS;
  pthread_rwlock_unlock(&self->lock);
  Py_DECREF(folder);
  if (status != FURROW_OK) return fwpy_raise(&err);
  Py_RETURN_NONE;
}

typedef struct judge_call {
  const char *folder, *log;
  furrow_recommender_params params;
} judge_call;

static furrow_status run_judge(void *user, fwpy_job *job, furrow_error *err) {
  judge_call *call = user;
  furrow_rank_figures figures;
  furrow_rank_figures_init(&figures);
  call->params.progress_user = job;
  return furrow_recommender_judge(call->folder, call->log, &call->params, &figures, err);
}

static const fwpy_field judge_fields[] = {FWPY_FIELD(furrow_recommender_params, threads, FWPY_UINT32), {0}};

/* judge(folder, log, options): measures how the model that was saved in the folder orders items, and stores
 * that in the model */
static PyObject *trainer_judge(PyObject *object, PyObject *args) {
  trainer_object *self = (trainer_object *)object;
  judge_call call = {0};
  PyObject *folder = NULL, *log = NULL, *options;
  furrow_recommender_params_init(&call.params);
  call.params.trainer = self->trainer;
  call.params.progress = fwpy_job_progress;
  if (!PyArg_ParseTuple(args, "O&O&O", PyUnicode_FSConverter, &folder, PyUnicode_FSConverter, &log, &options))
    return NULL;
  call.folder = PyBytes_AsString(folder);
  call.log = PyBytes_AsString(log);
  bool ok = fwpy_set_fields(&call.params, options, judge_fields) && lock_to_read(self);
  if (ok) {
    ok = fwpy_job_run(run_judge, &call, NULL);
    pthread_rwlock_unlock(&self->lock);
  }
  Py_DECREF(folder);
  Py_DECREF(log);
  if (!ok) return NULL;
  Py_RETURN_NONE;
}

/* ---- The type ---------------------------------------------------------------------------------------------- */

static PyMethodDef trainer_methods[] = {{"create", trainer_create, METH_VARARGS | METH_STATIC, NULL},
                                        {"fit", trainer_fit, METH_VARARGS, NULL},
                                        {"step", trainer_step, METH_VARARGS, NULL},
                                        {"history", trainer_history, METH_NOARGS, NULL},
                                        {"notes", trainer_notes, METH_NOARGS, NULL},
                                        {"result", trainer_result, METH_NOARGS, NULL},
                                        {"fold_metrics", trainer_fold_metrics, METH_NOARGS, NULL},
                                        {"scorer", trainer_scorer, METH_NOARGS, NULL},
                                        {"save", trainer_save, METH_VARARGS, NULL},
                                        {"judge", trainer_judge, METH_VARARGS, NULL},
                                        {NULL, NULL, 0, NULL}};

static PyType_Slot trainer_slots[] = {{Py_tp_dealloc, trainer_dealloc}, {Py_tp_methods, trainer_methods}, {0, NULL}};
static PyType_Spec trainer_spec = {"furrow._core.Trainer", sizeof(trainer_object), 0,
                                   Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, trainer_slots};

static PyMethodDef functions[] = {{"learn_keys", learn_keys, METH_NOARGS, NULL},
                                  {"recommended", recommended, METH_VARARGS, NULL},
                                  {NULL, NULL, 0, NULL}};

int fwpy_add_trainer(PyObject *module) {
  return PyModule_AddFunctions(module, functions) < 0 ? -1 : fwpy_add_type(module, &trainer_spec, &trainer_type);
}
