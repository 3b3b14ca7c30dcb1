package naive_test

import (
	"bufio"
	"compress/gzip"
	"fmt"
	"hash/fnv"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/scheduler/drive"
	"orrery/scheduler/model"
	"orrery/scheduler/order"
	"orrery/scheduler/quota"
	"orrery/scheduler/score"
	"orrery/scheduler/site"
	"orrery/tools/refdata"
)

// naiveTrait is a number below n that hangs on the job and on what it is for.
func naiveTrait(job int, what string, n uint64) int {
	h := fnv.New64a()
	fmt.Fprint(h, what, " ", job)
	return int(h.Sum64() >> 8 % n)
}

// naiveMachine is a machine with several dragonfly and conformance groups, and
// tenants with shares and budgets, whose one vCluster ranks by all nine factors
// and fills by EASY every 30 s.
func naiveMachine(t *testing.T, nodes, group int) *naiveWorld {
	st := &model.Site{Constraints: []model.Constraint{{GPUType: -1}}, VClusters: []model.VCluster{{Name: "all"}}, Fingerprints: 3}
	for i := range nodes {
		g := i / group
		if g == len(st.Groups) {
			st.Groups = append(st.Groups, model.Group{Name: fmt.Sprint("g", g)})
		}
		st.Nodes = append(st.Nodes, model.Node{
			Name: fmt.Sprint("n", i), Group: int32(g), Fingerprint: int32(naiveTrait(i/(group/2+1), "fingerprint", 4)) - 1,
			Home: -1, GPUType: -1, Topology: -1, BusyPower: 300,
		})
	}
	for i := range st.Groups {
		for o := range st.Groups {
			if o != i && (o+i)%4 != 0 {
				st.Groups[i].Adjacent = append(st.Groups[i].Adjacent, int32(o))
			}
		}
	}
	for i := range 6 {
		st.Tenants = append(st.Tenants, model.Tenant{Name: fmt.Sprint("t", i), Limits: model.Limits{
			FairShare: model.Ratio(int64(i), 12), Burst: model.Ratio(int64(i%3), 1) + model.One/2,
			NodeBudget: model.Duration(nodes*(i+1)) * 8 * model.Hour,
		}})
	}
	p := site.Policy{
		Ranking: site.ByScore, Reference: model.Hour, Backfill: order.Easy,
		Cycle: 30 * model.Second, Phase: 10 * model.Second,
	}
	var err error
	p.Weights, err = score.Normalise([score.NumFactors]float64{3, 4, 5, 2, 1, 2, 1, 1, 2})
	require.NoError(t, err)
	return &naiveWorld{cfg: site.Config{
		Site: st, Policies: []site.Policy{p},
		Quota: quota.Config{Tenants: st.Tenants, Nodes: int32(nodes), GPUs: int64(nodes), Window: 5 * model.Day},
		Price: model.One / 3, CheckpointBandwidth: 1 << 30,
	}, end: model.Never - 1}
}

// add appends a job, with traits that hang on its number.
func (w *naiveWorld) add(submit, runtime, walltime int64, nodes int32) {
	i := len(w.jobs)
	e := naiveErrand{runtime: model.Duration(runtime) * model.Second, outcome: model.Completed, cancel: model.Never}
	e.Allocation = model.Allocation{
		Job: model.JobID(i), ID: int64(i), Submit: seconds(submit), Eligible: seconds(submit), Walltime: model.Duration(walltime) * model.Second,
		NodesMin: nodes, NodesMax: nodes, Tenant: model.TenantID(naiveTrait(i, "tenant", 7)) - 1, QOS: -1, Partition: -1, Reservation: -1,
		TaskGroup: -1, DAG: -1, User: -1, DataReady: model.Ratio(int64(naiveTrait(i, "data", 4)), 3) - model.Ratio(1, 9),
		Class: int32(naiveTrait(i, "class", 10)), Topology: model.Topology(naiveTrait(i, "topology", 3)),
		Checkpoint: model.Checkpoint(naiveTrait(i, "checkpoint", 3)), CkptBytes: int64(naiveTrait(i, "bytes", 3)) << 36,
	}
	w.jobs = append(w.jobs, e)
}

// rows reads the first jobs of a log that ran and fit, from its first submission on.
func (w *naiveWorld) rows(t *testing.T, path string, most int) {
	f, err := os.Open(path)
	require.NoError(t, err)
	defer f.Close()
	z, err := gzip.NewReader(f)
	require.NoError(t, err)
	lines := bufio.NewScanner(z)
	first, last := int64(-1), int64(0)
	for lines.Scan() && len(w.jobs) < most {
		words := strings.Fields(lines.Text())
		if len(words) < 9 || words[0][0] == ';' {
			continue
		}
		var v [9]int64 // the columns of the Standard Workload Format
		for _, i := range []int{1, 3, 4, 7, 8} {
			v[i], err = strconv.ParseInt(words[i], 10, 64)
			require.NoError(t, err)
		}
		if first < 0 {
			first = v[1]
		}
		last = max(last, v[1]-first) // in order of submission
		runtime, procs, walltime := v[3], max(v[4], v[7]), max(v[8], 1)
		if runtime >= 0 && procs > 0 && procs <= int64(len(w.cfg.Site.Nodes)) {
			w.add(last, runtime, walltime, int32(procs))
		}
	}
	require.NoError(t, lines.Err())
}

// hashed replays w before one core and returns a hash of what it proposes.
func (w *naiveWorld) hashed(core drive.Scheduler) string {
	h := fnv.New128a()
	said := w.proposals(core)
	for _, s := range said {
		fmt.Fprintln(h, s)
	}
	return fmt.Sprintf("%d proposals, %x", len(said), h.Sum(nil))
}

// TestSiteAgainstNaiveOnLogs holds both implementations together, by the hash of their
// proposals, on logs of months as if their processors were nodes of a site. The
// first rows will do: the time of the naive implementation grows with their square and
// more. ORRERY_LONG=1 is four times as many.
func TestSiteAgainstNaiveOnLogs(t *testing.T) {
	for _, c := range []struct {
		name         string
		nodes, group int
		rows         int
	}{
		{"KTH-SP2-1996-2.1-cln", 100, 16, 1000},
		{"SDSC-SP2-1998-4.2-cln", 128, 20, 600},
		{"theta-2023-jan-validation-dadyownes", 4360, 192, 120},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := naiveMachine(t, c.nodes, c.group)
			rows := c.rows
			switch {
			case os.Getenv("ORRERY_LONG") == "1":
				rows *= 4
			case testing.Short():
				rows /= 10
			}
			w.rows(t, refdata.Path(t, "traces/swf/"+c.name+".swf.gz"), rows)
			require.NoError(t, w.cfg.Validate())
			got := w.hashed(site.New(w.cfg))
			t.Log(len(w.jobs), "rows:", got)
			require.Equal(t, got, w.hashed(w.naive()))
		})
	}
}
