package sim

import (
	"context"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"orrery/hwmodel"
	"orrery/sim/record"
	"orrery/traces"
)

// heldNodes are the numbers in a text such as 0-3,7.
func heldNodes(t require.TestingT, text string) (out []int) {
	for part := range strings.SplitSeq(text, ",") {
		first, last, more := strings.Cut(part, "-")
		if !more {
			last = first
		}
		from, err := strconv.Atoi(first)
		require.NoError(t, err)
		to, err := strconv.Atoi(last)
		require.NoError(t, err)
		for n := from; n <= to; n++ {
			out = append(out, n)
		}
	}
	return out
}

// poweredNode is what a node of poweredSite draws, with a job and without.
func poweredNode(n int) (busy, idle int64) {
	if n < 6 {
		return 2900, 700
	}
	return 410, 150
}

// unitsPerKWh is a kWh in W·µs, times the units of a PUE.
const unitsPerKWh = wattMicrosecondsPerKWh * 1_000_000

// nearestMicro is the nearest millionth, a half away from 0.
func nearestMicro(x *big.Int) int64 {
	r := new(big.Rat).SetFrac(x, big.NewInt(unitsPerKWh))
	text := r.FloatString(0) // halves away from 0
	out, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		panic(err)
	}
	return out
}

// The bill of each job is the integral of the price times the PUE times what its nodes draw, from the files
// alone, and those of all jobs, of idle nodes and of the overhead add up to the cost of the run, to the last
// digit. At the mean price of the run they do not.
func TestBillsAddUpToTheRun(t *testing.T) {
	parent, missed := t.TempDir(), 0
	rapid.Check(t, func(t *rapid.T) {
		curve, overhead, facility := hwmodel.FixedPUE(1_300_000), int64(700), "{price: 0.2, carbon: 350, pue: 1.3, overhead: 700W}"
		if rapid.Bool().Draw(t, "by load") {
			curve = hwmodel.PUE{Capacity: 15_000, Points: []hwmodel.PUEPoint{{Load: 300_000, PUE: 1_500_000}, {Load: 1_000_000, PUE: 1_200_000}}}
			facility = "{price: 0.2, carbon: 350, pue: [{load: 0.3, pue: 1.5}, {load: 1, pue: 1.2}], it_capacity: 15kW, overhead: 700W}"
		}
		dir, out := anyPoweredRun(t, facility, func() string {
			dir, err := os.MkdirTemp(parent, "")
			require.NoError(t, err)
			return filepath.Join(dir, "run")
		})
		power, jobs := genericRows(t, filepath.Join(dir, "power.parquet")), genericRows(t, filepath.Join(dir, "jobs.parquet"))
		from, to := spanOfJobs(jobs)
		// each is what W would have come to between two instants, in prices of the column.
		each := func(column string, from, to *big.Int, w func(row map[string]*big.Int) int64) *big.Int {
			return integral(power, from, to, false, func(row map[string]*big.Int) *big.Int {
				x := new(big.Int).Mul(row[column], big.NewInt(w(row)))
				return x.Mul(x, big.NewInt(curve.At(row["power_w"].Int64())))
			})
		}
		cost, carbon, drawn := map[int64]*big.Int{}, map[int64]*big.Int{}, map[int64]*big.Int{}
		sum := new(big.Int)
		idleOfHeld := new(big.Int) // what held nodes would draw without jobs
		r, err := record.Open(dir)
		require.NoError(t, err)
		defer r.Close()
		epoch := int64(1_700_000_000_000_000)
		err = r.ScanAttempts(func(a *record.AttemptColumns) error {
			for i := range a.Len() {
				busy, idle := int64(0), int64(0)
				for _, n := range heldNodes(t, a.Nodes[i]) {
					b, o := poweredNode(n)
					busy, idle = busy+b, idle+o
				}
				begin, end, id := big.NewInt(a.Start[i]+epoch), big.NewInt(a.End[i]+epoch), int64(a.Job[i])
				always := func(w int64) func(map[string]*big.Int) int64 {
					return func(map[string]*big.Int) int64 { return w }
				}
				if cost[id] == nil {
					cost[id], carbon[id], drawn[id] = new(big.Int), new(big.Int), new(big.Int)
				}
				own := each("price", begin, end, always(busy))
				cost[id].Add(cost[id], own)
				sum.Add(sum, own)
				idleOfHeld.Add(idleOfHeld, each("price", begin, end, always(idle)))
				carbon[id].Add(carbon[id], each("carbon", begin, end, always(busy)))
				drawn[id].Add(drawn[id], new(big.Int).Mul(big.NewInt(busy), new(big.Int).Sub(end, begin)))
			}
			return nil
		})
		require.NoError(t, err)
		group := int64(0)
		total, _ := out.Table.Value("energy_cost", "all")
		energy, _ := out.Table.Value("energy", "all")
		for _, j := range jobs {
			id := j["job"].Int64()
			if cost[id] == nil {
				cost[id], carbon[id], drawn[id] = new(big.Int), new(big.Int), new(big.Int)
			}
			require.Equal(t, nearestMicro(cost[id]), j["energy_cost_micro"].Int64())
			require.Equal(t, nearestMicro(carbon[id]), j["carbon_mg"].Int64())
			require.LessOrEqual(t, j["energy_cost_low_micro"].Int64(), j["energy_cost_micro"].Int64())
			require.LessOrEqual(t, j["energy_cost_micro"].Int64(), j["energy_cost_high_micro"].Int64())
			group += j["energy_cost_micro"].Int64()
			if mean := over(drawn[id], wattMicrosecondsPerKWh) * total / energy * 1e6; mean < float64(j["energy_cost_micro"].Int64())-1 || mean > float64(j["energy_cost_micro"].Int64())+1 {
				missed++
			}
		}
		require.Equal(t, group, genericRows(t, filepath.Join(dir, "vclusters.parquet"))[0]["energy_cost_micro"].Int64(), "a group is the sum of its jobs")

		// What draws beside jobs: all nodes that are up, less those held. A run without failures has all of them up.
		idle := each("price", from, to, func(row map[string]*big.Int) int64 { return row["power_w"].Int64() })
		idle.Sub(idle, sum)
		if len(out.Result.Spec.Site) > 0 && !strings.Contains(string(out.Result.Spec.Site), `"down"`) {
			all := each("price", from, to, func(map[string]*big.Int) int64 { return 6*700 + 4*150 })
			require.Equal(t, all.Sub(all, idleOfHeld).String(), idle.String(), "nodes without a job")
		}
		above := integral(power, from, to, false, func(row map[string]*big.Int) *big.Int {
			return new(big.Int).Mul(row["price"], big.NewInt(overhead*1_000_000))
		})
		sum.Add(sum, idle).Add(sum, above)
		rat, _ := new(big.Rat).SetFrac(sum, new(big.Int).Mul(big.NewInt(unitsPerKWh), big.NewInt(1_000_000))).Float64()
		require.Equal(t, rat, total, "jobs, idle nodes and overhead")
	})
	require.Positive(t, missed, "bills at the mean price")
}

// A job that ran while no price was known has no cost, nor has its group; one that ran later has.
func TestBillsWithoutAPrice(t *testing.T) {
	m := &memory{size: 3, info: traces.Info{Name: "powered", Hash: "powered", Sorted: true}}
	m.all.Attr = &traces.Attributes{}
	for _, submit := range []int64{10, 400} {
		m.add(row{submit: submit, runtime: 100, walltime: 1000, nodes: 1})
		m.all.Attr.AppendJob(&traces.Job{})
	}
	m.prices = []traces.Price{{Time: 300e6, Price: 0.5, Supply: traces.Some[int64](5000)}}
	dir := filepath.Join(t.TempDir(), "run")
	out, err := Replay(context.Background(), siteOf(t, poweredSite+"facility: {carbon: 100}\n"), Input{Open: m.open}, ReplayOptions{Dir: dir})
	require.NoError(t, err)
	jobs := genericRows(t, filepath.Join(dir, "jobs.parquet"))
	require.NotContains(t, jobs[0], "energy_cost_micro")
	require.EqualValues(t, nearestMicro(new(big.Int).Mul(big.NewInt(2900*100_000_000*500_000), big.NewInt(1_000_000))), jobs[1]["energy_cost_micro"].Int64())
	require.Contains(t, jobs[0], "carbon_mg")
	for _, g := range genericRows(t, filepath.Join(dir, "vclusters.parquet")) {
		require.NotContains(t, g, "energy_cost_micro", "one of its jobs has none")
		require.Contains(t, g, "carbon_mg")
	}
	_, known := out.Table.Value("energy_beyond_supply", "all")
	require.False(t, known, "no supply is known at first")
	_, named := out.Table.Get("energy_beyond_supply", "all")
	require.True(t, named)
	require.Equal(t, fmt.Sprint([]any{0, 2}), fmt.Sprint([]any{jobs[0]["job"].Int64(), len(jobs)}))
}

// What is drawn above the supply is summed up as it changes.
func TestBeyondTheSupply(t *testing.T) {
	m := &memory{size: 3, info: traces.Info{Name: "powered", Hash: "powered", Sorted: true}}
	m.all.Attr = &traces.Attributes{}
	m.add(row{submit: 0, runtime: 100, walltime: 1000, nodes: 1})
	m.all.Attr.AppendJob(&traces.Job{})
	m.prices = []traces.Price{{Time: 0, Price: 0.5, Supply: traces.Some[int64](6800)}, {Time: 60e6, Price: 0.5, Supply: traces.Some[int64](9000)}}
	out, err := Replay(context.Background(), siteOf(t, poweredSite), Input{Open: m.open}, ReplayOptions{})
	require.NoError(t, err)
	have, known := out.Table.Value("energy_beyond_supply", "all")
	require.True(t, known)
	require.InDelta(t, float64(6*700+4*150+2200-6800)*60/3.6e6, have, 1e-12)
	high, _ := out.Table.Value("energy_beyond_supply_high", "all")
	require.Greater(t, high, have)
}
