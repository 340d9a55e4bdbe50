#!/usr/bin/env bash
# tools/list_peers.sh: which of the programs and libraries that tests and benchmarks compare with are installed.
set -uo pipefail
source "$(dirname "$0")/probes.sh"
found='' absent=''
while read -r package probe; do
  if $probe; then found="$found $package"; else absent="$absent $package"; fi
done <<'LIST'
libdmlc-dev has_dmlc
libfaiss-dev has_faiss
python3-sklearn has_sklearn
r-cran-data.table has_data_table
nginx-light has_command nginx
wrk has_command wrk
chromium has_browser
openapi-validator has_openapi_validator
LIST
echo "peers found:${found:- none}"
echo "peers skipped (not installed):${absent:- none}"
