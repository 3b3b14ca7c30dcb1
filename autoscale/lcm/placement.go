package lcm

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Predicate is one that a worker must pass; it is rejected under the first that it fails.
type Predicate uint8

// The predicates, in order.
const (
	ByStatus Predicate = iota
	ByLicence
	ByCapacity
	ByImage
	ByPorts
	Predicates // the number of them
)

// Image is what a session requires of the image of its worker.
type Image struct {
	MinVersion, MaxVersion string
	Definitions            []string // of nodes, which must all be there
}

// Session is what a session requires.
type Session struct {
	Need     Capacity
	Licences []Licence // any of them; none for any worker
	Images   []Image
	Ports    int64
}

// Cached is the capacity of a worker as the cache has it.
type Cached struct {
	Available           *Capacity // nil where the entry has none
	Declared, Allocated Capacity
	Sessions            int64 // -1 where the entry has none
}

// Worker is one that sessions may be placed on.
type Worker struct {
	Running     bool
	Declared    Capacity
	Allocated   Capacity
	Cached      *Cached
	Sessions    int64
	MaxPorts    int64 // 0 for the default of 1000
	Ports       int64 // that are allocated
	Licence     Licence
	Version     string // empty for not known
	Definitions []string
}

const defaultPorts = 1000

// Candidate is a worker that passed, by its place in the list.
type Candidate struct {
	Worker int
	Score  float64
}

// Engine places sessions: filter, score, select.
type Engine struct {
	// NumericVersions compares versions by their numbers. As coded they are compared as
	// text, so that 2.10 comes before 2.9.
	NumericVersions bool

	candidates []Candidate
	rejected   [Predicates]int64
}

// Rejected counts the workers that the last placement rejected, by their first predicate.
func (e *Engine) Rejected() [Predicates]int64 { return e.rejected }

// Place ranks the workers that a session may be placed on, the best first: the fullest,
// and among equals the first. The list is valid until the next call.
func (e *Engine) Place(s *Session, workers []Worker) []Candidate {
	e.candidates, e.rejected = e.candidates[:0], [Predicates]int64{}
	for i := range workers {
		w := &workers[i]
		if p := e.reject(s, w); p < Predicates {
			e.rejected[p]++
			continue
		}
		e.candidates = append(e.candidates, Candidate{i, w.Score()})
	}
	slices.SortStableFunc(e.candidates, func(a, b Candidate) int { return cmp.Compare(b.Score, a.Score) })
	return e.candidates
}

// AtCapacity says whether all workers that run were rejected for want of room alone.
func (e *Engine) AtCapacity() bool {
	r := &e.rejected
	return r[ByCapacity] > 0 && r[ByLicence]+r[ByImage]+r[ByPorts] == 0
}

// reject is the first predicate that a worker fails, Predicates for none.
func (e *Engine) reject(s *Session, w *Worker) Predicate {
	switch {
	case !w.Running:
		return ByStatus
	case len(s.Licences) > 0 && !slices.ContainsFunc(s.Licences, w.Licence.satisfies):
		return ByLicence
	case !w.available().fits(s.Need) || w.Licence == Personal && w.sessions() > 0:
		return ByCapacity
	}
	for i := range s.Images {
		if !e.image(&s.Images[i], w) {
			return ByImage
		}
	}
	most := w.MaxPorts
	if most == 0 {
		most = defaultPorts
	}
	if most-w.Ports < s.Ports {
		return ByPorts
	}
	return Predicates
}

// available prefers what the cache has.
func (w *Worker) available() Capacity {
	if w.Cached != nil && w.Cached.Available != nil {
		return *w.Cached.Available
	}
	return w.Declared.less(w.Allocated)
}

func (w *Worker) sessions() int64 {
	if w.Cached != nil && w.Cached.Sessions >= 0 {
		return w.Cached.Sessions
	}
	return w.Sessions
}

// Score is the mean use of CPU and memory, and a little more for each session.
func (w *Worker) Score() float64 {
	declared, allocated := w.Declared, w.Allocated
	if w.Cached != nil {
		declared, allocated = w.Cached.Declared, w.Cached.Allocated
	}
	use := float64(allocated.CPU)/float64(max(1, declared.CPU)) + float64(allocated.Memory)/float64(max(1, declared.Memory))
	return use/2 + math.Min(0.05, float64(float64(w.sessions())*0.01))
}

// image says whether a worker has what is required of it. One whose version is not known
// passes.
func (e *Engine) image(m *Image, w *Worker) bool {
	if w.Version != "" {
		if m.MinVersion != "" && e.compare(w.Version, m.MinVersion) < 0 || m.MaxVersion != "" && e.compare(w.Version, m.MaxVersion) > 0 {
			return false
		}
	}
	for _, d := range m.Definitions {
		if !slices.Contains(w.Definitions, d) {
			return false
		}
	}
	return true
}

func (e *Engine) compare(a, b string) int {
	if !e.NumericVersions {
		return cmp.Compare(a, b)
	}
	for a != "" || b != "" {
		var x, y string
		x, a, _ = strings.Cut(a, ".")
		y, b, _ = strings.Cut(b, ".")
		m, errM := strconv.ParseInt(x, 10, 64)
		n, errN := strconv.ParseInt(y, 10, 64)
		c := cmp.Compare(m, n)
		if errM != nil && x != "" || errN != nil && y != "" {
			c = cmp.Compare(x, y)
		}
		if c != 0 {
			return c
		}
	}
	return 0
}

// Template is a kind of worker that can be created.
type Template struct {
	Name        string
	Enabled     bool
	Capacity    Capacity
	Cost        float64 // per hour
	Licence     Licence
	MaxPorts    int64
	Version     string
	Definitions []string
}

// Tier says how a template was chosen.
type Tier int

// The tiers of the document.
const (
	Cheapest Tier = iota + 1 // of those that are large enough
	Largest                  // none is
	Fallback                 // there is none: a name by the CPUs alone
)

// Choose is the template for a session by the three tiers of the document. index is its
// place in the list, -1 for one that is not there. Among equals it is the first.
func Choose(need Capacity, list []Template) (index int, name string, tier Tier) {
	index = -1
	for i := range list {
		if t := &list[i]; t.Enabled && t.Capacity.fits(need) && (index < 0 || t.Cost < list[index].Cost) {
			index, tier = i, Cheapest
		}
	}
	if index < 0 {
		for i := range list {
			if t := &list[i]; t.Enabled && (index < 0 || t.Capacity.CPU > list[index].Capacity.CPU) {
				index, tier = i, Largest
			}
		}
	}
	if index >= 0 {
		return index, list[index].Name, tier
	}
	switch {
	case need.CPU >= 32:
		name = "metal"
	case need.CPU >= 16:
		name = "large"
	case need.CPU >= 4:
		name = "medium"
	default:
		name = "small"
	}
	return byName(name, list), name, Fallback
}

// ChooseCoded is the name that the code chooses: by whether the session asks for personal
// licences and no others.
func ChooseCoded(asked []Licence) string {
	if len(asked) == 1 && asked[0] == Personal {
		return "single-session"
	}
	return "multi-sessions"
}

// byName is the place of a template, -1 for none.
func byName(name string, list []Template) int {
	return slices.IndexFunc(list, func(t Template) bool { return t.Name == name })
}
