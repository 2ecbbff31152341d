#!/bin/sh
# One run on a cluster. The wheel is pure Python: executors import it from where it is, nothing is installed there
# but Python 3.11 with pyarrow, pandas, pyyaml and regex (or an archive of an environment, see docs/running-on-a-cluster.md).
#
#   deploy/spark-submit.sh rebalance_forensics-1.0.0-py3-none-any.whl --config deploy/job.toml --since 2026-11-20
set -eu
wheel=$1
shift
zip=$(mktemp -d)/rebalance_forensics.zip
trap 'rm -rf "$(dirname "$zip")"' EXIT
cp "$wheel" "$zip"
"${SPARK_SUBMIT:-spark-submit}" \
  --name rebalance-forensics \
  --conf spark.sql.session.timeZone=UTC \
  --py-files "$zip" \
  "$(dirname "$0")/run_job.py" "$@"
