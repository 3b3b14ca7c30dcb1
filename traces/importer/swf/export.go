package swf

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"orrery/scheduler/model"
	"orrery/traces"
)

// Export writes a trace as an SWF log in the standard's 18 fields: importing
// it again gives the same content as far as SWF has fields for it. rows is
// iterated twice, first for the names: SWF has numbers only, so the names of a
// column that are not all numbers are numbered as they appear, and the header
// lists them. Memory grows with the number of distinct names. The report
// counts the rows that were written otherwise than they stand in the trace.
func Export(w io.Writer, info traces.Info, rows func() iter.Seq2[*traces.Job, error]) (traces.Report, error) {
	e := &exporter{
		out:    bufio.NewWriter(w),
		shift:  int64(info.Epoch) - floorSeconds(info.Epoch)*1_000_000,
		report: traces.Report{File: info.Name, Format: Name, Importer: fmt.Sprintf("%s export %d", Name, Version)},
	}
	var n int64
	for j, err := range rows() {
		if err != nil {
			return e.report, err
		}
		n++
		for i := range e.names {
			e.names[i].see(*nameOf(j, i))
		}
	}
	e.header(info, n)
	for j, err := range rows() {
		if err == nil {
			err = e.row(j)
		}
		if err != nil {
			return e.report, err
		}
		e.report.Read++
		e.report.Kept++
	}
	if err := e.out.Flush(); err != nil {
		return e.report, fmt.Errorf("writing SWF: %w", err)
	}
	return e.report, nil
}

type exporter struct {
	out    *bufio.Writer
	shift  int64 // µs to add to instants: the epoch's part of a second
	names  [fPartition - fUser + 1]names
	line   []byte
	report traces.Report
}

// nameOf is the column of field fUser+i.
func nameOf(j *traces.Job, i int) *string {
	return [...]*string{&j.User, &j.Account, &j.Name, &j.QOS, &j.Partition}[i]
}

// nameKeys are the header keys that list the names of a column.
var nameKeys = [...]string{"User", "Group", "Executable", "Queue", "Partition"}

// names are the distinct values of one column in order of appearance.
type names struct {
	ids     map[string]int64
	list    []string
	textual bool // at least one is not a number
}

func (n *names) see(s string) {
	if _, seen := n.ids[s]; s == "" || seen {
		return
	}
	if n.ids == nil {
		n.ids = map[string]int64{}
	}
	n.list = append(n.list, s)
	n.ids[s] = int64(len(n.list))
	if _, ok := asNumber(s); !ok {
		n.textual = true
	}
}

// number is what stands for s in the log, -1 for null.
func (n *names) number(s string) int64 {
	if s == "" {
		return -1
	}
	if n.textual {
		return n.ids[s]
	}
	v, _ := asNumber(s)
	return v
}

// asNumber reads a name that is a number as SWF writes it, and nothing else:
// "007" is a name.
func asNumber(s string) (int64, bool) {
	v, err := strconv.ParseInt(s, 10, 64)
	return v, err == nil && v >= 0 && strconv.FormatInt(v, 10) == s
}

func floorSeconds(t model.Time) int64 {
	s := int64(t) / 1_000_000
	if int64(t)%1_000_000 < 0 {
		s--
	}
	return s
}

func (e *exporter) header(info traces.Info, rows int64) {
	put := func(format string, args ...any) { fmt.Fprintf(e.out, "; "+format+"\n", args...) }
	put("Version: 2.2")
	put("Conversion: orrery, from the trace %s", strings.Map(printable, info.Name))
	put("MaxJobs: %d", rows)
	put("MaxRecords: %d", rows)
	if info.EpochKnown {
		put("UnixStartTime: %d", floorSeconds(info.Epoch))
	}
	if isZone(info.TimeZone) {
		put("TimeZoneString: %s", info.TimeZone)
	}
	if info.MaxNodes > 0 {
		put("MaxNodes: %d", info.MaxNodes)
	}
	if info.MaxProcs > 0 {
		put("MaxProcs: %d", info.MaxProcs)
	}
	for i, n := range e.names {
		if !n.textual {
			continue
		}
		for k, name := range n.list {
			put("%s: %d %s", nameKeys[i], k+1, strings.Map(printable, name))
		}
	}
}

// printable keeps a name on its header line.
func printable(c rune) rune {
	if c < ' ' || c == 0x7f {
		return '?'
	}
	return c
}

// row writes one line.
func (e *exporter) row(j *traces.Job) error {
	var v [standardFields]int64 // in the unit of the field in memory
	for i := range v {
		v[i] = missing(i)
	}
	v[fJob] = j.ID
	v[fSubmit] = int64(j.Submit) + e.shift
	if j.Submit == model.AbsentTime || v[fSubmit] < 0 || j.ID < 0 {
		return fmt.Errorf("job %d, submitted at %s, cannot be written as SWF, where numbers below zero mean missing", j.ID, j.Submit)
	}
	lost := lostColumns(j)
	more := e.extra(j, &lost)
	wait := func(t model.Time) int64 { return max(int64(t)-int64(j.Submit), missing(fWait)) }
	switch {
	case j.Start.OK:
		v[fWait] = wait(j.Start.V)
	case j.CancelledAt.OK:
		v[fWait] = wait(j.CancelledAt.V)
	}
	set(&v[fRun], j.Runtime)
	set(&v[fAllocated], j.ProcsAllocated)
	set(&v[fReqTime], j.Walltime)
	v[fRequested] = e.requested(j)
	if i := slices.Index(exitStates[:], j.ExitState); i >= 0 {
		v[fStatus] = int64(i)
	} else if j.ExitState != "" {
		lost = append(lost, "exit_state "+j.ExitState)
	}
	for i := range e.names {
		v[fUser+i] = e.names[i].number(*nameOf(j, i))
	}
	set(&v[fPreceding], j.AfterJob)
	set(&v[fThink], j.ThinkTime)
	if len(lost) > 0 {
		e.report.Repair("left-out", fmt.Sprintf("job %d: %s", j.ID, strings.Join(lost, ", ")))
	}
	b := e.line[:0]
	for i := range v {
		if more[i] != "" {
			b = append(b, more[i]...)
		} else {
			b = appendScaled(b, v[i], scale[i])
		}
		b = append(b, ' ')
	}
	b[len(b)-1] = '\n'
	e.line = b
	_, err := e.out.Write(b)
	return err
}

func set[T ~int32 | ~int64](to *int64, from traces.Opt[T]) {
	if from.OK {
		*to = int64(from.V)
	}
}

// requested is field 8. A trace that asks for nodes is written with the
// processors (or GPUs) of all of them.
func (e *exporter) requested(j *traces.Job) int64 {
	if j.ProcsRequested.OK {
		return int64(j.ProcsRequested.V)
	}
	if !j.NodesMin.OK {
		return -1
	}
	per := int64(1)
	for _, o := range []traces.Opt[int32]{j.CPUsPerNode, j.GPUsPerNode} {
		if o.OK && o.V > 0 {
			per = int64(o.V)
		}
	}
	e.report.Repair("processors-from-nodes", fmt.Sprintf("job %d", j.ID))
	return min(int64(j.NodesMin.V)*per, math.MaxInt32)
}

// extra gives back the fields that an import keeps in the extra column, as
// texts by field; what else is there is lost.
func (e *exporter) extra(j *traces.Job, lost *[]string) (more [standardFields]string) {
	if j.Extra == "" {
		return more
	}
	var x map[string]json.RawMessage
	if err := json.Unmarshal([]byte(j.Extra), &x); err != nil {
		*lost = append(*lost, "extra, which is no JSON object")
		return more
	}
	for _, known := range []struct {
		key   string
		field int
	}{{extraAvgCPU, fAvgCPU}, {extraUsedMem, fUsedMem}, {extraReqMem, fReqMem}, {extraWait, fWait}} {
		if _, ok := splitNumber(x[known.key]); ok {
			more[known.field] = string(x[known.key])
			delete(x, known.key)
		}
	}
	for _, k := range slices.Sorted(maps.Keys(x)) {
		*lost = append(*lost, "extra."+k)
	}
	return more
}

// lostColumns names the columns with a value that SWF has no field for and no
// replay of the exported log would know of.
func lostColumns(j *traces.Job) []string {
	var lost []string
	for _, c := range []struct {
		name string
		has  bool
	}{
		{"kind", j.Kind != "" && j.Kind != "bounded"},
		{"tenant", j.Tenant != ""},
		{"vcluster", j.VCluster != ""},
		{"nodes", j.NodesMin.OK},
		{"gpus_per_node", j.GPUsPerNode.OK},
		{"gpu_type", j.GPUType != ""},
		{"mem_per_node", j.MemPerNode.OK},
		{"features", j.Features != ""},
		{"class", j.Class.OK},
		{"site_factor", j.SiteFactor.OK},
		{"group", j.Group != ""},
		{"dag", j.DAG != ""},
		{"eligible", j.Eligible.OK},
		{"reservation", j.Reservation != ""},
		{"recorded_nodes", j.RecordedNodes != ""},
		{"hold", j.Hold.OK && j.Hold.V},
		{"nice", j.Nice.OK && j.Nice.V != 0},
	} {
		if c.has {
			lost = append(lost, c.name)
		}
	}
	return lost
}
