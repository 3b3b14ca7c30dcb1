package studypage

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/reports/study"
	"orrery/sim/experiment"
	"orrery/sim/stat"
)

func TestSettingsName(t *testing.T) {
	p := &experiment.Plan{Parameters: []experiment.Parameter{{Name: "order"}, {Name: "weights.wait_time", Numeric: true}, {Name: "depth", Numeric: true, Whole: true}}}
	require.Equal(t, "saf, depth 50", settingsOf(p, &experiment.Point{Values: []string{"saf", "", "50"}}))
	require.Equal(t, "score, wait_time 3, depth 1", settingsOf(p, &experiment.Point{Values: []string{"score", "3", "1"}}))
}

// A verdict needs an interval beyond 0, on the side that the column asks for.
func TestBehind(t *testing.T) {
	row := func(low, high float64) *experiment.Row {
		return &experiment.Row{Behind: stat.Interval{Estimate: (low + high) / 2, Low: low, High: high}}
	}
	less, more := &experiment.Column{}, &experiment.Column{Maximise: true}
	require.Equal(t, "worse", Behind(row(1, 2), less))
	require.Equal(t, "better", Behind(row(1, 2), more))
	require.Equal(t, NotTold, Behind(row(-1, 2), less))
	require.Empty(t, Behind(row(math.NaN(), 2), less))
}

// Seeds and scenario files of a window are one window, of which there are as many as the
// comparison is over.
func TestFirstSentenceCountsWindows(t *testing.T) {
	s := &study.Study{Metrics: []study.Metric{{Name: "wait_mean"}}, Rows: []study.Row{{Name: "easy"}, {Name: "none", Verdict: NotTold}}}
	rows := []experiment.Row{{Done: 8, Load: stat.Overload{Windows: 4}}, {Done: 8, Load: stat.Overload{Windows: 4}}}
	require.Contains(t, firstSentence(s, rows), "By wait_mean the first is easy. Over 4 windows 0 others are worse; for 1 other there is no evidence of a difference.")
}
