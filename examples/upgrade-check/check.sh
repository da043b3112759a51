#!/bin/sh
# Usage: check.sh OLD_VERSION NEW_VERSION   (versions of llama.cpp as seatrial engines list shows them)
set -eu
old=$1
new=$2
here=$(cd "$(dirname "$0")" && pwd)
trial=${TRIAL:-trials/upgrade-check-$old-$new}

seatrial engines install "llama.cpp==$old"
seatrial engines install "llama.cpp==$new"
workload="$here/.workload-$old-$new.yaml"
sed -e "s/OLD_VERSION/$old/" -e "s/NEW_VERSION/$new/" "$here/workload.yaml" > "$workload"
trap 'rm -f "$workload"' EXIT

# run ends with 1 or 3 when nothing is selected; the comparison below is what decides here.
code=0
seatrial run "$workload" --out "$trial" || code=$?
case $code in 0 | 1 | 3) ;; *) exit "$code" ;; esac
seatrial diff "$trial" "$trial" --old-candidate old --new-candidate new --strict
