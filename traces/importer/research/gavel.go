package research

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"orrery/scheduler/model"
	"orrery/traces"
	"orrery/traces/importer/format"
)

// Gavel is the format of the workloads of Gavel: rows without names between tabs, of 10
// fields (type, command, directory, argument of the steps, needs_data, steps, GPUs, weight, SLO, arrival) or
// of 7 (type, command, argument of the steps, needs_data, steps, arrival, GPUs). A job is a number
// of steps: with the measured steps per second in simulation_throughputs.json, given along with it, the run time is
// that on the first GPU type there that knows the job, v100 before others; without it the run time is null.
//
// Source: https://github.com/stanford-futuredata/gavel.
var Gavel = &format.Format{
	Name: "gavel", Version: 1, Files: format.ManyFiles, What: "jobs of Gavel (10 or 7 fields between tabs), together with simulation_throughputs.json or without it",
	Sniff: sniffGavel, Scan: scanGavel,
}

var (
	gavelTen   = []string{"type", "command", "dir", "steps_arg", "needs_data", "steps", "gpus", "weight", "slo", "arrival"}
	gavelSeven = []string{"type", "command", "steps_arg", "needs_data", "steps", "arrival", "gpus"}
	gavelNeeds = []string{"type", "steps", "gpus", "arrival", "weight?", "slo?", "command", "needs_data", "steps_arg"}
)

// isThroughputs says whether a file is the table of measured speeds.
func isThroughputs(h format.Head) bool {
	return format.JSONMatch(h, `"('`, `(batch size`, `', 1)"`, `"null"`).Err == nil
}

func sniffGavel(h format.Head) format.Match {
	if isThroughputs(h) {
		return format.Match{Percent: 100}
	}
	lines := format.Lines(h)
	if len(lines) == 0 {
		return format.No(0, 1, "no whole line", "7 or 10 fields between tabs", "name another file")
	}
	f := strings.Split(lines[0], "\t")
	if len(f) == 10 || len(f) == 7 {
		_, err := strconv.ParseFloat(f[len(f)-2], 64)
		_, err2 := strconv.ParseFloat(f[len(f)-1], 64)
		if err == nil && err2 == nil && strings.Contains(f[0], "(") {
			return format.Match{Percent: 100}
		}
	}
	return format.No(0, 1, fmt.Sprintf("%d fields between tabs", len(f)), "7 or 10, the first a type of job", "name another file")
}

func scanGavel(f *format.Format, files []format.File, _ format.Options) (format.Scanned, error) {
	l := &format.Log{Format: f, Files: files, Relative: true}
	var rows []format.File
	var speeds speeds
	for _, file := range files {
		if !isThroughputs(file.Head) {
			rows = append(rows, file)
			continue
		}
		if err := speeds.read(file); err != nil {
			return nil, err
		}
	}
	if len(rows) == 0 {
		return nil, &traces.DataError{File: files[0].Name, Found: "a table of speeds and no jobs", Expected: "jobs of Gavel as well", Mend: "give a trace file along with it"}
	}
	if speeds == nil {
		l.Account.Assume("jobs.runtime", "null", "jobs are numbers of steps; give simulation_throughputs.json along with them")
	} else {
		l.Account.Assume("jobs.runtime", "steps over steps per second", "on the first GPU type that knows the job, v100 before others, alone on its GPUs")
	}
	l.Read = func(s *format.Sink) error {
		n := int64(0)
		for _, file := range rows {
			header := gavelTen
			if first := format.Lines(file.Head); len(first) > 0 && strings.Count(first[0], "\t") == 6 {
				header = gavelSeven
			}
			layout := format.Layout{Comma: '\t', Header: header, Columns: gavelNeeds}
			err := layout.Rows(file, func(r *format.Row) error {
				n++
				return gavelJob(format.CellsOf(r), n, speeds, s)
			})
			if err != nil {
				return err
			}
		}
		return nil
	}
	return l.Scan()
}

func gavelJob(c *format.Cells, id int64, speeds speeds, s *format.Sink) error {
	j := traces.Job{ID: id, Name: c.Text(0), GPUsTotal: c.OptCount(2), Submit: c.Instant(3, model.Second)}
	steps := c.Whole(1, 0, 1<<40)
	for _, k := range []int{1, 4, 5} {
		if text := c.Raw(k); k != 5 || !strings.HasPrefix(text, "-") {
			c.Keep(gavelName(k), text)
		}
	}
	if slo := c.OptSpan(5, model.Second); slo.OK && slo.V > 0 {
		c.Keep("slo", c.Raw(5))
	}
	kind, rate := speeds.of(j.Name, j.GPUsTotal.V)
	if rate > 0 {
		run := float64(float64(steps) / rate * float64(model.Second))
		if run > 1<<60 {
			c.Fail(1, "steps that take less than 2^60 µs")
		} else {
			j.Runtime, j.GPUType = traces.Some(model.Duration(run)), kind
		}
	} else if speeds != nil {
		c.Repair("no-measured-speed")
	}
	j.Extra = c.Extra()
	if c.Err != nil {
		return c.Err
	}
	return s.Job(c.Place(j.Name), &j, "")
}

func gavelName(k int) string { return strings.TrimSuffix(gavelNeeds[k], "?") }

// speeds are the steps per second of a GPU type, of jobs by type and number of GPUs.
type speeds []struct {
	gpu  string
	rate map[string]float64
}

// read takes the speeds of jobs alone; those of two on one GPU are passed over.
func (v *speeds) read(file format.File) error {
	for _, first := range []bool{true, false} { // v100 before others
		err := format.EachElement([]format.File{file}, nil, func(e *format.Element) error {
			var all map[string]map[string]map[string]json.RawMessage
			if err := e.Into(&all); err != nil {
				return err
			}
			for _, gpu := range sortedKeys(all) {
				if (gpu == "v100") != first {
					continue
				}
				rates := map[string]float64{}
				for _, job := range sortedKeys(all[gpu]) {
					var x float64
					if err := json.Unmarshal(all[gpu][job]["null"], &x); err == nil && x > 0 && x < 1e12 {
						rates[job] = x
					}
				}
				*v = append(*v, struct {
					gpu  string
					rate map[string]float64
				}{gpu, rates})
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (v speeds) of(job string, gpus int32) (string, float64) {
	key := fmt.Sprintf("('%s', %d)", job, gpus)
	for _, g := range v {
		if x := g.rate[key]; x > 0 {
			return g.gpu, x
		}
	}
	return "", 0
}
