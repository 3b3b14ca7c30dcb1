// Package workflow reads workflows: WfFormat of WfCommons, the DAX of Pegasus, the
// Grid Workload Format as OpenDC writes it, the Workflow Trace Archive and the tasks of OpenDC in
// Parquet. A task is a job of its DAG that waits for the success of those before it. It knows
// nothing of what a replay makes of a job.
//
// WfFormat, versions 1.0 to 1.5: all tasks are submitted when the workflow was executed
// (executedAt), since the files do not say when each began. A task without a number of cores has one. Several
// files are several DAGs.
//
// DAX: a task runs for the attribute runtime; the workflow is submitted at 0.
//
// Sources: https://wfcommons.org/format, https://pegasus.isi.edu, https://wta.atlarge-research.com,
// https://github.com/atlarge-research/opendc.
package workflow

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"orrery/scheduler/model"
	"orrery/traces"
	"orrery/traces/importer/format"
)

// WfFormat is the format of WfCommons.
var WfFormat = &format.Format{
	Name: "wfformat", Version: 1, Files: format.ManyFiles, What: "workflows of WfCommons (WfFormat 1.0 to 1.5, JSON)", Sniff: sniffWf, Scan: scanWf,
}

func sniffWf(h format.Head) format.Match {
	return format.JSONMatch(h, `"schemaVersion"`, `"workflow"`)
}

// mostWorkflow bounds a file: it is held whole, since tasks and their runs stand apart.
const mostWorkflow = 256 << 20

type wfFile struct {
	Name     string `json:"name"`
	Workflow struct {
		ExecutedAt string `json:"executedAt"`
		Spec       struct {
			Tasks []wfTask `json:"tasks"`
		} `json:"specification"`
		Execution struct {
			ExecutedAt string  `json:"executedAt"`
			Tasks      []wfRun `json:"tasks"`
		} `json:"execution"`
		Tasks []wfOld `json:"tasks"` // 1.3 and 1.4
		Jobs  []wfOld `json:"jobs"`  // 1.0 to 1.2
	} `json:"workflow"`
}

type wfTask struct {
	Name    string   `json:"name"`
	ID      string   `json:"id"`
	Parents []string `json:"parents"`
}

type wfRun struct {
	ID       string   `json:"id"`
	Runtime  *float64 `json:"runtimeInSeconds"`
	Cores    *float64 `json:"coreCount"`
	Memory   *float64 `json:"memoryInBytes"`
	Machines []string `json:"machines"`
}

// wfOld is a task of earlier versions, in which it and its run are one.
type wfOld struct {
	wfTask
	Runtime  *float64 `json:"runtime"`
	Seconds  *float64 `json:"runtimeInSeconds"`
	Cores    *float64 `json:"cores"`
	Memory   *float64 `json:"memory"` // KB
	Bytes    *float64 `json:"memoryInBytes"`
	Machine  string   `json:"machine"`
	Machines []string `json:"machines"`
}

func scanWf(f *format.Format, files []format.File, _ format.Options) (format.Scanned, error) {
	l := &format.Log{Format: f, Files: files}
	l.Account.Assume("jobs.submit", "the execution of the workflow", "the file does not say when a task could begin")
	l.Account.Assume("jobs.cpus_per_node", "1", "where a task has no number of cores")
	dated := true
	l.Read = func(s *format.Sink) error {
		next := int64(1)
		for _, file := range files {
			w, err := readWf(file)
			if err != nil {
				return err
			}
			at, ok := w.executed()
			dated = dated && ok
			if next, err = w.put(file, s, at, next); err != nil {
				return err
			}
		}
		return nil
	}
	scanned, err := l.Scan()
	l.Relative = !dated
	return scanned, err
}

// readWf reads a file whole.
func readWf(file format.File) (*wfFile, error) {
	raw, err := file.Open()
	if err != nil {
		return nil, err
	}
	defer raw.Close() // only read
	text, err := io.ReadAll(io.LimitReader(raw, mostWorkflow+1))
	if err != nil {
		return nil, err
	}
	if len(text) > mostWorkflow {
		return nil, &traces.DataError{File: file.Name, Found: "more than 256 MiB", Expected: "a workflow", Mend: "split the file"}
	}
	var w wfFile
	e := format.Element{File: file, N: 1, JSON: bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))}
	if err := e.Into(&w); err != nil {
		return nil, err
	}
	return &w, w.unite(&e)
}

// unite brings all versions into the form of 1.5.
func (w *wfFile) unite(e *format.Element) error {
	x := &w.Workflow
	for _, old := range [][]wfOld{x.Tasks, x.Jobs} {
		for _, o := range old {
			run := wfRun{Runtime: o.Seconds, Cores: o.Cores, Memory: o.Bytes, Machines: o.Machines}
			if run.Runtime == nil {
				run.Runtime = o.Runtime
			}
			if o.Memory != nil && run.Memory == nil {
				bytes := float64(*o.Memory * 1024)
				run.Memory = &bytes
			}
			if o.Machine != "" {
				run.Machines = []string{o.Machine}
			}
			if o.ID == "" || len(x.Jobs) > 0 { // parents are names there
				o.ID = o.Name
			}
			run.ID = o.ID
			x.Spec.Tasks = append(x.Spec.Tasks, o.wfTask)
			x.Execution.Tasks = append(x.Execution.Tasks, run)
		}
	}
	if len(x.Spec.Tasks) == 0 {
		return e.Wrong("workflow.specification.tasks", "no tasks", "a workflow with tasks")
	}
	for i := range x.Execution.Tasks {
		r := &x.Execution.Tasks[i]
		for _, n := range []*float64{r.Runtime, r.Cores, r.Memory} {
			if n != nil && !(*n >= 0 && *n <= 1<<53) {
				return e.Wrong("workflow.execution.tasks", fmt.Sprintf("%v in task %s", *n, format.Excerpt(r.ID)), "a number of 0 or more")
			}
		}
	}
	return nil
}

// executed is when the workflow ran.
func (w *wfFile) executed() (model.Time, bool) {
	for _, text := range []string{w.Workflow.Execution.ExecutedAt, w.Workflow.ExecutedAt} {
		for _, layout := range []string{time.RFC3339, "20060102T150405-0700", "20060102T150405Z07:00", "2006-01-02T15:04:05-0700"} {
			if t, err := time.Parse(layout, text); err == nil {
				return model.Time(t.UnixMicro()), true
			}
		}
	}
	return 0, false
}

// put hands the tasks over, numbered from next on.
func (w *wfFile) put(file format.File, s *format.Sink, at model.Time, next int64) (int64, error) {
	name := w.Name
	if name == "" {
		name = filepath.Base(file.Name)
	}
	runs := map[string]*wfRun{}
	for i := range w.Workflow.Execution.Tasks {
		runs[w.Workflow.Execution.Tasks[i].ID] = &w.Workflow.Execution.Tasks[i]
	}
	ids := map[string]int64{}
	for i, t := range w.Workflow.Spec.Tasks {
		ids[t.ID] = next + int64(i)
	}
	for i := range w.Workflow.Spec.Tasks {
		t := &w.Workflow.Spec.Tasks[i]
		j := traces.Job{ID: next + int64(i), Name: t.ID, DAG: name, Submit: at, NodesMin: traces.Some[int32](1), CPUsPerNode: traces.Some[int32](1)}
		place := &format.Place{Of: "task", Line: int64(i) + 1, Name: t.ID}
		drop := "no-run"
		if r := runs[t.ID]; r != nil {
			drop = r.into(&j)
		}
		if err := s.Job(place, &j, drop); err != nil {
			return next, err
		}
		for _, parent := range t.Parents {
			on, known := ids[parent]
			lost := ""
			if !known || on == j.ID || drop != "" {
				lost = "unknown-prerequisite"
			}
			if err := s.Dep(place, &traces.Dep{Job: j.ID, On: on, Condition: "success"}, lost); err != nil {
				return next, err
			}
		}
	}
	return next + int64(len(w.Workflow.Spec.Tasks)), nil
}

// into writes what a run says, and answers why its task cannot be kept.
func (r *wfRun) into(j *traces.Job) (drop string) {
	if r.Cores != nil && *r.Cores >= 1 && *r.Cores <= format.MostCount {
		j.CPUsPerNode = traces.Some(int32(*r.Cores))
	}
	j.ProcsRequested = j.CPUsPerNode
	if r.Memory != nil && *r.Memory > 0 {
		j.MemPerNode = traces.Some(int64(*r.Memory))
	}
	if len(r.Machines) > 0 {
		text, err := json.Marshal(map[string]string{"machine": r.Machines[0]})
		if err == nil {
			j.Extra = string(text)
		}
	}
	if r.Runtime == nil || *r.Runtime > 1<<40 {
		return "no-run-time"
	}
	j.Runtime = traces.Some(model.Duration(float64(*r.Runtime * float64(model.Second))))
	return ""
}
