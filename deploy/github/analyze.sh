#!/usr/bin/env bash
# The step of action.yml that analyzes: findings, page and summary are written whatever was found, and the action
# ends as analyze ended after they are uploaded.
set -euo pipefail

lines() { grep -v '^[[:space:]]*$' <<<"$1" || true; }
mapfile -t logs < <(lines "$LOGS")
mapfile -t options < <(lines "${OPTIONS:-}")
if [ -n "${FAIL_ON:-}" ]; then
  options+=("--fail-on=$FAIL_ON")
fi

findings="$RUNNER_TEMP/rebalance-forensics.sarif"
page="$RUNNER_TEMP/rebalance-report.html"
ticket="$RUNNER_TEMP/rebalance-forensics.md"
rm -f "$findings" "$page" "$ticket"

code=0
"$PROGRAM" analyze --engine=local "${options[@]}" --html="$page" \
  --export="sarif=$findings" --export="markdown=$ticket" -- "${logs[@]}" || code=$?

echo "exit-code=$code" >>"$GITHUB_OUTPUT"
if [ -f "$findings" ]; then
  {
    echo "sarif=$findings"
    echo "html=$page"
  } >>"$GITHUB_OUTPUT"
  # GitHub shows no more than a megabyte of a summary.
  head -c 900000 "$ticket" >>"$GITHUB_STEP_SUMMARY"
fi
