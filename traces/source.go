// Package traces reads and writes the trace bundle: Parquet tables that
// describe a workload and the cluster it ran on. It is the only package below
// the shells that touches files; what a replay makes of a row is not its
// business.
package traces

import (
	"iter"
	"slices"

	"orrery/scheduler/model"
)

// Absent marks a missing integer in a Batch; on disk it is null.
const Absent int32 = -1 << 31

// Batch holds consecutive rows of the jobs table as columns of equal length,
// restricted to what a replay needs. Times are relative to Info.Epoch. A
// consumer must not keep the slices: the next call to Source.Next reuses them.
type Batch struct {
	First          model.JobID // row index of element 0
	ID             []int64
	Submit         []model.Time
	Start          []model.Time     // recorded, AbsentTime when unknown
	Runtime        []model.Duration // truth, AbsentDuration when it never ran
	Walltime       []model.Duration // requested, AbsentDuration when not stated
	CancelledAt    []model.Time     // AbsentTime when not cancelled
	ProcsRequested []int32
	ProcsAllocated []int32
	NodesMin       []int32
	CPUsPerNode    []int32
	GPUsPerNode    []int32
	User           []int32 // index into Source.Users, -1 when unknown

	// RanOn is recorded_nodes of each row, "" when null, in the batches of a trace
	// with a warm start that begin before it; else nil.
	RanOn []string

	// Past is filled when the caller has set it before the first call to Source.Next, and
	// nil else.
	Past *Past

	// Attr is filled when the caller has set it before the first call to
	// Source.Next, and nil else: reading the columns of a plain replay costs
	// no more for it.
	Attr *Attributes

	// Only names the columns of the jobs table that the caller reads, nil for all. It is set before the
	// first call to Source.Next. Other columns are not read, nor is what they hold checked; a source in memory may give them.
	Only []string
}

// Past is what the rows of a Batch say of how jobs ran in the log, and their names: what
// models of hardware go by and no scheduler sees.
type Past struct {
	Name  []string // "" when null
	RanOn []string // recorded_nodes, "" when null
	Nodes []int32  // held, Absent when not known
	GPUs  []int32  // held in all, Absent when not known
}

// wants says whether the caller reads a column.
func (b *Batch) wants(column string) bool { return b.Only == nil || slices.Contains(b.Only, column) }

// Len is the number of rows in the batch.
func (b *Batch) Len() int { return len(b.ID) }

// Append adds the rows of o, which is of the same source, to b. It does not
// touch First.
func (b *Batch) Append(o *Batch) {
	b.ID = append(b.ID, o.ID...)
	b.Submit = append(b.Submit, o.Submit...)
	b.Start = append(b.Start, o.Start...)
	b.Runtime = append(b.Runtime, o.Runtime...)
	b.Walltime = append(b.Walltime, o.Walltime...)
	b.CancelledAt = append(b.CancelledAt, o.CancelledAt...)
	b.ProcsRequested = append(b.ProcsRequested, o.ProcsRequested...)
	b.ProcsAllocated = append(b.ProcsAllocated, o.ProcsAllocated...)
	b.NodesMin = append(b.NodesMin, o.NodesMin...)
	b.CPUsPerNode = append(b.CPUsPerNode, o.CPUsPerNode...)
	b.GPUsPerNode = append(b.GPUsPerNode, o.GPUsPerNode...)
	b.User = append(b.User, o.User...)
	if o.RanOn != nil || b.RanOn != nil {
		b.RanOn = append(append(b.RanOn, make([]string, b.Len()-o.Len()-len(b.RanOn))...), o.RanOn...)
	}
	if o.Past != nil {
		if b.Past == nil {
			b.Past = &Past{}
		}
		r := b.Past
		r.Name, r.RanOn = append(r.Name, o.Past.Name...), append(r.RanOn, o.Past.RanOn...)
		r.Nodes, r.GPUs = append(r.Nodes, o.Past.Nodes...), append(r.GPUs, o.Past.GPUs...)
	}
	if o.Attr != nil {
		if b.Attr == nil {
			b.Attr = &Attributes{}
		}
		b.Attr.extend(o.Attr)
	}
}

// Slice is the rows i to j of b, without a copy.
func (b *Batch) Slice(i, j int) Batch {
	s := Batch{
		First:          b.First + model.JobID(i),
		ID:             b.ID[i:j],
		Submit:         b.Submit[i:j],
		Start:          b.Start[i:j],
		Runtime:        b.Runtime[i:j],
		Walltime:       b.Walltime[i:j],
		CancelledAt:    b.CancelledAt[i:j],
		ProcsRequested: b.ProcsRequested[i:j],
		ProcsAllocated: b.ProcsAllocated[i:j],
		NodesMin:       b.NodesMin[i:j],
		CPUsPerNode:    b.CPUsPerNode[i:j],
		GPUsPerNode:    b.GPUsPerNode[i:j],
		User:           b.User[i:j],
	}
	if i < len(b.RanOn) {
		s.RanOn = b.RanOn[i:min(j, len(b.RanOn))]
	}
	if r := b.Past; r != nil {
		s.Past = &Past{Name: r.Name[i:j], RanOn: r.RanOn[i:j], Nodes: r.Nodes[i:j], GPUs: r.GPUs[i:j]}
	}
	if b.Attr != nil {
		s.Attr = b.Attr.slice(i, j)
	}
	return s
}

// Info describes a trace as a whole.
type Info struct {
	Name       string     // base name without the extension
	Hash       string     // SHA-256 of the content, hex
	Rows       int64      // jobs
	Epoch      model.Time // UTC, in µs since 1970-01-01: the zero of every Time in a Batch
	EpochKnown bool       // false for logs whose clock starts at an arbitrary zero
	TimeZone   string     // IANA name or "" when the log does not say
	MaxProcs   int32      // cluster size as the log states, 0 when it does not say
	MaxNodes   int32
	Sorted     bool // rows ascend by (submit, input order)
	// Filled counts the rows of jobs that have a value in each optional column,
	// in the order of JobColumns, columns without any left out. It is nil for
	// files that others wrote, whose statistics are not relied on.
	Filled []Filled
	Deps   int64 // rows of the deps table
	// Tables are the tables that have rows, in the order of TableNames.
	Tables []TableRows
	// WarmStart is the instant at which a replay begins, if that is not the first
	// submission: see Meta.
	WarmStart Opt[model.Time]
	History   model.Duration // before the warm start: see Meta
}

// Fills says whether an optional column has a value in any row, by Filled.
func (i *Info) Fills(column string) bool {
	return slices.ContainsFunc(i.Filled, func(f Filled) bool { return f.Column == column })
}

// TableRows is a table of a trace and how many rows it has.
type TableRows struct {
	Table string `json:"table"`
	Rows  int64  `json:"rows"`
}

// Of is the number of rows of a table, 0 when it is not there.
func (i *Info) Of(table string) int64 {
	for _, t := range i.Tables {
		if t.Table == table {
			return t.Rows
		}
	}
	return 0
}

// Filled says in how many rows an optional column has a value. For kind, which
// every row has, it counts the rows of the row groups that hold other kinds
// than bounded.
type Filled struct {
	Column string
	Rows   int64
	Varies bool // not all values are the same
}

// Source streams the jobs table in order. Memory does not grow with the number
// of rows, only with distinct texts in the columns that are read.
type Source interface {
	Info() Info
	// Next fills b with the next rows, at most the source's batch size, and
	// returns io.EOF when there are none left. Callers that want Batch.Attr set it
	// before the first call and leaves it there; a source without attributes
	// leaves it empty.
	Next(b *Batch) error
	// Users lists the user names seen so far; Batch.User indexes it.
	Users() []string
	// Nodes is the bundle's nodes table, nil when it has none.
	Nodes() []Node
	// Tenants is the bundle's tenants table, nil when it has none.
	Tenants() []Tenant
	// Events and Prices are those tables of the bundle, nil when it has none.
	Events() []Event
	Prices() []Price
	// Load iterates over the load table from its beginning, see Bundle.Load.
	Load() iter.Seq2[*Load, error]
	// Dependencies resolves what jobs wait for to rows, see
	// Bundle.Dependencies.
	Dependencies(afterJob bool) (*Dependencies, error)
	Close() error
}

// Node is one row of the nodes table.
type Node struct {
	Name        string
	Group       string
	Type        string
	GPUModel    string
	GPUs        int32
	CPUs        int32
	Memory      int64 // bytes
	Fingerprint string
	VCluster    string
	Up          bool // at the start
}
