# bench/peer_fread.R: times data.table's fread over a csv file; the same options and output as bench_rows.
# The time is that of the call alone, which leaves the whole table in memory.
suppressPackageStartupMessages(library(data.table))

args <- commandArgs(trailingOnly = TRUE)
option <- function(name, fallback) {
  at <- match(name, args)
  if (is.na(at)) fallback else args[at + 1]
}
threads <- as.integer(option("--threads", "1"))
file <- sub("[?].*", "", args[length(args)]) # without the arguments that a parser's URI may carry
setDTthreads(threads)

start <- Sys.time()
used <- system.time(gcFirst = FALSE, {
  table <- fread(file = file, header = FALSE, nThread = threads, showProgress = FALSE)
})
seconds <- as.numeric(Sys.time() - start, units = "secs")

status <- readLines("/proc/self/status")
peak_kb <- as.numeric(gsub("[^0-9]", "", grep("^VmHWM", status, value = TRUE)))
bytes <- file.size(file)
cat(sprintf(
  paste0(
    '{"program": "fread", "format": "csv", "threads": %d, "seconds": %.6f, "cpu_seconds": %.6f, "mb_per_s": %.1f, ',
    '"bytes": %.0f, "rows": %.0f, "features": %.0f, "peak_rss_mb": %.1f}\n'
  ),
  threads, seconds, used[["user.self"]] + used[["sys.self"]], bytes / seconds / 1e6,
  bytes, nrow(table), nrow(table) * (ncol(table) - 1), peak_kb * 1024 / 1e6
))
