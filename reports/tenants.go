package reports

import (
	"orrery/reports/plot"
	"orrery/sim/metric"
	"orrery/sim/record"
)

// tenantTime adds up what each tenant held over time: a raster with a row for
// each tenant, so that its cost does not grow with how long attempts last. It
// needs 4 bytes for each job of the trace.
type tenantTime struct {
	names  []string
	rows   int64   // of the trace, 0 when not known
	of     []int32 // tenant by row of the trace, -1 for none
	raster *plot.Raster
}

// tenantStretches is how many stretches the time of a run is parted into.
const tenantStretches = 240

// newTenantTime is nil for runs of no site.
func newTenantTime(f *record.Run, rows int64) *tenantTime {
	if !f.OfSite() {
		return nil
	}
	return &tenantTime{rows: rows}
}

func (t *tenantTime) addJobs(c *record.Columns) {
	if t == nil {
		return
	}
	for i, job := range c.Job {
		if t.rows > 0 && int64(job) >= t.rows {
			continue // no such job, whatever the file says
		}
		for int(job) >= len(t.of) {
			t.of = append(t.of, -1)
		}
		if job >= 0 {
			t.of[job] = c.Tenant[i]
		}
	}
}

// begin prepares for attempts within the span, when all jobs and with them
// the names of the tenants are known.
func (t *tenantTime) begin(span plot.Window, names []string) (err error) {
	if t == nil || len(names) == 0 {
		return nil
	}
	t.names = names
	rows := make([]int32, len(t.names))
	for i := range rows {
		rows[i] = 1
	}
	t.raster, err = plot.NewRaster(span, rows, tenantStretches, len(rows))
	return err
}

// add counts what an attempt of a job holds.
func (t *tenantTime) add(job int32, start, end int64, held int32) error {
	if t == nil || t.raster == nil || job < 0 || int(job) >= len(t.of) || t.of[job] < 0 || int(t.of[job]) >= len(t.names) {
		return nil
	}
	return t.raster.Add(start, end, t.of[job], t.of[job], held)
}

// figure draws the shares; nil when nothing was held.
func (t *tenantTime) figure(s *site, clock plot.Clock) *plot.Figure {
	if t == nil || t.raster == nil || s == nil {
		return nil
	}
	t.raster.Finish()
	targets := map[string]*float64{}
	for _, g := range s.groups(metric.ByTenant, s.window) {
		targets[g.Name] = g.Target
	}
	tenants := make([]plot.Tenant, len(t.names))
	for y, name := range t.names {
		tenants[y] = plot.Tenant{Name: name, Shares: make([]float64, t.raster.Cols), Target: float64(metric.NumberOf(targets[name]))}
	}
	any, held := false, make([]float64, t.raster.Cols)
	for x := range t.raster.Cols {
		all := int64(0)
		for y := range tenants {
			all += t.raster.UnitTime(x, y)
		}
		held[x] = float64(all)
		for y := range tenants {
			tenants[y].Shares[x] = float64(metric.Undefined)
			if all > 0 {
				any = true
				tenants[y].Shares[x] = float64(t.raster.UnitTime(x, y)) / float64(all)
			}
		}
	}
	if !any {
		return nil
	}
	return plot.SharesOverTime("shares-by-tenant", "What each tenant held over time", s.measure(), t.raster.FromUS, t.raster.ColUS, tenants, held, clock)
}
