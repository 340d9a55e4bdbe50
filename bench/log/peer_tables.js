// bench/log/peer_tables.js PROGRAM THREADS FILE: reads a raw csv log with polars or duckdb; one line of JSON.
// The packages nodejs-polars and @duckdb/node-api are looked for in the folder that FURROW_NODE_PEERS names
// (npm install --prefix FOLDER nodejs-polars @duckdb/node-api), then where node looks.
const fs = require("fs");
const path = require("path");
const [program, threads, file] = process.argv.slice(2);

function load(name) {
  const folder = process.env.FURROW_NODE_PEERS;
  try {
    return require(require.resolve(name, {paths: [...(folder ? [path.resolve(folder)] : []), __dirname]}));
  } catch (error) {
    console.error(`left out: no package ${name}`);
    process.exit(3);
  }
}

async function open() {
  if (program === "polars") {
    process.env.POLARS_MAX_THREADS = threads;
    const polars = load("nodejs-polars").default ?? load("nodejs-polars");
    return async () => polars.readCSV(file).height;
  }
  const {DuckDBInstance} = load("@duckdb/node-api");
  const instance = await DuckDBInstance.create(":memory:", {threads});
  const connection = await instance.connect();
  return async () => {
    await connection.run(`create table log as select * from read_csv('${file}')`);
    return Number((await connection.runAndReadAll("select count(*) from log")).getRows()[0][0]);
  };
}

open().then(async (read) => {
  const began = process.hrtime.bigint(), used = process.cpuUsage();
  const rows = await read();
  const seconds = Number(process.hrtime.bigint() - began) / 1e9, cpu = process.cpuUsage(used);
  const cpuSeconds = (cpu.user + cpu.system) / 1e6, megabytes = fs.statSync(file).size / 1e6;
  console.log(JSON.stringify({program, job: "read", threads: Number(threads), seconds, cpu_seconds: cpuSeconds, rows,
    mb_per_s: megabytes / seconds, mb_per_cpu_s: megabytes / cpuSeconds,
    peak_rss_mb: process.resourceUsage().maxRSS * 1024 / 1e6}));
  process.exit(0);
});
