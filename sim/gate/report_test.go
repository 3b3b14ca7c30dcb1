package gate_test

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/reports/page"
	"orrery/sim/gate"
)

// sample is a report with each verdict, and with texts that no format may take
// for its own.
func sample() *gate.Report {
	return &gate.Report{Schema: 1, Gate: "night", Verdict: gate.Regression, Checks: []gate.Finding{
		{Kind: gate.Exact, Check: "week: same schedule", Run: "week", Verdict: gate.Holds, Found: "1 of 1", Want: "1 of 1", Baseline: &gate.Provenance{Reason: "new <weights> | for @ann", By: "ann", Commit: "0123456789abcdef"}},
		{Kind: gate.Bound, Check: `a < b & "c" | d`, Run: "week", Verdict: gate.Regression, Found: "3", Want: "at most 2", Why: "window 0, seed 1"},
		{Kind: gate.Bound, Check: "no jobs", Run: "week", Verdict: gate.Undecided, Found: "undefined", Want: "at most 2", Why: "no job started"},
	}}
}

// TestJUnit reads the report back as a CI server would.
func TestJUnit(t *testing.T) {
	var b bytes.Buffer
	require.NoError(t, sample().WriteJUnit(&b))
	type problem struct {
		Message string `xml:"message,attr"`
		Type    string `xml:"type,attr"`
		Text    string `xml:",chardata"`
	}
	var doc struct {
		XMLName  xml.Name `xml:"testsuites"`
		Tests    int      `xml:"tests,attr"`
		Failures int      `xml:"failures,attr"`
		Errors   int      `xml:"errors,attr"`
		Suites   []struct {
			Name  string `xml:"name,attr"`
			Tests int    `xml:"tests,attr"`
			Cases []struct {
				Name    string   `xml:"name,attr"`
				Class   string   `xml:"classname,attr"`
				Failure *problem `xml:"failure"`
				Error   *problem `xml:"error"`
			} `xml:"testcase"`
		} `xml:"testsuite"`
	}
	require.NoError(t, xml.Unmarshal(b.Bytes(), &doc))
	require.Equal(t, []int{3, 1, 1}, []int{doc.Tests, doc.Failures, doc.Errors})
	require.Len(t, doc.Suites, 2)
	require.Equal(t, gate.Bound, doc.Suites[1].Name)
	require.Equal(t, 2, doc.Suites[1].Tests)
	first, second := doc.Suites[1].Cases[0], doc.Suites[1].Cases[1]
	require.Equal(t, `a < b & "c" | d`, first.Name)
	require.Equal(t, &problem{"found 3, want at most 2", "regression", "window 0, seed 1"}, first.Failure)
	require.Nil(t, first.Error)
	require.Equal(t, "not enough evidence", second.Error.Type)
	require.Equal(t, "night.week", second.Class)
	require.Nil(t, doc.Suites[0].Cases[0].Failure)
}

// TestMarkdown reads the comment line by line.
func TestMarkdown(t *testing.T) {
	var b strings.Builder
	require.NoError(t, page.Markdown(&b, sample().Page(), nil))
	require.Equal(t, `# Gate night: Regression

Checks: 3, replays: 0; 1 hold, 1 found a regression, 1 lack evidence.

## Regression

| kind | check | found | want | why |
|---|---|---|---|---|
| bound | a &lt; b & "c" \| d | 3 | at most 2 | window 0, seed 1 |

## Not enough evidence

| kind | check | found | want | why |
|---|---|---|---|---|
| bound | no jobs | undefined | at most 2 | no job started |

## What holds

<details><summary>Checks that hold: 1</summary>

| kind | check | found | want |
|---|---|---|---|
| exact | week: same schedule | 1 of 1 | 1 of 1 |

</details>

## Baseline

- week: new &lt;weights> \| for @`+"\u200b"+`ann (by ann, commit 0123456789ab)
`, b.String())
}

// TestDocumentListsTheMeasures compares the table of the document with the
// measures that there are.
func TestDocumentListsTheMeasures(t *testing.T) {
	doc, err := os.ReadFile("../../docs/GATE-FORMAT.md")
	require.NoError(t, err)
	var b strings.Builder
	for _, m := range gate.Measures() {
		require.NotEmpty(t, m.Sense.String(), "%s: state Lower or Higher", m.Name)
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s |\n", m.Name, m.Unit, m.Sense, m.Formula, m.Edge)
	}
	require.Contains(t, string(doc), "\n|---|---|---|---|---|\n"+b.String()+"\n")
}
