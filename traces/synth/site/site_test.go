package site

import (
	"iter"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/stat"

	"orrery/scheduler/model"
	"orrery/traces"
	"orrery/traces/synth"
)

func mustSite(t testing.TB, p Params, seed uint64) *synth.Workload {
	t.Helper()
	w, err := Generate(p, seed)
	require.NoError(t, err)
	return w
}

// contentOf is what a site is made of.
func contentOf(p Params, seed uint64) synth.Content {
	s := newSite(&p, seed)
	s.plan()
	return s.content()
}

// jobs iterates over the rows of a workload.
func jobs(w *synth.Workload) iter.Seq[*traces.Job] {
	return func(yield func(*traces.Job) bool) {
		for j, err := range w.Rows() {
			if err != nil || !yield(j) {
				return
			}
		}
	}
}

// smallSite is a week of 64 nodes.
func smallSite() Params {
	p := Default(64)
	p.Days = 7
	return p
}

// writeSite writes a site and opens it.
func writeSite(t *testing.T, w *synth.Workload) (*traces.Bundle, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "site.trace")
	hash, err := w.Write(path, nil)
	require.NoError(t, err)
	b, err := traces.Open(path)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, b.Close()) })
	return b, hash
}

// The load of a trace is the one asked for, in all and in each vCluster, by
// what its rows and its nodes say.
func TestSiteLoad(t *testing.T) {
	for _, nodes := range []int32{64, 1024} {
		for _, load := range []float64{0.5, 0.9, 1.3} {
			for seed := range uint64(3) {
				p := Default(nodes)
				p.Load, p.Days = load, 14
				w := mustSite(t, p, seed)
				end := model.Time(p.Days) * model.Time(model.Day)
				home, gpus := map[string]float64{}, map[string]float64{}
				for _, n := range contentOf(p, seed).Nodes {
					home[n.VCluster]++
					gpus[n.VCluster] = float64(n.GPUs)
				}
				held, all := map[string]float64{}, 0.0
				for j := range jobs(w) {
					seconds := min(j.Runtime.V, end.Sub(j.Submit)).Seconds()
					area := seconds * float64(j.NodesMin.V) * float64(j.GPUsPerNode.V) / gpus[j.VCluster]
					held[j.VCluster] += area
					all += area
				}
				span := end.Sub(0).Seconds()
				require.InEpsilon(t, load, all/span/float64(nodes), 0.05, "seed %d", seed)
				if nodes == 1024 {
					require.InEpsilon(t, 0.8*load, held["service"]/span/home["service"], 0.05)
					require.InEpsilon(t, 0.6*load, held["sensitive"]/span/home["sensitive"], 0.1)
					require.InEpsilon(t, held["hpc"]/home["hpc"], held["ml"]/home["ml"], 0.05)
				}
			}
		}
	}
}

func TestSiteMonth(t *testing.T) {
	w := mustSite(t, Default(1024), 1)
	rows := w.Info().Rows
	require.Greater(t, rows, int64(30_000))
	require.Less(t, rows, int64(60_000))
	count, of := map[string]int{}, map[string]int{}
	var weekend, classes, submit float64
	for j := range jobs(w) {
		count[j.VCluster+" "+j.Name]++
		of[j.VCluster]++
		require.GreaterOrEqual(t, float64(j.Submit), submit)
		submit = float64(j.Submit)
		require.Less(t, j.Submit, model.Time(30*model.Day))
		if day := j.Submit / model.Time(model.Day); day%7 >= 5 {
			weekend++
		}
		classes += float64(j.Class.V)
		require.GreaterOrEqual(t, j.NodesMax.V, j.NodesMin.V)
		if j.Kind == "service" || j.Kind == "reactive" {
			require.False(t, j.Walltime.OK)
		} else {
			require.GreaterOrEqual(t, j.Walltime.V, j.Runtime.V)
		}
		require.Equal(t, j.VCluster == "sensitive", j.Class.V == model.SensitiveClass)
		require.Equal(t, j.VCluster == "sensitive", j.Sensitive.V)
	}
	// 8 of 30 days at half rate: 4 of 26.
	require.InDelta(t, 4.0/26, weekend/float64(rows), 0.02)
	for _, name := range []string{"hpc batch", "ml train", "ml sweep", "ml preprocess", "ml eval", "ml recover", "service service", "service reactive", "service session", "sensitive claim"} {
		require.Greater(t, count[name], 100, name)
	}
	require.Less(t, of["sensitive"], of["hpc"]/10)
	require.InDelta(t, 0.05, float64(count["service service"]+count["service reactive"])/float64(of["service"]), 0.02)
	require.InEpsilon(t, count["service service"], count["service reactive"], 0.2)
}

// Reactive services, and no other jobs, are told what they are to have: within their range,
// in order of time, only when it changes, and more of it by day than by night.
func TestSiteDemand(t *testing.T) {
	w := mustSite(t, Default(1024), 1)
	reactive := map[string]traces.Job{}
	for j := range jobs(w) {
		if j.Kind == "reactive" {
			reactive[strconv.FormatInt(j.ID, 10)] = *j
		}
	}
	had := map[string]string{}
	var last model.Time
	var up [24]int
	events := contentOf(Default(1024), 1).Events
	for _, e := range events {
		j, ok := reactive[e.Subject]
		require.True(t, ok)
		nodes, err := strconv.ParseInt(e.Value, 10, 32)
		require.NoError(t, err)
		require.True(t, int32(nodes) >= j.NodesMin.V && int32(nodes) <= j.NodesMax.V)
		require.True(t, e.Time >= last && e.Time >= j.Submit && e.Time < j.Submit.Add(j.Runtime.V))
		require.NotEqual(t, had[e.Subject], e.Value)
		had[e.Subject], last = e.Value, e.Time
		up[int64(e.Time)%int64(model.Day)/int64(model.Hour)] += int(int32(nodes) - j.NodesMin.V)
	}
	require.Greater(t, len(had), len(reactive)*9/10)
	require.Greater(t, up[14], 2*up[4])
	_, hash := writeSite(t, w)
	b, again := writeSite(t, mustSite(t, Default(1024), 1))
	require.Equal(t, hash, again)
	require.Equal(t, events, b.Events())
}

// sameMean checks that two means differ by no more than four standard errors.
func sameMean(t *testing.T, want, got []float64) {
	t.Helper()
	a, b := stat.Mean(want, nil), stat.Mean(got, nil)
	err := math.Hypot(stat.StdErr(stat.StdDev(want, nil), float64(len(want))), stat.StdErr(stat.StdDev(got, nil), float64(len(got))))
	require.InDelta(t, a, b, 4*err)
}

// Sizes and work of batch jobs are those of the model they are drawn from, in the mean.
func TestSiteBatchMoments(t *testing.T) {
	w := mustSite(t, Default(1024), 5)
	var sizes, areas []float64
	for j := range jobs(w) {
		if j.VCluster == "hpc" {
			sizes = append(sizes, float64(j.NodesMin.V))
			areas = append(areas, float64(j.NodesMin.V)*j.Runtime.V.Seconds())
		}
	}
	p := synth.DefaultLublin(wholeProcs)
	p.MaxRuntimeLog = math.Log(86400)
	model, err := synth.Lublin(p, 200_000, 6)
	require.NoError(t, err)
	var wantSizes, wantAreas []float64
	for j := range jobs(model) {
		wantSizes = append(wantSizes, float64(j.ProcsRequested.V))
		wantAreas = append(wantAreas, float64(j.ProcsRequested.V)*j.Runtime.V.Seconds())
	}
	sameMean(t, wantSizes, sizes)
	sameMean(t, wantAreas, areas)
}

// Workflows: edges lead to earlier tasks of the same workflow, every task but
// the first waits for one, training waits for preparation and recovery for a
// failure.
func TestSiteWorkflows(t *testing.T) {
	w := mustSite(t, Default(256), 2)
	b, _ := writeSite(t, w)
	d, err := b.Dependencies(false)
	require.NoError(t, err)
	require.Empty(t, d.Left)
	var rows []traces.Job
	tasks := map[string]int{}
	for j := range jobs(w) {
		rows = append(rows, *j)
		if j.DAG != "" {
			tasks[j.DAG]++
		}
	}
	waits := map[model.JobID]int{}
	for _, e := range d.Edges {
		job, on := &rows[e.Job], &rows[e.On]
		require.Less(t, e.On, e.Job) // so there is no circle
		require.Equal(t, on.DAG, job.DAG)
		require.NotEmpty(t, job.DAG)
		waits[e.Job]++
		switch job.Name {
		case "train":
			require.Equal(t, "preprocess", on.Name)
			require.Equal(t, model.AfterOK, e.Condition)
		case "eval":
			require.Equal(t, "train", on.Name)
			require.Equal(t, model.AfterOK, e.Condition)
		case "recover":
			require.Equal(t, "train", on.Name)
			require.Equal(t, model.AfterNotOK, e.Condition)
		default:
			require.Fail(t, "waits", job.Name)
		}
	}
	for row := range rows {
		first := rows[row].Name == "preprocess" || rows[row].DAG == ""
		require.Equal(t, first, waits[model.JobID(row)] == 0)
	}
	sizes := map[int]bool{}
	for _, n := range tasks {
		sizes[n] = true
		require.GreaterOrEqual(t, n, 3)
		require.LessOrEqual(t, n, 12)
	}
	require.Len(t, sizes, 10)
}

func TestSiteTaskGroups(t *testing.T) {
	type group struct{ n, most, nodes, gpus int32 }
	groups := map[string]*group{}
	for j := range jobs(mustSite(t, Default(256), 3)) {
		if j.Group == "" {
			require.False(t, j.Index.OK || j.MaxConcurrent.OK)
			continue
		}
		g := groups[j.Group]
		if g == nil {
			g = &group{0, j.MaxConcurrent.V, j.NodesMin.V, j.GPUsPerNode.V}
			groups[j.Group] = g
		}
		require.Equal(t, g.n, j.Index.V, "ascending, side by side")
		require.Equal(t, *g, group{g.n, j.MaxConcurrent.V, j.NodesMin.V, j.GPUsPerNode.V})
		require.GreaterOrEqual(t, j.MaxConcurrent.V, int32(2))
		require.LessOrEqual(t, j.MaxConcurrent.V, int32(8))
		g.n++
	}
	require.NotEmpty(t, groups)
	for _, g := range groups {
		require.GreaterOrEqual(t, g.n, int32(4))
		require.LessOrEqual(t, g.n, int32(32))
	}
}

// Some batch jobs, and no others, are on hold for a while, and some are nice.
func TestSitePutsOff(t *testing.T) {
	held, nice, batch := 0.0, 0.0, 0.0
	for j := range jobs(mustSite(t, Default(1024), 3)) {
		if j.VCluster != "hpc" {
			require.False(t, j.Hold.OK || j.Released.OK || j.Nice.OK)
			continue
		}
		batch++
		require.Equal(t, j.Hold.OK, j.Released.OK)
		if j.Hold.OK {
			held++
			require.True(t, j.Hold.V)
			require.Greater(t, j.Released.V, j.Submit)
			require.LessOrEqual(t, j.Released.V, j.Submit.Add(model.Day))
		}
		if j.Nice.OK {
			nice++
			require.Contains(t, []int32{100, 1000}, j.Nice.V)
		}
	}
	require.InDelta(t, 0.01, held/batch, 0.004)
	require.InDelta(t, 0.03, nice/batch, 0.008)
}

// siteColumns are the optional columns that a site fills, as
// docs/TRACE-FORMAT.md says.
var siteColumns = []string{"name", "user", "tenant", "vcluster", "kind", "runtime", "walltime", "nodes_min", "nodes_max",
	"gpus_per_node", "gpu_type", "gpu_mem", "cpus_per_node", "mem_per_node", "features", "topology", "class", "sensitive", "checkpoint",
	"ckpt_bytes", "requeue", "requeue_max", "mounts", "io_demand", "power", "comm_fraction", "group", "index", "max_concurrent", "dag",
	"exit_state", "exit_code", "procs_requested", "eligible", "qos", "account", "exclusive",
	"hold", "released", "nice"}

func TestSiteIsAWholeBundle(t *testing.T) {
	w := mustSite(t, smallSite(), 4)
	b, _ := writeSite(t, w)
	var filled []string
	for _, f := range b.Info().Filled {
		filled = append(filled, f.Column)
		if f.Column != "gpu_type" && f.Column != "gpu_mem" && f.Column != "hold" {
			require.True(t, f.Varies, f.Column)
		}
	}
	require.Equal(t, siteColumns, filled)
	require.Len(t, b.Nodes(), 64)
	require.Equal(t, contentOf(smallSite(), 4).Tenants, b.Tenants())
	require.Len(t, b.Tenants(), 12)
	require.Positive(t, b.Info().Deps)
	sum := 0.0
	known := map[string]bool{}
	for _, tenant := range b.Tenants() {
		sum += tenant.FairShare.V
		known[tenant.Name] = true
	}
	require.InDelta(t, 1, sum, 0.01)
	// The largest job of every tenant fits what it may hold.
	most := map[string]int32{}
	for j := range jobs(w) {
		most[j.Tenant] = max(most[j.Tenant], j.NodesMin.V)
		require.True(t, known[j.Tenant])
		require.Equal(t, j.Tenant+"-", j.User[:len(j.Tenant)+1])
	}
	for _, tenant := range b.Tenants() {
		require.LessOrEqual(t, most[tenant.Name], tenant.MaxNodes.V)
	}
	prints := map[string]bool{}
	for _, n := range b.Nodes() {
		prints[n.Fingerprint] = true
		if n.VCluster == "sensitive" {
			require.NotEmpty(t, n.Fingerprint)
		}
	}
	require.True(t, prints[""])
}

func TestSiteValidates(t *testing.T) {
	path := filepath.Join(t.TempDir(), "site.trace")
	_, err := mustSite(t, smallSite(), 9).Write(path, nil)
	require.NoError(t, err)
	r, err := traces.Validate(path)
	require.NoError(t, err)
	require.Empty(t, r.Dropped)
	require.Empty(t, r.Repaired)
}

// The same parameters and seed make the same content, others make another.
func TestSiteIsDeterministic(t *testing.T) {
	_, one := writeSite(t, mustSite(t, smallSite(), 1))
	_, again := writeSite(t, mustSite(t, smallSite(), 1))
	require.Equal(t, one, again)
	_, other := writeSite(t, mustSite(t, smallSite(), 2))
	require.NotEqual(t, one, other)
	p := smallSite()
	p.Load = 0.8
	_, other = writeSite(t, mustSite(t, p, 1))
	require.NotEqual(t, one, other)
}

// A trace has the tables of its workload.
func TestSiteTables(t *testing.T) {
	w := mustSite(t, smallSite(), 6)
	b, _ := writeSite(t, w)
	c := contentOf(smallSite(), 6)
	require.Equal(t, c.Tenants, b.Tenants())
	var deps []traces.Dep
	for d, err := range b.Deps() {
		require.NoError(t, err)
		deps = append(deps, *d)
	}
	require.Equal(t, deps, slices.Collect(c.Deps()))
}

func TestSiteRefusals(t *testing.T) {
	for want, change := range map[string]func(*Params){
		"Nodes is 63":                  func(p *Params) { p.Nodes = 63 },
		"Days is 0":                    func(p *Params) { p.Days = 0 },
		"Load is 0, ":                  func(p *Params) { p.Load = 0 },
		"Load is NaN":                  func(p *Params) { p.Load = math.NaN() },
		"HPC+ML+Service is":            func(p *Params) { p.ML = 0.5 },
		"Groups+DAGs is":               func(p *Params) { p.Groups = 0.97 },
		"Tenants is 1":                 func(p *Params) { p.Tenants = 1 },
		"ServiceLife is":               func(p *Params) { p.ServiceLife.Mu = 40 },
		"number of MLRequests is 0":    func(p *Params) { p.MLRequests.Values = nil },
		"GPUs of TrainSizes is 12":     func(p *Params) { p.TrainSizes[0].GPUs = 12 },
		"weight of TrainSizes of one ": func(p *Params) { p.TrainSizes = p.TrainSizes[5:] },
	} {
		p := Default(64)
		change(&p)
		_, err := Generate(p, 1)
		require.ErrorContains(t, err, want)
	}
}
