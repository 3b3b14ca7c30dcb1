package world

import (
	"math/big"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"orrery/hwmodel"
	"orrery/scheduler/model"
	"orrery/sim/world/internal/bill"
	"orrery/sim/world/translate"
	"orrery/traces"
)

// some is a known amount.
func some(v int64) hwmodel.Amount { return hwmodel.Amount{V: v, OK: true} }

// since are tariffs from an instant on.
func since(t model.Time, price, carbon hwmodel.Amount) hwmodel.TariffAt {
	return hwmodel.TariffAt{At: t, Tariff: hwmodel.Tariff{Price: price, Carbon: carbon}}
}

// TestBill: a job that draws 300 W for 10 s pays each stretch at its price, and the least where
// one is paid is that of the most.
//
//	price   0.36       -0.72
//	      0      4 s         10
func TestBill(t *testing.T) {
	cfg := SiteConfig{Site: smallSite(1), Power: PowerConfig{
		RowBand: model.One / 4, PUE: hwmodel.FixedPUE(1_500_000),
		Tariffs: []hwmodel.TariffAt{since(model.AbsentTime, some(360_000_000), some(36_000_000)), since(4*at, some(-720_000_000), some(0))},
	}}
	p := play(t, cfg, batchOf(row(1, 0, func(j *traces.Job) { j.Power = traces.Some[int64](300) })))
	j := &p.sink.jobs[0]
	require.Equal(t, model.PowerOfRow, j.Source)
	// 1 W for 10 s at a price of 0.36 for each Wh is 0.001.
	each := func(first, second int64) int64 { return (4*first*100 - 6*second*200) * 15 / 10 }
	require.Equal(t, model.Charge{Low: each(225, 375), Value: each(300, 300), High: each(375, 225), Known: true}, j.Bill.Cost)
	require.Equal(t, model.Charge{Low: 4 * 225 * 10 * 15 / 10, Value: 4 * 300 * 10 * 15 / 10, High: 4 * 375 * 10 * 15 / 10, Known: true}, j.Bill.Carbon)
}

// TestNoBill: without a price at some instant of the job, or a source of its power, nothing is
// known, and a job that never ran has cost nothing. Where nothing has a price there is no bill.
func TestNoBill(t *testing.T) {
	late := PowerConfig{PUE: hwmodel.FixedPUE(1_000_000), Tariffs: []hwmodel.TariffAt{since(model.AbsentTime, hwmodel.Amount{}, some(5)), since(4*at, some(7), some(5))}}
	withdrawn := func(j *traces.Job) { j.Runtime, j.CancelledAt = traces.Opt[model.Duration]{}, traces.Some(3*at) }
	p := play(t, SiteConfig{Site: smallSite(1), Power: late}, batchOf(row(1, 0, runs(4*sec)), row(2, 0, withdrawn), row(3, 5*at)))
	require.Len(t, p.sink.jobs, 3)
	withdrew, ran := &p.sink.jobs[0], &p.sink.jobs[1]
	require.EqualValues(t, 2, withdrew.ID)
	require.Equal(t, model.Bill{Cost: model.Charge{Known: true}, Carbon: model.Charge{Known: true}}, *withdrew.Bill)
	require.Equal(t, model.NoPowerSource, withdrew.Source)
	require.False(t, ran.Bill.Cost.Known)
	require.True(t, ran.Bill.Carbon.Known)
	require.True(t, p.sink.jobs[2].Bill.Cost.Known)

	site := smallSite(1)
	site.Nodes[0].BusyPower = 0
	p = play(t, SiteConfig{Site: site, Power: late}, batchOf(row(1, 5*at)))
	require.Equal(t, model.PowerUnknown, p.sink.jobs[0].Source)
	require.Equal(t, model.Bill{}, *p.sink.jobs[0].Bill)

	p = play(t, SiteConfig{Site: smallSite(1)}, batchOf(row(1, 0)))
	require.Nil(t, p.sink.jobs[0].Bill)
	require.Equal(t, model.PowerOfNodes, p.sink.jobs[0].Source)
}

// naiveBill is what a job has drawn, looked at at every instant.
type naiveBill struct{ cost, carbon, energy [3]*big.Int }

func (b *naiveBill) add(price, carbon, pue int64, w hwmodel.Watts, d model.Duration) {
	watts := [3]int64{max(w.Low, 0), max(w.Value, 0), max(w.High, 0)}
	for i := range watts {
		of := i
		if price < 0 {
			of = 2 - i
		}
		term := func(x, w int64) *big.Int {
			out := new(big.Int).Mul(big.NewInt(x), big.NewInt(pue))
			return out.Mul(out, big.NewInt(w)).Mul(out, big.NewInt(int64(d)))
		}
		if b.cost[i] == nil {
			b.cost[i], b.carbon[i], b.energy[i] = new(big.Int), new(big.Int), new(big.Int)
		}
		b.cost[i].Add(b.cost[i], term(price, watts[of]))
		b.carbon[i].Add(b.carbon[i], term(carbon, watts[i]))
		b.energy[i].Add(b.energy[i], new(big.Int).Mul(big.NewInt(watts[i]), big.NewInt(int64(d))))
	}
}

// nearest is x ÷ den, a half away from 0.
func nearest(x *big.Int, den int64) int64 {
	half := new(big.Int).Mul(new(big.Int).Abs(x), big.NewInt(2))
	half.Add(half, big.NewInt(den)).Quo(half, new(big.Int).Mul(big.NewInt(den), big.NewInt(2)))
	return half.Int64() * int64(x.Sign())
}

// TestBillsAreThoseOfEveryInstant: under caps, held GPUs, failures, prices and a PUE that go up
// and down, the bill of each job is what looking at every job at every instant comes to, and
// those of the jobs and of what the nodes draw beside them add up to that of the site, to the
// last digit. At the mean price they are not.
func TestBillsAreThoseOfEveryInstant(t *testing.T) {
	missed := 0
	rapid.Check(t, func(rt *rapid.T) {
		rows := []traces.Job{row(1, 0), row(2, 0), row(3, 0), row(4, 0)}
		for i := range rows {
			runs(model.Duration(rapid.Int64Range(1, 30).Draw(rt, "runtime")) * sec)(&rows[i])
			walltime(1000 * sec)(&rows[i])
		}
		tariffs := []hwmodel.TariffAt{since(model.AbsentTime, some(rapid.Int64Range(-9e9, 9e9).Draw(rt, "first")), some(3))}
		for now := model.Time(0); now < 50*at; now += model.Time(rapid.Int64Range(1, int64(20*sec)).Draw(rt, "until")) {
			tariffs = append(tariffs, since(now, some(rapid.Int64Range(-9e9, 9e9).Draw(rt, "price")), some(rapid.Int64Range(0, 9e9).Draw(rt, "carbon"))))
		}
		pue := hwmodel.FixedPUE(1_300_000)
		if rapid.Bool().Draw(rt, "by load") {
			pue = hwmodel.PUE{Capacity: 2000, Points: []hwmodel.PUEPoint{{Load: 300_000, PUE: 1_700_000}, {Load: 1_000_000, PUE: 1_100_000}}}
		}
		s := newSingle(t, func(c *SiteConfig) {
			own := modelled(4, nil)
			c.Hardware, c.Rows.Hardware = own.Hardware, own.Rows.Hardware
			c.Power = PowerConfig{Slow: true, Cap: rapid.Int64Range(400, 2000).Draw(rt, "cap"), IdleBand: model.FixedOf(0.04), Tariffs: tariffs, PUE: pue}
			c.StartDelay = model.Duration(rapid.Int64Range(0, 3).Draw(rt, "delay")) * sec
			if rapid.Bool().Draw(rt, "fails") {
				down := model.Time(rapid.Int64Range(1, 20).Draw(rt, "down")) * at
				c.Changes = []translate.Change{{At: down, Kind: translate.NodeFails, Node: 1}, {At: down + 5*at, Kind: translate.NodeRepaired, Node: 1}}
			}
		}, rows...)
		recordedOn(s.rows, 1, 1, 1, 1)
		for i := range rows {
			f := s.submit(i)
			require.Equal(t, model.FactAssigned, s.propose(0, model.Proposal{Ref: f.Ref, Job: f.Job, Placement: whole(1 << i)}).Kind)
		}
		bills, site, jobless := map[int64]*naiveBill{}, naiveBill{}, naiveBill{}
		for now := model.Time(0); s.Next() != model.Never; {
			to := s.Next()
			for now < to { // the stretches of one tariff up to the next event
				in, step := tariffs[0], to
				for _, x := range tariffs[1:] {
					if x.At <= now {
						in = x
					} else {
						step = min(step, x.At)
					}
				}
				at, rest := pue.At(s.Meter.Draw.Value), s.Meter.Draw
				for ref := range model.Ref(s.jobs.Len()) {
					l := s.jobs.At(ref)
					if !l.present || l.attempt == nil {
						continue
					}
					b := bills[l.rec.ID]
					if b == nil {
						b = &naiveBill{}
						bills[l.rec.ID] = b
					}
					draws := l.draws.Idle.Plus(l.draws.Drawn)
					b.add(in.Price.V, in.Carbon.V, at, draws, step.Sub(now))
					rest = rest.Minus(draws)
				}
				site.add(in.Price.V, in.Carbon.V, at, s.Meter.Draw, step.Sub(now))
				jobless.add(in.Price.V, in.Carbon.V, at, rest, step.Sub(now))
				require.GreaterOrEqual(t, rest.Value, int64(0), "what idle nodes draw")
				now = step
			}
			s.Take(to, nil)
			s.Close()
		}
		s.Abandon(s.now)
		require.Len(t, s.sink.jobs, len(rows))
		sum := new(big.Int).Set(jobless.cost[1])
		for i := range s.sink.jobs {
			j := &s.sink.jobs[i]
			b := bills[j.ID]
			sum.Add(sum, b.cost[1])
			require.Equal(t, model.Charge{Low: nearest(b.cost[0], bill.PerKWh), Value: nearest(b.cost[1], bill.PerKWh), High: nearest(b.cost[2], bill.PerKWh), Known: true}, j.Bill.Cost)
			require.Equal(t, model.Charge{Low: nearest(b.carbon[0], bill.PerKWh), Value: nearest(b.carbon[1], bill.PerKWh), High: nearest(b.carbon[2], bill.PerKWh), Known: true}, j.Bill.Carbon)
			require.LessOrEqual(t, j.Bill.Cost.Low, j.Bill.Cost.Value)
			require.LessOrEqual(t, j.Bill.Cost.Value, j.Bill.Cost.High)
			mean := new(big.Int).Mul(b.energy[1], site.cost[1])
			if nearest(mean.Quo(mean, site.energy[1]), bill.PerKWh) != j.Bill.Cost.Value {
				missed++
			}
		}
		require.Equal(t, site.cost[1].String(), sum.String(), "jobs and idle nodes")
	})
	require.Positive(t, missed, "bills at the mean price")
}
