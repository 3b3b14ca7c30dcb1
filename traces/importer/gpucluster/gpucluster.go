// Package gpucluster reads the logs of GPU clusters that their owners published: Philly of
// Microsoft, Helios of SenseTime, Acme of Shanghai AI Laboratory. It knows nothing of what a replay
// makes of a job.
//
// Philly, flattened: timestamp,duration,num_gpus,gpu_time,cluster. When a job started is not
// known; the cluster is the virtual cluster and becomes the tenant. Times are local to the site: the
// utilisation rows of the same data say PDT.
//
// Philly, original: a list in JSON of jobs with their attempts. A job runs from the start of its first
// attempt to the end of its last one, and the run time is the sum of the attempts; a job
// that still ran when the log was taken is dropped as not-ended. Untested on real rows.
//
// Machines of Philly: machineId, number of GPUs, single GPU mem. The published list is
// disputed by its users.
//
// Helios: cluster_log.csv, local time (Asia/Shanghai) without a zone. Acme: trace_seren.csv and
// trace_kalos.csv, times with their zone; the run time is end less start: of some rows of Kalos,
// duration is end less submission. Both untested on real rows.
//
// Sources: https://github.com/msr-fiddle/philly-traces, https://github.com/siasosp23/artifacts,
// https://github.com/S-Lab-System-Group/HeliosData, https://github.com/InternLM/AcmeTrace.
package gpucluster

import (
	"encoding/json"
	"strconv"
	"strings"

	"orrery/scheduler/model"
	"orrery/traces"
	"orrery/traces/importer/format"
)

// Philly is the format of the flattened log.
var Philly = format.Spec{
	Format: format.Format{Name: "philly", Version: 1, Zoned: true, What: "jobs of Philly, flattened (timestamp,duration,num_gpus,gpu_time,cluster)"},
	Layout: format.Layout{Comma: ',', Columns: []string{"timestamp", "duration", "num_gpus", "gpu_time?", "cluster"}},
	Row: func(t *format.Table, c *format.Cells, s *format.Sink) error {
		t.Clock.Unordered = true // the log is not
		j := traces.Job{ID: c.N, Submit: c.When(0, &t.Clock), Runtime: c.OptSpan(1, model.Second), GPUsTotal: c.OptCount(2), Tenant: c.Name(4)}
		if c.Err != nil {
			return c.Err
		}
		return s.Job(c.Place(""), &j, "")
	},
}.Build()

// PhillyMachines is the format of the list of machines.
var PhillyMachines = format.Spec{
	Format: format.Format{Name: "philly-machines", Version: 1, What: "machines of Philly (machineId, number of GPUs, single GPU mem)"},
	Layout: format.Layout{Comma: ',', Columns: []string{"machineId", "number of GPUs", "single GPU mem"}},
	Begin: func(t *format.Table, _ format.Options) error {
		t.Log.Account.Assume("nodes.cpus", "0", "the list does not say how many CPUs a machine has")
		t.Log.Account.Assume("nodes.up", "true", "the list does not say which machines were down")
		return nil
	},
	Row: func(_ *format.Table, c *format.Cells, s *format.Sink) error {
		n := traces.Node{Name: c.Text(0), GPUs: c.Count(1), Type: gpusOf + c.Text(2), Up: true}
		if c.Err != nil {
			return c.Err
		}
		return s.Node(c.Place(n.Name), &n, "")
	},
}.Build()

// gpusOf begins the type of a machine of Philly.
const gpusOf = "GPUs of "

// GPUMemory is the memory in bytes of one GPU of a machine of such a type, 0 where it says none.
func GPUMemory(kind string) int64 {
	text, ok := strings.CutPrefix(kind, gpusOf)
	gb, inGB := strings.CutSuffix(text, "GB")
	n, err := strconv.ParseInt(gb, 10, 32)
	if !ok || !inGB || err != nil || n < 0 {
		return 0
	}
	return n * 1e9
}

// PhillyJSON is the format of the original log.
var PhillyJSON = &format.Format{
	Name: "philly-json", Version: 3, Files: format.ManyFiles, Zoned: true, Untested: true, What: "jobs of Philly as published (cluster_job_log, JSON with attempts)",
	Sniff: func(h format.Head) format.Match {
		return format.JSONMatch(h, `"attempts"`, `"submitted_time"`, `"vc"`, `"jobid"`)
	},
	Scan: scanPhilly,
}

type phillyJob struct {
	Status   string `json:"status"`
	VC       string `json:"vc"`
	ID       string `json:"jobid"`
	User     string `json:"user"`
	Submit   string `json:"submitted_time"`
	Attempts []struct {
		Start  *string `json:"start_time"`
		End    *string `json:"end_time"`
		Detail []struct {
			IP   string   `json:"ip"`
			GPUs []string `json:"gpus"`
		} `json:"detail"`
	} `json:"attempts"`
}

func scanPhilly(f *format.Format, files []format.File, o format.Options) (format.Scanned, error) {
	clock := format.Clock{Zone: o.Zone, Unordered: true}
	l := &format.Log{Format: f, Files: files, Zone: o.Zone}
	l.Account.Assume("jobs.gpus_total", "as allocated", "the log does not say what was requested: the GPUs of the last attempt")
	l.Read = func(s *format.Sink) error {
		return format.EachElement(files, []string{}, func(e *format.Element) error {
			var p phillyJob
			if err := e.Into(&p); err != nil {
				return err
			}
			l.Account.LeftOut(e.LeftOut(&p)...)
			place := e.Place(p.ID)
			j, drop, err := p.job(e, &clock, place)
			if err != nil {
				return err
			}
			return s.Job(place, &j, drop)
		})
	}
	return l.Scan()
}

// zoneWords are what may stand behind a time of the log, and what they say.
var zoneWords = [...][2]string{{" PST", " -0800"}, {" PDT", " -0700"}}

// instant is a time of the log; null, None and the empty one are none.
func (p *phillyJob) instant(e *format.Element, clock *format.Clock, field, text string) (at format.Moment, err error) {
	if format.Missing(text) {
		return at, nil
	}
	local, named := text, ""
	for _, word := range zoneWords {
		if bare, ok := strings.CutSuffix(text, word[0]); ok {
			local, named = bare, bare+word[1]
		}
	}
	at, _, needZone, ok := clock.Moment(local)
	switch {
	case needZone:
		bad := e.Wrong(field, format.Excerpt(text), format.NeedsZone)
		bad.Mend = "name the zone of the file with --time-zone, US/Pacific"
		return at, format.Whole(bad)
	case !ok:
		return at, e.Wrong(field, format.Excerpt(text), format.InstantForms)
	case named != "":
		if sure, _, _, ok := clock.Moment(named); ok {
			at.Is(sure.At().V)
		}
	}
	return at, nil
}

// moments are those of a job: its submission, and the start and end of each attempt, which came one after the other.
func (p *phillyJob) moments(e *format.Element, clock *format.Clock) (submit format.Moment, attempts [][2]format.Moment, rules []string, err error) {
	if submit, err = p.instant(e, clock, "submitted_time", p.Submit); err != nil {
		return submit, nil, nil, err
	}
	row := []*format.Moment{&submit}
	attempts = make([][2]format.Moment, len(p.Attempts))
	for i, a := range p.Attempts {
		for k, text := range []*string{a.Start, a.End} {
			if text != nil {
				if attempts[i][k], err = p.instant(e, clock, "attempts", *text); err != nil {
					return submit, nil, nil, err
				}
			}
			row = append(row, &attempts[i][k])
		}
	}
	return submit, attempts, format.Moments(traces.Opt[model.Duration]{}, row...), nil
}

func (p *phillyJob) job(e *format.Element, clock *format.Clock, place *format.Place) (j traces.Job, drop string, err error) {
	j = traces.Job{ID: e.All, Name: p.ID, User: p.User, Tenant: p.VC}
	switch p.Status {
	case "Pass":
		j.ExitState = "COMPLETED"
	case "Killed":
		j.ExitState = "CANCELLED"
	case "Failed":
		j.ExitState = "FAILED"
	default:
		return j, "", e.Wrong("status", format.Excerpt(p.Status), "Pass, Killed or Failed")
	}
	submit, attempts, rules, err := p.moments(e, clock)
	if err != nil || !submit.At().OK {
		return j, "no-submission", err
	}
	place.Repaired = append(place.Repaired, rules...)
	j.Submit = submit.At().V
	run, whole, begun := model.Duration(0), true, false
	var hosts []string
	gpus := int32(0)
	for i, a := range p.Attempts {
		ends := [2]traces.Opt[model.Time]{attempts[i][0].At(), attempts[i][1].At()}
		begun = begun || ends[0].OK
		if !ends[0].OK || !ends[1].OK {
			whole = false
			continue
		}
		if !j.Start.OK {
			j.Start = ends[0]
		}
		j.End = ends[1]
		run += ends[1].V.Sub(ends[0].V)
		gpus, hosts = 0, nil
		for _, d := range a.Detail {
			gpus += int32(len(d.GPUs))
			hosts = append(hosts, d.IP)
		}
	}
	switch {
	case begun && !whole:
		return j, "not-ended", nil
	case !j.Start.OK:
		if j.ExitState != "CANCELLED" {
			return j, "never-ran", nil
		}
	default:
		j.Runtime = traces.Some(run)
	}
	if len(hosts) > 0 {
		j.GPUsTotal, j.RecordedNodes = traces.Some(gpus), strings.Join(hosts, ",")
	}
	if len(p.Attempts) > 1 {
		text, err := json.Marshal(map[string]string{"attempts": strconv.Itoa(len(p.Attempts))})
		if err == nil {
			j.Extra = string(text)
		}
	}
	return j, "", nil
}
