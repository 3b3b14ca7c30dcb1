package record

import (
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"orrery/scheduler/drive"
	"orrery/scheduler/model"
	"orrery/sim/commitlog"
)

// LogVersion is the schema version of facts.parquet, which has one of its own. Version 1
// held some fields of facts alone, and neither rounds, passes nor proposals; version 2 held
// no promises, and no CPUs, memory and thousandths of GPUs of shares; version 3 held no demands
// that could not be met; version 4 held passes of vClusters for which nothing had changed, and with them other instants
// at which the next pass was due.
const LogVersion = 5

// OldestLogVersion is that of the oldest logs that are read: what they hold, they hold as
// those of today do.
const OldestLogVersion = 2

// logRow is a row of facts.parquet: an entry of the log, with all its fields. What is 0,
// false or empty is null. Instants but that of the entry are µs since the epoch of the
// trace, spans are µs. Allocation, constraint and limits are JSON objects with the fields
// of model.Allocation, model.Constraint and model.Limits.
type logRow struct {
	Index      int64  `parquet:"index,delta"`
	Time       int64  `parquet:"time,delta,timestamp(microsecond)"`
	Entry      string `parquet:"entry,dict"`
	Kind       string `parquet:"kind,optional,dict"`
	Count      int32  `parquet:"count,optional,delta"`
	Job        int32  `parquet:"job,delta"`
	Ref        int32  `parquet:"ref,delta"`
	Seq        int64  `parquet:"seq,delta"`
	Reason     string `parquet:"reason,optional,dict"`
	Outcome    string `parquet:"outcome,optional,dict"`
	Node       int32  `parquet:"node,optional,delta"`
	State      string `parquet:"state,optional,dict"`
	Tenant     int32  `parquet:"tenant,optional,delta"`
	VCluster   int32  `parquet:"vcluster,optional,delta"`
	Victim     int32  `parquet:"victim,optional,delta"`
	Borrowed   int32  `parquet:"borrowed,optional,delta"`
	Value      int64  `parquet:"value,optional,delta"`
	At         int64  `parquet:"at_us,optional,delta"`
	Due        int64  `parquet:"due_us,optional,delta"`
	QuietUntil int64  `parquet:"quiet_until_us,optional,delta"`
	Again      int32  `parquet:"again,optional,delta"`
	Submit     int64  `parquet:"submit_us,optional,delta"`
	Walltime   int64  `parquet:"walltime,optional,delta"`
	Layout     int32  `parquet:"layout,optional,delta"`
	Asked      int32  `parquet:"request_nodes,optional,delta"`
	PerNode    int32  `parquet:"request_per_node,optional,delta"`
	Procs      int32  `parquet:"procs,optional,delta"`
	Nodes      string `parquet:"nodes,optional"`
	Shares     string `parquet:"shares,optional"`
	GPUs       string `parquet:"gpus,optional"`
	Allocation string `parquet:"allocation,optional"`
	Constraint string `parquet:"constraint,optional"`
	Limits     string `parquet:"limits,optional"`

	ShareCPUs   string `parquet:"share_cpus,optional"`
	ShareMemory string `parquet:"share_memory,optional"`
	ShareMilli  string `parquet:"share_gpu_milli,optional"`

	More int32 `parquet:"more,optional,delta"`
}

// Log keeps the log of a run in facts.parquet, entry by entry; Meta.Facts must be set.
func (w *Writer) Log() drive.Recorder {
	return &commitlog.Recorder{Entry: w.logEntry}
}

func (w *Writer) logEntry(e *commitlog.Entry) {
	if w.err != nil {
		return
	}
	row := w.facts.next()
	*row = logRow{Index: w.logged, Time: int64(e.Now + w.meta.Epoch)}
	w.logged++
	if err := row.set(e); err != nil {
		w.keep(fmt.Errorf("storing entry %d of the log: %w", row.Index, err))
		return
	}
	if w.facts.full() {
		w.keep(w.facts.spill())
	}
}

// set fills a row from an entry.
func (r *logRow) set(e *commitlog.Entry) (err error) {
	r.Entry, r.Count = e.What.String(), e.Count
	switch e.What {
	case commitlog.Round:
		r.Kind = e.Round.String()
	case commitlog.Pass:
		r.Due, r.QuietUntil, r.Again, r.More = int64(e.Due), int64(e.QuietUntil), number(e.Again), number(e.More)
	case commitlog.Promise:
		p := &e.Promise
		r.Job, r.Ref, r.Seq, r.VCluster, r.Value, r.At = int32(p.Job), int32(p.Ref), int64(p.After), int32(p.VCluster), int64(p.Since), int64(p.At)
		r.setPlacement(&p.Nodes)
	case commitlog.Proposal:
		r.setProposal(&e.Proposal)
	case commitlog.Fact:
		err = r.setFact(&e.Fact)
	}
	for _, x := range [...]int64{r.At, r.Due, r.QuietUntil, r.Submit, r.Walltime, r.Value} {
		if x == math.MinInt64 {
			err = errors.New("a number that stands for none in the table")
		}
	}
	return err
}

func (r *logRow) setProposal(p *model.Proposal) {
	r.Kind, r.Reason, r.Borrowed = p.Kind.String(), p.Reason.String(), number(p.Borrowed)
	r.Job, r.Ref, r.Seq, r.VCluster, r.Victim = int32(p.Job), int32(p.Ref), int64(p.Seq), int32(p.VCluster), int32(p.Victim)
	r.setRequest(&p.Request)
	r.setPlacement(&p.Placement)
}

func (r *logRow) setFact(f *model.Fact) (err error) {
	r.Kind, r.Reason = f.Kind.String(), f.Reason.String()
	if f.Outcome != model.Pending {
		r.Outcome = f.Outcome.String()
	}
	if f.State != model.Ready {
		r.State = f.State.String()
	}
	r.Job, r.Ref, r.Seq, r.Node, r.Tenant = int32(f.Job), int32(f.Ref), int64(f.Seq), int32(f.Node), int32(f.Tenant)
	r.Value, r.At, r.Submit, r.Walltime = f.Value, int64(f.At), int64(f.Submit), int64(f.Walltime)
	r.setRequest(&f.Request)
	if f.Placement != nil {
		r.setPlacement(f.Placement)
	}
	if f.Alloc != nil {
		r.Allocation, err = object(f.Alloc)
	}
	if f.Constraint != nil && err == nil {
		r.Constraint, err = object(f.Constraint)
	}
	if f.Limits != nil && err == nil {
		r.Limits, err = object(f.Limits)
	}
	return err
}

func object(x any) (string, error) {
	text, err := json.Marshal(x)
	return string(text), err
}

func (r *logRow) setRequest(q *model.Request) {
	r.Layout, r.Asked, r.PerNode, r.Procs = int32(q.Layout), q.Nodes, q.PerNode, q.Units
}

func (r *logRow) setPlacement(p *model.Placement) {
	r.Nodes, r.Shares, r.GPUs = string(AppendNodes(nil, p)), string(appendShares(nil, p)), string(appendMasks(nil, p))
	r.ShareCPUs, r.ShareMemory, r.ShareMilli = string(appendCPUs(nil, p)), string(appendMemory(nil, p)), string(appendMilli(nil, p))
}

// appendMasks appends the GPUs of each share of p as a hexadecimal mask, run-length
// encoded like the units: "3x2,c".
func appendMasks(dst []byte, p *model.Placement) []byte {
	return appendOf(dst, p, 16, func(s *model.NodeShare) uint64 { return s.GPUs })
}

// appendCPUs, appendMemory and appendMilli append an amount of each share of p in the same
// way, as decimal numbers, and nothing where all are 0.
func appendCPUs(dst []byte, p *model.Placement) []byte {
	return appendOf(dst, p, 10, func(s *model.NodeShare) uint64 { return uint64(s.CPUs) })
}

func appendMemory(dst []byte, p *model.Placement) []byte {
	return appendOf(dst, p, 10, func(s *model.NodeShare) uint64 { return uint64(s.Memory) })
}

func appendMilli(dst []byte, p *model.Placement) []byte {
	return appendOf(dst, p, 10, func(s *model.NodeShare) uint64 { return uint64(s.GPUMilli) })
}

func appendOf(dst []byte, p *model.Placement, base int, of func(*model.NodeShare) uint64) []byte {
	some := false
	for i := range p.Shares {
		some = some || of(&p.Shares[i]) != 0
	}
	for i := 0; some && i < len(p.Shares); {
		x, j := of(&p.Shares[i]), i+1
		for j < len(p.Shares) && of(&p.Shares[j]) == x {
			j++
		}
		if i > 0 {
			dst = append(dst, ',')
		}
		if dst = strconv.AppendUint(dst, x, base); j-i > 1 {
			dst = strconv.AppendInt(append(dst, 'x'), int64(j-i), 10)
		}
		i = j
	}
	return dst
}

func number(b bool) int32 {
	if b {
		return 1
	}
	return 0
}

// ReadLog hands out the entries of the log in the run directory dir, in order, and the
// error that ends them. An entry and what it points at are the reader's to keep. In logs of earlier
// versions passes have no Due. A file that is
// damaged, of another version or holds what no log holds is a *DataError.
func ReadLog(dir string) iter.Seq2[*commitlog.Entry, error] {
	return func(yield func(*commitlog.Entry, error) bool) {
		m, err := manifestOf(dir)
		if err == nil {
			err = readLog(m, func(e *commitlog.Entry) bool { return yield(e, nil) })
		}
		if err != nil && !errors.Is(err, errEnough) {
			yield(nil, err)
		}
	}
}

// errEnough ends a scan whose reader wants no more.
var errEnough = errors.New("enough")

func readLog(m *manifest, give func(*commitlog.Entry) bool) error {
	t, err := openTable(m, TableFacts)
	if err != nil {
		return err
	}
	defer t.Close()
	columns := make([]int, reflect.TypeFor[logRow]().NumField()) // of each field of logRow
	for i := range columns {
		name, _, _ := strings.Cut(reflect.TypeFor[logRow]().Field(i).Tag.Get("parquet"), ",")
		columns[i] = slices.IndexFunc(t.fields, func(f field) bool { return f.name == name })
	}
	version, _ := t.file.Lookup(keySchema)
	early, next := earlierLog(TableFacts, version), int64(0)
	return t.scan(nil, func(v []vector, n int) error {
		for row := range n {
			var r logRow
			into := reflect.ValueOf(&r).Elem()
			for i, c := range columns {
				if c < 0 { // of a later version
					continue
				}
				t.assign(into.Field(i), &v[c], c, row)
			}
			var e commitlog.Entry
			err := r.entry(&e)
			if err == nil && r.Index != next {
				err = fmt.Errorf("index %d", r.Index)
			}
			if err != nil {
				return &DataError{File: t.path, Row: next, Found: err.Error(), Expected: "an entry of a log", Mend: "replay again with --facts"}
			}
			next++
			e.Now = model.Time(r.Time) - t.epoch
			if early && e.What == commitlog.Pass {
				e.Due = model.AbsentTime
			}
			if !give(&e) {
				return errEnough
			}
		}
		return nil
	})
}

// assign sets a field of a row from column c; what is missing stays zero.
func (t *tableFile) assign(into reflect.Value, v *vector, c, row int) {
	switch t.fields[c].kind {
	case kindInt32:
		if x := v.i32[row]; x != math.MinInt32 || !t.fields[c].optional {
			into.SetInt(int64(x))
		}
	case kindInt64, kindTime:
		if x := v.i64[row]; x != math.MinInt64 || !t.fields[c].optional {
			into.SetInt(x)
		}
	case kindWord:
		if x := v.i32[row]; x >= 0 {
			into.SetString(t.words[c].list[x])
		}
	default:
		into.SetString(v.text[row])
	}
}

// entry turns a row back into what it was made of.
func (r *logRow) entry(e *commitlog.Entry) (err error) {
	e.Count = r.Count
	if e.What, err = spelt(r.Entry, "an entry", commitlog.Promise); err != nil {
		return err
	}
	switch e.What {
	case commitlog.Round:
		e.Round, err = spelt(r.Kind, "a round", drive.LastRound)
	case commitlog.Pass:
		e.Due, e.QuietUntil, e.Again = model.Time(r.Due), model.Time(r.QuietUntil), r.Again != 0
		e.More = r.More != 0
	case commitlog.Promise:
		p := &e.Promise
		p.VCluster, p.Job, p.Ref, p.After = model.VClusterID(r.VCluster), model.JobID(r.Job), model.Ref(r.Ref), uint64(r.Seq)
		p.Since, p.At = model.Time(r.Value), model.Time(r.At)
		err = r.placement(&p.Nodes)
	case commitlog.Proposal:
		err = r.proposal(&e.Proposal)
	case commitlog.Fact:
		err = r.fact(&e.Fact)
	}
	return err
}

func (r *logRow) proposal(p *model.Proposal) (err error) {
	if p.Kind, err = spelt(r.Kind, "a proposal", model.ProposeRestore); err != nil {
		return err
	}
	if p.Reason, err = spelt(r.Reason, "a reason", model.LastReason); err != nil {
		return err
	}
	p.Borrowed = r.Borrowed != 0
	p.Job, p.Ref, p.Seq, p.VCluster, p.Victim = model.JobID(r.Job), model.Ref(r.Ref), uint64(r.Seq), model.VClusterID(r.VCluster), model.Ref(r.Victim)
	p.Request = r.request()
	return r.placement(&p.Placement)
}

func (r *logRow) fact(f *model.Fact) (err error) {
	if f.Kind, err = spelt(r.Kind, "a fact", model.LastFact); err != nil {
		return err
	}
	if f.Reason, err = spelt(r.Reason, "a reason", model.LastReason); err != nil {
		return err
	}
	if r.Outcome != "" {
		if f.Outcome, err = spelt(r.Outcome, "an outcome", model.Failed); err != nil {
			return err
		}
	}
	if r.State != "" {
		if f.State, err = spelt(r.State, "a state of a node", model.Wiping); err != nil {
			return err
		}
	}
	f.Job, f.Ref, f.Seq, f.Node, f.Tenant = model.JobID(r.Job), model.Ref(r.Ref), uint64(r.Seq), model.NodeID(r.Node), model.TenantID(r.Tenant)
	f.Value, f.At, f.Submit, f.Walltime = r.Value, model.Time(r.At), model.Time(r.Submit), model.Duration(r.Walltime)
	f.Request = r.request()
	if r.Nodes != "" {
		f.Placement = new(model.Placement)
		if err := r.placement(f.Placement); err != nil {
			return err
		}
	}
	for _, x := range []struct {
		text string
		into any
	}{{r.Allocation, &f.Alloc}, {r.Constraint, &f.Constraint}, {r.Limits, &f.Limits}} {
		if x.text == "" {
			continue
		}
		if err := json.Unmarshal([]byte(x.text), x.into); err != nil {
			return fmt.Errorf("%q: %w", clipped(x.text), err)
		}
	}
	return nil
}

func (r *logRow) request() model.Request {
	return model.Request{Layout: model.Layout(r.Layout), Nodes: r.Asked, PerNode: r.PerNode, Units: r.Procs}
}

// placement reads nodes and shares back.
func (r *logRow) placement(p *model.Placement) error {
	if r.Nodes == "" {
		return nil
	}
	for term := range strings.SplitSeq(r.Nodes, ",") {
		low, high, isRange := strings.Cut(term, "-")
		if !isRange {
			high = low
		}
		lo, err := strconv.ParseInt(low, 10, 32)
		if err != nil {
			return fmt.Errorf("nodes %q: %w", clipped(r.Nodes), err)
		}
		hi, err := strconv.ParseInt(high, 10, 32)
		if err != nil || hi < lo || hi-lo > maxRange {
			return fmt.Errorf("nodes %q", clipped(r.Nodes))
		}
		for n := lo; n <= hi; n++ {
			p.Shares = append(p.Shares, model.NodeShare{Node: model.NodeID(n)})
		}
	}
	if r.Shares == "" {
		p.Words = wholeNodes(p.Shares)
		p.Shares = nil
		return nil
	}
	if err := runs(r.Shares, 10, len(p.Shares), func(i int, x uint64) { p.Shares[i].Units = int32(x) }); err != nil {
		return fmt.Errorf("shares %q: %w", clipped(r.Shares), err)
	}
	for _, x := range [...]struct {
		name, text string
		base       int
		set        func(i int, x uint64)
	}{
		{"gpus", r.GPUs, 16, func(i int, x uint64) { p.Shares[i].GPUs = x }},
		{"share_cpus", r.ShareCPUs, 10, func(i int, x uint64) { p.Shares[i].CPUs = int32(x) }},
		{"share_memory", r.ShareMemory, 10, func(i int, x uint64) { p.Shares[i].Memory = int64(x) }},
		{"share_gpu_milli", r.ShareMilli, 10, func(i int, x uint64) { p.Shares[i].GPUMilli = int32(x) }},
	} {
		if x.text == "" {
			continue
		}
		if err := runs(x.text, x.base, len(p.Shares), x.set); err != nil {
			return fmt.Errorf("%s %q: %w", x.name, clipped(x.text), err)
		}
	}
	return nil
}

// clipped is a text short enough for a message.
func clipped(text string) string { return text[:min(len(text), 60)] }

// maxRange bounds the nodes of one range, so that no text costs more memory than it should.
const maxRange = 1 << 22

// wholeNodes are nodes by words of 64.
func wholeNodes(nodes []model.NodeShare) (words []model.NodeWord) {
	for _, n := range nodes {
		w, bit := int32(n.Node)/64, uint64(1)<<(uint32(n.Node)%64)
		if k := len(words); k == 0 || words[k-1].Word != w {
			words = append(words, model.NodeWord{Word: w})
		}
		words[len(words)-1].Mask |= bit
	}
	return words
}

// runs reads a run-length encoded list of n numbers.
func runs(text string, base, n int, set func(i int, x uint64)) error {
	i := 0
	for term := range strings.SplitSeq(text, ",") {
		value, count, times := strings.Cut(term, "x")
		x, err := strconv.ParseUint(value, base, 64)
		if err != nil {
			return err
		}
		k := 1
		if times {
			if k, err = strconv.Atoi(count); err != nil {
				return err
			}
		}
		if k < 1 || k > n-i {
			return fmt.Errorf("%d more for %d nodes", k, n-i)
		}
		for range k {
			set(i, x)
			i++
		}
	}
	if i < n {
		return fmt.Errorf("%d for %d nodes", i, n)
	}
	return nil
}

// spelt finds the value that is spelt so, among those from 0 to last.
func spelt[T interface {
	~uint8
	String() string
}](text, what string, last T) (T, error) {
	for x := T(0); x <= last; x++ {
		if x.String() == text {
			return x, nil
		}
	}
	return 0, fmt.Errorf("%q where %s is told", clipped(text), what)
}
