package reports

import (
	"fmt"
	"slices"
	"strconv"

	"orrery/reports/internal/rundata"
	"orrery/reports/plot"
	"orrery/scheduler/model"
	"orrery/sim/record"
)

// run is a run directory digested for drawing: sums, bins and rasters, and the
// single allocations only while there are few.
type run struct {
	rundata.Run

	jobs      int64
	states    [model.Failed + 1]int64
	unstarted [model.Failed + 1]int64 // of these, never started
	span      plot.Window
	submits   plot.Window // the first and the last submission
	waits     plot.Waits
	slowdowns plot.Slowdowns
	hours     plot.HourlyWaits

	nodes    rundata.NodeMap
	raster   *plot.Raster
	attempts int64
	detail   *detail // nil when there were too many

	site    *site       // nil when the run is of none
	tenants *tenantTime // likewise
	power   *power
}

func (r *run) close() { r.Files.Close() }

// load opens dir and reads every table once.
func load(dir string, most int) (*run, error) {
	files, err := record.Open(dir)
	if err != nil {
		return nil, err
	}
	r := &run{Run: rundata.Run{Files: files}}
	if err := r.read(most); err != nil {
		files.Close()
		return nil, fmt.Errorf("reading run %s: %w", dir, err)
	}
	return r, nil
}

func (r *run) read(most int) error {
	var err error
	if r.About, err = rundata.ReadAbout(r.Files); err != nil {
		return err
	}
	if r.Table, err = rundata.ReadMetrics(r.Files); err != nil {
		return err
	}
	if r.Bins, err = r.Files.Series(); err != nil {
		return err
	}
	if r.site, err = readSite(r.Files, &r.About, &r.Table); err != nil {
		return err
	}
	if r.power, err = readPower(&r.Run); err != nil {
		return err
	}
	r.hours.Clock = r.Clock()
	r.tenants = newTenantTime(r.Files, r.About.Rows)
	r.detail = newDetail(most, r.Files.Rows(), r.About.Shared)
	if err := r.Files.Scan(r.addJobs); err != nil {
		return err
	}
	if r.About.Units == nil {
		if err := r.GuessNodes(); err != nil {
			return err
		}
	}
	r.nodes = rundata.NewNodeMap(r.About.Units)
	if r.span.ToUS <= r.span.FromUS {
		r.span.ToUS = r.span.FromUS + 1
	}
	units := r.About.Units
	if r.About.Shared { // what a job without GPUs holds of a node is not recorded
		units = slices.Repeat([]int32{1}, len(units))
	}
	if r.raster, err = plot.NewRaster(r.drawn(), units, plot.GanttCols, plot.GanttRows); err != nil {
		return err
	}
	r.raster.Jobs = r.About.Shared
	if err := r.tenants.begin(r.drawn(), r.Files.Tenants()); err != nil {
		return err
	}
	if err := r.Files.ScanAttempts(r.addAttempts); err != nil {
		return err
	}
	r.raster.Finish()
	r.detail = r.detail.finish(r.About.Units)
	return nil
}

func (r *run) addJobs(c *record.Columns) error {
	for i := range c.Len() {
		if r.jobs == 0 {
			r.span, r.submits = plot.Window{FromUS: c.Submit[i], ToUS: c.End[i]}, plot.Window{FromUS: c.Submit[i], ToUS: c.Submit[i]}
		}
		r.jobs++
		r.states[c.State[i]]++
		r.span.FromUS, r.span.ToUS = min(r.span.FromUS, c.Submit[i]), max(r.span.ToUS, c.End[i])
		r.submits.FromUS, r.submits.ToUS = min(r.submits.FromUS, c.Submit[i]), max(r.submits.ToUS, c.Submit[i])
		if c.Wait[i] == record.Absent {
			r.unstarted[c.State[i]]++
			r.waits.Absent++
		} else {
			r.waits.Add(c.Wait[i])
			turn := c.End[i] - c.Submit[i]
			if !model.JobState(c.State[i]).Terminal() { // it has not left
				turn = c.Wait[i] + c.Runtime[i]
			}
			r.slowdowns.Add(c.Procs[i], turn, c.Runtime[i])
			r.hours.Add(c.Submit[i], c.Procs[i], c.Wait[i])
		}
	}
	r.tenants.addJobs(c)
	r.detail.addJobs(c)
	return nil
}

func (r *run) addAttempts(c *record.AttemptColumns) error {
	for i := range c.Len() {
		r.attempts++
		r.detail.addAttempt(c, i)
		held := int32(0) // in what the site is measured in
		err := r.nodes.Each(c.Nodes[i], c.Shares[i], func(lo, hi, units int32) error {
			r.detail.addRange(lo, hi, units)
			if r.About.Shared {
				held += (hi - lo + 1) * units
			} else {
				held += hi - lo + 1
			}
			if r.About.Shared {
				units = 1
			}
			return r.raster.Add(c.Start[i], c.End[i], lo, hi, units)
		})
		if err == nil {
			err = r.tenants.add(c.Job[i], c.Start[i], c.End[i], held)
		}
		if err != nil {
			return rundata.Damaged(r.Files, "attempts.parquet", fmt.Sprintf("%v in attempt %d of job %d", err, c.Attempt[i], c.ID[i]))
		}
	}
	return nil
}

// shown is how much of the run's time the figures have.
func (r *run) shown() plot.Shown {
	return plot.ShownUntil(r.submits.FromUS, r.submits.ToUS, r.span.ToUS)
}

// drawn is the span of the figures.
func (r *run) drawn() plot.Window { return plot.Window{FromUS: r.span.FromUS, ToUS: r.shown().ToUS} }

func (r *run) gantt() *plot.Figure {
	var bars []plot.Bar
	if r.attempts <= plot.GanttSingly {
		bars = r.detail.bars()
	}
	r.raster.Name = r.About.NameOf()
	if len(bars) > 0 && r.detail.first != nil {
		if byGPU := r.gpuRaster(); byGPU != nil {
			return plot.Gantt(byGPU, bars, r.attempts, r.Clock())
		}
	}
	return plot.Gantt(r.raster, bars, r.attempts, r.Clock())
}

// gpuRaster has a row for each GPU; nil where it cannot be made.
func (r *run) gpuRaster() *plot.Raster {
	first := r.detail.first
	one := make([]int32, first[len(first)-1])
	for i := range one {
		one[i] = 1
	}
	out, err := plot.NewRaster(r.drawn(), one, plot.GanttCols, plot.GanttRows)
	if err != nil {
		return nil
	}
	name := r.About.NameOf()
	out.What = "GPU"
	out.Name = func(row int) string {
		node, found := slices.BinarySearch(first, int32(row))
		if !found {
			node--
		}
		for node+1 < len(first) && first[node+1] == int32(row) { // nodes without a GPU
			node++
		}
		said := strconv.Itoa(node)
		if name != nil {
			said = name(node)
		}
		return said + ":" + strconv.Itoa(row-int(first[node]))
	}
	return out
}
