// Package conform checks the policies against files of recorded cases: inputs with the
// answers of the original system. It knows the schemas of the files and nothing of the
// cases in them. Each family of policies has a file here with its schemas and how they
// are fed to a policy.
package conform

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Schemas of the files that are understood.
const (
	schemaCases = "autoscale-conformance/1"
	schemaIndex = "autoscale-conformance-index/1"
)

// schema is how the cases of one kind of file are checked.
type schema struct {
	name  string // of the files
	check func(raw json.RawMessage, t *tally) error
}

// schemas are all that are understood.
func schemas() []schema {
	return slices.Concat(latticeSchemas(), hpaSchemas(), kpaSchemas(), kedaSchemas(), neonSchemas(), maestroSchemas(), lcmSchemas(), modelSchemas())
}

// cases makes a schema of a function that checks one decoded case.
func cases[C any](name string, check func(c *C, t *tally)) schema {
	return schema{name, func(raw json.RawMessage, t *tally) error {
		var c C
		var err error
		if t.nulls, err = decodeNulls(raw, &c); err != nil {
			return err
		}
		check(&c, t)
		t.close()
		switch {
		case len(t.nulls) > 0: // those that no comparison has met are inputs
			return fmt.Errorf("field %q is null", t.nulls[0])
		case t.passed+t.failed+t.skipped == 0:
			return errors.New("has no steps")
		}
		return nil
	}}
}

// File is what came of one file.
type File struct {
	Name     string    `json:"file"`
	System   string    `json:"system,omitempty"`
	Cases    int       `json:"cases"`
	Passed   int       `json:"passed"`
	Failed   int       `json:"failed"`
	Skipped  int       `json:"skipped"`
	Failures []Failure `json:"failures"`
	Skips    []Skip    `json:"skips"`
	Refused  []Refusal `json:"refused"`
}

// Refusal is a case, or a whole file, that could not be understood.
type Refusal struct {
	Case   string `json:"case,omitempty"` // none for the file
	Reason string `json:"reason"`
}

// Failure is the first step of a case at which an answer differs, or a count of a file
// that is not that of its cases.
type Failure struct {
	Case  string `json:"case,omitempty"` // none for the file
	Step  *int   `json:"step"`           // from 0; null for a case without steps
	Field string `json:"field"`
	Want  any    `json:"want"`
	Got   any    `json:"got"`
}

// Skip is a case, or checks of one, that was not made.
type Skip struct {
	Case   string `json:"case"`
	Checks int    `json:"checks"`
	Reason string `json:"reason"`
}

// header is what all files begin with.
type header struct {
	Schema string            `json:"schema"`
	Name   string            `json:"name"`
	System string            `json:"system"`
	Count  int               `json:"count"`
	Cases  []json.RawMessage `json:"cases"`
}

// Check checks the cases of one file. ok is false for a file that holds none: an index.
func Check(name string, content []byte) (f File, ok bool) {
	f = File{Name: name, Failures: []Failure{}, Skips: []Skip{}, Refused: []Refusal{}}
	var h header
	if err := json.Unmarshal(content, &h); err != nil {
		f.refuse("", "not a file of cases: %v", err)
		return f, true
	}
	f.System, f.Cases = h.System, len(h.Cases)
	switch h.Schema {
	case schemaCases:
	case schemaIndex:
		return f, false
	default:
		f.refuse("", "unknown schema %q, want %s", h.Schema, schemaCases)
		return f, true
	}
	s, found := find(h.Name)
	switch {
	case !found:
		f.refuse("", "unknown name %q, want one of %s", h.Name, strings.Join(names(), ", "))
	case len(h.Cases) == 0:
		f.refuse("", "no cases")
	default:
		if h.Count != len(h.Cases) {
			f.Failed++
			f.Failures = append(f.Failures, Failure{Field: "count", Want: h.Count, Got: len(h.Cases)})
		}
		for i, raw := range h.Cases {
			f.checkCase(s, raw, i)
		}
	}
	return f, true
}

// checkCase checks the case that stands at a place of the file.
func (f *File) checkCase(s schema, raw json.RawMessage, at int) {
	var id struct {
		ID string `json:"id"`
	}
	if err := json.Unmarshal(raw, &id); err != nil || id.ID == "" {
		f.refuse(fmt.Sprintf("number %d", at), "no id")
		return
	}
	var t tally
	if err := s.check(raw, &t); err != nil {
		f.refuse(id.ID, "%v", err)
		return
	}
	t.close()
	f.Passed += t.passed
	f.Failed += t.failed
	if t.first != nil {
		t.first.Case = id.ID
		f.Failures = append(f.Failures, *t.first)
	}
	if t.skipped > 0 {
		f.Skipped += t.skipped
		f.Skips = append(f.Skips, Skip{id.ID, t.skipped, t.reason})
	}
}

func (f *File) refuse(id, format string, args ...any) {
	f.Refused = append(f.Refused, Refusal{id, fmt.Sprintf(format, args...)})
}

// find is the schema of files of a name; parts of a set may follow a dash.
func find(name string) (best schema, ok bool) {
	for _, s := range schemas() {
		if (name == s.name || strings.HasPrefix(name, s.name+"-")) && len(s.name) > len(best.name) {
			best, ok = s, true
		}
	}
	return best, ok
}

func names() []string {
	var list []string
	for _, s := range schemas() {
		list = append(list, s.name)
	}
	return list
}

// tally counts the checks of one case. A check is one step, or the whole of a case that
// has none; it fails when any of its fields differs.
type tally struct {
	step    int      // none for the whole of a case
	nulls   []string // fields that are null and may not be
	begun   bool
	bad     bool
	passed  int
	failed  int
	skipped int
	reason  string
	first   *Failure
}

// none is the step of a check that is of the whole of a case.
const none = -1

// whole begins the check of a case without steps.
func (t *tally) whole() { t.check(none) }

// check begins the check of a step.
func (t *tally) check(step int) {
	t.close()
	t.step, t.begun, t.bad = step, true, false
}

// close counts the check that has been begun.
func (t *tally) close() {
	switch {
	case !t.begun:
	case t.bad:
		t.failed++
	default:
		t.passed++
	}
	t.begun = false
}

// skip says that a check is not made, and why.
func (t *tally) skip(reason string) {
	t.close()
	t.skipped++
	t.reason = reason
}

// fault fails the check that has been begun.
func (t *tally) fault(field string, got, want any) {
	t.bad = true
	if t.first != nil {
		return
	}
	t.first = &Failure{Field: field, Want: want, Got: got}
	if step := t.step; step != none {
		t.first.Step = &step
	}
}

// null says whether an expected field is null, of which nothing can be true.
func (t *tally) null(field string) bool {
	for i, path := range t.nulls {
		if t.step == none && path == field || t.step != none && strings.HasSuffix(path, fmt.Sprintf("s[%d].%s", t.step, field)) {
			t.nulls = slices.Delete(t.nulls, i, i+1)
			return true
		}
	}
	return false
}

// expect compares one field of the check that has been begun.
func expect[T comparable](t *tally, field string, got, want T) {
	switch {
	case t.null(field):
		t.fault(field, got, nil)
	case got != want:
		t.fault(field, got, want)
	}
}

// expectList compares one field that is a list.
func expectList[T comparable](t *tally, field string, got, want []T) {
	if !slices.Equal(got, want) {
		t.fault(field, got, want)
	}
}

// expectMaybe compares one field that may be null.
func expectMaybe[T comparable](t *tally, field string, got, want *T) {
	switch {
	case got == nil && want == nil:
	case got == nil:
		t.fault(field, nil, *want)
	case want == nil:
		t.fault(field, *got, nil)
	default:
		expect(t, field, *got, *want)
	}
}

// decode reads a case strictly: each of its fields must be known, and each field of the
// schema that does not say omitempty must be there.
func decode(raw json.RawMessage, into any) error {
	nulls, err := decodeNulls(raw, into)
	if err == nil && len(nulls) > 0 {
		err = fmt.Errorf("field %q is null", nulls[0])
	}
	return err
}

// decodeNulls returns the fields that are null where the schema has a value: they are
// read as zero, which is not what they say.
func decodeNulls(raw json.RawMessage, into any) (nulls []string, err error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return nil, errors.New(strings.TrimPrefix(err.Error(), "json: "))
	}
	return required(raw, into)
}
