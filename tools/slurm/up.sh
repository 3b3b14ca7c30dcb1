#!/usr/bin/env bash
# Starts a Slurm of several nodes on this machine, for tests: all daemons are
# here, and each node believes that it has eight processors.
#
#   bash tools/slurm/up.sh DIR [NODES [SITE]]   4 nodes by default
#   . DIR/env                                   for sbatch, squeue and the rest
#   bash tools/slurm/down.sh DIR
#
# SITE is a file with lines of slurm.conf in the place of those below that say how
# jobs are scheduled; with it there are accounting (slurmdbd and MariaDB) and two
# GPUs on each node, which are device files that do nothing.
#
# Needs root and Debian's packages slurm-wlm and munge, with SITE slurmdbd and
# mariadb-server too; no systemd, no cgroups. DIR takes the configuration, the state,
# the database and the logs. Ports from ORRERY_SLURM_PORT (26817) on are used.
set -euo pipefail
dir=$(mkdir -p "$1" && cd "$1" && pwd)
nodes=${2:-4}
site=${3:-}
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
CONF
gres=""
if [ -n "$site" ]; then
	cat "$site" >>"$dir/slurm.conf"
	cat >>"$dir/slurm.conf" <<CONF
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=127.0.0.1
AccountingStoragePort=$((port + 100))
AccountingStorageTRES=gres/gpu
GresTypes=gpu
CONF
	gres="Gres=gpu:small:2"
	mkdir -p "$dir/dev"
	for i in 0 1; do mknod "$dir/dev/gpu$i" c 1 3; done # the numbers of /dev/null
	printf 'AutoDetect=off\nNodeName=n[1-%d] Name=gpu Type=small File=%s/dev/gpu[0-1]\n' "$nodes" "$dir" >"$dir/gres.conf"
else
	cat >>"$dir/slurm.conf" <<CONF
AccountingStorageType=accounting_storage/none
SchedulerType=sched/backfill
SchedulerParameters=bf_interval=1,sched_interval=1,batch_sched_delay=0
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
DefMemPerCPU=100
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP
CONF
fi
cat >>"$dir/slurm.conf" <<CONF
NodeName=n[1-$nodes] NodeHostname=$host NodeAddr=127.0.0.1 Port=[$((port + 1))-$((port + nodes))] CPUs=8 RealMemory=8000 $gres State=UNKNOWN
CONF
echo "export SLURM_CONF=$dir/slurm.conf" >"$dir/env"
. "$dir/env"

if [ -n "$site" ]; then
	mkdir -p "$dir/mysql"
	mariadb-install-db --no-defaults --user=root --datadir="$dir/mysql" --auth-root-authentication-method=normal --skip-test-db >"$dir/log/mariadb.log" 2>&1
	setsid mariadbd --no-defaults --user=root --datadir="$dir/mysql" --socket="$dir/mysql.sock" --bind-address=127.0.0.1 --port=$((port + 101)) \
		--pid-file="$dir/mariadb.pid" --innodb-buffer-pool-size=64M --innodb-lock-wait-timeout=900 --innodb-flush-log-at-trx-commit=0 >>"$dir/log/mariadb.log" 2>&1 &
	for _ in $(seq 100); do
		mariadb-admin --no-defaults --socket="$dir/mysql.sock" ping >/dev/null 2>&1 && break
		sleep 0.1
	done
	mariadb --no-defaults --socket="$dir/mysql.sock" --execute="create database slurm_acct_db; create user 'slurm'@'%' identified by 'slurm'; grant all on slurm_acct_db.* to 'slurm'@'%'"
	cat >"$dir/slurmdbd.conf" <<CONF
AuthType=auth/munge
DbdHost=$host
DbdAddr=127.0.0.1
DbdPort=$((port + 100))
SlurmUser=root
PidFile=$dir/slurmdbd.pid
LogFile=$dir/log/slurmdbd.log
StorageType=accounting_storage/mysql
StorageHost=127.0.0.1
StoragePort=$((port + 101))
StorageUser=slurm
StoragePass=slurm
StorageLoc=slurm_acct_db
CONF
	chmod 600 "$dir/slurmdbd.conf"
	slurmdbd
	for _ in $(seq 100); do
		sacctmgr --noheader show cluster >/dev/null 2>&1 && break
		sleep 0.1
	done
	sacctmgr --immediate --quiet add cluster orrerytest >/dev/null
fi

slurmctld -c -f "$SLURM_CONF"
for i in $(seq "$nodes"); do
	slurmd -N "n$i" -f "$SLURM_CONF"
done
for _ in $(seq 100); do
	idle=$(sinfo --noheader --Node --format="%N %t" 2>/dev/null | sort -u | grep -c idle || true)
	if [ "$idle" = "$nodes" ]; then
		exit 0
	fi
	sleep 0.2
done
echo "error: $idle of $nodes nodes are idle after 20 s; see $dir/log" >&2
tail -n 5 "$dir"/log/*.log >&2
exit 1
