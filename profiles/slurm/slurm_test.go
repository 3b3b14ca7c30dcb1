package slurm

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/profiles"
	"orrery/scheduler/model"
	"orrery/tools/refdata"
)

const smallConf = `
# a small site
ClusterName=little
SelectType=select/linear
PriorityType=priority/multifactor
PriorityWeightAge=1000
PriorityWeightFairshare = 5000
PriorityWeightPartition=50
PriorityWeightAssoc=20
PriorityWeightQOS=30
PriorityWeightTRES=GRES/gpu=300,Node=7
PriorityDecayHalfLife=14-0
PriorityMaxAge=3-12
PriorityFlags=NO_FAIR_TREE,CALCULATE_RUNNING
PriorityCalcPeriod=2
FairShareDampeningFactor=3
SchedulerParameters=bf_window=2880,bf_resolution=120,bf_max_job_user=9,bf_continue,defer
AccountingStorageEnforce=limits,qos
KillWait=45
Wibble=7
NodeName=DEFAULT Sockets=2 CoresPerSocket=8 \
    RealMemory=64000
NodeName=c[01-12] Feature=ib,old
NodeName=g[1-2] CPUs=40 Gres=gpu:2 Weight=9 State=DRAIN Feature="ib"
PartitionName=DEFAULT MaxTime=2-0 State=UP
PartitionName=batch Nodes=c[01-12] Default=YES MaxNodes=8
PartitionName=all Nodes=ALL MaxTime=INFINITE PriorityTier=4 PriorityJobFactor=10
`

const smallGres = `AutoDetect=off
Name=gpu Type=a100 File=/dev/nvidia[0-1]
`

const smallTopology = `SwitchName=s0 Nodes=c[01-06]
SwitchName=s1 Nodes=c[07-12],g[1-2]
SwitchName=top Switches=s[0-1] LinkSpeed=100
`

const smallAssoc = `Cluster|Account|User|Share|Priority|GrpJobs|GrpTRES|MaxJobs|QOS
little|root||1||||
little|root|root|1||||
little|physics||3|10|5|cpu=100,node=6,gres/gpu=12||normal
little|physics|ann|1||||3|normal
little|biology||1|||||normal
little|biology|ben|2||||normal
Name|Priority|GraceTime|Preempt|UsageFactor|GrpTRES|MaxWall|MaxJobsPU|MaxSubmitPU
normal|0|00:00:00||1.000000||||
urgent|100|00:00:30|normal|2.500000|node=4,gres/gpu=7|1-00:00:00|2|20
`

func src(name, text string) Source { return Source{name, strings.NewReader(text)} }

func small(t *testing.T) *Result {
	t.Helper()
	r, err := Convert(Input{
		Conf: src("slurm.conf", smallConf), Gres: src("gres.conf", smallGres),
		Topology: src("topology.conf", smallTopology), Accounts: []Source{src("assoc", smallAssoc)},
	})
	require.NoError(t, err)
	return r
}

func TestSmallSite(t *testing.T) {
	r := small(t)
	m := r.Profile.Multifactor
	require.Equal(t, int64(1000), m.Age)
	require.Equal(t, int64(5000), m.FairShare)
	require.Equal(t, profiles.TRES{Node: 7, GPU: 300}, m.TRES)
	require.Equal(t, 14*model.Day, m.HalfLife)
	require.Equal(t, 84*model.Hour, m.MaxAge)
	require.False(t, m.FairTree)
	require.Equal(t, int32(3), m.Dampening)
	require.Equal(t, 2*model.Minute, r.Profile.AccountingTick)
	require.Equal(t, "slurm", r.Profile.Backfill)
	want := profiles.Default().Slurm
	want.BFWindow, want.BFResolution, want.BFMaxJobUser, want.UsageAtEnds = 2*model.Day, 2*model.Minute, 9, true
	require.Equal(t, want, r.Profile.Slurm, "the rest is as in Slurm by default")

	c := r.Cluster
	require.Equal(t, "whole", c.Sharing, "select/linear")
	require.Equal(t, []profiles.Association{
		{Account: "physics", Shares: 3}, {Account: "biology", Shares: 1}, {User: "root", Shares: 1}, {User: "ann", Account: "physics", Shares: 1}, {User: "ben", Account: "biology", Shares: 2},
	}, c.Associations)
	require.Equal(t, 45*model.Second, c.Agents.KillGrace)
	require.Len(t, c.NodeTypes, 2)
	require.Equal(t, []int32{16, 40}, []int32{c.NodeTypes[0].CPUs, c.NodeTypes[1].CPUs})
	require.Equal(t, "a100", c.NodeTypes[1].GPU)
	require.Equal(t, profiles.Bytes(64000<<20), c.NodeTypes[0].Memory)
	require.Equal(t, []profiles.Group{
		{Name: "s0", Nodes: profiles.Nodes{"c[01-06]"}, Type: "type1", Fingerprint: "type1"},
		{Name: "s1", Nodes: profiles.Nodes{"c[07-12]"}, Type: "type1", Fingerprint: "type1"},
		{Name: "s1", Nodes: profiles.Nodes{"g[1-2]"}, Type: "type2", Fingerprint: "type2"},
	}, c.Groups)
	require.Equal(t, []profiles.Event{{Kind: "down", Subject: profiles.Nodes{"g[1-2]"}}}, c.Events)
	require.Equal(t, []profiles.Partition{
		{Name: "batch", Nodes: profiles.Nodes{"c[01-12]"}, Tier: 1, Priority: 1, MaxWall: 48 * model.Hour, MaxNodes: 8, Up: true},
		{Name: "all", Nodes: profiles.Nodes{"all"}, Tier: 4, Priority: 10, Up: true},
	}, c.Partitions)
	require.Equal(t, []profiles.Tenant{
		{Name: "physics", FairShare: 0.75, Priority: 10, MaxConcurrent: 5, MaxNodes: 6, MaxGPUs: 12},
		{Name: "biology", FairShare: 0.25},
	}, c.Tenants)
	require.Equal(t, []profiles.QOS{
		{Name: "normal", Class: -1, UsageFactor: 1},
		{Name: "urgent", Class: -1, UsageFactor: 2.5, Priority: 100, GroupNodes: 4, GroupGPUs: 7, MaxWall: model.Day, UserJobs: 2},
	}, c.QOS)
}

// TestNothingIsSilent: every option of the input has a note.
func TestNothingIsSilent(t *testing.T) {
	r := small(t)
	verdict := map[string]Verdict{}
	for _, n := range r.Notes {
		verdict[n.Key] = n.Verdict
		if n.Verdict != Understood {
			require.NotEmpty(t, n.Text, n.Key)
		}
	}
	for key, want := range map[string]Verdict{
		"Wibble": Ignored, "SchedulerParameters: bf_continue": Approximated, "SchedulerParameters: defer": Ignored,
		"SchedulerParameters: bf_window": Understood, "LinkSpeed": Ignored, "Weight": Approximated, "State": Understood,
		"AutoDetect": Ignored, "MaxJobs": Ignored, "ClusterName": Understood, "Default": Approximated, "PriorityCalcPeriod": Understood,
	} {
		require.Equal(t, want, verdict[key], key)
	}
	for _, l := range strings.Split(smallConf, "\n") {
		for _, word := range strings.Fields(l) {
			key, _, ok := strings.Cut(word, "=")
			if !ok || key == "" || strings.HasPrefix(l, "#") {
				continue
			}
			found := false
			for _, n := range r.Notes {
				found = found || strings.HasPrefix(n.Key, key)
			}
			require.True(t, found, key)
		}
	}
}

func TestRefused(t *testing.T) {
	for conf, want := range map[string]string{
		"Include nodes.conf":                           "slurm.conf:1: include nodes.conf: files that a file names are not read; put its lines in place of this one",
		"ClusterName=x":                                "slurm.conf: no NodeName gives a node: a cluster needs some",
		"NodeName=n[1-3":                               "slurm.conf:1: found the names \"n[1-3\": the [ has no ]",
		"NodeName=n[3-1]":                              "slurm.conf:1: found the names \"n[3-1]\": the range \"3-1\" runs backwards",
		"NodeName=n1\nNodeName=n1":                     "slurm.conf:2: node n1 is there a second time",
		"PriorityWeightAge=much":                       "slurm.conf:1: PriorityWeightAge=much: want a whole number from 0 to 4294967295",
		"NodeName=n1\nPartitionName=p MaxTime=1:2:3:4": "slurm.conf:2: found the time \"1:2:3:4\", want minutes, hours:minutes:seconds or days-hours:minutes:seconds",
		"NodeName=n1 Gres=gpu:a:99":                    "slurm.conf:1: Gres=gpu:a:99: want gpu:type:number, and at most 64 GPUs on a node",
	} {
		_, err := Convert(Input{Conf: src("slurm.conf", conf)})
		require.EqualError(t, err, want)
	}
	_, err := Convert(Input{Conf: src("slurm.conf", "NodeName=n1"), Accounts: []Source{src("t", "|root||||")}})
	require.EqualError(t, err, "t:1: found a row of a table without a header: print it without -n, as by sacctmgr -P show assoc")
}

func TestDump(t *testing.T) {
	const dump = `# To edit this file start with a cluster line
Cluster - 'little':Fairshare=1:QOS='normal'
Parent - 'root'
User - 'root':DefaultAccount='root':AdminLevel='Administrator':Fairshare=1
Account - 'science':Description='all':Organization='x':Fairshare=6
Account - 'guests':Description='all':Organization='x':Fairshare=2:GrpJobs=4
Parent - 'science'
Account - 'physics':Description='p':Organization='x':Fairshare=1
Account - 'biology':Description='b':Organization='x':Fairshare=2
Parent - 'physics'
User - 'ann':DefaultAccount='physics':Fairshare=1
Parent - 'guests'
User - 'gus':DefaultAccount='guests':Fairshare=parent
`
	r, err := Convert(Input{Conf: src("slurm.conf", "NodeName=n[1-4]\nAccountingStorageEnforce=safe"), Accounts: []Source{src("dump", dump)}})
	require.NoError(t, err)
	require.Equal(t, []profiles.Tenant{
		{Name: "guests", FairShare: 0.25, MaxConcurrent: 4},
		{Name: "physics", FairShare: 0.25}, {Name: "biology", FairShare: 0.5},
	}, r.Cluster.Tenants)
}

// TestIndented: in a table printed as a tree, accounts stand below the one that
// they are indented under.
func TestIndented(t *testing.T) {
	const table = `Account|User|Share
root||1
 root|root|1
 guests||1
  guests|gus|1
 science||3
  biology||2
   biology|ben|1
  physics||1
`
	for name, text := range map[string]string{"tree": table, "parents": `Account|ParentName|User|Share
root|||1
guests|root||1
guests||gus|1
science|root||3
biology|science||2
physics|science||1
biology||ben|1
`} {
		r, err := Convert(Input{Conf: src("slurm.conf", "NodeName=n[1-4]"), Accounts: []Source{src("assoc", text)}})
		require.NoError(t, err)
		require.Equal(t, []profiles.Tenant{{Name: "guests", FairShare: 0.25}, {Name: "biology", FairShare: 0.5}, {Name: "physics", FairShare: 0.25}}, r.Cluster.Tenants, name)
	}
}

func TestSpans(t *testing.T) {
	for text, want := range map[string]model.Duration{
		"90": 90 * model.Minute, "2:30": 150 * model.Second, "72:00:00": 72 * model.Hour, "7-0": 7 * model.Day,
		"1-12:30": 36*model.Hour + 30*model.Minute, "30-00:00:05": 30*model.Day + 5*model.Second,
	} {
		got, endless, err := span(text)
		require.NoError(t, err, text)
		require.False(t, endless)
		require.Equal(t, want, got, text)
	}
	require.Equal(t, "7-00:00:00", written(7*model.Day))
}

// TestParseBack: the lines of a profile are read as the same profile.
func TestParseBack(t *testing.T) {
	want := small(t).Profile
	text, left, err := Lines(&want)
	require.NoError(t, err)
	require.Empty(t, left)
	r, err := Convert(Input{Conf: src("slurm.conf", "ClusterName=little\nNodeName=n1 RealMemory=1000\n"+text)})
	require.NoError(t, err)
	require.Equal(t, string(want.JSON()), string(r.Profile.JSON()))

	other := profiles.Default()
	_, _, err = Lines(&other)
	require.ErrorContains(t, err, "Slurm has multifactor only")
	other.Order, other.Cycle = "multifactor", model.Minute
	_, left, err = Lines(&other)
	require.NoError(t, err)
	require.Equal(t, []string{"backfill: easy", "cycle"}, left)
}

// TestRealFiles reads the files of a site of 217 nodes.
func TestRealFiles(t *testing.T) {
	open := func(name string) Source {
		f, err := os.Open(refdata.Path(t, "traces/hardware/slurm_sim_tools-etc/medium_cluster__"+name))
		require.NoError(t, err)
		t.Cleanup(func() { f.Close() })
		return Source{name, f}
	}
	for _, script := range []string{"sacctmgr.script", "sacctmgr_priority100.script", "sacctmgr_priority200.script", "sacctmgr_nopriority.script"} {
		r, err := Convert(Input{Conf: open("slurm.conf"), Gres: open("gres.conf"), Topology: open("topology.conf"), Accounts: []Source{open(script)}})
		require.NoError(t, err, script)
		site, err := r.Cluster.Resolve()
		require.NoError(t, err)
		require.Len(t, site.Nodes, 217)
		require.Len(t, site.Groups, 3)
		require.Len(t, site.Partitions, 2)
		require.Equal(t, int32(215), site.Partitions[0].Nodes.Len())
		require.Equal(t, int64(120000), r.Profile.Multifactor.FairShare)
		require.Equal(t, "conservative", r.Profile.Backfill, "preempt/partition_prio")
		require.Equal(t, 3*model.Day, r.Profile.BFWindow)
		require.Empty(t, r.Cluster.Associations)
		require.NotEmpty(t, site.Tenants)
		require.NotEmpty(t, site.QOS)
		require.Zero(t, site.QOS[len(site.QOS)-1].UserPending, "it would not be enforced")
	}
	for _, name := range []string{"slurmdbd.conf", "sim.conf"} {
		_, err := scan(open(name))
		require.NoError(t, err, name)
	}
}

func FuzzConf(f *testing.F) {
	f.Add(smallConf)
	f.Fuzz(func(t *testing.T, text string) { fuzz(t, Input{Conf: src("slurm.conf", text)}) })
}

func FuzzGres(f *testing.F) {
	f.Add(smallGres)
	f.Fuzz(func(t *testing.T, text string) {
		fuzz(t, Input{Conf: src("slurm.conf", "NodeName=g[1-3] Gres=gpu:2"), Gres: src("gres.conf", text)})
	})
}

func FuzzTopology(f *testing.F) {
	f.Add(smallTopology)
	f.Fuzz(func(t *testing.T, text string) {
		fuzz(t, Input{Conf: src("slurm.conf", "NodeName=c[01-12],g[1-2]"), Topology: src("topology.conf", text)})
	})
}

func FuzzAccounts(f *testing.F) {
	f.Add(smallAssoc)
	f.Add("add account name=a Fairshare=3\nadd user name=u Account=a\nadd qos name=q Priority=3 Preempt=q")
	f.Add("Parent - 'root'\nAccount - 'a':Fairshare=2\nUser - 'x':Fairshare=parent")
	f.Fuzz(func(t *testing.T, text string) {
		fuzz(t, Input{Conf: src("slurm.conf", "NodeName=c1\nAccountingStorageEnforce=all\nPreemptType=preempt/qos"), Accounts: []Source{src("sacctmgr", text)}})
	})
}

// fuzz: whatever is read is refused, or makes a site that resolves.
func fuzz(t *testing.T, in Input) {
	r, err := Convert(in)
	if err != nil {
		return
	}
	_, err = r.Cluster.Resolve()
	require.NoError(t, err)
}
