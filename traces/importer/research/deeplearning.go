// Package research reads the workloads that papers on schedulers publish with their
// simulators: Tiresias, Chronus, ElasticFlow, Sia and Pollux, Gavel, GAIA, Batsim, the Slurm
// simulator of Buffalo, CQSim. It knows nothing of what a replay makes of a job.
//
// Times count from a zero of each file's own.
//
//   - Tiresias: job_id,num_gpu,submit_time,iterations,model_name,duration,interval, in seconds. A
//     job of 0 GPUs occurs.
//   - Chronus: the same and user, which is the virtual cluster and becomes the tenant, the expected time of the
//     end from the submission, and job_type (strict jobs have a deadline). Of several expected times, 159-189-229-289, the first is meant, and the
//     list is kept in extra.
//   - ElasticFlow: the same and ddl, the instant of the deadline.
//   - Sia and Pollux: name,time,application,num_replicas,batch_size. How long a job runs follows from the
//     speed that a scheduler gives it; it is not in the file.
//   - GAIA: arrival_time,length,cpus, in hours where arrivals have fractions, else in seconds:
//     the files differ, and none says it.
//
// Sources: https://github.com/SymbioticLab/Tiresias, https://github.com/S-Lab-System-Group/ChronusArtifact,
// https://github.com/pkusys/ElasticFlow, https://github.com/siasosp23/artifacts, https://github.com/umassos/GAIA.
package research

import (
	"strings"

	"orrery/scheduler/model"
	"orrery/traces"
	"orrery/traces/importer/format"
)

const (
	dlID = iota
	dlGPUs
	dlSubmit
	dlDuration
	dlModel
	dlUser
	dlExpect
	dlType
	dlDeadline
)

var (
	tiresiasColumns = []string{dlID: "job_id", dlGPUs: "num_gpu", dlSubmit: "submit_time", dlDuration: "duration", dlModel: "model_name"}
	chronusColumns  = append(tiresiasColumns[:5:5], "user", "expect_time_list", "job_type")
	elasticColumns  = append(tiresiasColumns[:5:5], "user?", "expect_time_list?", "job_type?", "ddl")
)

// Tiresias is the format of Tiresias.
var Tiresias = dlSpec("tiresias", "jobs of Tiresias (job_id,num_gpu,submit_time,iterations,model_name,duration,interval)", tiresiasColumns)

// Chronus is the format of Chronus.
var Chronus = dlSpec("chronus", "jobs of Chronus (as of Tiresias, with user, expect_time_list and job_type)", chronusColumns)

// ElasticFlow is the format of ElasticFlow.
var ElasticFlow = dlSpec("elasticflow", "jobs of ElasticFlow (as of Tiresias, with ddl)", elasticColumns)

func dlSpec(name, what string, columns []string) *format.Format {
	return format.Spec{
		Format: format.Format{Name: name, Version: 2, What: what}, Layout: format.Layout{Comma: ',', Columns: columns}, Relative: true,
		Row: func(_ *format.Table, c *format.Cells, s *format.Sink) error {
			j := traces.Job{ID: c.Whole(dlID, 0, 1<<62), Submit: c.Instant(dlSubmit, model.Second), Runtime: c.OptSpan(dlDuration, model.Second), GPUsTotal: c.OptCount(dlGPUs), Name: c.Name(dlModel)}
			if len(columns) > dlUser {
				j.Tenant = c.Name(dlUser)
				j.User = j.Tenant
				expect, several := expected(c)
				if strict := c.Raw(dlType) == "strict"; expect.OK && strict {
					j.Deadline = traces.Some(j.Submit.Add(expect.V))
				}
				if several {
					c.Repair("first-of-several-expected-times")
					c.Keep("expect_time_list", c.Raw(dlExpect))
				}
				c.Keep("job_type", c.Raw(dlType))
			}
			if len(columns) > dlDeadline {
				j.Deadline = c.OptAt(dlDeadline, model.Second)
			}
			j.Extra = c.Extra()
			if c.Err != nil {
				return c.Err
			}
			return s.Job(c.Place(c.Raw(dlID)), &j, "")
		},
	}.Build()
}

// expected is the first of the times of a list such as 159-189-229-289, each with a value of its own in expect_value_list: the one
// that has the whole value.
func expected(c *format.Cells) (first traces.Opt[model.Duration], several bool) {
	terms := strings.Split(c.Raw(dlExpect), "-")
	if len(terms) < 2 || terms[0] == "" {
		return c.OptSpan(dlExpect, model.Second), false
	}
	for i, term := range terms {
		d, exact, ok := format.Decimal(term, model.Second)
		switch {
		case !ok || d < 0:
			c.Fail(dlExpect, "seconds, or a list such as 159-189-229-289")
			return first, true
		case i > 0:
			continue
		case !exact:
			c.Repair(format.RuleRounded)
		}
		first = traces.Some(d)
	}
	return first, true
}

// Sia is the format of the workloads of Sia and Pollux.
var Sia = format.Spec{
	Format:   format.Format{Name: "sia", Version: 1, What: "jobs of Sia and Pollux (name,time,application,num_replicas,batch_size)"},
	Layout:   format.Layout{Comma: ',', Columns: []string{"name", "time", "application", "num_replicas", "batch_size?"}},
	Relative: true,
	Begin: func(t *format.Table, _ format.Options) error {
		t.Log.Account.Assume("jobs.runtime", "null", "a job runs as long as its replicas need; the file does not say how long that is")
		return nil
	},
	Row: func(_ *format.Table, c *format.Cells, s *format.Sink) error {
		j := traces.Job{ID: c.N, Name: c.Name(0), Submit: c.Instant(1, model.Second), GPUsTotal: c.OptCount(3)}
		c.Keep("application", c.Name(2))
		c.Keep("batch_size", c.Raw(4))
		j.Extra = c.Extra()
		if c.Err != nil {
			return c.Err
		}
		return s.Job(c.Place(j.Name), &j, "")
	},
}.Build()

// GAIA is the format of the workloads of GAIA.
var GAIA = format.Spec{
	Format: format.Format{Name: "gaia", Version: 1, What: "jobs of GAIA (arrival_time,length,cpus)",
		Sniff: func(h format.Head) format.Match { return format.Exact(h, ',', "arrival_time", "length", "cpus") }},
	Layout:   format.Layout{Comma: ',', Columns: []string{"arrival_time", "length", "cpus"}},
	Relative: true,
	Begin: func(t *format.Table, _ format.Options) error {
		unit, why := "seconds", "arrivals at the beginning of the file are whole numbers"
		if t.Unit = gaiaUnit(&t.Log); t.Unit == model.Hour {
			unit, why = "hours", "arrivals at the beginning of the file have fractions"
		}
		t.Log.Account.Assume("unit of times", unit, why)
		return nil
	},
	Row: func(t *format.Table, c *format.Cells, s *format.Sink) error {
		j := traces.Job{ID: c.N, Submit: c.Instant(0, t.Unit), Runtime: traces.Some(c.Span(1, t.Unit)), ProcsRequested: c.OptCount(2)}
		if c.Err != nil {
			return c.Err
		}
		return s.Job(c.Place(""), &j, "")
	},
}.Build()

// gaiaUnit is what the times of the first file are in.
func gaiaUnit(l *format.Log) model.Duration {
	for _, line := range format.Lines(l.Files[0].Head) {
		at, _, _ := strings.Cut(line, ",")
		if _, fraction, ok := strings.Cut(at, "."); ok && strings.Trim(fraction, "0") != "" {
			return model.Hour
		}
	}
	return model.Second
}
