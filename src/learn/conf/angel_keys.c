/* learn/conf/angel_keys.c: Angel's keys that are not in the table of settings: other names of settings, and names that
 * mean nothing without Angel's cluster. */
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/suggestion.h"
#include "learn/conf/conf_data.h"

/* ---- Keys without a meaning here ---- */

/* Of Angel 3.2 and of its published documents: names that end in a 0. One that ends in a dot is a family. */
static const char cluster_keys[] =
    "angel.am.admin.user.env\0angel.am.appstate.timeout.ms\0angel.am.class\0angel.am.containerlauncher.thread.count\0"
    "angel.am.cpu.vcores\0angel.am.env\0angel.am.heartbeat.interval.ms\0angel.am.host\0angel.am.java.opts\0"
    "angel.am.log.level\0angel.am.matrix.diskio.worker.pool.size\0angel.am.max-attempts\0angel.am.memory.gb\0"
    "angel.am.memory.mb\0angel.am.port\0angel.am.resource.cpu-vcores\0angel.am.slow.check.enable\0"
    "angel.am.slow.check.interval.ms\0angel.am.slow.check.polices\0angel.am.task.slowest.discount\0"
    "angel.am.use.dummy.dataspliter\0angel.am.wait.matrix.timeout.ms\0angel.am.write.state.interval.ms\0"
    "angel.app.config.file\0angel.app.serilize.state.file\0angel.app.type\0angel.app.user.resource.files\0"
    "angel.checkpoint.max.results.for.single.matrix\0angel.client.heartbeat.interval.ms\0"
    "angel.client.heartbeat.interval.timeout.ms\0angel.cluster.local.dir\0angel.compress.bytes\0angel.deploy.mode\0"
    "angel.input.format\0angel.inputformat\0angel.job.acl-modify-job\0angel.job.acl-view-job\0"
    "angel.job.cache.archives\0angel.job.cache.files\0angel.job.complete.cancel.delegation.tokens\0angel.job.dir\0"
    "angel.job.input.path\0angel.job.jar\0angel.job.libjar\0angel.job.libjars\0angel.job.name\0angel.job.submit.host\0"
    "angel.job.submit.host.address\0angel.jobid\0angel.kerberos.keytab\0angel.kerberos.keytab.name\0"
    "angel.kerberos.principal\0angel.kubernetes.\0angel.listen.port.range\0angel.log.fast.write.enable\0"
    "angel.log.flush.min.size\0angel.log.path\0angel.matrix.oplog.merger.pool.size\0"
    "angel.matrixtransfer.check.interval.ms\0angel.matrixtransfer.client.requester.pool.size\0"
    "angel.matrixtransfer.client.responser.pool.size\0angel.matrixtransfer.max.requestnum\0"
    "angel.matrixtransfer.max.requestnum.perserver\0angel.matrixtransfer.max.retry.counter\0"
    "angel.matrixtransfer.request.timeout.ms\0angel.matrixtransfer.retry.interval.ms\0"
    "angel.matrixtransfer.server.rpc.limit.factor\0angel.matrixtransfer.server.rpc.limit.general.factor\0"
    "angel.matrixtransfer.server.token.timeout.ms\0angel.matrixtransfer.server.use.async.handler\0"
    "angel.matrixtransfer.server.use.unlock.rpc\0angel.matrixtransfer.server.worker.pool.size\0"
    "angel.model.parse.name\0angel.model.parse.thread.count\0angel.model.partitioner.max.partition.number\0"
    "angel.model.partitioner.partition.number.perserver\0angel.model.partitioner.partition.size\0"
    "angel.modelconverts.model.names\0angel.modelconverts.serde.class\0"
    "angel.netty.matrixtransfer.client.channel.type\0angel.netty.matrixtransfer.client.eventgroup.threadnum\0"
    "angel.netty.matrixtransfer.client.ioratio\0angel.netty.matrixtransfer.client.max.connect.idletime.ms\0"
    "angel.netty.matrixtransfer.client.max.connect.perserver\0"
    "angel.netty.matrixtransfer.client.max.get.connect.timeout.ms\0"
    "angel.netty.matrixtransfer.client.min.connect.perserver\0angel.netty.matrixtransfer.client.rcvbuf\0"
    "angel.netty.matrixtransfer.client.sndbuf\0angel.netty.matrixtransfer.client.usedirectbuffer\0"
    "angel.netty.matrixtransfer.client.usepool\0angel.netty.matrixtransfer.max.message.size\0"
    "angel.netty.matrixtransfer.server.channel.type\0angel.netty.matrixtransfer.server.eventgroup.threadnum\0"
    "angel.netty.matrixtransfer.server.ioratio\0angel.netty.matrixtransfer.server.rcvbuf\0"
    "angel.netty.matrixtransfer.server.sndbuf\0angel.netty.matrixtransfer.server.use.stream.handler\0"
    "angel.netty.matrixtransfer.server.usedirectbuffer\0angel.netty.matrixtransfer.server.usepool\0"
    "angel.netty.serving.transfer.server.eventgroup.threadnum\0angel.network.max.bytes.flight\0angel.output.path\0"
    "angel.output.path.deleteonexist\0angel.parse.model.path\0angel.plugin.service.enable\0angel.predict.data.path\0"
    "angel.predict.out.path\0angel.ps.backup.auto.enable\0angel.ps.backup.interval.ms\0angel.ps.backup.matrices\0"
    "angel.ps.backup.parallel\0angel.ps.checkpoint.max.num\0angel.ps.class\0angel.ps.cpu.vcores\0angel.ps.env\0"
    "angel.ps.ha.push.sync\0angel.ps.ha.replication.number\0angel.ps.ha.sync.send.buffer.size\0"
    "angel.ps.ha.sync.worker.number\0angel.ps.ha.use.event.push\0angel.ps.heartbeat.data.collection.interval\0"
    "angel.ps.heartbeat.interval.ms\0angel.ps.heartbeat.timeout.ms\0angel.ps.io.file.buffer.size\0angel.ps.ip.list\0"
    "angel.ps.java.opts\0angel.ps.jvm.direct.factor.use.direct.buff\0angel.ps.jvm.g1.conc.worker.num\0"
    "angel.ps.jvm.g1.ihop\0angel.ps.jvm.g1.max.newratio\0angel.ps.jvm.g1.maxpausetime.ms\0"
    "angel.ps.jvm.g1.min.newratio\0angel.ps.jvm.g1.mixgc.live.threshold.percent\0angel.ps.jvm.g1.mixgc.target.count\0"
    "angel.ps.jvm.g1.regionsize.mb\0angel.ps.jvm.g1.reserve.percent\0angel.ps.jvm.g1.worker.num\0"
    "angel.ps.jvm.parallel.gc.max.pause.time.ms\0angel.ps.jvm.parallel.gc.threads\0"
    "angel.ps.jvm.parallel.gc.use.adaptive.size\0angel.ps.jvm.use.g1\0angel.ps.jvm.use.parallel.gc\0"
    "angel.ps.jvm.young.factor\0angel.ps.log.level\0angel.ps.matrix.diskio.worker.pool.size\0angel.ps.max-attempts\0"
    "angel.ps.max.lock.waittime\0angel.ps.max.partition.number.single.file\0angel.ps.memory.gb\0angel.ps.memory.mb\0"
    "angel.ps.number\0angel.ps.partition.class\0angel.ps.partition.source.class\0angel.ps.priority\0"
    "angel.ps.push.interval.ms\0angel.ps.request.resource.minibatch.interval.ms\0"
    "angel.ps.request.resource.minibatch.size\0angel.ps.request.resource.use.minibatch\0angel.ps.router.type\0"
    "angel.ps.sparse.to.dense.factor\0angel.ps.use.adaptive.key.enable\0angel.ps.use.adaptive.storage.enable\0"
    "angel.ps.use.independent.worker.pool\0angel.psagent.cache.sync.timeinterval.ms\0angel.psagent.class\0"
    "angel.psagent.cpu.vcores\0angel.psagent.env\0angel.psagent.heartbeat.timeout.ms\0angel.psagent.iplist\0"
    "angel.psagent.java.opts\0angel.psagent.log.level\0angel.psagent.max.attempts\0angel.psagent.memory.mb\0"
    "angel.psagent.number\0angel.psagent.priority\0angel.psagent.sync.clock.enable\0angel.psagent.sync.policy.class\0"
    "angel.psagent.to.ps.heartbeat.interval.ms\0angel.psagent.to.ps.heartbeat.timeout.ms\0"
    "angel.psagent.update.split.adaption.enable\0angel.psagent.update.split.view.enable\0angel.pyangel.pyfile\0"
    "angel.pyangel.pyfile.dependencies\0angel.pyangel.python\0angel.read.timeout.sec\0"
    "angel.refresh.serverlocation.threshold\0angel.remove.staging.dir.enable\0angel.request.sleep.time.ms\0"
    "angel.rpc.package.max.size\0angel.running.mode\0angel.save.model.epoch.trigger.enable\0"
    "angel.save.model.every.howmany.epochs\0angel.save.model.max.results.for.single.matrix\0"
    "angel.serving.client.type\0angel.serving.master.ip\0angel.serving.master.port\0"
    "angel.serving.model.load.check.inteval.second\0angel.serving.model.load.timeout.minute\0"
    "angel.serving.model.load.type\0angel.serving.model.name\0angel.serving.predict.local.output\0"
    "angel.serving.sharding.concurrent.capacity\0angel.serving.sharding.model.class\0angel.serving.sharding.num\0"
    "angel.serving.temp.path\0angel.staging.dir\0angel.submit.user.name\0angel.task.actual.number\0"
    "angel.task.data.storage.level\0angel.task.disk.read.buffer.size\0angel.task.error.tolerate\0"
    "angel.task.estimize.sample.number\0angel.task.iteration.number\0angel.task.memory.storage.max.mb\0"
    "angel.task.memorystorage.max.gb\0angel.task.memorystorage.max.mb\0angel.task.record.file.maxsize.mb\0"
    "angel.task.user.task.class\0angel.task.writer.buffer.size\0angel.tmp.output.path\0angel.tmp.output.path.prefix\0"
    "angel.worker.class\0angel.worker.cpu.vcores\0angel.worker.env\0angel.worker.heartbeat.interval.ms\0"
    "angel.worker.heartbeat.timeout.ms\0angel.worker.java.opts\0angel.worker.jvm.direct.factor.use.direct.buff\0"
    "angel.worker.jvm.g1.conc.worker.num\0angel.worker.jvm.g1.ihop\0angel.worker.jvm.g1.max.newratio\0"
    "angel.worker.jvm.g1.maxpausetime.ms\0angel.worker.jvm.g1.min.newratio\0"
    "angel.worker.jvm.g1.mixgc.live.threshold.percent\0angel.worker.jvm.g1.mixgc.target.count\0"
    "angel.worker.jvm.g1.regionsize.mb\0angel.worker.jvm.g1.reserve.percent\0angel.worker.jvm.g1.worker.num\0"
    "angel.worker.jvm.use.g1\0angel.worker.jvm.young.factor\0angel.worker.log.level\0"
    "angel.worker.matrix.executors.num\0angel.worker.max-attempts\0angel.worker.memory.gb\0angel.worker.memory.mb\0"
    "angel.worker.priority\0angel.worker.task.number\0angel.worker.thread.num\0angel.workergroup.actual.number\0"
    "angel.workergroup.failed.tolerate\0angel.workergroup.number\0angel.workergroup.worker.number\0matrix.average\0"
    "matrix.hogwild\0matrix.load.path\0matrix.oplog.enablefilter\0matrix.oplog.filter.threshold\0matrix.oplog.type\0"
    "matrix.save.path\0matrix.staleness\0matrix.value.type.classname\0ml.client.rpc.maxattempts\0ml.compress.bytes\0"
    "ml.connection.read.timeout\0ml.connection.timeout\0ml.data.is.classification\0ml.gbdt.batch.size\0"
    "ml.gbdt.eval.metric\0ml.gbdt.feature.importance.type\0ml.gbdt.hist.subtraction\0ml.gbdt.lighter.child.first\0"
    "ml.gbdt.multi.class.grad.cache\0ml.gbdt.parallel.mode\0ml.gbdt.server.split\0ml.gbdt.thread.num\0"
    "ml.matrix.dot.use.parallel.executor\0ml.model.is.classification\0ml.rpc.timeout\0ml.worker.thread.num\0"
    "netty.client.io.threads\0netty.io.mode\0netty.server.io.threads\0ps.matrix.partition.classname\0queue\0"
    "server.partition.class\0server.partition.storage.class\0";

/* Keys that Angel's training depends on. */
static const char model_keys[] =
    "ml.gbdt.full.hessian\0ml.gbdt.max.leaf.weight\0ml.gbdt.max.node.num\0ml.gbdt.min.node.instance\0"
    "ml.gbdt.multi.class.strategy\0ml.mlr.v.init\0";

#define COUNT(list) (sizeof(list) / sizeof *(list))

static const char *find_in(const char *list, const char *name) {
  for (size_t n; (n = strlen(list)) > 0; list += n + 1)
    if (list[n - 1] == '.' ? strncmp(list, name, n) == 0 : strcmp(list, name) == 0) return list;
  return NULL;
}

furrow_status fw_conf_ignore(furrow_learn_conf *conf, const char *key, bool changes_model, furrow_error *err) {
  for (size_t i = 0; i < conf->ignored_count; i++)
    if (strcmp(conf->ignored[i].key, key) == 0) return FURROW_OK;
  FW_TRY(FW_GROW(&conf->ignored, &conf->ignored_capacity, conf->ignored_count + 1, err));
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

/* Sets the older name of ml.feature.index.range; the newer name takes precedence if both are set. */
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

static void offer_list(fw_suggestion *suggestion, const char *written, const char *list) {
  for (; *list; list += strlen(list) + 1) fw_suggestion_offer(suggestion, written, list);
}

static furrow_status unknown_key(const char *name, furrow_error *err) {
  fw_suggestion suggestion = {NULL, SIZE_MAX};
  const furrow_learn_key *key;
  for (size_t i = 0; (key = furrow_learn_key_at(i)); i++) {
    fw_suggestion_offer(&suggestion, name, key->name);
    if (key->angel_key) fw_suggestion_offer(&suggestion, name, key->angel_key);
  }
  for (size_t i = 0; i < COUNT(setters); i++) fw_suggestion_offer(&suggestion, name, setters[i].key);
  offer_list(&suggestion, name, cluster_keys);
  offer_list(&suggestion, name, model_keys);
  fw_fail(err, FURROW_E_ARGUMENT, "no such key");
  fw_error_set_token(err, name, strlen(name));
  if (fw_suggestion_is_near(&suggestion, name)) fw_error_set_hint(err, "did you mean %s?", suggestion.word);
  return FURROW_E_ARGUMENT;
}

furrow_status fw_conf_set_angel(furrow_learn_conf *conf, const char *key, const char *value, furrow_error *err) {
  for (size_t i = 0; i < COUNT(setters); i++)
    if (strcmp(setters[i].key, key) == 0) return setters[i].set(conf, value, err);
  const char *of_cluster = find_in(cluster_keys, key), *of_model = find_in(model_keys, key);
  if (!of_cluster && !of_model) return unknown_key(key, err);
  return fw_conf_ignore(conf, of_cluster ? of_cluster : of_model, !of_cluster, err);
}
