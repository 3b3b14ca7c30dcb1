package slurm

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// notebook collects notes; those that are alike become one.
type notebook struct {
	list []Note
	seen map[string]int
}

func (n *notebook) add(x Note) {
	key := x.of + "\x00" + x.File + "\x00" + x.Key + "\x00" + string(x.Verdict) + "\x00" + x.Text
	if i, ok := n.seen[key]; ok {
		n.list[i].Count++
		return
	}
	x.Count = 1
	n.seen[key] = len(n.list)
	n.list = append(n.list, x)
}

// demote says of options that were read what became clear later: that others make them idle,
// in Slurm too. Keys are in lower case.
func (n *notebook) demote(of, why string, keys ...string) { n.change(of, Ignored, true, why, keys) }

// revise says of options that were read what became clear later: that the result has them otherwise.
func (n *notebook) revise(of string, v Verdict, why string, keys ...string) {
	n.change(of, v, false, why, keys)
}

func (n *notebook) change(of string, v Verdict, plain bool, why string, keys []string) {
	for i := range n.list {
		x := &n.list[i]
		if x.Verdict != Ignored && x.of == of && slices.Contains(keys, strings.ToLower(x.Key)) {
			x.Verdict, x.plain, x.Text = v, plain, why
		}
	}
}

// decisive are options that say which job starts when: what is lost of them changes a replay most.
var decisive = []string{
	"schedulertype", "selecttype", "selecttypeparameters", "preempttype", "preemptmode", "prioritytype", "priorityflags", "priorityweighttres", "oversubscribe", "shared", "licenses",
	"exclusiveuser", "maxcpuspernode", "lln", "qos",
}

// weight is how much is lost with an option: 0 for most, 4 for nothing that a replay has.
func (n *Note) weight() int {
	key := strings.ToLower(n.Key)
	decides := n.of != "" || slices.Contains(decisive, key) || strings.HasPrefix(key, strings.ToLower(ofScheduler))
	switch {
	case n.Verdict == Understood || n.plain:
		return 4
	case n.Verdict == Approximated && decides:
		return 0
	case decides:
		return 1
	case n.Verdict == Approximated:
		return 2
	}
	return 3
}

// Decisive are the notes on what is lost that changes a replay most, at most so many.
func Decisive(notes []Note, most int) []Note {
	out := slices.Clone(notes)
	slices.SortStableFunc(out, func(a, b Note) int { return cmp.Compare(a.weight(), b.weight()) })
	end := slices.IndexFunc(out, func(n Note) bool { return n.weight() == 4 })
	if end < 0 {
		end = len(out)
	}
	return out[:min(end, most)]
}

// sorted is everything noted, by file in the order of reading, and by line.
func (n *notebook) sorted() []Note {
	files := map[string]int{}
	for i := range n.list {
		if _, ok := files[n.list[i].File]; !ok {
			files[n.list[i].File] = len(files)
		}
	}
	slices.SortStableFunc(n.list, func(a, b Note) int {
		return cmp.Or(cmp.Compare(files[a.File], files[b.File]), cmp.Compare(a.Line, b.Line))
	})
	return n.list
}

func (c *converter) note(p pair, v Verdict, text string) {
	c.notes.add(Note{File: c.file, Line: p.line, Key: p.key, Value: p.value, Verdict: v, Text: text, of: c.of})
}

func (c *converter) understood(p pair)               { c.note(p, Understood, "") }
func (c *converter) approximated(p pair, how string) { c.note(p, Approximated, how) }
func (c *converter) ignored(p pair, why string)      { c.note(p, Ignored, why) }

// plain notes an option that says nothing a replay could have: paths, daemons, logging, what its rows say.
func (c *converter) plain(p pair, why string) {
	c.notes.add(Note{File: c.file, Line: p.line, Key: p.key, Value: p.value, Verdict: Ignored, Text: why, of: c.of, plain: true})
}

// number reads a count of n to m.
func (c *converter) number(p pair, low, high int64) (int64, error) {
	n, err := strconv.ParseInt(p.value, 10, 64)
	if err != nil || n < low || n > high {
		return 0, c.errorf(p.line, "%s=%s: want a whole number from %d to %d", p.key, p.value, low, high)
	}
	return n, nil
}
