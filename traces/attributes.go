package traces

import (
	"slices"

	"orrery/scheduler/model"
)

// Absent64 marks a missing 64-bit number in Attributes; on disk it is null.
const Absent64 int64 = -1 << 63

// TextColumn is a column of text in Attributes.
type TextColumn uint8

// The columns of text, by their names in the jobs table.
const (
	TextTenant TextColumn = iota
	TextVCluster
	TextPartition
	TextQOS
	TextAccount
	TextGroup // task group
	TextDAG
	TextGPUType
	TextFeatures // the whole text, as the source writes it
	TextTopology
	TextCheckpoint
	TextRequeue
	TextKind // never missing
	TextReservation
	TextNodeInclude
	TextNodeExclude
	TextExitState
	TextMounts // the whole JSON object
	TextGPUTypes
	TextColumns
)

var textColumns = [TextColumns]string{"tenant", "vcluster", "partition", "qos", "account", "group", "dag", "gpu_type",
	"features", "topology", "checkpoint", "requeue", "kind", "reservation", "node_include", "node_exclude", "exit_state", "mounts", "gpu_types"}

// String is the name of the column in the jobs table.
func (c TextColumn) String() string { return textColumns[c] }

// TextColumnOf is the column of a name; TextColumns where none has it.
func TextColumnOf(name string) TextColumn {
	if i := slices.Index(textColumns[:], name); i >= 0 {
		return TextColumn(i)
	}
	return TextColumns
}

// Attributes is the part of the rows of a Batch that a replay on a plain
// cluster does not need: one element for each row of the Batch, in the units
// of the jobs table. Missing numbers are Absent, Absent64, AbsentTime or
// AbsentDuration, missing booleans and texts are -1.
type Attributes struct {
	// Texts are the tables that Text indexes. They belong to the source and
	// grow with the distinct texts that it has met.
	Texts *Texts
	Text  [TextColumns][]int32

	NodesMax, Class, RequeueMax, Index, MaxConcurrent, ExitCode, Nice, GPUMilli, GPUsTotal []int32
	GPUMem, MemPerNode, CkptBytes, IODemand, Power, SiteFactor, AfterJob                   []int64

	Eligible, End, Released    []model.Time
	ThinkTime                  []model.Duration
	CommFraction               []model.Fixed // 0 to 1; Absent64 when missing
	Sensitive, Exclusive, Hold []int8        // -1, 0 or 1
}

// Texts holds the distinct texts of each column of text, in the order of
// first appearance.
type Texts struct{ tables [TextColumns]interner }

func newTexts() *Texts {
	t := &Texts{}
	for i := range t.tables {
		t.tables[i].ids = map[string]int32{}
	}
	return t
}

// Of lists the texts of a column seen so far; Attributes.Text indexes it. The
// caller must not change it.
func (t *Texts) Of(c TextColumn) []string { return t.tables[c].names }

// Len is the number of rows; 0 when the source has no attributes to give.
func (a *Attributes) Len() int { return len(a.Class) }

// Texts are the columns of text of a row, "" where it does not say.
func (j *Job) Texts() [TextColumns]string {
	return [TextColumns]string{
		TextTenant: j.Tenant, TextVCluster: j.VCluster, TextPartition: j.Partition, TextQOS: j.QOS, TextAccount: j.Account,
		TextGroup: j.Group, TextDAG: j.DAG, TextGPUType: j.GPUType, TextFeatures: j.Features, TextTopology: j.Topology,
		TextCheckpoint: j.Checkpoint, TextRequeue: j.Requeue, TextKind: kindOf(j), TextReservation: j.Reservation,
		TextNodeInclude: j.NodeInclude, TextNodeExclude: j.NodeExclude, TextExitState: j.ExitState, TextMounts: j.Mounts,
		TextGPUTypes: j.GPUTypes,
	}
}

// AppendJob adds a row, for sources that make rows instead of reading them.
// Texts is made when it is nil.
func (a *Attributes) AppendJob(j *Job) {
	if a.Texts == nil {
		a.Texts = newTexts()
	}
	for i, s := range j.Texts() {
		a.Text[i] = append(a.Text[i], a.Texts.tables[i].id([]byte(s)))
	}
	for i, o := range [...]Opt[int32]{j.NodesMax, j.Class, j.RequeueMax, j.Index, j.MaxConcurrent, j.ExitCode, j.Nice, j.GPUMilli, j.GPUsTotal} {
		c := a.counts()[i]
		*c = append(*c, o.or(Absent))
	}
	for i, o := range [...]Opt[int64]{j.GPUMem, j.MemPerNode, j.CkptBytes, j.IODemand, j.Power, j.SiteFactor, j.AfterJob} {
		c := a.sizes()[i]
		*c = append(*c, o.or(Absent64))
	}
	for i, o := range [...]Opt[model.Time]{j.Eligible, j.End, j.Released} {
		c := a.instants()[i]
		*c = append(*c, o.or(model.AbsentTime))
	}
	for i, o := range [...]Opt[bool]{j.Sensitive, j.Exclusive, j.Hold} {
		c := a.flags()[i]
		*c = append(*c, truth(o))
	}
	a.ThinkTime = append(a.ThinkTime, j.ThinkTime.or(model.AbsentDuration))
	comm := model.Fixed(Absent64)
	if j.CommFraction.OK {
		comm = model.FixedOf(j.CommFraction.V)
	}
	a.CommFraction = append(a.CommFraction, comm)
}

func kindOf(j *Job) string {
	if j.Kind == "" {
		return kindBounded
	}
	return j.Kind
}

func truth(o Opt[bool]) int8 {
	if !o.OK {
		return -1
	}
	return int8(boolBit(o.V))
}

// Column names of counts, sizes, instants and flags, in their order.
var (
	countColumns   = [...]string{"nodes_max", "class", "requeue_max", "index", "max_concurrent", "exit_code", "nice", "gpu_milli", "gpus_total"}
	sizeColumns    = [...]string{"gpu_mem", "mem_per_node", "ckpt_bytes", "io_demand", "power", "site_factor", "after_job"}
	instantColumns = [...]string{"eligible", "end", "released"}
	flagColumns    = [...]string{"sensitive", "exclusive", "hold"}
)

func (a *Attributes) counts() [len(countColumns)]*[]int32 {
	return [...]*[]int32{&a.NodesMax, &a.Class, &a.RequeueMax, &a.Index, &a.MaxConcurrent, &a.ExitCode, &a.Nice, &a.GPUMilli, &a.GPUsTotal}
}

func (a *Attributes) sizes() [len(sizeColumns)]*[]int64 {
	return [...]*[]int64{&a.GPUMem, &a.MemPerNode, &a.CkptBytes, &a.IODemand, &a.Power, &a.SiteFactor, &a.AfterJob}
}

func (a *Attributes) instants() [len(instantColumns)]*[]model.Time {
	return [...]*[]model.Time{&a.Eligible, &a.End, &a.Released}
}

func (a *Attributes) flags() [len(flagColumns)]*[]int8 {
	return [...]*[]int8{&a.Sensitive, &a.Exclusive, &a.Hold}
}

// extend adds the rows of o to a, which must be of the same source.
func (a *Attributes) extend(o *Attributes) {
	a.Texts = o.Texts
	for i := range a.Text {
		a.Text[i] = append(a.Text[i], o.Text[i]...)
	}
	for i, c := range o.counts() {
		dst := a.counts()[i]
		*dst = append(*dst, *c...)
	}
	for i, c := range o.sizes() {
		dst := a.sizes()[i]
		*dst = append(*dst, *c...)
	}
	for i, c := range o.instants() {
		dst := a.instants()[i]
		*dst = append(*dst, *c...)
	}
	for i, c := range o.flags() {
		dst := a.flags()[i]
		*dst = append(*dst, *c...)
	}
	a.ThinkTime = append(a.ThinkTime, o.ThinkTime...)
	a.CommFraction = append(a.CommFraction, o.CommFraction...)
}

// slice is the rows i to j of a, without a copy of them.
func (a *Attributes) slice(i, j int) *Attributes {
	s := *a
	for k := range s.Text {
		s.Text[k] = s.Text[k][i:j]
	}
	for _, c := range s.counts() {
		*c = (*c)[i:j]
	}
	for _, c := range s.sizes() {
		*c = (*c)[i:j]
	}
	for _, c := range s.instants() {
		*c = (*c)[i:j]
	}
	for _, c := range s.flags() {
		*c = (*c)[i:j]
	}
	s.ThinkTime, s.CommFraction = s.ThinkTime[i:j], s.CommFraction[i:j]
	return &s
}

// resize makes every column n long, keeping memory. Those that are not wanted say nothing of any row.
func (a *Attributes) resize(n int, wanted func(column string) bool) {
	for i := range a.Text {
		resizeWanted(&a.Text[i], n, wanted(textColumns[i]), -1)
	}
	for i, c := range a.counts() {
		resizeWanted(c, n, wanted(countColumns[i]), Absent)
	}
	for i, c := range a.sizes() {
		resizeWanted(c, n, wanted(sizeColumns[i]), Absent64)
	}
	for i, c := range a.instants() {
		resizeWanted(c, n, wanted(instantColumns[i]), model.AbsentTime)
	}
	for i, c := range a.flags() {
		resizeWanted(c, n, wanted(flagColumns[i]), -1)
	}
	resizeWanted(&a.ThinkTime, n, wanted("think_time"), model.AbsentDuration)
	resizeWanted(&a.CommFraction, n, wanted("comm_fraction"), model.Fixed(Absent64))
}

func resizeWanted[T any](s *[]T, n int, wanted bool, absent T) {
	grown := cap(*s) < n
	resizeTo(s, n)
	if grown && !wanted { // it is never written
		fill((*s)[:cap(*s)], absent)
	}
}
