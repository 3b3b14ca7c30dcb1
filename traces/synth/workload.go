// Package synth generates workloads: the model of Lublin and Feitelson for
// parallel batch clusters, and a variant for clusters of GPU nodes. Package
// synth/site makes one for a site of several vClusters. A workload is a pure
// function of its parameters, its number of jobs and its seed. It can be
// iterated, written as a trace, or replayed as it is made, in memory that does
// not grow with the number of jobs. It knows nothing of schedulers.
//
// Instants and spans are whole seconds, as in the logs the models were fitted
// to. The rounding also hides the last bits in which logarithms and powers
// differ between processor architectures.
package synth

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"iter"
	"math"
	"strconv"

	"orrery/traces"
)

// version is raised whenever the same parameters and seed make other rows.
const version = 1

// Workload is a generated trace that has not been written anywhere.
type Workload struct {
	name    string
	recipe  string
	jobs    int64
	content Content
}

// Content is what a generator makes: the size of the cluster, the tables beside the
// jobs, and the jobs themselves. A table that is empty is not written.
type Content struct {
	MaxProcs, MaxNodes int32 // processors (GPUs where nodes have them) and nodes; 0 where they are not known
	Nodes              []traces.Node
	Tenants            []traces.Tenant
	Events             []traces.Event              // in order of time
	Deps               func() iter.Seq[traces.Dep] // nil when there are none
	// Begin starts the rows from the first: each call of what it returns overwrites the
	// whole row with the next one, in order of submission.
	Begin func() func(*traces.Job)
}

// recipe is what a workload is a function of.
type recipe struct {
	Generator string `json:"generator"`
	Version   int    `json:"version"`
	Jobs      int64  `json:"jobs"`
	Seed      uint64 `json:"seed"`
	Params    any    `json:"params"`
}

// New is the workload of n jobs that a generator makes of a seed and parameters, which
// the recipe states as JSON. It refuses fewer jobs than one and more than 2,147,483,647.
func New(name string, n int64, seed uint64, params any, c Content) (*Workload, error) {
	if n < 1 || n > math.MaxInt32 {
		return nil, fmt.Errorf("generating %s: %d jobs asked for; ask for 1 to %d", name, n, math.MaxInt32)
	}
	text, err := json.Marshal(recipe{Generator: name, Version: version, Jobs: n, Seed: seed, Params: params})
	if err != nil {
		return nil, fmt.Errorf("generating %s: %w", name, err)
	}
	return &Workload{name: name, recipe: string(text), jobs: n, content: c}, nil
}

// numbered lists the names "1" to "n": users are numbers, as in SWF.
func numbered(n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = strconv.Itoa(i + 1)
	}
	return names
}

// Recipe is the parameters, the number of jobs and the seed, as JSON.
func (w *Workload) Recipe() string { return w.recipe }

// Info describes the workload. Its Hash is that of the recipe, since the
// content is not known before it is made; the trace that Write makes has the
// hash of its content.
func (w *Workload) Info() traces.Info {
	sum := sha256.Sum256([]byte(w.recipe))
	return traces.Info{
		Name: w.name, Hash: hex.EncodeToString(sum[:]), Rows: w.jobs,
		MaxProcs: w.content.MaxProcs, MaxNodes: w.content.MaxNodes, Sorted: true,
	}
}

// Rows iterates over the jobs in order of submission; the error is always nil.
// A row is valid until the next one.
func (w *Workload) Rows() iter.Seq2[*traces.Job, error] {
	return func(yield func(*traces.Job, error) bool) {
		var row traces.Job
		next := w.content.Begin()
		for range w.jobs {
			next(&row)
			if !yield(&row, nil) {
				return
			}
		}
	}
}

// depRows iterates over the dependencies between jobs.
func (w *Workload) depRows() iter.Seq[traces.Dep] {
	if w.content.Deps == nil {
		return func(func(traces.Dep) bool) {}
	}
	return w.content.Deps()
}

// Write writes the workload as a trace to path, which ends in .trace or, when
// there are jobs alone, .parquet. It returns the content hash. watch, if
// not nil, is called every few thousand rows with the number made so far; an
// error from it ends the writing, and nothing is left.
func (w *Workload) Write(path string, watch func(made int64) error) (hash string, err error) {
	out, err := traces.NewWriter(path, traces.Meta{
		Source: w.name, MaxProcs: w.content.MaxProcs, MaxNodes: w.content.MaxNodes, Sorted: true, Recipe: w.recipe,
	})
	if err != nil {
		return "", err
	}
	defer out.Abort()
	if err := w.writeTables(out); err != nil {
		return "", err
	}
	made := int64(0)
	for row, err := range w.Rows() {
		if err == nil {
			err = out.WriteJob(row)
		}
		if made++; err == nil && watch != nil && made%4096 == 0 {
			err = watch(made)
		}
		if err != nil {
			return "", err
		}
	}
	return out.Close()
}

// writeTables writes what stands beside the jobs.
func (w *Workload) writeTables(out *traces.Writer) error {
	for _, n := range w.content.Nodes {
		if err := out.WriteNode(n); err != nil {
			return err
		}
	}
	for _, t := range w.content.Tenants {
		if err := out.WriteTenant(t); err != nil {
			return err
		}
	}
	for d := range w.depRows() {
		if err := out.WriteDep(d); err != nil {
			return err
		}
	}
	for _, e := range w.content.Events {
		if err := out.WriteEvent(e); err != nil {
			return err
		}
	}
	return nil
}
