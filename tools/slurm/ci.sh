#!/usr/bin/env bash
# Runs the tests that need a real Slurm: installs Debian's with its accounting, and
# starts one of four nodes for each of them. Without root or without apt it says so and fails: the
# step that calls it is the place where these tests must not be skipped.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
if [ "$(id -u)" -ne 0 ]; then
	echo "error: a Slurm for tests needs root" >&2
	exit 1
fi
missing=""
for program in slurmctld munged slurmdbd mariadbd; do
	command -v "$program" >/dev/null || missing=yes
done
if [ -n "$missing" ]; then
	command -v apt-get >/dev/null || { echo "error: no Slurm, and no apt-get to install it" >&2; exit 1; }
	echo "installing slurm-wlm munge slurmdbd mariadb-server"
	log=$(mktemp)
	(apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends slurm-wlm munge slurmdbd mariadb-server) \
		>"$log" 2>&1 || { tail -20 "$log" >&2; exit 1; }
	rm -f "$log"
fi
slurmctld -V
ORRERY_REQUIRE_SLURM=1 go test -count=1 -p 1 -run 'Slurm' ./sim/sweep ./cmd/orrery/internal/capture ./cmd/orrery/internal/studies ${1:+"$@"}
