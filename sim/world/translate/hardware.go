package translate

import (
	"regexp"

	"orrery/hwmodel"
	"orrery/scheduler/model"
	"orrery/traces"
)

// Hardware says what rows tell of the hardware on which their jobs ran, and of which class
// of work they are.
type Hardware struct {
	Rules []ClassRule // the first that holds says the class
	// Models are the numbers of GPU models, by the names that rows and nodes give them.
	Models map[string]int32
	// Nodes are those of the log by name, nil where no table tells of them.
	Nodes map[string]PastNode
	// Default are the models on which jobs ran whose rows do not say, as bits; 0 is none.
	Default uint64
	// Users are the names that Batch.User indexes.
	Users func() []string
}

// PastNode is a node of the log.
type PastNode struct{ Model, Group int32 } // -1 for none

// ClassRule puts rows into a class of work if all of it holds.
type ClassRule struct {
	Class            int32 // from 1
	Columns          []ColumnPattern
	MinGPUs, MaxGPUs int64 // asked for in all; MaxGPUs 0 is any number
}

// ColumnPattern holds if the value of a column matches. A row without a value matches none.
type ColumnPattern struct {
	ByName, ByUser bool              // Column is the name or the user, which are no columns of text
	Column         traces.TextColumn // else
	Match          *regexp.Regexp
}

// job is what row i tells of its job, of which a is the request.
func (h *Hardware) job(b *traces.Batch, i int, a *model.Allocation) hwmodel.Job {
	j := hwmodel.Job{Key: a.Job, Cards: a.Cards()}
	for r := range h.Rules {
		if h.holds(&h.Rules[r], b, i, a) {
			j.Class = h.Rules[r].Class
			break
		}
	}
	j.Recorded = h.past(b, i, a)
	return j
}

func (h *Hardware) holds(r *ClassRule, b *traces.Batch, i int, a *model.Allocation) bool {
	if gpus := int64(a.Cards()) * int64(a.NodesMin); gpus < r.MinGPUs || r.MaxGPUs > 0 && gpus > r.MaxGPUs {
		return false
	}
	for c := range r.Columns {
		if text := h.text(&r.Columns[c], b, i); text == "" || !r.Columns[c].Match.MatchString(text) {
			return false
		}
	}
	return true
}

// text is the value in row i of the column that a pattern is about, "" for none.
func (h *Hardware) text(p *ColumnPattern, b *traces.Batch, i int) string {
	switch {
	case p.ByName && b.Past != nil:
		return b.Past.Name[i]
	case p.ByUser && b.User[i] >= 0 && h.Users != nil:
		return h.Users()[b.User[i]]
	case p.ByName || p.ByUser:
		return ""
	}
	return textOf(b, i, p.Column)
}

// textOf is the text of a column in row i, "" for none.
func textOf(b *traces.Batch, i int, c traces.TextColumn) string {
	if !states(b.Attr, i, c) {
		return ""
	}
	return b.Attr.Texts.Of(c)[b.Attr.Text[c][i]]
}

// past is what row i ran on in the log, each part zero where neither the row nor the table
// of nodes says it. A request for one model was met by that model.
func (h *Hardware) past(b *traces.Batch, i int, a *model.Allocation) hwmodel.Where {
	w := hwmodel.Where{}
	if p := b.Past; p != nil {
		if names, ok := understood(p.RanOn[i]); ok && len(names) > 0 {
			w.Nodes = int32(len(names))
			w.Models, w.Groups = h.known(names)
		}
		if w.Nodes == 0 && p.Nodes[i] > 0 {
			w.Nodes = p.Nodes[i]
		}
		if p.GPUs[i] > 0 && w.Nodes > 0 {
			w.Fullest = (p.GPUs[i]-1)/w.Nodes + 1
		}
	}
	if asked := a.Cards(); asked > 0 && (w.Nodes == a.NodesMin || w.Fullest > asked) {
		w.Fullest = asked // of whole nodes it used what it asked for, as here
	}
	if m, ok := h.Models[textOf(b, i, traces.TextGPUType)]; ok && w.Models == 0 {
		w.Models = 1 << m
	}
	if w.Models == 0 {
		w.Models = h.Default
	}
	return w
}

// known are the models and the number of groups of nodes; 0 if one of them is not in the
// table or has no model, or no group.
func (h *Hardware) known(names []string) (models uint64, groups int32) {
	met, all, grouped := map[int32]bool{}, uint64(0), true
	for _, name := range names {
		n, ok := h.Nodes[name]
		if !ok {
			return 0, 0
		}
		if n.Model < 0 {
			all = ^uint64(0)
		} else if all != ^uint64(0) {
			all |= 1 << n.Model
		}
		grouped = grouped && n.Group >= 0
		met[n.Group] = true
	}
	if all == ^uint64(0) {
		all = 0
	}
	if !grouped {
		return all, 0
	}
	return all, int32(len(met))
}
