package research

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"orrery/scheduler/model"
	"orrery/traces"
	"orrery/traces/importer/format"
)

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// Batsim is the format of workloads of Batsim: JSON with jobs (id, subtime, res, walltime,
// profile) and profiles. Of profiles a delay says how long a job runs, and so does a sequence
// of delays; others need a platform, and their jobs are dropped as profile-needs-a-platform.
// res is taken as processors.
//
// Source: https://batsim.readthedocs.io, input workload.
var Batsim = &format.Format{
	Name: "batsim", Version: 1, Files: format.ManyFiles, What: "workloads of Batsim in JSON, of profiles that need no platform",
	Sniff: func(h format.Head) format.Match {
		return format.JSONMatch(h, `"jobs"`, `"subtime"`, `"res"`, `"profile"`)
	},
	Scan: scanBatsim,
}

type batsimJob struct {
	ID       json.RawMessage `json:"id"`
	Submit   json.Number     `json:"subtime"`
	Size     int64           `json:"res"`
	Walltime json.Number     `json:"walltime"`
	Profile  string          `json:"profile"`
	User     string          `json:"user"`
}

type batsimProfile struct {
	Type   string      `json:"type"`
	Delay  json.Number `json:"delay"`
	Repeat *int64      `json:"repeat"`
	Nb     *int64      `json:"nb"`
	Seq    []string    `json:"seq"`
}

func scanBatsim(f *format.Format, files []format.File, _ format.Options) (format.Scanned, error) {
	l := &format.Log{Format: f, Files: files, Relative: true}
	profiles := make([]map[string]batsimProfile, len(files))
	for i := range profiles {
		profiles[i] = map[string]batsimProfile{}
	}
	err := format.EachElement(files, []string{"profiles"}, func(e *format.Element) error {
		var p batsimProfile
		if err := e.Into(&p); err != nil {
			return err
		}
		profiles[e.Of][e.Key] = p
		return nil
	})
	if err != nil {
		return nil, err
	}
	l.Read = func(s *format.Sink) error {
		return format.EachElement(files, []string{"jobs"}, func(e *format.Element) error {
			var b batsimJob
			if err := e.Into(&b); err != nil {
				return err
			}
			l.Account.LeftOut(e.LeftOut(&b)...)
			j, drop, err := b.job(e, profiles[e.Of])
			if err != nil {
				return err
			}
			return s.Job(e.Place(j.Name), &j, drop)
		})
	}
	return l.Scan()
}

func (b *batsimJob) job(e *format.Element, profiles map[string]batsimProfile) (j traces.Job, drop string, err error) {
	j = traces.Job{ID: e.All, Name: strings.Trim(string(b.ID), `"`), User: b.User}
	at, _, ok := format.Decimal(b.Submit.String(), model.Second)
	if !ok {
		return j, "", e.Wrong("subtime", b.Submit.String(), "seconds")
	}
	if b.Size < 0 || b.Size > format.MostCount {
		return j, "", e.Wrong("res", "a number out of range", "a number of resources")
	}
	j.Submit, j.ProcsRequested = model.Time(at), traces.Some(int32(b.Size))
	if text := b.Walltime.String(); text != "" && text != "-1" {
		wall, _, ok := format.Decimal(text, model.Second)
		if !ok {
			return j, "", e.Wrong("walltime", text, "seconds")
		}
		j.Walltime = traces.Some(wall)
	}
	if _, known := profiles[b.Profile]; !known {
		return j, "", e.Wrong("profile", format.Excerpt(b.Profile), "one of the profiles")
	}
	run, ok := delay(b.Profile, profiles, 0)
	if !ok {
		return j, "profile-needs-a-platform", nil
	}
	j.Runtime = traces.Some(run)
	j.Extra = extra("profile", b.Profile)
	return j, "", nil
}

// delay is how long a profile takes where that does not depend on a platform.
func delay(name string, profiles map[string]batsimProfile, depth int) (model.Duration, bool) {
	p, known := profiles[name]
	if !known || depth > 8 {
		return 0, false
	}
	switch p.Type {
	case "delay":
		d, _, ok := format.Decimal(p.Delay.String(), model.Second)
		return d, ok && d >= 0
	case "composed", "sequence":
		times, sum := int64(1), model.Duration(0)
		for _, n := range []*int64{p.Repeat, p.Nb} {
			if n != nil {
				times = *n
			}
		}
		for _, part := range p.Seq {
			d, ok := delay(part, profiles, depth+1)
			if !ok || d > 1<<55 || sum > 1<<55 {
				return 0, false
			}
			sum += d
		}
		if times < 0 || sum > 0 && times > (1<<60)/int64(sum) {
			return 0, false
		}
		return sum * model.Duration(times), true
	}
	return 0, false
}

// extra is the JSON of one text.
func extra(key, value string) string {
	text, err := json.Marshal(map[string]string{key: value})
	if err != nil {
		return "" // texts can always be written
	}
	return string(text)
}

const (
	outID = iota
	outSubmit
	outProcs
	outWall
	outSuccess
	outStart
	outRun
	outFinish
	outWhere
)

// BatsimJobs is the format of the schedules that Batsim writes (out_jobs.csv).
var BatsimJobs = format.Spec{
	Format: format.Format{Name: "batsim-jobs", Version: 1, What: "schedules of Batsim (out_jobs.csv)"},
	Layout: format.Layout{Comma: ',', Columns: []string{outID: "job_id", outSubmit: "submission_time", outProcs: "requested_number_of_resources", outWall: "requested_time",
		outSuccess: "success", outStart: "starting_time", outRun: "execution_time", outFinish: "finish_time", outWhere: "allocated_resources"}},
	Relative: true,
	Row: func(_ *format.Table, c *format.Cells, s *format.Sink) error {
		j := traces.Job{ID: c.N, Name: c.Text(outID), Submit: c.Instant(outSubmit, model.Second), ProcsRequested: c.OptCount(outProcs), Start: c.OptAt(outStart, model.Second),
			Runtime: c.OptSpan(outRun, model.Second), End: c.OptAt(outFinish, model.Second), RecordedNodes: c.Name(outWhere), ExitState: c.Word(outSuccess, "1", "COMPLETED", "0", "FAILED")}
		if wall := c.OptSpan(outWall, model.Second); wall.V >= 0 {
			j.Walltime = wall
		}
		j.ProcsAllocated = j.ProcsRequested
		j.Extra = c.Extra()
		if c.Err != nil {
			return c.Err
		}
		return s.Job(c.Place(j.Name), &j, "")
	},
}.Build()
