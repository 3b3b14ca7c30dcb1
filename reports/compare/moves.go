package compare

import (
	"fmt"

	"orrery/reports/internal/rundata"
	"orrery/reports/plot"
	"orrery/sim/record"
)

// ganttOfMoves draws the nodes of both runs over time, each job in the colour
// of how its start moved from A to B, and says how much of the time of both runs is
// drawn. It reads the jobs of both runs and their attempts once more; memory is
// 9 bytes per job of the trace and 8 MB. Complaints about content are
// *record.DataError.
func (c *Comparison) ganttOfMoves() (*plot.Figure, plot.Shown, error) {
	d := shiftReader{}
	var runs [2]*record.Run
	var about [2]rundata.About
	for i, dir := range [2]string{c.A.Dir, c.B.Dir} {
		f, err := record.Open(dir)
		if err != nil {
			return nil, plot.Shown{}, err
		}
		defer f.Close()
		runs[i] = f
		if about[i], err = rundata.ReadAbout(f); err != nil {
			return nil, plot.Shown{}, err
		}
		if about[i].Units == nil {
			guess := rundata.Run{Files: f}
			if err := guess.GuessNodes(); err != nil {
				return nil, plot.Shown{}, err
			}
			about[i].Units = guess.About.Units
		}
		if err := d.read(f, i, about[i].Rows); err != nil {
			return nil, plot.Shown{}, err
		}
	}
	units := about[0].Units
	if len(about[1].Units) > len(units) {
		units = about[1].Units
	}
	d.span.ToUS = max(d.span.ToUS, d.span.FromUS+1)
	shown := plot.ShownUntil(d.span.FromUS, d.lastSubmit, d.span.ToUS)
	m, err := plot.NewMoves(plot.Window{FromUS: d.span.FromUS, ToUS: shown.ToUS}, units)
	if err != nil {
		return nil, plot.Shown{}, err
	}
	for i, f := range runs {
		m.SetName(i, about[i].NameOf())
		if err := d.allocate(f, m, i, rundata.NewNodeMap(units)); err != nil {
			return nil, plot.Shown{}, err
		}
	}
	clock := plot.Clock{EpochUS: int64(runs[0].Epoch()), Known: about[0].EpochKnown}
	return plot.GanttMoves(m, c.names(), c.Jobs.Earlier, c.Jobs.Later, c.Jobs.Same, clock), shown, nil
}

// shiftReader knows the start of every job in the first run, and after the
// second how it moved.
type shiftReader struct {
	span       plot.Window
	any        bool
	lastSubmit int64
	starts     []int64 // by row of the trace, record.Absent where it never started
	shifts     []plot.Shift
}

func (d *shiftReader) read(f *record.Run, side int, rows int64) error {
	return f.Scan(func(j *record.Columns) error {
		for i, job := range j.Job {
			if job < 0 || rows > 0 && int64(job) >= rows {
				return badJob(f, job, rows)
			}
			for int(job) >= len(d.starts) {
				d.starts, d.shifts = append(d.starts, record.Absent), append(d.shifts, plot.Unmoved)
			}
			if !d.any {
				d.span, d.lastSubmit, d.any = plot.Window{FromUS: j.Submit[i], ToUS: j.End[i]}, j.Submit[i], true
			}
			d.span.FromUS, d.span.ToUS = min(d.span.FromUS, j.Submit[i]), max(d.span.ToUS, j.End[i])
			d.lastSubmit = max(d.lastSubmit, j.Submit[i])
			switch a, b := d.starts[job], j.Start[i]; {
			case side == 0:
				d.starts[job] = b
			case a == record.Absent || b == record.Absent || a == b:
			case b < a:
				d.shifts[job] = plot.Earlier
			default:
				d.shifts[job] = plot.Later
			}
		}
		return nil
	})
}

func (d *shiftReader) allocate(f *record.Run, m *plot.Moves, side int, nodes rundata.NodeMap) error {
	return f.ScanAttempts(func(c *record.AttemptColumns) error {
		for i := range c.Len() {
			shift := plot.Unmoved
			if job := c.Job[i]; job >= 0 && int(job) < len(d.shifts) {
				shift = d.shifts[job]
			}
			err := nodes.Each(c.Nodes[i], c.Shares[i], func(lo, hi, units int32) error {
				return m.Add(side, shift, c.Start[i], c.End[i], lo, hi, units)
			})
			if err != nil {
				return rundata.Damaged(f, "attempts.parquet", fmt.Sprintf("%v in attempt %d of job %d", err, c.Attempt[i], c.ID[i]))
			}
		}
		return nil
	})
}
