package slurm

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/profiles"
	"orrery/scheduler/model"
)

// shared is a slurm.conf whose nodes are divided, as by default.
const shared = "ClusterName=s\nPriorityType=priority/multifactor\nPriorityWeightFairshare=100\nPriorityWeightAge=1\nNodeName=n[1-4] CPUs=8 RealMemory=16000\nPartitionName=p Nodes=ALL\n"

func schedulersOf(t *testing.T, conf string) *Result {
	t.Helper()
	r, err := converted(t, conf, "", "", false)
	require.NoError(t, err)
	require.Equal(t, "slurm", r.Profile.Backfill)
	return r
}

// TestTermsOfTheSchedulers: each option of SchedulerParameters has its meaning in the key of its name, and to-slurm writes it back.
func TestTermsOfTheSchedulers(t *testing.T) {
	const all = "sched_interval=7,batch_sched_delay=0,default_queue_depth=11,partition_job_depth=3,sched_max_job_start=4,defer,assoc_limit_stop,bf_interval=5,bf_resolution=1," +
		"bf_window=60,bf_window_linear=9,bf_max_job_test=20,bf_max_job_user=6,bf_max_job_part=8,bf_max_job_assoc=2,bf_max_job_start=12,bf_min_age_reserve=30,bf_min_prio_reserve=1000,bf_job_part_count_reserve=1"
	require.Len(t, strings.Split(all, ","), len(schedulerTerms), "all terms are in the test")
	r := schedulersOf(t, shared+"Epilog=/etc/epilog\nAccountingStorageEnforce=safe\nSelectTypeParameters=CR_Core\nSchedulerParameters="+all+"\n")
	want := profiles.Slurm{
		SchedInterval: 7 * model.Second, DefaultQueueDepth: 11, PartitionJobDepth: 3, SchedMaxJobStart: 4, Defer: true, Epilog: true, AssocLimitStop: true,
		BFInterval: 5 * model.Second, BFResolution: model.Second, BFWindow: model.Hour, BFWindowScale: 9 * model.Second, BFMaxJobTest: 20, BFMaxJobUser: 6, BFMaxJobPart: 8, BFMaxJobAssoc: 2,
		BFMaxJobStart: 12, BFMinAgeReserve: 30 * model.Second, BFMinPrioReserve: 1000, BFPartCountReserve: 1, UsageAtEnds: true,
		Loop: profiles.Default().Slurm.Loop, RequeueDelay: profiles.Default().Slurm.RequeueDelay,
	}
	require.Equal(t, want, r.Profile.Slurm)
	require.Equal(t, "resources", r.Cluster.Sharing)

	text, left, err := Lines(&r.Profile)
	require.NoError(t, err)
	require.Equal(t, []string{"slurm.epilog (Epilog names a program)"}, left)
	again := schedulersOf(t, "ClusterName=s\nEpilog=/etc/epilog\nNodeName=n1 RealMemory=1000\n"+text)
	require.Equal(t, string(r.Profile.JSON()), string(again.Profile.JSON()))
}

// TestDefaultsAreLeftOut: what is as Slurm has it without a word is not in the file.
func TestDefaultsAreLeftOut(t *testing.T) {
	plain := schedulersOf(t, shared)
	require.NotContains(t, string(plain.Cluster.BriefYAML()), "slurm:\n", "the block is empty")
	for _, line := range []string{
		"SchedulerParameters=bf_interval=30,bf_window=1440,bf_resolution=60,sched_interval=60,batch_sched_delay=3,default_queue_depth=100,bf_max_job_test=500,bf_max_job_user=0",
		"SchedulerParameters=defer", "SelectType=select/cons_tres", "SelectTypeParameters=CR_Core_Memory", "SchedulerParameters=bf_yield_interval=100000",
	} {
		require.Equal(t, string(plain.Cluster.JSON()), string(schedulersOf(t, shared+line+"\n").Cluster.JSON()), line)
	}
}

// TestWithoutBackfill: the main scheduler alone decides, and what says how to backfill is left out.
func TestWithoutBackfill(t *testing.T) {
	for _, lines := range []string{"SchedulerType=sched/builtin\nSchedulerParameters=bf_window=60,bf_min_age_reserve=9,default_queue_depth=5", "SchedulerParameters=bf_interval=-1,bf_window=60,bf_min_age_reserve=9,default_queue_depth=5"} {
		want := profiles.Default().Slurm
		want.BFInterval, want.BFMinAgeReserve, want.DefaultQueueDepth = 0, 9*model.Second, 5
		r := schedulersOf(t, shared+lines+"\n")
		require.Equal(t, want, r.Profile.Slurm, lines)
		text, left, err := Lines(&r.Profile)
		require.NoError(t, err)
		require.Empty(t, left)
		require.Contains(t, text, "bf_interval=-1")
	}
}

// TestWhatNodesAreDividedBy: SelectTypeParameters says whether memory counts.
func TestWhatNodesAreDividedBy(t *testing.T) {
	for line, want := range map[string]bool{
		"SelectTypeParameters=CR_Core": false, "SelectTypeParameters=CR_CPU_Memory": true, "": true, "SelectTypeParameters=CR_Socket,CR_Pack_Nodes": false,
		"SelectType=select/cons_res\nSelectTypeParameters=CR_Core_Memory,CR_LLN": true,
	} {
		r := schedulersOf(t, shared+line+"\n")
		require.Equal(t, want, r.Profile.Slurm.ConsumableMemory, line)
		require.Equal(t, "resources", r.Cluster.Sharing)
	}
	r := schedulersOf(t, strings.Replace(shared, " RealMemory=16000", "", 1))
	require.False(t, r.Profile.Slurm.ConsumableMemory, "no node has any")
	r = schedulersOf(t, shared+"SelectType=select/linear\nSelectTypeParameters=CR_Memory\n")
	require.Equal(t, "whole", r.Cluster.Sharing)
}

// TestBasicPriority: without multifactor there are no associations, and no option that counts with it alone.
func TestBasicPriority(t *testing.T) {
	const conf = "ClusterName=b\nPriorityType=priority/basic\nAccountingStorageEnforce=limits\nSchedulerParameters=bf_min_prio_reserve=7\nNodeName=n1 CPUs=4 RealMemory=100\n"
	r, err := converted(t, conf, "", "add account name=a Fairshare=3\nadd user name=u account=a\n", false)
	require.NoError(t, err)
	require.Equal(t, "fcfs", r.Profile.Order)
	require.Empty(t, r.Cluster.Associations)
	require.Equal(t, profiles.Default().Slurm, r.Profile.Slurm)
}

// TestAssociations: every account and user of the database stands in the file, by whatever sacctmgr printed it.
func TestAssociations(t *testing.T) {
	want := []profiles.Association{
		{Account: "science", Shares: 6}, {Account: "physics", Parent: "science", Shares: 2}, {Account: "guests", Shares: 1},
		{User: "root", Shares: 1}, {Account: "physics", User: "ann", Shares: 5}, {Account: "guests", User: "gus", Shares: 1}, {Account: "guests", User: "ann", Shares: 3},
	}
	for name, text := range map[string]string{
		"table": "Account|User|Partition|Share\nroot|||1\n root|root||1\n science|||6\n  physics|||2\n   physics|ann||5\n   physics|ann|long|7\n guests|||1\n  guests|gus||parent\n  guests|ann||3\n",
		"dump": "Cluster - 's':Fairshare=1\nParent - 'root'\nUser - 'root':DefaultAccount='root':Fairshare=1\nAccount - 'science':Fairshare=6\nParent - 'science'\nAccount - 'physics':Fairshare=2\n" +
			"Parent - 'root'\nAccount - 'guests':Fairshare=1\nParent - 'physics'\nUser - 'ann':Fairshare=5\nParent - 'guests'\nUser - 'gus':Fairshare=parent\nUser - 'ann':Fairshare=3\n",
		"commands": "add user name=root account=root\nadd account name=science Fairshare=6\nadd account name=physics parent=science Fairshare=2\nadd account name=guests\n" +
			"add user name=ann account=physics Fairshare=5\nadd user name=gus account=guests fairshare=parent\nadd user name=ann account=guests Fairshare=3\n",
	} {
		r, err := converted(t, shared, "", text, false)
		require.NoError(t, err, name)
		got := slices.DeleteFunc(r.Cluster.Associations, func(a profiles.Association) bool { return a.Account == "root" && a.User == "" })
		require.Equal(t, want, got, name)
	}
}

// TestPreemptionIsOfTheOtherCore: the core of Slurm knows none, so that another backfilling stands for it, and a note says so.
func TestPreemptionIsOfTheOtherCore(t *testing.T) {
	for _, kind := range []string{"preempt/qos", "preempt/partition_prio"} {
		r, err := converted(t, shared+"SchedulerParameters=bf_window=60,default_queue_depth=5\nPreemptType="+kind+"\n", "", smallAssoc, false)
		require.NoError(t, err)
		require.Equal(t, "conservative", r.Profile.Backfill, kind)
		require.Equal(t, []model.Duration{model.Hour, model.Minute, 30 * model.Second}, []model.Duration{r.Profile.BFWindow, r.Profile.BFResolution, r.Profile.BFInterval}, kind)
		require.Equal(t, profiles.Default().Slurm, r.Profile.Slurm, kind)
		require.Empty(t, r.Cluster.Associations, kind)
		require.Equal(t, "whole", r.Cluster.Sharing, kind)
		require.True(t, slices.ContainsFunc(Decisive(r.Notes, 10), func(n Note) bool { return n.Key == "SchedulerType" && n.Verdict == Approximated }), kind)
	}
}

// TestDecisive: what changes a replay most stands first, and paths, daemons and what others make idle are not among it.
func TestDecisive(t *testing.T) {
	conf := shared + "SlurmctldPort=1\nMailProg=/bin/mail\nStateSaveLocation=/var\nWibble=3\nLicenses=x:3\nPriorityFlags=MAX_TRES\nSchedulerParameters=bf_continue,bf_made_up=1\nFairShareDampeningFactor=3\n"
	r := schedulersOf(t, conf)
	var keys []string
	for _, n := range Decisive(r.Notes, 100) {
		keys = append(keys, n.Key)
	}
	require.Equal(t, []string{ofScheduler + "bf_continue", "Licenses", "PriorityFlags", ofScheduler + "bf_made_up", "Wibble"}, keys)
	require.Len(t, Decisive(r.Notes, 2), 2)
}

// TestTermsAreRefused: a number beyond what an option can be is no number of something else.
func TestTermsAreRefused(t *testing.T) {
	for _, name := range slices.Sorted(maps.Keys(schedulerTerms)) {
		if schedulerTerms[name].flag != nil {
			continue
		}
		_, err := converted(t, fmt.Sprintf("SchedulerParameters=%s=much\n%s", name, shared), "", "", false)
		require.ErrorContains(t, err, "slurm.conf:1: SchedulerParameters: "+name+"=much: want a whole number from", name)
	}
}
