package batch

import (
	"strconv"

	"orrery/scheduler/model"
	"orrery/traces"
	"orrery/traces/importer/format"
)

// OAR is the Gantt of OAR as oarstat --gantt -J prints it: an object of jobs by their ids.
// Times are seconds since 1970; resources are taken as processors.
//
// Source: https://oar.imag.fr.
var OAR = &format.Format{
	Name: "oar", Version: 2, Files: 1 << 10, What: "Gantt data of OAR in JSON", Sniff: sniffOAR, Scan: scanOAR,
}

func sniffOAR(h format.Head) format.Match {
	return format.JSONMatch(h, `"jobs"`, `"submission_time"`, `"resources"`, `"walltime"`, `"start_time"`)
}

type oarJob struct {
	Submission  int64   `json:"submission_time"`
	Start       int64   `json:"start_time"`
	Stop        int64   `json:"stop_time"`
	Walltime    *int64  `json:"walltime"`
	State       string  `json:"state"`
	User        string  `json:"user"`
	Queue       string  `json:"queue_name"`
	Command     string  `json:"command"`
	Name        string  `json:"name"`
	Properties  string  `json:"properties"`
	Resources   []int64 `json:"resources"`
	Reservation string  `json:"reservation"`
}

// oarStates are the final ones, in the words of the bundle.
var oarStates = []struct{ oar, ours string }{{"Terminated", "COMPLETED"}, {"Error", "FAILED"}}

func scanOAR(f *format.Format, files []format.File, _ format.Options) (format.Scanned, error) {
	l := &format.Log{Format: f, Files: files}
	l.Account.Assume("jobs.procs_allocated", "the number of resources", "the Gantt does not say what a resource is")
	l.Account.Assume("jobs.procs_requested", "as allocated", "the Gantt does not say what was requested")
	l.Read = func(s *format.Sink) error {
		return format.EachElement(files, []string{"jobs"}, func(e *format.Element) error {
			var o oarJob
			if err := e.Into(&o); err != nil {
				return err
			}
			l.Account.LeftOut(e.LeftOut(&o)...)
			id, err := strconv.ParseInt(e.Key, 10, 64)
			if err != nil {
				return e.Wrong("", format.Excerpt(e.Key), "the number of a job")
			}
			if bad := min(o.Submission, o.Start, o.Stop) < 0 || max(o.Submission, o.Start, o.Stop) > 1<<40 || o.Walltime != nil && (*o.Walltime < 0 || *o.Walltime > 1<<40); bad {
				return e.Wrong("submission_time", "a time out of range", "seconds since 1970")
			}
			j, drop := o.job(id)
			return s.Job(e.Place(e.Key), &j, drop)
		})
	}
	return l.Scan()
}

func (o *oarJob) job(id int64) (j traces.Job, drop string) {
	at := func(s int64) traces.Opt[model.Time] {
		return traces.Opt[model.Time]{V: model.Time(s) * model.Time(model.Second), OK: s > 0}
	}
	j = traces.Job{ID: id, Name: o.Name, User: o.User, QOS: o.Queue, Features: o.Properties, Submit: at(o.Submission).V, Start: at(o.Start), End: at(o.Stop)}
	for _, w := range oarStates {
		if w.oar == o.State {
			j.ExitState = w.ours
		}
	}
	switch {
	case j.ExitState == "":
		return j, "not-ended"
	case o.Submission == 0:
		return j, "no-submission"
	}
	if o.Walltime != nil {
		j.Walltime = traces.Some(model.Duration(*o.Walltime) * model.Second)
	}
	var list []byte
	for i, r := range o.Resources {
		if i > 0 {
			list = append(list, ',')
		}
		list = strconv.AppendInt(list, r, 10)
	}
	j.RecordedNodes = string(list)
	if n := len(o.Resources); n > 0 {
		j.ProcsAllocated, j.ProcsRequested = traces.Some(int32(n)), traces.Some(int32(n))
	}
	if j.Start.OK && j.End.OK {
		j.Runtime = traces.Some(j.End.V.Sub(j.Start.V))
	}
	return j, ""
}
