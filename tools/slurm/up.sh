#!/usr/bin/env bash
# Starts a Slurm of several nodes on this machine, for tests: all daemons are
# here, and each node believes that it has eight processors.
#
#   bash tools/slurm/up.sh DIR [NODES]      4 nodes by default
#   . DIR/env                               for sbatch, squeue and the rest
#   bash tools/slurm/down.sh DIR
#
# Needs root and Debian's packages slurm-wlm and munge; no systemd, no cgroups,
# no database. DIR takes the configuration, the state and the logs. Ports from
# ORRERY_SLURM_PORT (26817) on are used.
set -euo pipefail
dir=$(mkdir -p "$1" && cd "$1" && pwd)
nodes=${2:-4}
port=${ORRERY_SLURM_PORT:-26817}
host=$(hostname -s)
mkdir -p "$dir/state" "$dir/log"

# munged lets the daemons trust each other; one serves all of a machine.
install -d -o munge -g munge -m 0755 /run/munge
if ! munge -n >/dev/null 2>&1; then
	runuser -u munge -- /usr/sbin/munged --key-file=/etc/munge/munge.key
	touch "$dir/munged" # down.sh ends it
fi

cat >"$dir/slurm.conf" <<CONF
ClusterName=orrerytest
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=$port
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
MpiDefault=none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SwitchType=switch/none
ReturnToService=2
StateSaveLocation=$dir/state
SlurmdSpoolDir=$dir/spool-%n
SlurmctldPidFile=$dir/slurmctld.pid
SlurmdPidFile=$dir/slurmd-%n.pid
SlurmctldLogFile=$dir/log/slurmctld.log
SlurmdLogFile=$dir/log/slurmd-%n.log
SlurmdParameters=config_overrides
SlurmctldTimeout=15
SlurmdTimeout=10
KillWait=5
SchedulerType=sched/backfill
SchedulerParameters=bf_interval=1,sched_interval=1,batch_sched_delay=0
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
DefMemPerCPU=100
NodeName=n[1-$nodes] NodeHostname=$host NodeAddr=127.0.0.1 Port=[$((port + 1))-$((port + nodes))] CPUs=8 RealMemory=8000 State=UNKNOWN
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP
CONF
echo "export SLURM_CONF=$dir/slurm.conf" >"$dir/env"
. "$dir/env"

slurmctld -c -f "$SLURM_CONF"
for i in $(seq "$nodes"); do
	slurmd -N "n$i" -f "$SLURM_CONF"
done
for _ in $(seq 100); do
	idle=$(sinfo --noheader --Node --format=%t 2>/dev/null | grep -c idle || true)
	if [ "$idle" = "$nodes" ]; then
		exit 0
	fi
	sleep 0.2
done
echo "error: $idle of $nodes nodes are idle after 20 s; see $dir/log" >&2
tail -n 5 "$dir"/log/*.log >&2
exit 1
