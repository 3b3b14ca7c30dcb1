package slurm

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"

	"orrery/scheduler/model"
	"orrery/traces"
	"orrery/traces/importer/format"
)

// JSON is what sacct --json prints: the jobs of the data parser of Slurm 21.08 and later. Times
// are seconds since 1970.
var JSON = &format.Format{
	Name: "sacct-json", Version: 2, Files: 1 << 10, What: "jobs of Slurm as sacct --json prints them", Sniff: sniffJSON, Scan: scanJSON,
}

func sniffJSON(h format.Head) format.Match {
	return format.JSONMatch(h, `"jobs"`, `"time"`, `"submission"`, `"tres"`)
}

// number is one that newer Slurm writes as an object of whether it is set, whether it is infinite, and what it is.
type number struct {
	set      bool
	infinite bool
	value    float64
}

// UnmarshalJSON implements json.Unmarshaler.
func (n *number) UnmarshalJSON(text []byte) error {
	if bytes.Equal(text, []byte("null")) {
		return nil
	}
	if text[0] == '{' {
		var long struct {
			Set      bool    `json:"set"`
			Infinite bool    `json:"infinite"`
			Number   float64 `json:"number"`
		}
		if err := json.Unmarshal(text, &long); err != nil {
			return err
		}
		*n = number{long.Set && !long.Infinite, long.Infinite, long.Number}
		return nil
	}
	n.set = true
	return json.Unmarshal(text, &n.value)
}

// words is one word, or a list of them.
type words []string

// UnmarshalJSON implements json.Unmarshaler.
func (w *words) UnmarshalJSON(text []byte) error {
	if text[0] == '[' {
		return json.Unmarshal(text, (*[]string)(w))
	}
	*w = make(words, 1)
	return json.Unmarshal(text, &(*w)[0])
}

// record is a job as sacct --json prints it, as far as it is read.
type record struct {
	ID    int64 `json:"job_id"`
	Array struct {
		ID   int64  `json:"job_id"`
		Task number `json:"task_id"`
	} `json:"array"`
	Name        string `json:"name"`
	User        string `json:"user"`
	Account     string `json:"account"`
	Cluster     string `json:"cluster"`
	Partition   string `json:"partition"`
	QOS         string `json:"qos"`
	Constraints string `json:"constraints"`
	Nodes       string `json:"nodes"`
	Allocated   number `json:"allocation_nodes"`
	Priority    number `json:"priority"`
	State       struct {
		Current words `json:"current"`
	} `json:"state"`
	Time struct {
		Submission number `json:"submission"`
		Eligible   number `json:"eligible"`
		Start      number `json:"start"`
		End        number `json:"end"`
		Elapsed    number `json:"elapsed"`
		Limit      number `json:"limit"`
	} `json:"time"`
	Exit struct {
		Code number `json:"return_code"`
	} `json:"exit_code"`
	Reservation struct {
		Name string `json:"name"`
	} `json:"reservation"`
	Required struct {
		CPUs number `json:"CPUs"`
	} `json:"required"`
	TRES struct {
		Asked []resource `json:"requested"`
		Given []resource `json:"allocated"`
	} `json:"tres"`
}

type resource struct {
	Type  string `json:"type"`
	Name  string `json:"name"`
	Count number `json:"count"`
}

func scanJSON(f *format.Format, files []format.File, _ format.Options) (format.Scanned, error) {
	l := &format.Log{Format: f, Files: files}
	l.Read = func(s *format.Sink) error {
		return format.EachElement(files, []string{"jobs"}, func(e *format.Element) error {
			var r record
			if err := e.Into(&r); err != nil {
				return err
			}
			place := e.Place(strconv.FormatInt(r.ID, 10))
			if field := r.outside(); field != "" {
				return e.Wrong(field, "a number out of range", "a count or seconds since 1970")
			}
			j, drop := r.job()
			return s.Job(place, &j, drop)
		})
	}
	return l.Scan()
}

// outside is a number that no job can have.
func (r *record) outside() string {
	for _, v := range []struct {
		name string
		n    *number
	}{{"time.submission", &r.Time.Submission}, {"time.eligible", &r.Time.Eligible}, {"time.start", &r.Time.Start}, {"time.end", &r.Time.End}, {"time.elapsed", &r.Time.Elapsed},
		{"time.limit", &r.Time.Limit}, {"required.CPUs", &r.Required.CPUs}, {"allocation_nodes", &r.Allocated}, {"array.task_id", &r.Array.Task}, {"exit_code.return_code", &r.Exit.Code}} {
		most := float64(format.MostCount)
		if strings.HasPrefix(v.name, "time") {
			most = 1 << 40
		}
		if v.n.set && !(v.n.value >= 0 && v.n.value <= most) {
			return v.name
		}
	}
	for _, list := range [][]resource{r.TRES.Asked, r.TRES.Given} {
		for _, t := range list {
			if t.Count.set && (t.Type == "cpu" || t.Type == "node" || t.Type == "gres" || t.Type == "mem") && !(t.Count.value >= 0 && t.Count.value <= 1<<40) {
				return "tres." + t.Type
			}
		}
	}
	return ""
}

// job is that of a record, or why it is none.
func (r *record) job() (j traces.Job, drop string) {
	if len(r.State.Current) == 0 {
		return j, "unknown-state"
	}
	state := r.State.Current[0]
	ended, known := states[state]
	switch {
	case !known:
		return j, "unknown-state"
	case !ended:
		return j, "not-ended"
	case !r.Time.Submission.set || r.Time.Submission.value == 0:
		return j, "no-submission"
	}
	j = traces.Job{ID: r.ID, Name: r.Name, User: r.User, Account: r.Account, Tenant: r.Account, Partition: r.Partition, QOS: r.QOS, Features: r.Constraints, ExitState: state, Reservation: r.Reservation.Name,
		Submit: r.Time.Submission.at().V, Eligible: r.Time.Eligible.at(), Start: r.Time.Start.at(), End: r.Time.End.at()}
	if r.Nodes != "None assigned" {
		j.RecordedNodes = r.Nodes
	}
	if r.Exit.Code.set {
		j.ExitCode = traces.Some(int32(r.Exit.Code.value))
	}
	if r.Time.Limit.set {
		j.Walltime = traces.Some(model.Duration(r.Time.Limit.value) * model.Minute)
	}
	if r.Array.ID != 0 {
		j.Group = strconv.FormatInt(r.Array.ID, 10)
		if r.Array.Task.set {
			j.Index = traces.Some(int32(r.Array.Task.value))
		}
	}
	r.size(&j)
	if state == "CANCELLED" && (!j.Start.OK || j.RecordedNodes == "") {
		j.CancelledAt, j.Start, j.End, j.ProcsAllocated = j.End, traces.Opt[model.Time]{}, traces.Opt[model.Time]{}, traces.Opt[int32]{}
	}
	if j.Start.OK && j.End.OK {
		j.Runtime = traces.Some(j.End.V.Sub(j.Start.V))
		if r.Time.Elapsed.set {
			j.Runtime = traces.Some(model.Duration(r.Time.Elapsed.value) * model.Second)
		}
	}
	if r.Cluster != "" {
		text, err := json.Marshal(map[string]string{"cluster": r.Cluster})
		if err == nil {
			j.Extra = string(text)
		}
	}
	return j, ""
}

// at is the instant; 0 stands for none.
func (n *number) at() traces.Opt[model.Time] {
	return traces.Opt[model.Time]{V: model.Time(n.value) * model.Time(model.Second), OK: n.set && n.value > 0}
}

// size is what the job asked for and held.
func (r *record) size(j *traces.Job) {
	asked, given := resources(r.TRES.Asked), resources(r.TRES.Given)
	t := given
	if !t.there {
		t = asked
	}
	nodes, cpus := asked.nodes, asked.cpus
	if nodes == 0 {
		nodes = max(given.nodes, int32(r.Allocated.value))
	}
	if cpus == 0 {
		cpus = int32(r.Required.CPUs.value)
	}
	if cpus > 0 {
		j.ProcsRequested = traces.Some(cpus)
	}
	if given.cpus > 0 {
		j.ProcsAllocated = traces.Some(given.cpus)
	}
	if t.there {
		j.GPUsTotal = traces.Some(t.gpus)
		if !t.mixed {
			j.GPUType = t.gpuType
		}
	}
	if nodes == 0 {
		return
	}
	j.NodesMin = traces.Some(nodes)
	if cpus > 0 {
		j.CPUsPerNode = traces.Some((cpus + nodes - 1) / nodes)
	}
	if t.there {
		j.GPUsPerNode = traces.Some((t.gpus + nodes - 1) / nodes)
	}
	if asked.memory > 0 {
		j.MemPerNode = traces.Some(asked.memory / int64(nodes))
	}
}

// resources sums a list of trackable resources; mem is in MB.
func resources(list []resource) (t tres) {
	for _, r := range list {
		n := int64(r.Count.value)
		t.there = true
		switch {
		case !r.Count.set:
		case r.Type == "cpu":
			t.cpus = int32(min(n, format.MostCount))
		case r.Type == "node":
			t.nodes = int32(min(n, format.MostCount))
		case r.Type == "mem":
			t.memory = n << 20
		case r.Type == "gres" && r.Name == "gpu":
			t.gpus = int32(min(n, format.MostCount))
		case r.Type == "gres" && strings.HasPrefix(r.Name, "gpu:") && n > 0:
			t.typed += int32(min(n, format.MostCount-int64(t.typed)))
			t.mixed = t.mixed || t.gpuType != "" && t.gpuType != r.Name[4:]
			t.gpuType = r.Name[4:]
		}
	}
	t.gpus = max(t.gpus, t.typed)
	return t
}
