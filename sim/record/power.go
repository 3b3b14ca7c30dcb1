package record

import (
	"os"
	"path/filepath"

	"orrery/scheduler/model"
)

// PowerRow is a row of power.parquet: what the nodes of a site draw from Time on, in W, and
// what energy costs and emits then. Absent is an amount that is not known, and no cap.
type PowerRow struct {
	Time             model.Time
	Low, Value, High int64
	Cap              int64 // W
	Price            int64 // 10^-6 of the currency for each kWh
	Carbon           int64 // mg for each kWh
	Supply           int64 // W
}

// powerRow is PowerRow in the file.
type powerRow struct {
	Time   int64  `parquet:"time,delta,timestamp(microsecond)"`
	Value  int64  `parquet:"power_w,delta"`
	Low    int64  `parquet:"power_low_w,delta"`
	High   int64  `parquet:"power_high_w,delta"`
	Cap    *int64 `parquet:"cap_w,optional" encoding:"delta"`
	Price  *int64 `parquet:"price,optional" encoding:"delta"`
	Carbon *int64 `parquet:"carbon,optional" encoding:"delta"`
	Supply *int64 `parquet:"supply_w,optional" encoding:"delta"`

	cap, price, carbon, supply int64 // what pointers point at
}

// Power stores a row; they must come in order of time. It does nothing unless Meta.Power is
// set and the run is of a site.
func (w *Writer) Power(p *PowerRow) {
	if w.err != nil || w.power == nil {
		return
	}
	row := w.power.next()
	row.Time, row.Value, row.Low, row.High = int64(p.Time+w.meta.Epoch), p.Value, p.Low, p.High
	row.Cap, row.Price, row.Carbon = known(&row.cap, p.Cap), known(&row.price, p.Price), known(&row.carbon, p.Carbon)
	row.Supply = known(&row.supply, p.Supply)
	if w.power.full() {
		w.keep(w.power.spill())
	}
}

// known is a place with x, nil when it is Absent.
func known(at *int64, x int64) *int64 {
	if x == Absent {
		return nil
	}
	*at = x
	return at
}

// HasPower says whether the run recorded what its nodes drew.
func (r *Run) HasPower() bool {
	_, err := os.Stat(filepath.Join(r.m.dir, TablePower+".parquet"))
	return err == nil
}

// Power hands out the table power in the order of the file; a run without it has no rows.
func (r *Run) Power(fn func(PowerRow) error) error {
	return r.scanTable(TablePower, func(t *tableFile, v []vector, n int) error {
		for i := range n {
			row := PowerRow{
				Time: model.Time(v[0].i64[i]) - t.epoch, Value: v[1].i64[i], Low: v[2].i64[i], High: v[3].i64[i],
				Cap: v[4].i64[i], Price: v[5].i64[i], Carbon: v[6].i64[i], Supply: Absent,
			}
			if len(t.fields) > 7 {
				row.Supply = v[7].i64[i]
			}
			if err := fn(row); err != nil {
				return err
			}
		}
		return nil
	})
}
