#!/bin/sh
# Usage: pre-deploy.sh TRIAL CANDIDATE
# May CANDIDATE be deployed? Decides again from the trial's artefacts (every hash is checked), and
# ends with 0 only if the outcome is selected or tie and CANDIDATE is the one chosen or tied.
# 1: another one was chosen, or none is feasible; 3: undecided; else as seatrial decide ends.
set -eu
trial=$1
candidate=$2

code=0
decision=$(seatrial decide "$trial" --no-write --json --quiet) || code=$?
if [ "$code" -ne 0 ]; then
  echo "not to be deployed: seatrial decide ended with $code" >&2
  exit "$code"
fi
printf '%s' "$decision" | python3 -c '
import json, sys
found = json.load(sys.stdin)
chosen = [found["selected"], *found["equivalent"]]
if sys.argv[1] in chosen:
    print("may be deployed:", sys.argv[1], "-", found["outcome"])
else:
    print("not to be deployed:", sys.argv[1], "- chosen:", found["selected"])
    sys.exit(1)
' "$candidate"
