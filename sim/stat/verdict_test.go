package stat

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestJudge is the table of the rules: 12 windows and a margin of 1 % unless said
// otherwise, and less is better.
func TestJudge(t *testing.T) {
	of := func(low, high float64) Interval { return Interval{(low + high) / 2, low, high, 0.95} }
	for _, c := range []struct {
		change       Interval
		windows      int
		p, corrected float64
		want         Verdict
		reason       string
	}{
		{of(-0.3, -0.2), 12, 0.01, 0.01, Better, "the interval lies beyond 0"},
		{of(0.2, 0.3), 12, 0.01, 0.05, Worse, "the interval lies beyond 0"},
		{of(0.2, 0.3), 7, 0.01, 0.01, NotEnoughEvidence, "7 windows, 8 needed"},
		{of(0.2, 0.3), 12, 0.01, 0.06, NotEnoughEvidence, "p = 0.06 after the correction for 10 rows, above 0.05"},
		{of(-0.1, 0.3), 12, 0.2, 1, NotEnoughEvidence, "the interval holds 0"},
		{of(-0.009, 0.01), 12, 0.8, 1, NoDifference, "the interval lies within ±1 % of the baseline"},
		{of(0.0003, 0.0005), 12, 0.0001, 0.001, NoDifference, "the interval lies within ±1 % of the baseline"},
		{of(0.005, 0.015), 12, 0.0001, 0.001, Worse, "the interval lies beyond 0"},
		{of(0, 0), 12, 1, 1, NoDifference, "the interval lies within ±1 % of the baseline"},
		{of(nan, nan), 12, nan, nan, NotEnoughEvidence, "the difference is undefined"},
		{of(nan, nan), 0, nan, nan, NotEnoughEvidence, "0 windows, 8 needed"},
	} {
		got, reason := Defaults().judge(&Row{Relative: c.change, Windows: c.windows, P: c.p, Corrected: c.corrected, Difference: unknown(0.95)}, 10)
		require.Equal(t, c.want, got, "%+v", c)
		require.Equal(t, c.reason, reason, "%+v", c)
	}
	// Without a ratio the margin is a part of the smaller mean.
	row := Row{Relative: unknown(0.95), Difference: of(-0.9, 0.9), Windows: 12, P: 0.5, Corrected: 0.5, Baseline: of(-100, -100), CandidateValue: of(-90, -90)}
	got, _ := Defaults().judge(&row, 1)
	require.Equal(t, NoDifference, got)
	row.CandidateValue = of(-89, -89)
	got, _ = Defaults().judge(&row, 1)
	require.Equal(t, NotEnoughEvidence, got)

	for v, want := range map[Verdict]string{Better: "better", Worse: "worse", NoDifference: "no difference", NotEnoughEvidence: "no evidence"} {
		text, err := v.MarshalText()
		require.NoError(t, err)
		require.Equal(t, want, string(text))
	}
}

// TestManyComparisons: a p-value that passes alone does not pass among many, and
// rows without a pair are not counted.
func TestManyComparisons(t *testing.T) {
	pairs := pairsOf(t, []float64{9, 8, 9, 8, 9, 8, 9, 8}, []float64{6, 6, 5, 8, 7, 5, 8, 4})
	subject := Subject{"c", "m", Lower, pairs}
	alone, err := Compare([]Subject{subject}, Defaults())
	require.NoError(t, err)
	require.Equal(t, Better, alone[0].Verdict, "%+v", alone[0])
	p := alone[0].P
	rows, err := Compare([]Subject{subject, subject, subject, subject, {Pairs: Pairs{}}}, Defaults())
	require.NoError(t, err)
	require.InDelta(t, 4*p, rows[0].Corrected, 1e-12)
	require.Equal(t, alone[0].Relative, rows[0].Relative, "intervals are per comparison")
	require.Equal(t, NotEnoughEvidence, rows[0].Verdict)
	require.Equal(t, NotEnoughEvidence, rows[4].Verdict)

	_, err = Compare([]Subject{{"c", "m", Lower, Pairs{Window: []int{1}}}}, Defaults())
	require.EqualError(t, err, "comparing m of c: stat: 1 windows, 0 values of the baseline and 0 of the candidate")
	_, err = Compare(nil, Settings{})
	require.Error(t, err)
}
