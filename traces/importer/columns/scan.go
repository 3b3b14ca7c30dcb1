package columns

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"orrery/internal/spelling"
	"orrery/scheduler/model"
	"orrery/traces"
	"orrery/traces/importer/format"
)

// table is a file that was read through under a mapping.
type table struct {
	m       *Mapping
	format  *format.Format
	file    format.File
	comma   rune
	service string
	zone    *time.Location
	convert converter
	record  *traces.Record
	wanted  []string // columns of the file
	others  []int    // columns of the file that no column of the table takes
	account format.Account
	gaps    format.Gaps
	series  bool // one row for an instant, of each of its series

	rows     int64
	first    model.Time
	step     model.Duration
	unsorted *format.Place // the first row out of order
	dated    bool          // the table has a time
}

// separators are tried in this order.
var separators = []rune{',', ';', '\t', '|'}

func (m *Mapping) scan(f *format.Format, files []format.File, o format.Options) (format.Scanned, error) {
	t := &table{m: m, format: f, file: files[0], service: o.Service, zone: o.Zone, convert: converter{m: m, clocks: make([]format.Clock, len(m.sources)), moments: make([]format.Moment, len(m.sources))}}
	for i := range m.sources {
		s := &m.sources[i]
		t.convert.clocks[i] = format.Clock{Zone: t.zone, Unordered: s.column.Name != "submit" && s.column.Name != "time", Distinct: m.table == "prices" || m.table == "load" && t.single()}
		if s.from != "" && !slices.Contains(t.wanted, s.from) {
			t.wanted = append(t.wanted, s.from)
		}
	}
	if err := t.layout(); err != nil {
		return nil, err
	}
	t.record, _ = traces.NewRecord(m.table)
	t.record.Clear()
	t.dated = t.record.At() != model.AbsentTime
	_, t.series = t.record.Series()
	if err := t.read(); err != nil {
		return nil, err
	}
	repeated := false
	for i := range t.convert.clocks {
		c := &t.convert.clocks[i]
		c.Decide()
		repeated = repeated || c.Repeated()
	}
	if repeated || t.gaps.Any() { // which instants they are, and so the order of the rows, is known now; which others show them is not
		if err := t.read(); err != nil {
			return nil, err
		}
	}
	if w := t.m.find("width"); w != nil && w.step {
		t.account.Assume("load.width", t.step.String(), "the smallest step between two rows, as asked for")
	}
	return t, nil
}

// layout finds the separator and the columns that are left over.
func (t *table) layout() error {
	var widest []string
	for i, comma := range separators {
		names, err := format.Header(t.file.Head, comma)
		if err != nil {
			err.File = t.file.Name
			return err
		}
		missing := slices.DeleteFunc(slices.Clone(t.wanted), func(w string) bool { return slices.Contains(names, w) })
		if len(missing) == 0 {
			t.comma = comma
			for k, name := range names {
				if !slices.Contains(t.wanted, name) {
					t.others = append(t.others, k)
				}
			}
			return t.remark(names)
		}
		if i == 0 || len(names) > len(widest) {
			widest = names
		}
	}
	for _, w := range t.wanted {
		if !slices.Contains(widest, w) {
			return &traces.DataError{File: t.file.Name, Line: 1, Found: "the columns " + format.Excerpt(strings.Join(widest, ",")), Expected: fmt.Sprintf("a column %q", w),
				Mend: "name a column of the file" + spelling.Hint(w, widest)}
		}
	}
	return nil
}

// remark notes what the mapping leaves open.
func (t *table) remark(names []string) error {
	a := &t.account
	for i, k := range t.others {
		if slices.ContainsFunc(t.others[i+1:], func(l int) bool { return names[l] == names[k] }) {
			return &traces.DataError{File: t.file.Name, Line: 1, Found: "two columns " + names[k], Expected: "one of each name", Mend: "rename one of them"}
		}
	}
	switch {
	case t.m.table == "jobs" && t.m.find("id") == nil:
		a.Assume("jobs.id", "the number of the row", "no column was given for it")
	case t.m.table == "nodes" && t.m.find("up") == nil:
		a.Assume("nodes.up", "true", "no column was given for it")
	case t.m.table == "load" && t.m.find("service") == nil:
		if t.service == "" {
			return &traces.DataError{File: t.file.Name, Found: "load of a service without a name", Expected: "a name", Mend: "give --service NAME, or --column service=COLUMN"}
		}
	}
	if len(t.others) > 0 && (t.m.table != "jobs" || t.m.find("extra") != nil) {
		var left []string
		for _, k := range t.others {
			left = append(left, names[k])
		}
		a.Assume("columns left out", strings.Join(left, ", "), "no column of the table was given for them")
	}
	return nil
}

// values sets the record to a row, and says why it must be dropped.
func (t *table) values(r *format.Row, epoch model.Time) (drop string, err error) {
	c := &t.convert
	var elapsed traces.Opt[model.Duration]
	c.row, c.err, c.width = r, nil, 0
	clear(c.moments)
	t.record.Clear()
	set := func(name string, v traces.Value) { t.record.Set(t.record.Column(name), v) }
	if t.m.table == "jobs" && t.m.find("id") == nil {
		set("id", traces.Value{Number: r.N})
	}
	if t.m.table == "nodes" {
		set("up", traces.Value{Number: 1})
	}
	if t.m.table == "load" && t.service != "" {
		set("service", traces.Value{Text: t.service})
	}
	if w := t.m.find("width"); w != nil { // a rate needs it
		v := t.one(w, r)
		c.width = v.Number
		set("width", v)
	}
	for i := range t.m.sources {
		s := &t.m.sources[i]
		if s.column.Name == "width" {
			continue
		}
		v := t.one(s, r)
		switch {
		case v.Null && !s.column.Optional && drop == "":
			drop = "no-" + s.column.Name
		case v.Null:
		case s.column.Type == traces.Timestamp:
			if !c.moments[i].At().OK { // a number, not words
				c.moments[i] = format.MomentAt(traces.Some(model.Time(v.Number)))
			}
		default:
			if s.column.Name == "runtime" {
				elapsed = traces.Some(model.Duration(v.Number))
			}
			t.record.Set(s.place, v)
		}
	}
	t.decide(elapsed, epoch)
	if t.m.table == "jobs" && t.m.find("extra") == nil {
		if err := t.extra(r, set); err != nil {
			return "", err
		}
	}
	return drop, c.err
}

// decide sets the instants of a row. Those of a job came one after the other, and the run time is that between the last two;
// one that never ran ends with its withdrawal.
func (t *table) decide(elapsed traces.Opt[model.Duration], epoch model.Time) {
	c := &t.convert
	chain := make([]*format.Moment, 0, 4)
	take := func(name string) {
		if s := t.m.find(name); s != nil && c.moments[s.index].At().OK {
			chain = append(chain, &c.moments[s.index])
		}
	}
	if t.m.table == "jobs" {
		take("submit")
		take("eligible")
		waited := len(chain)
		take("start")
		take("end")
		if len(chain) < waited+2 {
			elapsed.OK = false
		}
		if len(chain) == waited {
			take("cancelled_at")
		}
	}
	rules := format.Moments(elapsed, chain...)
	for i := range t.m.sources {
		m := &c.moments[i]
		if !m.At().OK {
			continue
		}
		if !slices.Contains(chain, m) {
			rules = append(rules, format.Moments(traces.Opt[model.Duration]{}, m)...)
		}
		t.record.Set(t.m.sources[i].place, traces.Value{Number: int64(m.At().V - epoch)})
	}
	for _, rule := range rules {
		c.row.Repair(rule)
	}
}

// one is the value of one source.
func (t *table) one(s *source, r *format.Row) traces.Value {
	if s.step {
		return traces.Value{Number: int64(t.step)}
	}
	column := -1
	if s.from != "" {
		column = r.At[slices.Index(t.wanted, s.from)]
	}
	return t.convert.value(s, column)
}

// extra keeps the columns that nothing was given for.
func (t *table) extra(r *format.Row, set func(string, traces.Value)) error {
	left := map[string]string{}
	for _, k := range t.others {
		text, err := r.Text(k)
		if err != nil {
			return err
		}
		if text != "" {
			left[r.Header[k]] = text
		}
	}
	if len(left) == 0 {
		return nil
	}
	text, err := json.Marshal(left) // keys ascending
	if err != nil {
		return err
	}
	set("extra", traces.Value{Text: string(text)})
	return nil
}

// read goes through the file once.
func (t *table) read() error {
	last := model.AbsentTime
	t.rows, t.first, t.step, t.unsorted = 0, 0, 0, nil
	t.file.Bad.Begin(nil)
	err := format.Rows(t.file, t.comma, t.wanted, func(r *format.Row) error {
		drop, err := t.values(r, 0)
		if err != nil {
			return t.named(err)
		}
		if t.rows++; drop != "" || !t.dated {
			return nil
		}
		at := t.record.At()
		if t.series {
			t.gaps.Look(t.seriesName, at, r.Repaired)
		}
		switch {
		case last == model.AbsentTime:
			t.first = at
		case at < last && t.unsorted == nil:
			t.unsorted = &format.Place{Line: r.Line}
		case at > last && (t.step == 0 || at.Sub(last) < t.step):
			t.step = at.Sub(last)
		}
		t.first, last = min(t.first, at), at
		return nil
	})
	if err == nil {
		err = t.file.Bad.End(t.rows)
	}
	switch {
	case err != nil:
		return err
	case t.rows == 0:
		return &traces.DataError{File: t.file.Name, Found: "a header without rows", Expected: "at least one row", Mend: "fetch the file again"}
	}
	return nil
}

// seriesName names what has one row for an instant.
func (t *table) seriesName() string {
	name, _ := t.record.Series()
	return name
}

// single says whether every row is a sample of some width of the same service, so that
// no two are of one instant.
func (t *table) single() bool {
	w := t.m.find("width")
	s := t.m.find("service")
	return w != nil && w.value != "0" && (s == nil || s.from == "")
}

// named puts the name of the file into an error about a constant.
func (t *table) named(err error) error {
	var e *traces.DataError
	if errors.As(err, &e) && e.File == "" {
		e.File = t.file.Name
	}
	return err
}

// epoch is the zero of the bundle's clock: the whole second of the first row, or 0
// where the file's own zero is arbitrary.
func (t *table) epoch() model.Time {
	if !t.absolute() {
		return 0
	}
	back := t.first % model.Time(model.Second)
	if back < 0 {
		back += model.Time(model.Second)
	}
	return t.first - back
}

// absolute says whether times count from 1970.
func (t *table) absolute() bool {
	return t.dated && slices.ContainsFunc(t.m.sources, func(s source) bool { return s.column.Type == traces.Timestamp && s.unit.special != relative })
}

// Write implements format.Scanned.
func (t *table) Write(w *traces.Writer) error {
	t.account.Again()
	ledger, rules := t.account.Table(t.m.table), traces.NewRules()
	t.file.Bad.Begin(func(at *format.Place) { ledger.Take(at, traces.RuleUnreadable) })
	at := func(r *format.Row) (model.Time, error) {
		if t.unsorted == nil {
			return 0, nil
		}
		_, err := t.values(r, 0)
		return t.record.At(), err
	}
	err := format.InOrder(t.file, t.comma, t.wanted, t.unsorted == nil, at, func(r *format.Row, _ model.Time) error {
		r.Repaired = r.Repaired[:0] // of the look at its time
		drop, err := t.values(r, t.epoch())
		if err != nil {
			return t.named(err)
		}
		if t.series && drop == "" && t.gaps.Yield(t.seriesName, t.record.At().Add(model.Duration(t.epoch())), r.Repaired) {
			drop = format.RuleYields
		}
		if drop == "" {
			t.record.LeaveOut(func(column, _ string, _ float64) { r.Repaired = append(r.Repaired, column+"-that-cannot-be") })
			drop = t.record.Broken(rules)
		}
		if !ledger.Take(r.Place(""), drop) {
			return nil
		}
		return t.record.Write(w)
	})
	if err == nil {
		err = t.file.Bad.End(t.rows)
	}
	if err == nil && t.unsorted != nil {
		ledger.Repair("sorted", t.unsorted)
	}
	return err
}

// Report implements format.Scanned.
func (t *table) Report() traces.Report { return t.account.Report([]format.File{t.file}, t.format) }

// Meta implements format.Scanned.
func (t *table) Meta(r traces.Report) (traces.Meta, error) {
	m, err := format.Describe([]format.File{t.file}, r)
	m.Epoch, m.EpochKnown, m.Sorted = t.epoch(), t.absolute(), true
	if t.zone != nil {
		m.TimeZone = t.zone.String()
	}
	return m, err
}
