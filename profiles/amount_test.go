package profiles

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAmounts(t *testing.T) {
	for _, c := range []struct {
		text, unit string
		want       float64
		wrong      string
	}{
		{"0.85", "1", 0.85, ""},
		{"85%", "1", 0.85, ""},
		{"85 %", "1", 0.85, ""},
		{"400", "1", 400, ""},
		{"30m", "s", 1800, ""},
		{"1h30m", "s", 5400, ""},
		{"3d", "h", 72, ""},
		{"0", "s", 0, ""},
		{"0", "jobs", 0, ""},
		{"12 jobs", "jobs", 12, ""},
		{"12jobs", "jobs", 12, ""},
		{"5 MWh", "kWh", 5000, ""},
		{"7 jobs/h", "jobs/h", 7, ""},
		{"3", "s", 0, "found 3, want a span of time: 3s or 3d"},
		{"3", "h", 0, "found 3, want a span of time: 3h"},
		{"3", "jobs", 0, "found 3, want a number with its unit: 3 jobs"},
		{"5%", "s", 0, "found 5%, want a span of time"},
		{"5s", "1", 0, "found 5s, want a number without a unit, or a percentage: 3 or 3%"},
		{"5 nodes", "jobs", 0, "found 5 nodes, want a number with its unit: 3 jobs"},
		{"soon", "s", 0, `found "soon", want a number with the unit of the metric`},
		{"Inf", "1", 0, `found "Inf"`},
		{"forever", "s", 0, `found "forever"`},
		{"", "1", 0, `found ""`},
	} {
		a, err := ParseAmount(c.text)
		x := 0.0
		if err == nil {
			x, err = a.In(c.unit)
		}
		if c.wrong != "" {
			require.ErrorContains(t, err, c.wrong, c.text)
			continue
		}
		require.NoError(t, err, c.text)
		require.InDelta(t, c.want, x, 1e-12, c.text)
		y, err := AmountOf(x, c.unit).In(c.unit)
		require.NoError(t, err)
		require.InDelta(t, x, y, 1e-12)
		again, err := ParseAmount(a.String())
		require.NoError(t, err)
		require.Equal(t, a, again, "%s is read back", a)
	}
}

func TestSay(t *testing.T) {
	for _, c := range []struct {
		x     float64
		unit  string
		share bool
		want  string
	}{
		{1800, "s", false, "30m"},
		{1809.333333, "s", false, "30m9.333s"},
		{0.00025, "s", false, "0.00025s"},
		{-60, "s", false, "-1m"},
		{0.873612999, "1", true, "87.3613 %"},
		{179.8230001, "1", false, "179.823"},
		{12, "jobs", false, "12 jobs"},
		{0.5, "h", false, "0.5 h"},
	} {
		require.Equal(t, c.want, Say(c.x, c.unit, c.share))
	}
}

func TestRatiosTakeNoOtherUnit(t *testing.T) {
	const runs = "runs: [{name: a, trace: t.swf}]\n"
	for text, want := range map[string]string{
		"counted: [{run: a, relative: 5s}]":                       "counted[0].relative: found 5s, want a number without a unit",
		"balance: [{run: a, within: 10 jobs}]":                    "balance[0].within: found 10 jobs",
		"balance: [{run: a, within: 110%}]":                       "balance[0].within: found 110%, want 0 to 1",
		"banded: [{run: a, of: {metric: x}, absolute: -3s}]":      "banded[0].absolute: found -3s, want 0 or more",
		"bound: [{run: a, of: {metric: x}, at_least: a few}]":     `bound[0].at_least: found "a few"`,
		"counted: [{run: a, relative: 5%}]":                       "",
		"bound: [{run: a, of: {metric: x}, at_most: 12 jobs}]":    "",
		"thrash: [{run: a, preemptions_per_job: 0.1, flaps: 5%}]": "",
	} {
		_, err := ParseGate("g.yaml", []byte(runs+text+"\n"))
		if want == "" {
			require.NoError(t, err, text)
			continue
		}
		require.ErrorContains(t, err, want, text)
	}
}
