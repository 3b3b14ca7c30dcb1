package capture_test

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/stat"

	"orrery/cmd/orrery/internal/clitest"
	"orrery/profiles"
	"orrery/traces"
)

// wholeNodeSite gives whole nodes by multifactor priority, with backfilling; jobs of the partition short come first.
const wholeNodeSite = `SchedulerType=sched/backfill
SchedulerParameters=bf_interval=1,sched_interval=1,batch_sched_delay=0,sched_min_interval=0,bf_resolution=1,bf_continue,bf_max_job_test=1000
SelectType=select/linear
PriorityType=priority/multifactor
PriorityCalcPeriod=1
PriorityDecayHalfLife=0-1
PriorityMaxAge=0-1
PriorityWeightAge=1000
PriorityWeightFairshare=1000
PriorityWeightJobSize=3000
PriorityWeightPartition=2000
PartitionName=main Nodes=ALL Default=YES MaxTime=60 State=UP PriorityJobFactor=1
PartitionName=short Nodes=ALL MaxTime=2 State=UP PriorityJobFactor=10
`

// TestRealSlurmRoundTrip submits jobs of several sizes, users, accounts and partitions to a real Slurm, imports what sacct
// says of them, replays them on the cluster file that from-slurm makes of the same slurm.conf, and prints how near the
// starts come. docs/SLURM.md says how near recorded runs come.
func TestRealSlurmRoundTrip(t *testing.T) {
	const nodes = 8
	jobs := 100
	if os.Getenv("ORRERY_LONG") != "" {
		jobs = 500
	}
	dir := accountedSlurm(t, wholeNodeSite, nodes)
	for _, user := range []string{"daemon", "games", "nobody"} {
		for _, account := range []string{"physics", "chemistry"} {
			ofSlurm(t, "sacctmgr", "--immediate", "--quiet", "add", "user", user, "account="+account)
		}
	}
	listedBySlurm(t, nodes)
	began := time.Now()
	submitMix(t, jobs, nodes)
	for deadline := time.Now().Add(15 * time.Minute); len(pendingOrRunning(t)) > 0; time.Sleep(300 * time.Millisecond) {
		require.True(t, time.Now().Before(deadline), "the jobs do not end")
	}
	took := time.Since(began)
	time.Sleep(2 * time.Second) // the database lags by about a second

	work := t.TempDir()
	t.Chdir(work)
	t.Setenv("XDG_CACHE_HOME", filepath.Join(work, "cache"))
	log := ofSlurm(t, "sacct", "-X", "-a", "-P", "-S", "now-1day", "-E", "now+1minute", "-s", everyEnd,
		"--format=JobID,JobIDRaw,Partition,Account,User,Submit,Eligible,Start,End,State,ExitCode,ElapsedRaw,TimelimitRaw,NNodes,NCPUS,ReqCPUS,NodeList,Priority,JobName")
	require.NoError(t, os.WriteFile("sacct.txt", []byte(log+"\n"), 0o600))
	require.NoError(t, os.WriteFile("assoc.txt", []byte(ofSlurm(t, "sacctmgr", "-P", "show", "assoc", "tree")+"\n"), 0o600))
	for _, args := range [][]string{{"import", "sacct.txt", "--out", "log.trace"},
		{"profiles", "from-slurm", "--conf", filepath.Join(dir, "slurm.conf"), "--sacctmgr", "assoc.txt", "--out", "site.yaml"}} {
		got := clitest.Run(t, args...)
		require.Zero(t, got.Code, "%v: %s", args, got.Stderr)
	}
	t.Logf("%d jobs in %.0f s", jobs, took.Seconds())
	correlation, relative := replayedAs(t, "site.yaml")
	require.Greater(t, correlation, 0.75, "the order of starts")
	require.Less(t, math.Abs(relative), 0.5, "the mean wait")
}

// listedBySlurm makes a cluster file of each list of its nodes that this Slurm prints, and finds the same nodes in all.
func listedBySlurm(t *testing.T, nodes int) {
	t.Helper()
	t.Chdir(t.TempDir())
	var before string
	for _, program := range [][]string{{"sinfo", "-N", "-o", "%N|%c|%m|%G|%f|%P|%t"}, {"sinfo", "-N", "-O", "NodeList,CPUs,Memory,Gres:40,Features,Partition,StateLong"},
		{"scontrol", "show", "node"}, {"scontrol", "show", "node", "-o"}, {"sinfo", "--json"}} {
		what := strings.Join(program, " ")
		require.NoError(t, os.WriteFile("x", []byte(ofSlurm(t, program[0], program[1:]...)+"\n"), 0o600))
		got := clitest.Run(t, "cluster", "import", "x", "--name", "site", "--quiet")
		require.Zero(t, got.Code, "%s: %s", what, got.Stderr)
		require.NotContains(t, got.Stdout, "untested on real rows", what)
		c, err := profiles.ParseCluster(what, []byte(got.Stdout))
		require.NoError(t, err, what)
		site, err := c.Resolve()
		require.NoError(t, err, what)
		require.Len(t, site.Nodes, nodes, what)
		require.Equal(t, []int32{8, 2}, []int32{site.Nodes[0].CPUs, site.Nodes[0].GPUs}, what)
		require.Len(t, c.Partitions, 2, what)
		if before == "" {
			before = string(c.BriefYAML())
		}
		require.Equal(t, before, string(c.BriefYAML()), what)
	}
}

// replayedAs replays the log on a cluster file, and answers the rank correlation of starts and the relative error of the
// mean wait.
func replayedAs(t *testing.T, cluster string) (correlation, relative float64) {
	t.Helper()
	got := clitest.Run(t, "replay", "log.trace", "--cluster", cluster, "--out", "run", "--overrun", "extend", "--force")
	require.Zero(t, got.Code, got.Stderr)
	recorded, replayed := startsOf(t)
	column := func(list [][2]float64, k int) (out []float64) {
		for i := range list {
			out = append(out, list[i][k])
		}
		return out
	}
	was, is := stat.Mean(column(recorded, 0), nil), stat.Mean(column(replayed, 0), nil)
	correlation = stat.Correlation(ranks(column(recorded, 1)), ranks(column(replayed, 1)), nil)
	relative = is/was - 1
	t.Logf("mean wait %.1f s recorded, %.1f s replayed (%+.1f %%); rank correlation of starts %.3f", was, is, 100*relative, correlation)
	return correlation, relative
}

// submitMix submits jobs of 1 to 8 nodes that take one or two seconds.
func submitMix(t *testing.T, jobs, nodes int) {
	t.Helper()
	draw := rand.New(rand.NewPCG(19, 1))
	users, accounts := []string{"root", "daemon", "games", "nobody"}, []string{"physics", "chemistry"}
	for i := range jobs {
		size := []int{1, 1, 1, 1, 1, 2, 2, 3, nodes / 2, nodes}[draw.IntN(10)]
		seconds := 1 + draw.IntN(2)
		partition, limit := "main", 1+draw.IntN(5)
		if draw.IntN(4) == 0 {
			partition, limit = "short", 1
		}
		submitted(t, "-J", fmt.Sprint("j", i), "--uid="+users[draw.IntN(len(users))], "-A", accounts[draw.IntN(2)], "-p", partition, "-N", strconv.Itoa(size),
			"-t", strconv.Itoa(limit), "--wrap", "sleep "+strconv.Itoa(seconds))
	}
}

// startsOf are the waits and the starts of each job in seconds, as recorded and as replayed, in the order of their ids.
func startsOf(t *testing.T) (recorded, replayed [][2]float64) {
	t.Helper()
	b, err := traces.Open("log.trace")
	require.NoError(t, err)
	defer b.Close()
	type start struct {
		id   int64
		wait float64
		at   float64
	}
	var was []start
	for j, err := range b.Rows() {
		require.NoError(t, err)
		require.True(t, j.Start.OK && j.ExitState == "COMPLETED", "job %d: %s", j.ID, j.ExitState)
		was = append(was, start{j.ID, float64(j.Start.V-j.Submit) / 1e6, float64(j.Start.V) / 1e6})
	}
	epoch := float64(b.Meta().Epoch) / 1e6
	table := clitest.Run(t, "export", "run", "-o", "csv")
	require.Zero(t, table.Code, table.Stderr)
	lines := strings.Split(strings.TrimSpace(table.Stdout), "\n")
	header := strings.Split(lines[0], ",")
	at := func(f []string, name string) string { return f[slices.Index(header, name)] }
	var is []start
	for _, line := range lines[1:] {
		f := strings.Split(line, ",")
		id, err := strconv.ParseInt(at(f, "id"), 10, 64)
		require.NoError(t, err)
		wait, err := strconv.ParseFloat(at(f, "wait"), 64)
		require.NoError(t, err, line)
		submit, err := time.Parse(time.RFC3339Nano, at(f, "submit"))
		require.NoError(t, err, line)
		is = append(is, start{id, wait / 1e6, float64(submit.UnixMicro())/1e6 - epoch + wait/1e6})
	}
	for _, list := range [][]start{was, is} {
		slices.SortFunc(list, func(a, b start) int { return cmp.Compare(a.id, b.id) })
	}
	require.Equal(t, len(was), len(is))
	for i := range was {
		require.Equal(t, was[i].id, is[i].id)
		recorded, replayed = append(recorded, [2]float64{was[i].wait, was[i].at}), append(replayed, [2]float64{is[i].wait, is[i].at})
	}
	return recorded, replayed
}

// ranks of values; equal ones share the mean of theirs.
func ranks(values []float64) []float64 {
	order := make([]int, len(values))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(values[a], values[b]) })
	out := make([]float64, len(values))
	for i := 0; i < len(order); {
		j := i
		for j < len(order) && values[order[j]] == values[order[i]] {
			j++
		}
		for k := i; k < j; k++ {
			out[order[k]] = float64(i+j-1) / 2
		}
		i = j
	}
	return out
}
