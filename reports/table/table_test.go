package table

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/internal/doc"
	"orrery/scheduler/model"
)

func sample() *doc.Table {
	t := doc.New("metric", "value", "unit", "note")
	t.Row("wait_mean", doc.Float(12.3456, 2), "s", nil)
	t.Row("jobs", 28481, "1", "a note that is rather long for a narrow terminal")
	t.Row("utilisation", doc.Float(math.NaN(), 2), "%", "a|b <x>")
	return t
}

func write(t *testing.T, tab *doc.Table, f Format, o Options) string {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, Write(&b, tab, f, o))
	return b.String()
}

func TestText(t *testing.T) {
	require.Equal(t, ""+
		"metric       value  unit  note\n"+
		"wait_mean    12.35  s     -\n"+
		"jobs         28481  1     a note that is rather long for a narrow terminal\n"+
		"utilisation      -  %     a|b <x>\n", write(t, sample(), Text, Options{}))
}

func TestTextFitsTheTerminalWithoutCutting(t *testing.T) {
	tab := sample()
	tab.Row("weights.data_readiness", doc.Float(0.25, 2), "1", strings.Repeat("f", 70))
	for width := 12; width < 130; width++ {
		out := write(t, tab, Text, Options{Width: width})
		for line := range strings.Lines(out) {
			require.LessOrEqual(t, len([]rune(strings.TrimRight(line, "\n"))), width)
		}
		joined := strings.Join(strings.Fields(out), "")
		if width < 60 { // what is in no column of its own stands in one piece
			require.Equal(t, 70, strings.Count(out, "f")-strings.Count("a note that is rather long for a narrow terminal", "f"), "%d: %s", width, out)
		}
		for _, text := range []string{"28481", "0.25", "utilisation", "narrow", "terminal"} {
			if width >= 22 {
				require.Contains(t, out, text, "%d columns", width)
			}
			require.Contains(t, joined, text)
		}
	}
	require.Equal(t, ""+
		"metric       value  unit  note\n"+
		"wait_mean    12.35  s     -\n"+
		"jobs         28481  1     a note that\n"+
		"                          is rather\n"+
		"                          long for a\n"+
		"                          narrow\n"+
		"                          terminal\n"+
		"utilisation      -  %     a|b <x>\n", write(t, sample(), Text, Options{Width: 38}))
	require.Equal(t, ""+
		"metric  wait_mean\n"+
		"value   12.35\n"+
		"unit    s\n"+
		"note    -\n"+
		"\n"+
		"metric  jobs\n"+
		"value   28481\n"+
		"unit    1\n"+
		"note    a note that is\n"+
		"        rather long for a\n"+
		"        narrow terminal\n", strings.Join(strings.Split(write(t, sample(), Text, Options{Width: 26}), "\n")[:11], "\n")+"\n")
}

func TestOptionalColumnsGoBeforeBlocks(t *testing.T) {
	tab := doc.New("metric", "unit", "value", "then", "note").Optional("unit").Optional("then", "note", "no such")
	tab.Row("wait_mean", "s", 12345678, 23456789, "longer-than-that")
	require.Empty(t, LeftOut(tab, 0))
	require.Empty(t, LeftOut(tab, 53))
	require.Equal(t, []string{"unit"}, LeftOut(tab, 52))
	require.Equal(t, ""+
		"metric        value      then  note\n"+
		"wait_mean  12345678  23456789  longer-than-that\n", write(t, tab, Text, Options{Width: 52}))
	require.Equal(t, []string{"unit", "then", "note"}, LeftOut(tab, 45))
	require.Equal(t, ""+
		"metric        value\n"+
		"wait_mean  12345678\n", write(t, tab, Text, Options{Width: 45}))
	require.Contains(t, write(t, tab, JSON, Options{Width: 45}), `"unit": "s"`)
	require.Empty(t, LeftOut(tab, 18), "no column is left out where that does not help")
	require.Contains(t, write(t, tab, Text, Options{Width: 18}), "unit    s\n")
	require.Len(t, tab.Rows[0], 5)
}

func TestWrap(t *testing.T) {
	require.Equal(t, []string{"a change of", "5 % is seen"}, Wrap("a change of 5 % is seen", 13))
	require.Equal(t, []string{"the file", "/a/very/long/path", "is there"}, Wrap("the file /a/very/long/path is there", 10))
	require.Equal(t, []string{"as it is, at any length"}, Wrap("as it is, at any length", 0))
}

func TestColourIsOnlyWhereAsked(t *testing.T) {
	tab := doc.New("a", "b")
	tab.Row(doc.Cell{Text: "better", JSON: "better", Tone: doc.Good}, doc.Int(1).In(doc.Bad))
	require.NotContains(t, write(t, tab, Text, Options{}), "\x1b")
	require.Contains(t, write(t, tab, Text, Options{Color: true}), "\x1b[32mbetter\x1b[0m")
	require.NotContains(t, write(t, tab, Markdown, Options{Color: true}), "\x1b")
}

func TestMarkdown(t *testing.T) {
	require.Equal(t, ""+
		"| metric | value | unit | note |\n"+
		"|---|---:|---|---|\n"+
		"| wait_mean | 12.35 | s | - |\n"+
		"| jobs | 28481 | 1 | a note that is rather long for a narrow terminal |\n"+
		"| utilisation | - | % | a\\|b &lt;x> |\n", write(t, sample(), Markdown, Options{}))
}

func TestJSONKeepsFullValuesAndOrder(t *testing.T) {
	out := write(t, sample(), JSON, Options{})
	var rows []map[string]any
	require.NoError(t, json.Unmarshal([]byte(out), &rows))
	require.Len(t, rows, 3)
	require.Equal(t, 12.3456, rows[0]["value"])
	require.Nil(t, rows[2]["value"])
	require.Less(t, strings.Index(out, `"metric"`), strings.Index(out, `"value"`))
	require.Equal(t, "[]\n", write(t, doc.New("a"), JSON, Options{}))
}

func TestForeignTextCannotDriveTheTerminal(t *testing.T) {
	tab := doc.New("user")
	tab.Row("eve\x1b[2Jil\nx")
	require.Equal(t, "user\neve\\x1b[2Jil\\x0ax\n", write(t, tab, Text, Options{}))
	require.Equal(t, `a\u009bb\u202ec\xffd`+"\n", doc.Escaped("a\u009bb\u202ec\xffd\n", "\n"))
	require.Equal(t, "a &lt;script>", EscapedMarkdown("a <script>"))
	tab = doc.New("user", "wait")
	tab.Row("=cmd()", -3)
	require.Equal(t, "user,wait\n=cmd(),-3\n", write(t, tab, CSV, Options{}))
	require.Equal(t, "user,wait\n'=cmd(),-3\n", write(t, tab, CSV, Options{Safe: true}))
}

func TestCells(t *testing.T) {
	tab := doc.New("a", "b", "c", "d")
	tab.Row(model.Duration(90e6), true, int32(4))
	require.Equal(t, "00:01:30", tab.Rows[0][0].Text)
	require.Equal(t, doc.Cell{}, tab.Rows[0][3])
	require.Panics(t, func() { tab.Row(1, 2, 3, 4, 5) })
	require.Panics(t, func() { tab.Row(struct{}{}) })
}

func TestParseFormat(t *testing.T) {
	for _, s := range []string{"table", "markdown", "json"} {
		f, err := ParseFormat(s)
		require.NoError(t, err)
		require.Equal(t, Format(s), f)
	}
	_, err := ParseFormat("xml")
	require.ErrorContains(t, err, "table, json, markdown or csv")
	require.Error(t, Write(&bytes.Buffer{}, doc.New("a"), "xml", Options{}))
}

func TestCSV(t *testing.T) {
	x := doc.New("name", "mean wait", "at")
	x.Key("at", "at_us")
	x.Row("a, b", doc.Quantity("2 min", 123.45678901234567), doc.Int(7))
	x.Row("none", nil, nil)
	var b bytes.Buffer
	require.NoError(t, Write(&b, x, CSV, Options{}))
	require.Equal(t, "name,mean_wait,at_us\n\"a, b\",123.45678901234567,7\nnone,,\n", b.String())
	b.Reset()
	require.NoError(t, Write(&b, x, JSON, Options{}))
	require.Contains(t, b.String(), `{"name": "a, b", "mean_wait": 123.45678901234567, "at_us": 7}`)
	require.Panics(t, func() { x.Key("nothing", "x") })
}

func TestCounted(t *testing.T) {
	for want, got := range map[string]string{
		"1 job": Counted(1, "job"), "0 jobs": Counted(0, "job"), "1 policy": Counted(1, "policy"), "2 policies": Counted(2, "policy"), "3 days": Counted(3, "day"),
	} {
		require.Equal(t, want, got)
	}
}
