package slurm

import (
	"bytes"
	"cmp"
	"encoding/json"
	"strconv"
	"strings"

	"orrery/traces/importer/format"
)

// JSON is what sacct --json prints: the jobs of the data parser of Slurm 21.08 and later. Times
// are seconds since 1970. A job is put into the columns of sacct --parsable2 and read as those are, so that both ways of
// writing it give the same row. Members that are not read are named on import.
var JSON = &format.Format{
	Name: "sacct-json", Version: 6, Files: 1 << 10, What: "jobs of Slurm as sacct --json prints them", Sniff: sniffJSON, Scan: scanJSON,
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
		ID     int64  `json:"job_id"`
		Task   number `json:"task_id"`
		Tasks  string `json:"task"` // those that never were split, as 1-3,7
		Limits struct {
			Max struct {
				Running struct {
					Tasks number `json:"tasks"`
				} `json:"running"`
			} `json:"max"`
		} `json:"limits"`
	} `json:"array"`
	Het struct {
		ID     number `json:"job_id"`
		Offset number `json:"job_offset"`
	} `json:"het"`
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
	SubmitLine  string `json:"submit_line"`
	Licenses    string `json:"licenses"`
	Killer      string `json:"kill_request_user"`
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
		Code   number `json:"return_code"`
		Signal struct {
			ID  number `json:"id"`
			Old number `json:"signal_id"`
		} `json:"signal"`
	} `json:"exit_code"`
	Reservation struct {
		Name string `json:"name"`
	} `json:"reservation"`
	Required struct {
		CPUs    number `json:"CPUs"`
		PerCPU  number `json:"memory_per_cpu"` // MB
		PerNode number `json:"memory_per_node"`
		Memory  number `json:"memory"` // of Slurm 21.08, as ReqMem
	} `json:"required"`
	TRES struct {
		Asked []resource `json:"requested"`
		Given []resource `json:"allocated"`
	} `json:"tres"`
	Steps json.RawMessage `json:"steps"` // no jobs, as the rows of steps are none
}

type resource struct {
	Type  string `json:"type"`
	Name  string `json:"name"`
	Count number `json:"count"`
}

func scanJSON(f *format.Format, files []format.File, _ format.Options) (format.Scanned, error) {
	l := &format.Log{Format: f, Files: files}
	l.Read = func(s *format.Sink) error {
		var row *format.Row
		var clocks clocks // of no use: times are numbers
		to, before := &joiner{sink: s}, -1
		err := format.EachElement(files, []string{"jobs"}, func(e *format.Element) error {
			if e.Of != before {
				var err error
				if row, err = format.NewRow(e.File, columnNames(), sacctColumns, "element"); err != nil {
					return format.Whole(err)
				}
				before = e.Of
			}
			var r record
			if err := e.Into(&r); err != nil {
				return err
			}
			l.Account.LeftOut(e.LeftOut(&r)...)
			row.Next(e.N, r.columns())
			return takeRow(row, &clocks, to)
		})
		if err != nil {
			return err
		}
		return to.flush()
	}
	return l.Scan()
}

// columnNames are those of sacct.
func columnNames() []string {
	out := make([]string, len(sacctColumns))
	for i, name := range sacctColumns {
		out[i] = strings.TrimSuffix(name, "?")
	}
	return out[:colMemPerCore] // of other tools
}

// columns is the job as sacct --parsable2 would print it, with times in seconds since 1970.
func (r *record) columns() []string {
	f := make([]string, colMemPerCore)
	f[colID], f[colRaw] = r.id(), strconv.FormatInt(r.ID, 10)
	f[colName], f[colUser], f[colAccount], f[colCluster], f[colPartition], f[colQOS] = r.Name, r.User, r.Account, r.Cluster, r.Partition, r.QOS
	f[colConstraints], f[colNodeList], f[colReservation], f[colPriority] = r.Constraints, r.Nodes, r.Reservation.Name, r.Priority.text()
	if len(r.State.Current) > 0 {
		f[colState] = r.State.Current[0]
	}
	if f[colState] == "CANCELLED" && r.Killer != "" {
		f[colState] += " by " + r.Killer
	}
	t := &r.Time
	f[colSubmit], f[colEligible], f[colStart], f[colEnd], f[colElapsedRaw] = t.Submission.text(), t.Eligible.text(), t.Start.text(), t.End.text(), t.Elapsed.text()
	if f[colSubmit] == "0" {
		f[colSubmit] = ""
	}
	f[colLimitRaw] = t.Limit.text()
	if t.Limit.infinite {
		f[colLimitRaw] = "UNLIMITED"
	}
	signal := r.Exit.Signal.ID
	if !signal.set {
		signal = r.Exit.Signal.Old
	}
	if r.Exit.Code.set || signal.set {
		f[colExit] = cmp.Or(r.Exit.Code.text(), "0") + ":" + cmp.Or(signal.text(), "0")
	}
	f[colReqCPUs], f[colAllocNodes] = r.Required.CPUs.text(), r.Allocated.text()
	f[colSubmitLine], f[colLicenses] = r.SubmitLine, r.Licenses
	f[colReqTRES], f[colAllocTRES] = list(r.TRES.Asked), list(r.TRES.Given)
	for _, one := range r.TRES.Given {
		if one.Type == "cpu" {
			f[colCPUs] = one.Count.text()
		}
	}
	switch q := &r.Required; {
	case q.PerCPU.set && q.PerCPU.value > 0:
		f[colReqMem] = q.PerCPU.text() + "Mc"
	case q.PerNode.set && q.PerNode.value > 0:
		f[colReqMem] = q.PerNode.text() + "Mn"
	case q.Memory.set && q.Memory.value > 0:
		f[colReqMem] = q.Memory.text()
	}
	return f
}

// id is 123, 123_4, 123_[1-3,7%2] or 800+1.
func (r *record) id() string {
	a := &r.Array
	switch {
	case r.Het.ID.set && r.Het.ID.value > 0 && r.Het.Offset.set:
		return r.Het.ID.text() + "+" + r.Het.Offset.text()
	case a.ID == 0:
	case a.Tasks != "":
		most := ""
		if n := a.Limits.Max.Running.Tasks; n.set && n.value > 0 && !strings.Contains(a.Tasks, "%") {
			most = "%" + n.text()
		}
		return strconv.FormatInt(a.ID, 10) + "_[" + strings.Trim(a.Tasks, "[]") + most + "]"
	case a.Task.set:
		return strconv.FormatInt(a.ID, 10) + "_" + a.Task.text()
	}
	return strconv.FormatInt(r.ID, 10)
}

// text is the number as it is written, "" when it is not set.
func (n *number) text() string {
	if !n.set {
		return ""
	}
	return strconv.FormatFloat(n.value, 'f', -1, 64)
}

// list writes resources as AllocTRES has them; memory is in MB.
func list(all []resource) string {
	var b strings.Builder
	for _, r := range all {
		if !r.Count.set {
			continue
		}
		if b.Len() > 0 {
			b.WriteByte(',')
		}
		b.WriteString(r.Type)
		if r.Name != "" {
			b.WriteString("/" + r.Name)
		}
		b.WriteString("=" + r.Count.text())
		if r.Type == "mem" {
			b.WriteByte('M')
		}
	}
	return b.String()
}
