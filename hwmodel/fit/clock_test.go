package fit

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/hwmodel"
	"orrery/tools/refdata"
)

// pass is the forward or backward pass of a stage of a pipeline.
type pass struct{ stage, instruction string }

// perseus are the rows of one A100 by pass, relative to the top clock.
func perseus(t *testing.T) (passes []pass, rows map[pass][]ClockRow) {
	t.Helper()
	s := openSheet(t, refdata.Path(t, "traces", "telemetry", "zeus-perseus-sosp24", "stage_profile_bloom_a100_sxm_bf16.csv"))
	type reading struct{ clock, time, power float64 }
	read := map[pass][]reading{}
	for _, row := range s.rows {
		p := pass{s.text(row, "stage"), s.text(row, "instruction")}
		if read[p] == nil {
			passes = append(passes, p)
		}
		time := s.number(row, "time")
		read[p] = append(read[p], reading{s.number(row, "frequency"), time, s.number(row, "energy") / time})
	}
	rows = map[pass][]ClockRow{}
	for p, all := range read {
		top := all[0]
		for _, r := range all {
			require.LessOrEqual(t, r.clock, top.clock, "the first row is that of the top clock")
			rows[p] = append(rows[p], ClockRow{r.clock / top.clock, r.time / top.time, r.power / top.power})
		}
	}
	return passes, rows
}

// TestClocksOfAnotherStage: the curve of one kind of pass on a card predicts a stage that was
// left out. Time as the inverse of the clock misses the bar, and power as its cube does.
func TestClocksOfAnotherStage(t *testing.T) {
	const timeBar, powerBar = 0.015, 0.03
	passes, rows := perseus(t)
	var time, power, inverse, cube []float64
	for _, left := range passes {
		var known []ClockRow
		for _, p := range passes {
			if p.instruction == left.instruction && p.stage != left.stage {
				known = append(known, rows[p]...)
			}
		}
		form, err := Clocks(known)
		require.NoError(t, err)
		a, b := ClockErrors(form, rows[left])
		require.Len(t, a, len(rows[left]))
		time, power = append(time, a...), append(power, b...)
		for _, r := range rows[left] {
			inverse = append(inverse, math.Abs(1/r.Clock-r.Time)/r.Time)
			cube = append(cube, math.Abs(math.Pow(r.Clock, 3)-r.Power)/r.Power)
		}
	}
	t.Logf("time %.2f %% median, %.2f %% p90, 1/z %.1f %%; power %.2f %%, %.2f %%, z³ %.1f %%", 100*Median(time), 100*Quantile(0.9, time),
		100*Median(inverse), 100*Median(power), 100*Quantile(0.9, power), 100*Median(cube))
	require.LessOrEqual(t, Median(time), timeBar)
	require.LessOrEqual(t, Median(power), powerBar)
	require.Greater(t, Median(inverse), timeBar)
	require.Greater(t, Median(cube), powerBar)
}

// TestClocksOfOtherWork: forward and backward passes have curves of their own, even on one
// card: a curve of the other kind misses the bar that its own keeps. The data have one card.
func TestClocksOfOtherWork(t *testing.T) {
	passes, rows := perseus(t)
	of := map[string][]ClockRow{}
	for _, p := range passes {
		of[p.instruction] = append(of[p.instruction], rows[p]...)
	}
	for own, other := range map[string]string{"forward": "backward", "backward": "forward"} {
		right, err := Clocks(of[own])
		require.NoError(t, err)
		wrong, err := Clocks(of[other])
		require.NoError(t, err)
		a, p := ClockErrors(right, of[own])
		b, q := ClockErrors(wrong, of[own])
		t.Logf("%s: own time %.2f %%, power %.2f %% (%+v); from %s %.2f %%, %.2f %%", own, 100*Median(a), 100*Median(p), right, other, 100*Median(b), 100*Median(q))
		require.Less(t, Median(a), 0.015)
		require.Greater(t, Median(b), 0.015, "a curve is not carried to other work")
	}
}

// TestPlantedClocks: a known response is found again, and its refusals and errors are as said.
func TestPlantedClocks(t *testing.T) {
	want := hwmodel.ClockResponse{Slowdown: 0.8, Knee: 0.95, Static: 0.4, Exponent: 4, Least: 0.6}
	var rows []ClockRow
	for i := range 41 {
		z := 0.6 + float64(i)/100
		z = min(z, 1)
		time, _ := want.Time(z)
		power, _ := want.Power(z)
		rows = append(rows, ClockRow{z, time.Value, power.Value})
	}
	got, err := Clocks(rows)
	require.NoError(t, err)
	require.InDelta(t, want.Slowdown, got.Slowdown, 1e-6)
	require.InDelta(t, want.Knee, got.Knee, 1e-6)
	require.InDelta(t, want.Static, got.Static, 1e-6)
	require.InDelta(t, want.Exponent, got.Exponent, 1e-6)
	require.InDelta(t, 0, got.TimeError, 1e-6)
	require.InDelta(t, 0.6, got.Least, 1e-9)
	_, err = Clocks(rows[:4])
	require.ErrorIs(t, err, ErrTooFew)
	_, err = Clocks(append(rows, ClockRow{1.2, 1, 1}))
	require.ErrorContains(t, err, "row 41: found time 1 and power 1 at clock 1.2")
}
