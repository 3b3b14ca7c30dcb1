package gate

import (
	"encoding/xml"
	"fmt"
	"io"
)

// The elements of a JUnit report, as CI servers read it.
type (
	junitSuites struct {
		XMLName  xml.Name     `xml:"testsuites"`
		Name     string       `xml:"name,attr"`
		Tests    int          `xml:"tests,attr"`
		Failures int          `xml:"failures,attr"`
		Errors   int          `xml:"errors,attr"`
		Suites   []junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name     string      `xml:"name,attr"`
		Tests    int         `xml:"tests,attr"`
		Failures int         `xml:"failures,attr"`
		Errors   int         `xml:"errors,attr"`
		Skipped  int         `xml:"skipped,attr"`
		Cases    []junitCase `xml:"testcase"`
	}
	junitCase struct {
		Name    string        `xml:"name,attr"`
		Class   string        `xml:"classname,attr"`
		Failure *junitProblem `xml:"failure"`
		Error   *junitProblem `xml:"error"`
		Out     string        `xml:"system-out,omitempty"`
	}
	junitProblem struct {
		Message string `xml:"message,attr"`
		Type    string `xml:"type,attr"`
		Text    string `xml:",chardata"`
	}
)

// WriteJUnit writes the report as JUnit XML: a suite for each kind of check, a
// failure for a regression, an error where the evidence does not suffice. It has
// no times, so equal reports have equal bytes.
func (r *Report) WriteJUnit(w io.Writer) error {
	all := junitSuites{Name: r.Gate}
	for i := range r.Checks {
		f := &r.Checks[i]
		if n := len(all.Suites); n == 0 || all.Suites[n-1].Name != f.Kind {
			all.Suites = append(all.Suites, junitSuite{Name: f.Kind})
		}
		s := &all.Suites[len(all.Suites)-1]
		c := junitCase{Name: f.Check, Class: r.Gate + "." + f.Run}
		said := &junitProblem{Message: f.Sentence(), Type: string(f.Verdict), Text: f.Why}
		switch f.Verdict {
		case Regression:
			c.Failure = said
			s.Failures++
		case Undecided:
			c.Error = said
			s.Errors++
		default:
			c.Out = f.Sentence()
		}
		s.Tests++
		s.Cases = append(s.Cases, c)
	}
	for _, s := range all.Suites {
		all.Tests, all.Failures, all.Errors = all.Tests+s.Tests, all.Failures+s.Failures, all.Errors+s.Errors
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	e := xml.NewEncoder(w)
	e.Indent("", "  ")
	if err := e.Encode(all); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

// Sentence says what was found and what was wanted.
func (f *Finding) Sentence() string {
	return fmt.Sprintf("found %s, want %s", f.Found, f.Want)
}
