package slurm

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/profiles"
)

// variants are files of Slurm in which options count or do not, because of others.
var variants = []struct {
	name, conf, gres, accounts string
	share                      bool
}{
	{name: "multifactor", conf: smallConf, gres: smallGres, accounts: smallAssoc},
	{name: "basic priority", conf: strings.Replace(smallConf, "priority/multifactor", "priority/basic", 1), accounts: smallAssoc},
	{name: "fair tree", conf: strings.Replace(smallConf, "NO_FAIR_TREE,", "", 1), accounts: smallAssoc},
	{name: "no backfilling", conf: smallConf + "SchedulerType=sched/builtin\n"},
	{name: "no backfilling by its interval", conf: strings.Replace(smallConf, "bf_window=2880", "bf_window=2880,bf_interval=-1", 1)},
	{name: "shared GPUs", conf: smallConf, share: true},
	{name: "limits not enforced", conf: strings.Replace(smallConf, "limits,qos", "associations", 1), accounts: smallAssoc},
	{name: "preemption", conf: smallConf + "PreemptType=preempt/qos\nPreemptMode=REQUEUE\n", accounts: smallAssoc},
	{name: "no weights", conf: "ClusterName=w\nPriorityType=priority/multifactor\nPriorityWeightAge=10\nNodeName=n[1-4] CPUs=8\n" +
		"PartitionName=p Nodes=n[1-2] PriorityJobFactor=7\nPartitionName=q Nodes=ALL PriorityJobFactor=2\n", accounts: smallAssoc},
	{name: "processors twice", conf: "ClusterName=c\nNodeName=a[1-2] CPUs=32 Sockets=2 CoresPerSocket=16 ThreadsPerCore=2 RealMemory=1000\nNodeName=b1 Sockets=2 CoresPerSocket=16\n"},
	{name: "future nodes", conf: "ClusterName=f\nNodeName=a[1-2] CPUs=4\nNodeName=z[1-9] CPUs=64 State=FUTURE Feature=new\nNodeSet=old Nodes=a1\nPartitionName=p Nodes=ALL\n"},
	{name: "a set of nodes", conf: "ClusterName=s\nNodeName=a[1-2] CPUs=4 Feature=x\nNodeSet=some Feature=x\nPartitionName=p Nodes=some\n"},
	{name: "types of GPUs", conf: "ClusterName=g\nGresTypes=gpu\nNodeName=a[1-2] Gres=gpu:a100:4\nNodeName=b1 Gres=gpu:2\n",
		gres: "NodeName=a[1-2] Name=gpu Type=a100 File=/dev/nvidia[0-3]\nNodeName=b1 Name=gpu Type=v100 Count=2\n"},
	{name: "more than there is", conf: "ClusterName=m\nNodeName=a[1-2] CPUs=4\nAccountingStorageEnforce=limits\n",
		accounts: "add account name=a GrpTRES=node=500 Fairshare=1\nadd user name=u account=a\nadd qos name=q Preempt=nothere MaxWall=60\n"},
	{name: "resolution beyond the window", conf: "ClusterName=r\nNodeName=a1\nSchedulerParameters=bf_window=1,bf_resolution=600\n"},
}

func converted(t *testing.T, conf, gres, accounts string, share bool) (*Result, error) {
	t.Helper()
	in := Input{Conf: src("slurm.conf", conf), ShareGPUs: share}
	if gres != "" {
		in.Gres = src("gres.conf", gres)
	}
	if accounts != "" {
		in.Accounts = []Source{src("accounts", accounts)}
	}
	return Convert(in)
}

// TestOutputPassesLint: nothing is wrong with what is made, and no key in it is without
// effect, but for the weights of a slurm.conf that act on nothing there: these are told.
func TestOutputPassesLint(t *testing.T) {
	for _, v := range variants {
		r, err := converted(t, v.conf, v.gres, v.accounts, v.share)
		require.NoError(t, err, v.name)
		path := filepath.Join(t.TempDir(), "site.yaml")
		require.NoError(t, os.WriteFile(path, r.Cluster.BriefYAML(), 0o600))
		kind, remarks, err := profiles.Lint(path)
		require.NoError(t, err, v.name)
		require.Equal(t, profiles.KindCluster, kind, v.name)
		site, err := r.Cluster.Resolve()
		require.NoError(t, err, v.name)
		var texts []string
		for _, p := range remarks {
			texts = append(texts, p.Text)
		}
		if idle := r.Cluster.IdleWeights(0, site); idle != "" {
			require.Equal(t, []string{idle}, texts, v.name)
		} else {
			require.Empty(t, texts, v.name)
		}
		full, err := profiles.ParseCluster("full", r.Cluster.YAML())
		require.NoError(t, err)
		brief, err := profiles.LoadCluster(path)
		require.NoError(t, err)
		require.Equal(t, string(full.JSON()), string(brief.JSON()), "%s: leaving out defaults changes nothing", v.name)
	}
}

// switches say how others are read, or state what is so anyway: without them the result
// may be the same.
var switches = []string{
	"PriorityType", "SchedulerType", "SelectType", "AccountingStorageEnforce", "PriorityFlags", "PreemptType", "PreemptMode", "State", "PartitionName", "NodeName",
}

// TestUnderstoodIsInTheOutput: without an option that was understood the result is
// another one.
func TestUnderstoodIsInTheOutput(t *testing.T) {
	for _, v := range variants {
		r, err := converted(t, v.conf, v.gres, v.accounts, v.share)
		require.NoError(t, err, v.name)
		for _, n := range r.Notes {
			if n.Verdict != Understood || n.Count > 1 || n.File == "accounts" || slices.Contains(switches, n.Key) {
				continue
			}
			conf, gres := v.conf, v.gres
			if n.File == "gres.conf" {
				gres = without(gres, n)
			} else {
				conf = without(conf, n)
			}
			less, err := converted(t, conf, gres, v.accounts, v.share)
			if err != nil {
				continue // it cannot even be read without
			}
			require.NotEqual(t, string(r.Cluster.JSON()), string(less.Cluster.JSON()), "%s: %s=%s, line %d of %s, is said to be understood, and without it nothing is other", v.name, n.Key, n.Value, n.Line, n.File)
		}
	}
}

// without is a file without one option.
func without(text string, n Note) string {
	text = strings.ReplaceAll(text, " = ", "=")
	key, term, inner := strings.Cut(n.Key, ": ")
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if i < n.Line-1 { // from its own on: a line may go on on the next
			continue
		}
		for _, word := range strings.Fields(line) {
			name, value, ok := strings.Cut(word, "=")
			if !ok || !strings.EqualFold(name, key) {
				continue
			}
			if inner { // one term of a list
				terms := slices.DeleteFunc(strings.Split(value, ","), func(x string) bool { return strings.HasPrefix(x, term) })
				lines[i] = strings.Replace(line, word, name+"="+strings.Join(terms, ","), 1)
				return strings.Join(lines, "\n")
			}
			lines[i] = strings.Replace(line, word, "", 1)
			return strings.Join(lines, "\n")
		}
	}
	return text + fmt.Sprintf("\n# %s is not there\n", n.Key)
}

// TestWhatCountsNotIsIgnored: options that others make idle are said to be ignored, and
// why.
func TestWhatCountsNotIsIgnored(t *testing.T) {
	for _, c := range []struct{ variant, key, why string }{
		{"basic priority", "PriorityWeightAge", "counts with PriorityType=priority/multifactor only"},
		{"basic priority", "PriorityDecayHalfLife", "counts with PriorityType=priority/multifactor only"},
		{"fair tree", "FairShareDampeningFactor", "counts for the classic fair share only, that is with NO_FAIR_TREE"},
		{"no backfilling", "SchedulerParameters: bf_window", "there is no backfilling, by sched/builtin or bf_interval=-1"},
		{"no backfilling by its interval", "SchedulerParameters: bf_max_job_user", "there is no backfilling, by sched/builtin or bf_interval=-1"},
		{"shared GPUs", "SchedulerParameters: bf_resolution", "with GPUs allocated one by one backfilling is EASY, which has no such bound"},
		{"limits not enforced", "GrpJobs", "AccountingStorageEnforce does not say limits"},
		{"limits not enforced", "MaxWall", "AccountingStorageEnforce does not say limits"},
		{"multifactor", "Preempt", "counts with PreemptType=preempt/qos only"},
		{"no weights", "PriorityJobFactor", "counts with PriorityWeightPartition only, which is 0"},
		{"processors twice", "Sockets", "CPUs says how many processors there are"},
		{"future nodes", "Feature", "nodes in the state FUTURE are left out"},
		{"future nodes", "NodeSet", "no partition names the set"},
		{"more than there is", "GrpTRES", "the account may hold more nodes than there are"},
		{"resolution beyond the window", "SchedulerParameters: bf_resolution", "at most bf_window"},
	} {
		i := slices.IndexFunc(variants, func(v struct {
			name, conf, gres, accounts string
			share                      bool
		}) bool {
			return v.name == c.variant
		})
		v := variants[i]
		r, err := converted(t, v.conf, v.gres, v.accounts, v.share)
		require.NoError(t, err)
		require.True(t, slices.ContainsFunc(r.Notes, func(n Note) bool { return n.Key == c.key && n.Verdict != Understood && n.Text == c.why }), "%s: %s: %v", c.variant, c.key, r.Notes)
	}
}
