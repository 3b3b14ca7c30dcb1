package synth

import (
	"errors"
	"io"
	"iter"
	"math"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mathext"
	"gonum.org/v1/gonum/stat/distuv"

	"orrery/scheduler/model"
	"orrery/traces"
	"orrery/traces/synth/internal/law"
)

// sample is the first and second moments of a series.
type sample struct{ n, sum, square float64 }

func (s *sample) add(x float64) { s.n++; s.sum += x; s.square += x * x }
func (s *sample) mean() float64 { return s.sum / s.n }

// requireMean asserts a mean within five of its standard errors, as estimated from
// the sample itself, and the rounding of the series.
func (s *sample) requireMean(t *testing.T, want, rounding float64, what string) {
	t.Helper()
	deviation := math.Sqrt(max(s.square/s.n-s.mean()*s.mean(), 0) / s.n)
	require.InDelta(t, want, s.mean(), 5*deviation+rounding, what)
}

func mustLublin(t testing.TB, p LublinParams, n int64, seed uint64) *Workload {
	t.Helper()
	w, err := Lublin(p, n, seed)
	require.NoError(t, err)
	return w
}

func mustGPU(t testing.TB, p GPUParams, n int64, seed uint64) *Workload {
	t.Helper()
	w, err := GPU(p, n, seed)
	require.NoError(t, err)
	return w
}

// jobs iterates over a workload, whose error is always nil.
func jobs(w *Workload) iter.Seq[*traces.Job] {
	return func(yield func(*traces.Job) bool) {
		for j, err := range w.Rows() {
			if err != nil || !yield(j) {
				return
			}
		}
	}
}

func TestFormulasAgainstGonum(t *testing.T) {
	for _, g := range [][2]float64{{4.2, 0.94}, {312, 0.03}, {639.1, 0.0156}, {10.46, 0.4871}, {1, 2}} {
		p, e := bounded(g[0], g[1], 12)
		require.InDelta(t, mathext.GammaIncReg(g[0], 12/g[1]), p, 1e-9)
		if g[1] < 1 { // e^X tilts a gamma of scale b to one of scale b/(1-b)
			want := math.Pow(1-g[1], -g[0]) * mathext.GammaIncReg(g[0], 12*(1-g[1])/g[1])
			require.InEpsilon(t, want, e, 1e-8)
		}
		require.InDelta(t, distuv.Gamma{Alpha: g[0], Beta: 1 / g[1]}.Prob(3), gammaDensity(g[0], g[1], 3), 1e-12)
	}
	p, e := law.LogNormal(9.1, 2.8, 1e6)
	d := distuv.LogNormal{Mu: 9.1, Sigma: 2.8}
	require.InDelta(t, d.CDF(1e6), p, 1e-12)
	require.InEpsilon(t, integrate(-20, math.Log(1e6), func(x float64) float64 {
		return math.Exp(x) * distuv.Normal{Mu: 9.1, Sigma: 2.8}.Prob(x)
	}), e, 1e-6)
}

// TestLublinMoments compares samples with the formulas of the model, for the
// class of all jobs and for batch and interactive jobs apart.
func TestLublinMoments(t *testing.T) {
	const n = 100_000
	for _, c := range []LublinClass{wholeSample, batchSample, interactiveSample} {
		for _, procs := range []int32{128, 100, 1024} {
			p := DefaultLublin(procs)
			p.Classes = []LublinClass{c}
			require.NoError(t, p.Validate())
			probability := c.sizeProbability(procs)
			total := 0.0
			for _, x := range probability {
				total += x
			}
			require.InDelta(t, 1, total, 1e-12)
			meanSize, meanRun, meanArea := c.means(&p)
			var size, run, area, serial, power sample
			counts := make([]float64, len(probability))
			var last model.Time
			for j := range jobs(mustLublin(t, p, n, 7)) {
				procs := j.ProcsRequested.V
				size.add(float64(procs))
				run.add(j.Runtime.V.Seconds())
				area.add(float64(procs) * j.Runtime.V.Seconds())
				serial.add(indicator(procs == 1))
				power.add(indicator(procs&(procs-1) == 0))
				counts[procs]++
				last = j.Submit
			}
			size.requireMean(t, meanSize, 0, "size")
			run.requireMean(t, meanRun, 0.5, "run time")
			area.requireMean(t, meanArea, meanSize/2, "area")
			serial.requireMean(t, probability[1], 0, "serial jobs")
			require.GreaterOrEqual(t, probability[1], c.SerialProb)
			for s, x := range probability {
				require.InDelta(t, n*x, counts[s], 5*math.Sqrt(n*x*(1-x))+1, "size %d", s)
			}
			// The gaps have a coefficient of variation near 4.
			gap := c.meanGap(p.MaxGapLog)
			require.InEpsilon(t, gap*n, model.Duration(last).Seconds(), 5*4/math.Sqrt(n), "span")
		}
	}
}

func indicator(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// TestDailyCycle: the share of arrivals in each half hour is that of the
// published gamma.
func TestDailyCycle(t *testing.T) {
	const n = 300_000
	p := DefaultLublin(128)
	p.MaxGapLog = 6 // no gap of days, or the slots would not be independent
	p.StartHour = 13
	c := wholeSample.DailyCycle()
	var counts [law.DaySlots]float64
	for j := range jobs(mustLublin(t, p, n, 3)) {
		slot := (j.Submit/model.Time(30*model.Minute) + 13*2) % law.DaySlots
		counts[slot]++
	}
	g := distuv.Gamma{Alpha: wholeSample.ANum, Beta: 1 / wholeSample.BNum}
	spans := c.Slots()
	for slot, count := range counts {
		share := spans[slot] / float64(model.Day)
		i := float64(slot + 1)
		if slot+1 < 11 {
			i += law.DaySlots
		}
		require.InDelta(t, (g.CDF(i+0.5)-g.CDF(i-0.5))/(g.CDF(58.5)-g.CDF(10.5)), share, 1e-9)
		require.InDelta(t, n*share, count, 12*math.Sqrt(n*share), "slot %d", slot)
	}
}

// offered is the load of a workload on its machine.
func offered(w *Workload) float64 {
	area := 0.0
	var last model.Time
	for j := range jobs(w) {
		area += float64(j.ProcsRequested.V) * j.Runtime.V.Seconds()
		last = j.Submit
	}
	return area / model.Duration(last).Seconds() / float64(w.Info().MaxProcs)
}

func TestLoad(t *testing.T) {
	for _, load := range []float64{0.5, 0.9} {
		p := DefaultLublin(256)
		p.Load = load
		require.InEpsilon(t, load, offered(mustLublin(t, p, 300_000, 11)), 0.04)
		q := DefaultLublinClasses(256)
		q.Load = load
		require.InEpsilon(t, load, offered(mustLublin(t, q, 300_000, 11)), 0.06)
		g := DefaultGPU(64)
		g.Load = load
		require.InEpsilon(t, load, offered(mustGPU(t, g, 300_000, 11)), 0.06)
	}
	p := DefaultLublin(128)
	require.InEpsilon(t, p.offeredLoad(), offered(mustLublin(t, p, 300_000, 5)), 0.04, "the model's own load")
}

func TestRequests(t *testing.T) {
	p := DefaultLublin(128)
	used := map[model.Duration]int{}
	for j := range jobs(mustLublin(t, p, 50_000, 1)) {
		require.True(t, j.Walltime.OK)
		require.GreaterOrEqual(t, j.Walltime.V, j.Runtime.V)
		used[j.Walltime.V]++
	}
	require.Len(t, used, len(p.Requests.Values))
	p.Requests.Values = nil
	for j := range jobs(mustLublin(t, p, 10, 1)) {
		require.False(t, j.Walltime.OK)
	}
}

// TestClassesAreIndependent: a second class does not move the first one's
// jobs, and the rows of both come in order.
func TestClassesAreIndependent(t *testing.T) {
	p := DefaultLublinClasses(128)
	var batch []traces.Job
	last := model.Time(0)
	for j := range jobs(mustLublin(t, p, 2000, 9)) {
		require.GreaterOrEqual(t, j.Submit, last)
		last = j.Submit
		if j.QOS == "batch" {
			batch = append(batch, *j)
		}
	}
	require.NotEmpty(t, batch)
	require.Less(t, len(batch), 2000)
	p.Classes = p.Classes[:1]
	i := 0
	for j := range jobs(mustLublin(t, p, int64(len(batch)), 9)) {
		j.ID = batch[i].ID
		require.Equal(t, batch[i], *j)
		i++
	}
}

func TestUsersAreZipf(t *testing.T) {
	p := DefaultLublin(128)
	p.Users, p.UserSkew = 4, 1
	counts := map[string]float64{}
	const n = 50_000
	for j := range jobs(mustLublin(t, p, n, 1)) {
		counts[j.User]++
	}
	for user, rank := range map[string]float64{"1": 1, "2": 2, "3": 3, "4": 4} {
		share := 1 / rank / (1 + 1.0/2 + 1.0/3 + 1.0/4)
		require.InDelta(t, n*share, counts[user], 5*math.Sqrt(n*share))
	}
}

func TestGPURows(t *testing.T) {
	p := DefaultGPU(32)
	p.ServiceShare = 0.1
	w := mustGPU(t, p, 100_000, 2)
	require.Len(t, w.content.Nodes, 32)
	require.Equal(t, traces.Node{Name: "n00017", Group: "g001", Type: "gpu-node", GPUModel: "H100", GPUs: 8, CPUs: 96, Memory: 1 << 40, Up: true}, w.content.Nodes[17])
	var service, one, logRun sample
	tenants := map[string]int{}
	last := model.Time(0)
	for j := range jobs(w) {
		require.GreaterOrEqual(t, j.Submit, last)
		last = j.Submit
		gpus := j.NodesMin.V * j.GPUsPerNode.V
		require.Equal(t, gpus, j.ProcsRequested.V)
		require.LessOrEqual(t, j.GPUsPerNode.V, int32(8))
		require.LessOrEqual(t, j.Runtime.V, p.MaxRuntime)
		require.Equal(t, j.NodesMin.V > 1, j.Topology == "tight")
		require.Equal(t, 12*j.GPUsPerNode.V, j.CPUsPerNode.V)
		service.add(indicator(j.Kind == "service"))
		tenants[j.Tenant]++
		if j.Kind == "service" {
			require.Equal(t, int32(1), j.NodesMin.V)
			require.False(t, j.Walltime.OK)
			continue
		}
		require.GreaterOrEqual(t, j.Walltime.V, j.Runtime.V)
		one.add(indicator(gpus == 1))
		if gpus == 1 {
			logRun.add(math.Log(j.Runtime.V.Seconds() + 0.5))
		}
	}
	service.requireMean(t, 0.1, 0, "services")
	one.requireMean(t, 0.9317, 0, "single GPUs")
	logRun.requireMean(t, 6.719, 0.01, "logarithm of run times")
	require.Len(t, tenants, 15)
	require.Greater(t, tenants["tenant01"], tenants["tenant02"])
	require.Len(t, DefaultGPU(2).Sizes, 5, "sizes beyond the cluster are left out")
}

// TestWrittenTrace compares the rows that are made with what a reader of the written
// trace gets.
func TestWrittenTrace(t *testing.T) {
	for name, w := range map[string]*Workload{
		"lublin.parquet": mustLublin(t, DefaultLublinClasses(128), 20_000, 4),
		"gpu.trace":      mustGPU(t, DefaultGPU(16), 20_000, 4),
	} {
		path := filepath.Join(t.TempDir(), name)
		_, err := w.Write(path, nil)
		require.NoError(t, err)
		b, err := traces.Open(path)
		require.NoError(t, err)
		defer b.Close()
		written, err := b.Jobs()
		require.NoError(t, err)
		got, i := drain(t, written), 0
		for j := range jobs(w) {
			require.Equal(t, []any{j.ID, j.Submit, j.Runtime.V, j.User}, []any{got.ID[i], got.Submit[i], got.Runtime[i], written.Users()[got.User[i]]})
			i++
		}
		require.Equal(t, got.Len(), i)
		require.Equal(t, b.Nodes(), w.content.Nodes)
		require.Equal(t, b.Info().Rows, w.Info().Rows)
		require.Equal(t, b.Info().MaxProcs, w.Info().MaxProcs)
		require.True(t, w.Info().Sorted && b.Info().Sorted)
		require.Equal(t, w.Recipe(), b.Meta().Recipe)
		require.NoError(t, written.Close())
	}
}

// drain reads a source into one batch.
func drain(t *testing.T, s traces.Source) *traces.Batch {
	all, b := &traces.Batch{}, &traces.Batch{}
	for {
		err := s.Next(b)
		if errors.Is(err, io.EOF) {
			return all
		}
		require.NoError(t, err)
		require.Equal(t, model.JobID(all.Len()), b.First)
		all.Append(b)
	}
}

// TestReproducible: the content is a function of parameters, count and seed,
// and a longer workload begins with the shorter one.
func TestReproducible(t *testing.T) {
	hash := func(w *Workload) string {
		h, err := w.Write(filepath.Join(t.TempDir(), "w.trace"), nil)
		require.NoError(t, err)
		return h
	}
	p := DefaultLublin(128)
	a := mustLublin(t, p, 5000, 1)
	require.Equal(t, hash(a), hash(a), "iterating twice")
	require.Equal(t, hash(a), hash(mustLublin(t, p, 5000, 1)))
	require.NotEqual(t, hash(a), hash(mustLublin(t, p, 5000, 2)))
	require.NotEqual(t, a.Info().Hash, mustLublin(t, p, 5000, 2).Info().Hash)
	g := mustGPU(t, DefaultGPU(8), 5000, 1)
	require.Equal(t, hash(g), hash(mustGPU(t, DefaultGPU(8), 5000, 1)))

	var long []traces.Job
	for j := range jobs(mustLublin(t, p, 6000, 1)) {
		long = append(long, *j)
	}
	i := 0
	for j := range jobs(a) {
		require.Equal(t, long[i], *j)
		i++
	}
	require.Equal(t, 5000, i)
}

// TestRowsAllocateNothing: memory does not grow with the jobs made.
func TestRowsAllocateNothing(t *testing.T) {
	for _, w := range []*Workload{
		mustLublin(t, DefaultLublinClasses(1024), math.MaxInt32, 1),
		mustGPU(t, DefaultGPU(64), math.MaxInt32, 1),
	} {
		var row traces.Job
		next := w.content.Begin()
		require.Zero(t, testing.AllocsPerRun(10_000, func() { next(&row) }))
	}
}

func TestRowsStopEarly(t *testing.T) {
	n := 0
	for range jobs(mustGPU(t, DefaultGPU(8), 100, 1)) {
		if n++; n == 3 {
			break
		}
	}
	require.Equal(t, 3, n)
}

func TestValidate(t *testing.T) {
	for field, spoil := range map[string]func(*LublinParams){
		"Procs":                    func(p *LublinParams) { p.Procs = 1 },
		"number of Classes":        func(p *LublinParams) { p.Classes = nil },
		"Load":                     func(p *LublinParams) { p.Load = math.NaN() },
		"StartHour":                func(p *LublinParams) { p.StartHour = 24 },
		"Users":                    func(p *LublinParams) { p.Users = 0 },
		"Classes[0].SerialProb":    func(p *LublinParams) { p.Classes[0].SerialProb = 2 },
		"Classes[0].Pow2Prob":      func(p *LublinParams) { p.Classes[0].Pow2Prob = 0.9 },
		"Classes[0].ULow":          func(p *LublinParams) { p.Procs = 4 },
		"Classes[0].A1":            func(p *LublinParams) { p.Classes[0].A1 = 0.5 },
		"Classes[0].B2":            func(p *LublinParams) { p.Classes[0].B2 = math.Inf(1) },
		"Classes[0].PA":            func(p *LublinParams) { p.Classes[0].PA = math.NaN() },
		"gamma of A2, B2":          func(p *LublinParams) { p.Classes[0].B2 = 10 },
		"Requests.Values":          func(p *LublinParams) { p.Requests.Values = p.Requests.Values[:5] },
		"Requests.MinAccuracy":     func(p *LublinParams) { p.Requests.MinAccuracy = 0 },
		"gamma of AArr*ARAR, BArr": func(p *LublinParams) { p.MaxGapLog = 0.1 },
	} {
		p := DefaultLublin(128)
		p.Classes = []LublinClass{wholeSample}
		spoil(&p)
		_, err := Lublin(p, 1, 1)
		require.ErrorContains(t, err, field)
	}
	for field, spoil := range map[string]func(*GPUParams){
		"Nodes is":        func(p *GPUParams) { p.Nodes = 0 },
		"Sizes[1].GPUs":   func(p *GPUParams) { p.Sizes[1].GPUs = 9 },
		"number of Sizes": func(p *GPUParams) { p.Sizes = nil },
		"sum of":          func(p *GPUParams) { p.Sizes = []GPUSize{{GPUs: 1, RuntimeSigma: 1}} },
		"ServiceShare":    func(p *GPUParams) { p.Sizes = []GPUSize{{16, 1, 1, 1}} },
		"ServiceMu":       func(p *GPUParams) { p.ServiceMu = 1000 },
		"Load":            func(p *GPUParams) { p.Load = 0 },
		"Requests.Values": func(p *GPUParams) { p.MaxRuntime = 31 * model.Day },
	} {
		p := DefaultGPU(8)
		spoil(&p)
		_, err := GPU(p, 1, 1)
		require.ErrorContains(t, err, field)
	}
	_, err := Lublin(DefaultLublin(128), 0, 1)
	require.ErrorContains(t, err, "0 jobs asked for")
}

func BenchmarkLublin(b *testing.B) {
	w := mustLublin(b, DefaultLublin(256), math.MaxInt32, 1)
	next := w.content.Begin()
	var j traces.Job
	b.ReportAllocs()
	for b.Loop() {
		next(&j)
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "jobs/s")
}
