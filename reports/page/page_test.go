package page

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/internal/doc"
)

func TestSoftBreaksStayTexts(t *testing.T) {
	require.EqualValues(t, "wait_<wbr>max &lt;b&gt;", soft("wait_max <b>"))
}

func TestTheColumnsOfATable(t *testing.T) {
	of := doc.New("windows", "load", "range", "wait", "since", "verdict")
	of.Row("18 windows", "0.9", "-45.7 % to +3 %", "1d02:00:00 → 04:00:00", "2026-06-21 00:00:00", "better: by 3")
	of.Row("13 windows", "1", "1.5 to 2", "3.4 h", "2026-06-22 00:00:00", "not shown")
	of.Row("", "-", "–", "", "", "worse")
	got := lay(doc.Part{Table: of, Most: 1})
	var classes []string
	for _, h := range got.Heads {
		classes = append(classes, h.Class)
	}
	require.Equal(t, []string{"", "n", "n", "n", "", ""}, classes, "18 windows is a text, and so is a date")
	require.Equal(t, "n pair", got.Rows[0][3].Class)
	require.Equal(t, "good", got.Rows[0][5].Class)
	require.Equal(t, "bad", got.Rows[2][5].Class)
	require.Nil(t, got.Rest, "two rows more are shown rather than folded")
	of.Row()
	got = lay(doc.Part{Table: of, Most: 1})
	require.Len(t, got.Rows, 1)
	require.Len(t, got.Rest.Rows, 3)
}

// TestEveryPartIsWritten in both forms, with texts that neither may take for its own.
func TestEveryPartIsWritten(t *testing.T) {
	rows := doc.New("name", "n")
	rows.Row("a|b <x>", 3)
	p := Page{Document: doc.Document{Title: "T <t>", By: "orrery x", Head: []doc.Part{
		{Text: "first", Role: doc.Lead}, {Word: "STABLE", Tone: doc.Good, Text: "it is"}, {Notes: []string{"note"}},
		{Tiles: []doc.Tile{{Value: "2", From: "1", Change: "by 1", Label: "jobs", Bad: true}, {Value: "7", Label: "days", Good: true}}},
	}}, Slots: map[string]string{"own": "<canvas></canvas>"}}
	p.Add("a", "A", doc.Say("said %d min", 5), doc.Titled("sub"), doc.Show(rows), doc.Part{Slot: "own"}, doc.Part{Text: "run", Code: "orrery y"})
	p.Add("b", "B", doc.Part{Fold: "more", Parts: []doc.Part{doc.Show(rows)}}, doc.Part{Facts: []doc.Fact{{Name: "f", Value: "v", More: []string{"m"}}}}, doc.Part{Text: "raw  text", Role: doc.Verbatim})
	p.Add("gone", "Gone", doc.Say("about what is not there"), doc.Show(doc.New("x")))
	p.Add("kept", "Kept", doc.Say("a text alone"))
	var html, md strings.Builder
	require.NoError(t, p.HTML(&html))
	for _, want := range []string{
		"<h1>T &lt;t&gt;</h1>", `<p class="lead">first</p>`, `<span class="verdict good">STABLE</span>it is`, "<li>note</li>", `<span class="from">1 →</span> 2</b><em class="bad">by 1</em><span>jobs</span>`, `<b class="good">7</b>`,
		`<a href="#a">A</a><a href="#b">B</a><a href="#kept">Kept</a></nav>`, "said 5\u00a0min", "<h3>sub</h3>", "<td>a|b &lt;x&gt;</td><td class=\"n\">3</td>", "<canvas></canvas>", "run <code>orrery y</code>",
		"<details><summary>more</summary>", "<dt>f</dt><dd><code>v</code><br>m</dd>", "<pre>raw  text</pre>", "Drawn by orrery x. This page is one file, has no script, and asks the network for nothing.",
	} {
		require.Contains(t, html.String(), want)
	}
	require.NotContains(t, html.String(), "script-src")
	require.NotContains(t, html.String(), "Gone")
	require.NoError(t, Markdown(&md, &p.Document, nil))
	require.Equal(t, "# T &lt;t>\n\nfirst\n\n**STABLE**: it is\n\n- note\n\n- jobs: 1 → 2 (by 1)\n- days: 7\n\n## A\n\nsaid 5 min\n\n### sub\n\n| name | n |\n|---|---:|\n| a\\|b &lt;x> | 3 |\n\nrun `orrery y`\n\n"+
		"## B\n\n<details><summary>more</summary>\n\n| name | n |\n|---|---:|\n| a\\|b &lt;x> | 3 |\n\n</details>\n\n```\nraw  text\n```\n\n## Kept\n\na text alone\n", md.String())
}
