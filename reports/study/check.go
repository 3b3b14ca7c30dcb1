package study

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"orrery/internal/disk"
	"orrery/internal/seal"
	"orrery/sim/metric"
	"orrery/sim/record"
)

// check says what is wrong with the study: lists of other lengths than the
// columns, rows twice, words that are none. The first fault is named by the
// row, parameter or metric it is in.
func (s *Study) check() error {
	if s.Schema < 0 || s.Schema > Schema {
		return fmt.Errorf("schema %d, where this program knows %d: draw it with the program that wrote it", s.Schema, Schema)
	}
	if s.Name == "" {
		return errors.New("no name: give the study one, it heads the page")
	}
	for _, check := range []func() error{s.checkColumns, s.checkRows, s.checkHistories, s.checkSensitivity, s.checkShares, s.checkSections} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

// oneOf is the complaint about a word that is none of those there are.
func oneOf(what, got string, words ...string) error {
	for _, w := range words {
		if got == w {
			return nil
		}
	}
	return fmt.Errorf("%s is %q: use one of %q", what, got, words)
}

func (s *Study) checkColumns() error {
	met := map[string]bool{}
	for i := range s.Parameters {
		p := &s.Parameters[i]
		if err := oneOf("kind of parameter "+p.Name, p.Kind, KindWeight, KindReal, KindInteger, KindChoice); err != nil {
			return err
		}
		switch {
		case p.Name == "" || met[p.Name]:
			return fmt.Errorf("parameter %d is named %q: give each a name of its own", i+1, p.Name)
		case p.High < p.Low || p.Log && p.Low <= 0:
			return fmt.Errorf("parameter %s goes from %v to %v: the first must not be larger (and be positive on a logarithmic scale)", p.Name, p.Low, p.High)
		case p.Kind == KindChoice && len(p.Choices) == 0:
			return fmt.Errorf("parameter %s is a choice without choices", p.Name)
		}
		met[p.Name] = true
	}
	met = map[string]bool{}
	for i := range s.Metrics {
		m := &s.Metrics[i]
		if m.Name == "" || met[m.Name] {
			return fmt.Errorf("metric %d is named %q: give each a name of its own", i+1, m.Name)
		}
		met[m.Name] = true
		if err := oneOf("direction of metric "+m.Name, m.Direction, "", Minimise, Maximise); err != nil {
			return err
		}
		if m.Objective && m.Direction == "" {
			return fmt.Errorf("objective %s has no direction: say %s or %s", m.Name, Minimise, Maximise)
		}
		if m.Bound != nil {
			if err := oneOf("relation of the bound on "+m.Name, m.Bound.Relation, "<=", ">="); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *Study) checkRows() error {
	met := map[string]bool{}
	for i := range s.Rows {
		r := &s.Rows[i]
		if r.ID == "" || met[r.ID] {
			return fmt.Errorf("row %d has id %q: give each an id of its own", i+1, r.ID)
		}
		met[r.ID] = true
		if len(r.Values) != len(s.Parameters) || len(r.Metrics) != len(s.Metrics) {
			return fmt.Errorf("row %s has %d values and %d metrics, where the study has %d parameters and %d metrics",
				r.ID, len(r.Values), len(r.Metrics), len(s.Parameters), len(s.Metrics))
		}
		if len(r.Low) != len(r.High) || len(r.Low) != 0 && len(r.Low) != len(s.Metrics) {
			return fmt.Errorf("row %s has intervals with %d lower and %d upper ends, where the study has %d metrics", r.ID, len(r.Low), len(r.High), len(s.Metrics))
		}
		if err := oneOf("role of row "+r.ID, r.Role, "", RoleBaseline, RoleCurrent, RoleChosen); err != nil {
			return err
		}
		for k, p := range s.Parameters {
			if v := r.Values[k]; p.Kind == KindChoice && v.Defined() && (v < 0 || int(v) >= len(p.Choices) || v != metric.Number(int(v))) {
				return fmt.Errorf("row %s has %v for %s: give the index of one of its %d choices", r.ID, v, p.Name, len(p.Choices))
			}
		}
		if !safeLink(r.Link) {
			return fmt.Errorf("row %s links to %q: give a path below the study's folder, or an http address", r.ID, r.Link)
		}
	}
	return nil
}

// safeLink admits what a page of a run can be at; everything else, scripts
// above all, is refused.
func safeLink(link string) bool {
	if strings.HasPrefix(link, "https://") || strings.HasPrefix(link, "http://") {
		return true
	}
	head, _, _ := strings.Cut(link, "/")
	return !strings.ContainsAny(head, ":\\") && !strings.HasPrefix(link, "//") && strings.IndexFunc(link, func(r rune) bool { return r < ' ' }) < 0
}

func (s *Study) checkHistories() error {
	for _, h := range s.Histories {
		for _, c := range h.Curves {
			for _, list := range [][]metric.Number{c.Each, c.Low, c.High} {
				if len(list) != 0 && len(list) != len(c.Best) {
					return fmt.Errorf("history of %s, curve %q: %d values beside %d trials", h.Metric, c.Name, len(list), len(c.Best))
				}
			}
			if len(c.Low) != len(c.High) {
				return fmt.Errorf("history of %s, curve %q: an interval with one end", h.Metric, c.Name)
			}
		}
	}
	return nil
}

func (s *Study) checkSections() error {
	for i := range s.Sections {
		for _, p := range s.Sections[i].Parts {
			if p.Table == nil {
				continue
			}
			for k, row := range p.Rows {
				if len(row) != len(p.Columns) {
					return fmt.Errorf("section %q: row %d of a table has %d cells under %d heads", s.Sections[i].Title, k+1, len(row), len(p.Columns))
				}
			}
		}
	}
	return nil
}

// mostSide bounds the grid of an interaction.
const mostSide = 40

func (s *Study) checkSensitivity() error {
	for _, e := range s.Sensitivity {
		for _, p := range e.Parts {
			if err := oneOf("influence of "+p.Parameter+" on "+e.Metric, p.Influence, Inert, Active, Unclear); err != nil {
				return err
			}
		}
	}
	for _, e := range s.Interactions {
		if max(len(e.FirstAt), len(e.SecondAt)) > mostSide {
			return fmt.Errorf("interaction of %s and %s on %s: a grid of %d by %d, where %d is the most that can be read",
				e.First, e.Second, e.Metric, len(e.FirstAt), len(e.SecondAt), mostSide)
		}
		ok := len(e.FirstAt) > 0 && len(e.SecondAt) > 0 && len(e.Values) == len(e.FirstAt)
		for _, row := range e.Values {
			ok = ok && len(row) == len(e.SecondAt)
		}
		if !ok {
			return fmt.Errorf("interaction of %s and %s on %s: give a row for each of the %d values of the first, with the %d of the second",
				e.First, e.Second, e.Metric, len(e.FirstAt), len(e.SecondAt))
		}
	}
	return nil
}

// mostSpanUS are two centuries: what lies beyond is a mistake of the unit.
const mostSpanUS = 200 * 365 * 24 * 3600 * 1_000_000

func (s *Study) checkShares() error {
	for _, e := range s.Shares {
		if e.WidthUS <= 0 || e.WidthUS > mostSpanUS {
			return fmt.Errorf("shares of %q: stretches of %d µs", e.Title, e.WidthUS)
		}
		if max(e.EpochUS, -e.EpochUS) > mostSpanUS || max(e.StartUS, -e.StartUS) > mostSpanUS || len(e.Tenants) > 0 && int64(len(e.Tenants[0].Shares)) > mostSpanUS/e.WidthUS {
			return fmt.Errorf("shares of %q: epoch %d µs and start %d µs; times are µs within two centuries of 1970", e.Title, e.EpochUS, e.StartUS)
		}
		for _, t := range e.Tenants {
			if len(t.Shares) != len(e.Tenants[0].Shares) {
				return fmt.Errorf("shares of %q: tenant %q has %d stretches, the first has %d", e.Title, t.Name, len(t.Shares), len(e.Tenants[0].Shares))
			}
		}
	}
	return nil
}

// json is the study as a file: canonical, the same bytes for the same study.
func (s *Study) json() ([]byte, error) {
	c := *s
	c.Schema = Schema
	raw, err := record.AppendJSON(nil, &c)
	if err != nil {
		return nil, err
	}
	return seal.Object(raw), nil
}

// Read reads what JSON wrote. Complaints about the content are
// *record.DataError.
func Read(path string) (*Study, error) {
	raw, err := disk.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading study: %w", err)
	}
	s := &Study{}
	if raw, err = seal.CutVersioned(raw, SealedSchema); err != nil {
		return nil, &record.DataError{File: path, Row: -1, Found: err.Error(), Expected: "what was written", Mend: "write it again, by the command that made the study"}
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err = d.Decode(s); err == nil {
		if _, more := d.Token(); !errors.Is(more, io.EOF) {
			err = errors.New("something after its end")
		} else {
			err = s.check()
		}
	}
	if err != nil {
		return nil, &record.DataError{
			File: path, Row: -1, Found: err.Error(), Expected: "a study as REPORTS.md describes it", Mend: "write it again, by the command that made the study",
		}
	}
	return s, nil
}
