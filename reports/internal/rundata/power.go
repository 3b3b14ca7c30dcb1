package rundata

import (
	"orrery/reports/plot"
	"orrery/scheduler/model"
	"orrery/sim/record"
)

// Drawn is what the nodes drew in each bin of the series; nil where that is not recorded.
// Cost is one pass over the table power, memory that of the bins.
func (r *Run) Drawn() ([]plot.Drawn, error) {
	if !r.Files.HasPower() || len(r.Bins) == 0 {
		return nil, nil
	}
	b := binnedPower{out: make([]plot.Drawn, len(r.Bins)), priced: make([]float64, len(r.Bins)), supplied: make([]float64, len(r.Bins))}
	for i := range r.Bins {
		b.out[i] = plot.Drawn{StartUS: int64(r.Bins[i].Time), WidthUS: int64(r.Bins[i].Width)}
	}
	if err := r.Files.Power(b.add); err != nil {
		return nil, err
	}
	return b.finish(), nil
}

// binnedPower sums rows of power up by bins. Cost is that of the rows and the bins.
type binnedPower struct {
	out    []plot.Drawn
	priced []float64 // µs of each bin of which the price is known
	// supplied is likewise of the supply.
	supplied []float64
	row      record.PowerRow
	any      bool
	at       int // the first bin that row may reach into
}

// add takes the next row, which ends the one before.
func (b *binnedPower) add(row record.PowerRow) error {
	if b.any {
		b.hold(int64(row.Time))
	}
	b.row, b.any = row, true
	return nil
}

// hold counts the row in force until an instant.
func (b *binnedPower) hold(until int64) {
	for ; b.at < len(b.out); b.at++ {
		d := &b.out[b.at]
		from, to := max(d.StartUS, int64(b.row.Time)), min(d.StartUS+d.WidthUS, until)
		if from < to {
			w := float64(to - from)
			d.Low += float64(float64(b.row.Low) * w)
			d.Value += float64(float64(b.row.Value) * w)
			d.High += float64(float64(b.row.High) * w)
			d.Most = max(d.Most, float64(b.row.Value))
			if c := float64(b.row.Cap); b.row.Cap != record.Absent && (!d.Capped || c < d.Cap) {
				d.Cap, d.Capped = c, true
			}
			if b.row.Price != record.Absent {
				d.Price += float64(float64(b.row.Price) / 1e6 * w)
				b.priced[b.at] += w
			}
			if b.row.Supply != record.Absent {
				d.Supply += float64(float64(b.row.Supply) * w)
				b.supplied[b.at] += w
			}
		}
		if d.StartUS+d.WidthUS > until {
			return
		}
	}
}

// finish turns sums into means. The last row holds until the end.
func (b *binnedPower) finish() []plot.Drawn {
	if !b.any {
		return nil
	}
	b.hold(int64(model.Never))
	for i := range b.out {
		d := &b.out[i]
		if w := float64(d.WidthUS); w > 0 {
			d.Low, d.Value, d.High = d.Low/w, d.Value/w, d.High/w
		}
		if w := b.priced[i]; w > 0 {
			d.Price, d.Priced = d.Price/w, true
		}
		if w := b.supplied[i]; w > 0 {
			d.Supply, d.Supplied = d.Supply/w, true
		}
	}
	return b.out
}
