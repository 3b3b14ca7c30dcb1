#!/usr/bin/env bash
# Ends what tools/slurm/up.sh DIR started, and what its nodes still run.
set -uo pipefail
dir=$(cd "$1" && pwd)
. "$dir/env"
scancel --state=PENDING,RUNNING,SUSPENDED 2>/dev/null
for _ in $(seq 20); do
	[ -n "$(squeue --noheader 2>/dev/null)" ] || break
	sleep 0.2
done
for file in "$dir"/slurmd-*.pid "$dir"/slurmctld.pid "$dir"/slurmdbd.pid "$dir"/mariadb.pid; do
	[ -e "$file" ] && kill "$(cat "$file")" 2>/dev/null
done
rm -f "$dir"/dev/gpu*
if [ -e "$dir/munged" ] && [ -e /run/munge/munged.pid ]; then
	kill "$(cat /run/munge/munged.pid)" 2>/dev/null
fi
for _ in $(seq 50); do
	left=0
	for file in "$dir"/slurmd-*.pid "$dir"/slurmctld.pid "$dir"/slurmdbd.pid "$dir"/mariadb.pid; do
		[ -e "$file" ] && left=1
	done
	[ "$left" = 0 ] && break
	sleep 0.1
done
exit 0
