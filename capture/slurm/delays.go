package slurm

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"orrery/capture"
	"orrery/scheduler/model"
	"orrery/traces"
)

// Slurm keeps no record of how long nodes boot, nor of how long jobs complete. What polls see of both is known to within the time
// between two polls: each delay has a least and a most.

// completing is a job that has ended and still holds its nodes, with the poll that saw it last.
type completing struct {
	Seen model.Time `json:"seen"`
	End  string     `json:"end"`
}

// completion is from which to which instant the end of a job was over.
type completion struct {
	end, seen, gone model.Time // gone is 0 while it was not over
}

func (g *gathered) completing(r *record) error {
	c := g.ends[r.Key]
	if c == nil {
		c = &completion{}
		g.ends[r.Key] = c
	}
	if r.Value == "" {
		c.gone = r.At
		return nil
	}
	var one completing
	if err := json.Unmarshal([]byte(r.Value), &one); err != nil {
		return err
	}
	c.end, c.seen, c.gone = seconds(one.End), one.Seen, 0
	return nil
}

// took puts into a job how long its nodes were held beyond its recorded end, where polls were made at the time. A job that
// no poll saw complete was done by the first poll that had its end.
func (a *assembly) took(j *traces.Job, submit string) error {
	if !j.Start.OK || !j.End.OK || j.End.V <= j.Start.V {
		return nil
	}
	key := strconv.FormatInt(j.ID, 10) + submit
	end := a.meta.Epoch.Add(model.Duration(j.End.V))
	first := a.gathered.found[sumOf(key)]
	c := a.gathered.ends[key]
	if first == 0 || end < a.upTo.First || c != nil && c.end != end {
		return nil // it ended before the first poll, or this is another attempt
	}
	least, most := model.Duration(0), first.Sub(end)
	if c != nil {
		least, most = c.seen.Sub(end), c.gone.Sub(end)
		if c.gone == 0 {
			return nil
		}
	}
	extra := map[string]json.RawMessage{}
	if j.Extra != "" {
		if err := json.Unmarshal([]byte(j.Extra), &extra); err != nil {
			return &traces.DataError{Column: "extra", Found: j.Extra, Expected: "a JSON object"}
		}
	}
	extra[capture.CompletingLeast] = strconv.AppendInt(nil, int64(max(least, 0)), 10)
	extra[capture.CompletingMost] = strconv.AppendInt(nil, int64(max(most, 0)), 10)
	text, err := json.Marshal(extra) // keys ascend
	j.Extra = string(text)
	return err
}

// nodeState is what a node is about. Before is the poll before, 0 for none; the state changed since.
type nodeState struct {
	Before model.Time `json:"before"`
	Phase  string     `json:"phase"`
	Boot   model.Time `json:"boot,omitempty"` // when its kernel started
}

// Phases of nodes.
const (
	phaseUp      = "up"
	phaseDown    = "down"
	phaseOff     = "off"
	phasePowered = "powering_up"
)

// phaseOf reads a state such as IDLE+CLOUD+POWERING_UP.
func phaseOf(state string) string {
	words := strings.Split(state, "+")
	has := func(list ...string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return slices.Contains(list, strings.TrimRight(w, "*~#!%$@^-")) })
	}
	switch {
	case has("POWERING_UP", "REBOOT_ISSUED"):
		return phasePowered
	case has("POWERED_DOWN", "POWERING_DOWN", "POWER_DOWN"):
		return phaseOff
	case has("DOWN", "FAIL", "ERROR", "UNKNOWN", "NOT_RESPONDING"), strings.Contains(state, "*"):
		return phaseDown
	}
	return phaseUp
}

// phase is a state of a node from a poll on.
type phase struct {
	nodeState
	at model.Time
}

func (g *gathered) phase(r *record) error {
	var s nodeState
	err := json.Unmarshal([]byte(r.Value), &s)
	g.states[r.Key] = append(g.states[r.Key], phase{s, r.At})
	return err
}

// boots are those that polls saw whole, by node: by the states of Slurm, and where the kernel of a node that was down started anew,
// by that.
func (a *assembly) boots() (list []traces.Event) {
	known := map[string]bool{}
	for i := range a.nodes {
		known[a.nodes[i].key] = true
	}
	add := func(node string, at model.Time, least, most model.Duration, reason string) {
		r := capture.Record{Record: capture.RecordBoot, Reason: reason, Least: max(least, 0), Most: most}
		list = append(list, r.Event(max(0, model.Time(at.Sub(a.meta.Epoch))), node))
	}
	for _, node := range slices.Sorted(maps.Keys(a.states)) {
		if !known[node] {
			continue
		}
		states := a.states[node]
		for i := range states {
			s := &states[i]
			if s.Phase != phasePowered || s.Before == 0 || i > 0 && states[i-1].Phase == phasePowered {
				continue // it was on its way before the first poll, or this is the same boot with another kernel
			}
			end := slices.IndexFunc(states[i:], func(o phase) bool { return o.Phase != phasePowered })
			switch {
			case end < 0:
				add(node, s.at, a.upTo.Last.Sub(s.at), 0, capture.BootPowered)
			case states[i+end].Phase == phaseUp:
				e := &states[i+end]
				add(node, s.at, e.Before.Sub(s.at), e.at.Sub(s.Before), capture.BootPowered)
			default:
				add(node, s.at, states[i+end].Before.Sub(s.at), 0, capture.BootFailed)
			}
		}
	}
	for i := range a.events {
		e := &a.events[i].value
		from, to := seconds(e.Start), seconds(e.End)
		if wordOf(e.State) != "down" || !known[e.Node] || to == 0 {
			continue
		}
		for _, s := range a.states[e.Node] {
			if s.Boot > from && s.Boot < to {
				add(e.Node, s.Boot, to.Sub(s.Boot), to.Sub(s.Boot), capture.BootKernel)
				break
			}
		}
	}
	return list
}
