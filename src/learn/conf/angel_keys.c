/* learn/conf/angel_keys.c: Angel's keys that are not in the table of settings: other names of settings, and names that
 * mean nothing without Angel's cluster. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/suggestion.h"
#include "learn/conf/conf_data.h"

/* ---- Keys without a meaning here ---- */

/* Of Angel 3.2 and of its published documents, sorted. A name that ends in a dot is a family. */
static const char *const cluster_keys[] = {
    "angel.am.admin.user.env",
    "angel.am.appstate.timeout.ms",
    "angel.am.class",
    "angel.am.containerlauncher.thread.count",
    "angel.am.cpu.vcores",
    "angel.am.env",
    "angel.am.heartbeat.interval.ms",
    "angel.am.host",
    "angel.am.java.opts",
    "angel.am.log.level",
    "angel.am.matrix.diskio.worker.pool.size",
    "angel.am.max-attempts",
    "angel.am.memory.gb",
    "angel.am.memory.mb",
    "angel.am.port",
    "angel.am.resource.cpu-vcores",
    "angel.am.slow.check.enable",
    "angel.am.slow.check.interval.ms",
    "angel.am.slow.check.polices",
    "angel.am.task.slowest.discount",
    "angel.am.use.dummy.dataspliter",
    "angel.am.wait.matrix.timeout.ms",
    "angel.am.write.state.interval.ms",
    "angel.app.config.file",
    "angel.app.serilize.state.file",
    "angel.app.type",
    "angel.app.user.resource.files",
    "angel.checkpoint.max.results.for.single.matrix",
    "angel.client.heartbeat.interval.ms",
    "angel.client.heartbeat.interval.timeout.ms",
    "angel.cluster.local.dir",
    "angel.compress.bytes",
    "angel.deploy.mode",
    "angel.input.format",
    "angel.inputformat",
    "angel.job.acl-modify-job",
    "angel.job.acl-view-job",
    "angel.job.cache.archives",
    "angel.job.cache.files",
    "angel.job.complete.cancel.delegation.tokens",
    "angel.job.dir",
    "angel.job.input.path",
    "angel.job.jar",
    "angel.job.libjar",
    "angel.job.libjars",
    "angel.job.name",
    "angel.job.submit.host",
    "angel.job.submit.host.address",
    "angel.jobid",
    "angel.kerberos.keytab",
    "angel.kerberos.keytab.name",
    "angel.kerberos.principal",
    "angel.kubernetes.",
    "angel.listen.port.range",
    "angel.log.fast.write.enable",
    "angel.log.flush.min.size",
    "angel.log.path",
    "angel.matrix.oplog.merger.pool.size",
    "angel.matrixtransfer.check.interval.ms",
    "angel.matrixtransfer.client.requester.pool.size",
    "angel.matrixtransfer.client.responser.pool.size",
    "angel.matrixtransfer.max.requestnum",
    "angel.matrixtransfer.max.requestnum.perserver",
    "angel.matrixtransfer.max.retry.counter",
    "angel.matrixtransfer.request.timeout.ms",
    "angel.matrixtransfer.retry.interval.ms",
    "angel.matrixtransfer.server.rpc.limit.factor",
    "angel.matrixtransfer.server.rpc.limit.general.factor",
    "angel.matrixtransfer.server.token.timeout.ms",
    "angel.matrixtransfer.server.use.async.handler",
    "angel.matrixtransfer.server.use.unlock.rpc",
    "angel.matrixtransfer.server.worker.pool.size",
    "angel.model.parse.name",
    "angel.model.parse.thread.count",
    "angel.model.partitioner.max.partition.number",
    "angel.model.partitioner.partition.number.perserver",
    "angel.model.partitioner.partition.size",
    "angel.modelconverts.model.names",
    "angel.modelconverts.serde.class",
    "angel.netty.matrixtransfer.client.channel.type",
    "angel.netty.matrixtransfer.client.eventgroup.threadnum",
    "angel.netty.matrixtransfer.client.ioratio",
    "angel.netty.matrixtransfer.client.max.connect.idletime.ms",
    "angel.netty.matrixtransfer.client.max.connect.perserver",
    "angel.netty.matrixtransfer.client.max.get.connect.timeout.ms",
    "angel.netty.matrixtransfer.client.min.connect.perserver",
    "angel.netty.matrixtransfer.client.rcvbuf",
    "angel.netty.matrixtransfer.client.sndbuf",
    "angel.netty.matrixtransfer.client.usedirectbuffer",
    "angel.netty.matrixtransfer.client.usepool",
    "angel.netty.matrixtransfer.max.message.size",
    "angel.netty.matrixtransfer.server.channel.type",
    "angel.netty.matrixtransfer.server.eventgroup.threadnum",
    "angel.netty.matrixtransfer.server.ioratio",
    "angel.netty.matrixtransfer.server.rcvbuf",
    "angel.netty.matrixtransfer.server.sndbuf",
    "angel.netty.matrixtransfer.server.use.stream.handler",
    "angel.netty.matrixtransfer.server.usedirectbuffer",
    "angel.netty.matrixtransfer.server.usepool",
    "angel.netty.serving.transfer.server.eventgroup.threadnum",
    "angel.network.max.bytes.flight",
    "angel.output.path",
    "angel.output.path.deleteonexist",
    "angel.parse.model.path",
    "angel.plugin.service.enable",
    "angel.predict.data.path",
    "angel.predict.out.path",
    "angel.ps.backup.auto.enable",
    "angel.ps.backup.interval.ms",
    "angel.ps.backup.matrices",
    "angel.ps.backup.parallel",
    "angel.ps.checkpoint.max.num",
    "angel.ps.class",
    "angel.ps.cpu.vcores",
    "angel.ps.env",
    "angel.ps.ha.push.sync",
    "angel.ps.ha.replication.number",
    "angel.ps.ha.sync.send.buffer.size",
    "angel.ps.ha.sync.worker.number",
    "angel.ps.ha.use.event.push",
    "angel.ps.heartbeat.data.collection.interval",
    "angel.ps.heartbeat.interval.ms",
    "angel.ps.heartbeat.timeout.ms",
    "angel.ps.io.file.buffer.size",
    "angel.ps.ip.list",
    "angel.ps.java.opts",
    "angel.ps.jvm.direct.factor.use.direct.buff",
    "angel.ps.jvm.g1.conc.worker.num",
    "angel.ps.jvm.g1.ihop",
    "angel.ps.jvm.g1.max.newratio",
    "angel.ps.jvm.g1.maxpausetime.ms",
    "angel.ps.jvm.g1.min.newratio",
    "angel.ps.jvm.g1.mixgc.live.threshold.percent",
    "angel.ps.jvm.g1.mixgc.target.count",
    "angel.ps.jvm.g1.regionsize.mb",
    "angel.ps.jvm.g1.reserve.percent",
    "angel.ps.jvm.g1.worker.num",
    "angel.ps.jvm.parallel.gc.max.pause.time.ms",
    "angel.ps.jvm.parallel.gc.threads",
    "angel.ps.jvm.parallel.gc.use.adaptive.size",
    "angel.ps.jvm.use.g1",
    "angel.ps.jvm.use.parallel.gc",
    "angel.ps.jvm.young.factor",
    "angel.ps.log.level",
    "angel.ps.matrix.diskio.worker.pool.size",
    "angel.ps.max-attempts",
    "angel.ps.max.lock.waittime",
    "angel.ps.max.partition.number.single.file",
    "angel.ps.memory.gb",
    "angel.ps.memory.mb",
    "angel.ps.number",
    "angel.ps.partition.class",
    "angel.ps.partition.source.class",
    "angel.ps.priority",
    "angel.ps.push.interval.ms",
    "angel.ps.request.resource.minibatch.interval.ms",
    "angel.ps.request.resource.minibatch.size",
    "angel.ps.request.resource.use.minibatch",
    "angel.ps.router.type",
    "angel.ps.sparse.to.dense.factor",
    "angel.ps.use.adaptive.key.enable",
    "angel.ps.use.adaptive.storage.enable",
    "angel.ps.use.independent.worker.pool",
    "angel.psagent.cache.sync.timeinterval.ms",
    "angel.psagent.class",
    "angel.psagent.cpu.vcores",
    "angel.psagent.env",
    "angel.psagent.heartbeat.timeout.ms",
    "angel.psagent.iplist",
    "angel.psagent.java.opts",
    "angel.psagent.log.level",
    "angel.psagent.max.attempts",
    "angel.psagent.memory.mb",
    "angel.psagent.number",
    "angel.psagent.priority",
    "angel.psagent.sync.clock.enable",
    "angel.psagent.sync.policy.class",
    "angel.psagent.to.ps.heartbeat.interval.ms",
    "angel.psagent.to.ps.heartbeat.timeout.ms",
    "angel.psagent.update.split.adaption.enable",
    "angel.psagent.update.split.view.enable",
    "angel.pyangel.pyfile",
    "angel.pyangel.pyfile.dependencies",
    "angel.pyangel.python",
    "angel.read.timeout.sec",
    "angel.refresh.serverlocation.threshold",
    "angel.remove.staging.dir.enable",
    "angel.request.sleep.time.ms",
    "angel.rpc.package.max.size",
    "angel.running.mode",
    "angel.save.model.epoch.trigger.enable",
    "angel.save.model.every.howmany.epochs",
    "angel.save.model.max.results.for.single.matrix",
    "angel.serving.client.type",
    "angel.serving.master.ip",
    "angel.serving.master.port",
    "angel.serving.model.load.check.inteval.second",
    "angel.serving.model.load.timeout.minute",
    "angel.serving.model.load.type",
    "angel.serving.model.name",
    "angel.serving.predict.local.output",
    "angel.serving.sharding.concurrent.capacity",
    "angel.serving.sharding.model.class",
    "angel.serving.sharding.num",
    "angel.serving.temp.path",
    "angel.staging.dir",
    "angel.submit.user.name",
    "angel.task.actual.number",
    "angel.task.data.storage.level",
    "angel.task.disk.read.buffer.size",
    "angel.task.error.tolerate",
    "angel.task.estimize.sample.number",
    "angel.task.iteration.number",
    "angel.task.memory.storage.max.mb",
    "angel.task.memorystorage.max.gb",
    "angel.task.memorystorage.max.mb",
    "angel.task.record.file.maxsize.mb",
    "angel.task.user.task.class",
    "angel.task.writer.buffer.size",
    "angel.tmp.output.path",
    "angel.tmp.output.path.prefix",
    "angel.worker.class",
    "angel.worker.cpu.vcores",
    "angel.worker.env",
    "angel.worker.heartbeat.interval.ms",
    "angel.worker.heartbeat.timeout.ms",
    "angel.worker.java.opts",
    "angel.worker.jvm.direct.factor.use.direct.buff",
    "angel.worker.jvm.g1.conc.worker.num",
    "angel.worker.jvm.g1.ihop",
    "angel.worker.jvm.g1.max.newratio",
    "angel.worker.jvm.g1.maxpausetime.ms",
    "angel.worker.jvm.g1.min.newratio",
    "angel.worker.jvm.g1.mixgc.live.threshold.percent",
    "angel.worker.jvm.g1.mixgc.target.count",
    "angel.worker.jvm.g1.regionsize.mb",
    "angel.worker.jvm.g1.reserve.percent",
    "angel.worker.jvm.g1.worker.num",
    "angel.worker.jvm.use.g1",
    "angel.worker.jvm.young.factor",
    "angel.worker.log.level",
    "angel.worker.matrix.executors.num",
    "angel.worker.max-attempts",
    "angel.worker.memory.gb",
    "angel.worker.memory.mb",
    "angel.worker.priority",
    "angel.worker.task.number",
    "angel.worker.thread.num",
    "angel.workergroup.actual.number",
    "angel.workergroup.failed.tolerate",
    "angel.workergroup.number",
    "angel.workergroup.worker.number",
    "matrix.average",
    "matrix.hogwild",
    "matrix.load.path",
    "matrix.oplog.enablefilter",
    "matrix.oplog.filter.threshold",
    "matrix.oplog.type",
    "matrix.save.path",
    "matrix.staleness",
    "matrix.value.type.classname",
    "ml.client.rpc.maxattempts",
    "ml.compress.bytes",
    "ml.connection.read.timeout",
    "ml.connection.timeout",
    "ml.data.is.classification",
    "ml.gbdt.batch.size",
    "ml.gbdt.eval.metric",
    "ml.gbdt.feature.importance.type",
    "ml.gbdt.hist.subtraction",
    "ml.gbdt.lighter.child.first",
    "ml.gbdt.multi.class.grad.cache",
    "ml.gbdt.parallel.mode",
    "ml.gbdt.server.split",
    "ml.gbdt.thread.num",
    "ml.matrix.dot.use.parallel.executor",
    "ml.model.is.classification",
    "ml.rpc.timeout",
    "ml.worker.thread.num",
    "netty.client.io.threads",
    "netty.io.mode",
    "netty.server.io.threads",
    "ps.matrix.partition.classname",
    "queue",
    "server.partition.class",
    "server.partition.storage.class",
};

/* Angel's training depends on them. */
static const char *const model_keys[] = {
    "ml.gbdt.full.hessian",      "ml.gbdt.max.leaf.weight",      "ml.gbdt.max.node.num",
    "ml.gbdt.min.node.instance", "ml.gbdt.multi.class.strategy", "ml.mlr.v.init",
};

#define COUNT(list) (sizeof(list) / sizeof *(list))

static int compare_key(const void *name, const void *entry) {
  const char *known = *(const char *const *)entry;
  const size_t n = strlen(known);
  return known[n - 1] == '.' ? strncmp(name, known, n) : strcmp(name, known);
}

static const char *find_in(const char *const *list, size_t count, const char *name) {
  const char *const *found = bsearch(name, list, count, sizeof *list, compare_key);
  return found ? *found : NULL;
}

static const char *find_ignored(const char *name, bool *changes_model) {
  const char *found = find_in(cluster_keys, COUNT(cluster_keys), name);
  *changes_model = !found;
  return found ? found : find_in(model_keys, COUNT(model_keys), name);
}

furrow_status fw_conf_ignore(furrow_learn_conf *conf, const char *key, bool changes_model, furrow_error *err) {
  void *memory = conf->ignored;
  for (size_t i = 0; i < conf->ignored_count; i++)
    if (strcmp(conf->ignored[i].key, key) == 0) return FURROW_OK;
  FW_TRY(fw_grow(&memory, &conf->ignored_capacity, conf->ignored_count + 1, sizeof *conf->ignored, err));
  conf->ignored = memory;
  conf->ignored[conf->ignored_count++] = (fw_ignored_key){key, changes_model};
  return FURROW_OK;
}

const char *furrow_learn_conf_ignored(const furrow_learn_conf *conf, size_t i, bool *changes_model) {
  if (i >= conf->ignored_count) return NULL;
  if (changes_model) *changes_model = conf->ignored[i].changes_model;
  return conf->ignored[i].key;
}

/* ---- Keys that mean a setting ---- */

typedef furrow_status (*setter)(furrow_learn_conf *conf, const char *value, furrow_error *err);

/* The class that starts a job: GBDTRunner and others that train one algorithm. */
static furrow_status set_runner(furrow_learn_conf *conf, const char *value, furrow_error *err) {
  static const struct {
    const char *runner, *algorithm;
  } runners[] = {{"GBDTRunner", "gbdt"},
                 {"LRRunner", "lr"},
                 {"MLRRunner", "mlr"},
                 {"SVMRunner", "svm"},
                 {"LinearRegRunner", "linear"}};
  const char *point = strrchr(value, '.'), *name = point ? point + 1 : value;
  if (conf->algorithm || conf->json.graph) return fw_conf_ignore(conf, "angel.app.submit.class", false, err);
  for (size_t i = 0; i < COUNT(runners); i++)
    if (strcmp(runners[i].runner, name) == 0)
      return furrow_learn_conf_set(conf, "ml.model.class.name", runners[i].algorithm, err);
  return fw_conf_ignore(conf, "angel.app.submit.class", false, err);
}

/* The older name of ml.feature.index.range, which wins where both are set. */
static furrow_status set_feature_number(furrow_learn_conf *conf, const char *value, furrow_error *err) {
  if (fw_conf_has_key(conf, FW_KEY_RANGE)) return fw_conf_ignore(conf, "ml.feature.num", false, err);
  return furrow_learn_conf_set(conf, "ml.feature.index.range", value, err);
}

static furrow_status set_task_type(furrow_learn_conf *conf, const char *value, furrow_error *err) {
  if (strcmp(value, "regression") == 0)
    return furrow_learn_conf_set(conf, "ml.gbdt.loss.func", "reg:squarederror", err);
  if (strcmp(value, "classification") == 0) return fw_conf_ignore(conf, "ml.gbdt.task.type", false, err);
  fw_fail(err, FURROW_E_ARGUMENT, "ml.gbdt.task.type must be classification or regression");
  fw_error_set_token(err, value, strlen(value));
  return FURROW_E_ARGUMENT;
}

static const struct {
  const char *key;
  setter set;
} setters[] = {
    {"angel.app.submit.class", set_runner},
    {"angel.ml.conf", furrow_learn_conf_load},
    {"ml.feature.num", set_feature_number},
    {"ml.gbdt.task.type", set_task_type},
};

/* ---- Any of them ---- */

static void offer_list(fw_suggestion *suggestion, const char *written, const char *const *list, size_t count) {
  for (size_t i = 0; i < count; i++) fw_suggestion_offer(suggestion, written, list[i]);
}

static furrow_status unknown_key(const char *name, furrow_error *err) {
  fw_suggestion suggestion = {NULL, SIZE_MAX};
  const furrow_learn_key *key;
  for (size_t i = 0; (key = furrow_learn_key_at(i)); i++) {
    fw_suggestion_offer(&suggestion, name, key->name);
    if (key->angel_key) fw_suggestion_offer(&suggestion, name, key->angel_key);
  }
  for (size_t i = 0; i < COUNT(setters); i++) fw_suggestion_offer(&suggestion, name, setters[i].key);
  offer_list(&suggestion, name, cluster_keys, COUNT(cluster_keys));
  offer_list(&suggestion, name, model_keys, COUNT(model_keys));
  fw_fail(err, FURROW_E_ARGUMENT, "no such key");
  fw_error_set_token(err, name, strlen(name));
  if (fw_suggestion_is_near(&suggestion, name)) fw_error_set_hint(err, "did you mean %s?", suggestion.word);
  return FURROW_E_ARGUMENT;
}

furrow_status fw_conf_set_angel(furrow_learn_conf *conf, const char *key, const char *value, furrow_error *err) {
  bool changes_model = false;
  for (size_t i = 0; i < COUNT(setters); i++)
    if (strcmp(setters[i].key, key) == 0) return setters[i].set(conf, value, err);
  const char *known = find_ignored(key, &changes_model);
  return known ? fw_conf_ignore(conf, known, changes_model, err) : unknown_key(key, err);
}
