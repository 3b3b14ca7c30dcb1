package transform

import (
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strconv"

	"orrery/scheduler/model"
	"orrery/traces"
)

// stretch multiplies time: all instants and spans, counted from the epoch, or
// the time between submissions alone.
type stretch struct {
	by   ratio
	what string
}

// What a stretch changes.
const (
	stretchAll      = "all"
	stretchArrivals = "arrivals"
)

func newStretch(p *params) step {
	return stretch{by: ratioOf(p.share("by")), what: p.word("what", stretchAll, stretchAll, stretchArrivals)}
}

func (s stretch) apply(in *Set, a *Account, _ Opener) (*Set, error) {
	if s.what == stretchArrivals {
		if err := in.needsJobs("stretch what=arrivals"); err != nil {
			return nil, err
		}
		return in.spread(s.by, a)
	}
	return in.stretch(s.by, a)
}

// Scale is the trace with its load multiplied by so many thousandths, at least 1:
// the time between submissions is divided by that.
func (s *Set) Scale(thousandths int) (*Set, error) {
	by := "1000/" + strconv.Itoa(thousandths)
	return s.Apply(Recipe{{Name: "stretch", Args: []Arg{{"by", "=", by}, {"what", "=", stretchArrivals}}}}, nil)
}

// timeFields are the columns of instants and of spans.
func timeFields() (instants, spans []traces.JobField) {
	for _, f := range traces.JobFields() {
		switch {
		case f.Column().Type == traces.Timestamp:
			instants = append(instants, f)
		case f.Span():
			spans = append(spans, f)
		}
	}
	return instants, spans
}

// stretch multiplies all instants and spans. What is stretched by 2 and by 0.5
// is as before.
func (s *Set) stretch(by ratio, a *Account) (*Set, error) {
	out := *s
	instants, spans := timeFields()
	out.Rows = within(s.edit(a, func(j *traces.Job) bool {
		for _, f := range instants {
			if n, ok := f.Number(j); ok {
				f.SetNumber(j, by.of(n))
			}
		}
		for _, f := range spans {
			if n, ok := f.Number(j); ok {
				f.SetNumber(j, by.span(n))
			}
		}
		a.change("times multiplied", j.ID)
		return true
	}))
	out.Meta.WarmStart.V = model.Time(by.of(int64(out.Meta.WarmStart.V)))
	out.Meta.History = model.Duration(by.of(int64(out.Meta.History)))
	if !traces.Finite(int64(out.Meta.WarmStart.V)) || !traces.Finite(int64(out.Meta.History)) {
		return nil, beyond("the warm start", 0, "", "")
	}
	out.Events = slices.Clone(s.Events)
	for i := range out.Events {
		e := &out.Events[i]
		e.Time = model.Time(by.of(int64(e.Time)))
		if err := stretchEvent(e, by); err != nil {
			return nil, err
		}
		if !traces.Finite(int64(e.Time)) {
			return nil, beyond("the events table", i+1, "time", e.Kind)
		}
	}
	out.Prices = nil
	for i, p := range s.Prices {
		if p.Time = model.Time(by.of(int64(p.Time))); !traces.Finite(int64(p.Time)) {
			return nil, beyond("the prices table", i+1, "time", "")
		}
		if n := len(out.Prices); n > 0 && out.Prices[n-1].Time == p.Time {
			out.Prices[n-1] = p // of two that fall together the later one holds
			continue
		}
		out.Prices = append(out.Prices, p)
	}
	out.stretchTables(by, a)
	return &out, nil
}

// stretchEvent multiplies the times in the value of an event.
func stretchEvent(e *traces.Event, by ratio) error {
	switch e.Kind {
	case "quorum_outage", "metric_gap":
		n, err := strconv.ParseInt(e.Value, 10, 64)
		if err != nil {
			return fmt.Errorf("the event %s at %s: its value %q is no whole number of µs", e.Kind, e.Time, e.Value)
		}
		e.Value = strconv.FormatInt(by.span(n), 10)
	case "reservation":
		var fields map[string]json.RawMessage
		if err := json.Unmarshal([]byte(e.Value), &fields); err != nil {
			return fmt.Errorf("the event %s at %s: its value is no JSON object: %w", e.Kind, e.Time, err)
		}
		for _, key := range []string{"start", "end"} {
			if n, err := strconv.ParseInt(string(fields[key]), 10, 64); err == nil {
				fields[key] = strconv.AppendInt(nil, by.of(n), 10)
			}
		}
		text, err := json.Marshal(fields) // keys ascending
		if err != nil {
			return err
		}
		e.Value = string(text)
	}
	return nil
}

// spread multiplies the time from the first submission, or from the warm start,
// to each later one. A job moves as a whole: its recorded instants move with its
// submission. The site's own events stay where they are.
func (s *Set) spread(by ratio, a *Account) (*Set, error) {
	origin := s.Meta.WarmStart.V
	if !s.Meta.WarmStart.OK {
		first, _, ok, err := s.Bounds()
		if err != nil {
			return nil, err
		}
		if !ok {
			return s, nil
		}
		origin = first
	}
	out := *s
	instants, _ := timeFields()
	out.Rows = within(s.edit(a, func(j *traces.Job) bool {
		if j.Submit <= origin {
			return true
		}
		to := origin.Add(model.Duration(by.of(int64(j.Submit.Sub(origin)))))
		move(instants, j, to.Sub(j.Submit))
		a.change("submission moved", j.ID)
		return true
	}))
	return &out, nil
}

// within are jobs whose instants and spans a trace can hold; see checked.
func within(rows func() iter.Seq2[*traces.Job, error]) func() iter.Seq2[*traces.Job, error] {
	instants, spans := timeFields()
	times := slices.Concat(instants, spans)
	return checked("the jobs table", rows, func(j *traces.Job) (column, of string) {
		for _, f := range times {
			if n, ok := f.Number(j); ok && !traces.Finite(n) {
				return f.Column().Name, "job " + strconv.FormatInt(j.ID, 10)
			}
		}
		return "", ""
	})
}

// checked are rows in which no column is too large: the first in which one is ends them with
// an error, for a later step could bring it back to what looks sound.
func checked[R any](table string, rows func() iter.Seq2[*R, error], large func(*R) (column, of string)) func() iter.Seq2[*R, error] {
	return func() iter.Seq2[*R, error] {
		return func(yield func(*R, error) bool) {
			row := 0
			for r, err := range rows() {
				row++
				if err == nil {
					if column, of := large(r); column != "" {
						err = beyond(table, row, column, of)
					}
				}
				if !yield(r, err) || err != nil {
					return
				}
			}
		}
	}
}

// beyond refuses times that a step makes larger than a trace can hold.
func beyond(table string, row int, column, of string) error {
	found := "a time of 73,000 years or more"
	if of != "" {
		found += " (" + of + ")"
	}
	return &traces.DataError{File: table, Row: int64(row), Column: column, Found: found, Expected: "less after this step", Mend: "multiply by less, or leave the row out with filter first"}
}

// move shifts all instants of a job.
func move(instants []traces.JobField, j *traces.Job, by model.Duration) {
	if by == 0 {
		return
	}
	for _, f := range instants {
		if n, ok := f.Number(j); ok {
			f.SetNumber(j, n+int64(by))
		}
	}
}

// reorder restores the order of rows that were moved by at most reach: it holds
// back those that a later row may still pass. Ties are broken by id.
func reorder(rows iter.Seq2[*traces.Job, error], reach model.Duration) iter.Seq2[*traces.Job, error] {
	return func(yield func(*traces.Job, error) bool) {
		var h rowHeap
		for j, err := range rows {
			if err != nil {
				yield(nil, err)
				return
			}
			h.push(j)
			for h.len() > 0 && h.first().Submit < j.Submit.Add(-2*reach) {
				if !yield(h.pop(), nil) {
					return
				}
			}
		}
		for h.len() > 0 {
			if !yield(h.pop(), nil) {
				return
			}
		}
	}
}
