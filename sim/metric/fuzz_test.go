package metric

import (
	"math"
	"math/big"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/scheduler/model"
	"orrery/sim/record/column"
)

// extremes are the instants at which arithmetic on times goes wrong.
var extremes = []int64{
	-math.MaxInt64, -math.MaxInt64 + 1, -1<<62 - 1, -1 << 62, -1 << 61, -8192e6, -1e6, -1, 0, 1, 999_999, 1e6, 8191e6, 8192e6, 1 << 40,
	1<<60 - 1, 1<<61 - 1, 1 << 61, 1<<62 - 1, 1 << 62, 1<<62 + 1, math.MaxInt64 - 1e6, math.MaxInt64 - 1,
}

// draws hands out what a fuzzer chose.
type draws []byte

func (d *draws) pick(n int) int {
	if len(*d) == 0 {
		return 0
	}
	b := (*d)[0]
	*d = (*d)[1:]
	return int(b) % n
}

// instants are some of the extremes and what lies beside them, ascending.
func (d *draws) instants(n int) []model.Time {
	out := make([]model.Time, n)
	for i := range out {
		out[i] = model.Time(extremes[d.pick(len(extremes))]).Add(model.Duration(d.pick(3)-1) * model.Second)
	}
	slices.Sort(out)
	return out
}

// FuzzSeries puts a site through instants as far apart as instants can be, with counts as
// large as they can be. The exact sums must be those of big integers, the bins must lie side
// by side, and no sum is below 0.
func FuzzSeries(f *testing.F) {
	f.Add([]byte{3, 1, 2, 3, 4, 5, 6, 7, 8, 9})
	f.Add([]byte{9, 0, 0, 22, 2, 21, 1, 20, 0, 8, 8, 255, 255, 255})
	f.Add([]byte{200, 22, 22, 22, 22, 8, 9, 10, 255, 1, 255, 3})
	f.Fuzz(func(t *testing.T, b []byte) {
		d := draws(b)
		at := d.instants(2 + d.pick(12))
		cfg := Config{Units: math.MaxInt32, Site: &SiteConfig{VClusters: []string{"v"}, Tenants: []string{"t"}, Reasons: true}}
		s, err := NewSeries(cfg)
		require.NoError(t, err)
		s.Begin(at[0], at[len(at)-1])
		busy, st, last := new(big.Int), State{}, at[0]
		jobs := column.Jobs{OfSite: true}
		for i, now := range at {
			span := new(big.Int).Sub(big.NewInt(int64(now)), big.NewInt(int64(last)))
			busy.Add(busy, span.Mul(span, big.NewInt(st.BusyUnits)))
			st, last = State{BusyUnits: int64(d.pick(2)) * math.MaxInt32, QueuedUnits: int64(d.pick(2)) * math.MaxInt64, QueuedJobs: int32(d.pick(2)) * math.MaxInt32, RunningJobs: 1}, now
			s.Hold(now, d.pick(2), Holding{Nodes: int64(d.pick(2)) << 31, GPUs: int64(d.pick(2)) << 40, Milli: int64(d.pick(1000)), Waiting: 1 << 31})
			s.CountSubmit(now, 1)
			s.CountStart(now, 1)
			s.Waits(now, model.Ref(i%2), 0, 0, model.ReasonQuotaNodes)
			s.CountEnd(now, 1)
			s.Observe(now, st)
			r := model.JobRecord{Job: model.JobID(i), ID: int64(i), Submit: at[d.pick(i+1)], Start: now, End: now, State: model.Completed, Procs: math.MaxInt32, Walltime: model.Forever}
			r.Runtime = r.End.Sub(r.Submit)
			r.Allocated = model.Holding{Nodes: math.MaxInt64, GPUs: math.MaxInt64}
			jobs.Append(&r)
		}
		s.catchUp()
		require.Equal(t, busy.String(), s.total.busy.big().String())
		table, err := Compute(&scanned{jobs}, s)
		require.NoError(t, err)
		for _, m := range table.Metrics {
			require.True(t, m.Value == nil || !math.IsNaN(*m.Value) && !math.IsInf(*m.Value, 0), m.Name)
		}
		for _, r := range table.Reasons {
			require.GreaterOrEqual(t, r.JobUS, int64(0))
		}
		bins := s.Bins()
		for i, b := range bins {
			require.True(t, b.BusyUnitUS >= 0 && b.QueuedJobUS >= 0 && b.QueuedUnitUS >= 0 && b.RunningJobUS >= 0, "%+v", b)
			require.True(t, i == 0 || b.Time > bins[i-1].Time, "bins of %s ascend", b.Width)
		}
		for _, b := range s.VClusterBins() {
			require.True(t, b.NodeUS >= 0 && b.GPUUS >= 0 && b.QueuedJobUS >= 0, "%+v", b)
		}
	})
}

// scanned is one batch of jobs.
type scanned struct{ column.Jobs }

func (s *scanned) Scan(visit func(*column.Jobs) error) error { return visit(&s.Jobs) }
