package fit

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/hwmodel"
	"orrery/tools/refdata"
)

// pass is the forward or backward pass of a stage of a pipeline.
type pass struct{ stage, instruction string }

// perseus are the rows of one A100 by pass, relative to the top clock. The stages with the same
// layers have the same numbers, to the last digit: one measurement, which is used once.
func perseus(t *testing.T) (passes []pass, rows map[pass][]ClockRow) {
	t.Helper()
	s := openSheet(t, refdata.Path(t, "traces", "telemetry", "zeus-perseus-sosp24", "stage_profile_bloom_a100_sxm_bf16.csv"))
	type reading struct{ clock, time, power float64 }
	read := map[pass][]reading{}
	var all []pass
	for _, row := range s.rows {
		p := pass{s.text(row, "stage"), s.text(row, "instruction")}
		if read[p] == nil {
			all = append(all, p)
		}
		time := s.number(row, "time")
		read[p] = append(read[p], reading{s.number(row, "frequency"), time, s.number(row, "energy") / time})
	}
	rows = map[pass][]ClockRow{}
	for i, p := range all {
		if slices.ContainsFunc(all[:i], func(q pass) bool { return slices.Equal(read[p], read[q]) }) {
			continue
		}
		passes = append(passes, p)
		top := read[p][0]
		for _, r := range read[p] {
			require.LessOrEqual(t, r.clock, top.clock, "the first row is that of the top clock")
			rows[p] = append(rows[p], ClockRow{r.clock / top.clock, r.time / top.time, r.power / top.power})
		}
	}
	require.Len(t, all, 16)
	require.Len(t, passes, 4, "12 of 16 passes are copies")
	return passes, rows
}

// TestClocksOfAnotherStage: the curve of one kind of pass on a card predicts a stage that was
// left out. Time as the inverse of the clock misses the bar, and power as its cube does.
func TestClocksOfAnotherStage(t *testing.T) {
	const timeBar, powerBar = 0.015, 0.03
	passes, rows := perseus(t)
	var time, power, tableTime, tablePower, inverse, cube []float64
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
		table, err := ClockTable(known)
		require.NoError(t, err)
		a, b = ClockErrors(table, rows[left])
		require.Len(t, a, len(rows[left]))
		tableTime, tablePower = append(tableTime, a...), append(tablePower, b...)
		for _, r := range rows[left] {
			inverse = append(inverse, math.Abs(1/r.Clock-r.Time)/r.Time)
			cube = append(cube, math.Abs(math.Pow(r.Clock, 3)-r.Power)/r.Power)
		}
	}
	t.Logf("time %.2f %% median, %.2f %% p90, 1/z %.1f %%; power %.2f %%, %.2f %%, z³ %.1f %%", 100*Median(time), 100*Quantile(0.9, time),
		100*Median(inverse), 100*Median(power), 100*Quantile(0.9, power), 100*Median(cube))
	t.Logf("table: time %.2f %%, power %.2f %%", 100*Median(tableTime), 100*Median(tablePower))
	require.LessOrEqual(t, max(Median(time), Median(tableTime)), timeBar)
	require.LessOrEqual(t, max(Median(power), Median(tablePower)), powerBar)
	require.Greater(t, Median(inverse), timeBar)
	require.Greater(t, Median(cube), powerBar)
}

// TestClocksOfOtherWork: forward and backward passes have curves of their own, even on one
// card: a curve of the other kind misses the bar that its own keeps.
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

// a40 are backward passes of the first stage on an A40, relative to 1,740 MHz: clock
// in MHz, time, power. They are of ml-energy/zeus, sosp24_data, stage profile of BLOOM on A40.
var a40 = [][3]float64{{1740, 1, 1}, {1695, 1.0024, 1.001}, {1650, 1.0033, 0.998}, {1605, 1.0034, 0.996}, {1560, 1.0044, 0.99}, {1515, 1.0071, 0.976},
	{1470, 1.0137, 0.962}, {1425, 1.0216, 0.937}, {1380, 1.0363, 0.878}, {1335, 1.0534, 0.843}, {1290, 1.072, 0.817}, {1245, 1.0915, 0.784}, {1200, 1.1142, 0.729},
	{1155, 1.1411, 0.695}, {1110, 1.172, 0.679}, {1065, 1.2064, 0.666}, {1020, 1.244, 0.65}, {975, 1.2853, 0.636}, {930, 1.331, 0.625}, {885, 1.381, 0.611}}

// TestClocksOfAnotherCard: the same passes on an A40, which its power limit holds back at the
// top clocks, have another curve than on an A100. Its own curve keeps the bar.
func TestClocksOfAnotherCard(t *testing.T) {
	passes, rows := perseus(t)
	var a100, other []ClockRow
	for _, p := range passes {
		if p.instruction == "backward" {
			a100 = append(a100, rows[p]...)
		}
	}
	for _, r := range a40 {
		other = append(other, ClockRow{r[0] / a40[0][0], r[1], r[2]})
	}
	own, err := Clocks(other)
	require.NoError(t, err)
	carried, err := Clocks(a100)
	require.NoError(t, err)
	carried.Least = own.Least // else it refuses the lowest clocks
	ownTime, ownPower := ClockErrors(own, other)
	time, power := ClockErrors(carried, other)
	t.Logf("A40: own curve time %.1f %%, power %.1f %% (%+v); that of A100 %.1f %% (p90 %.1f %%), %.1f %%", 100*Median(ownTime), 100*Median(ownPower), own,
		100*Median(time), 100*Quantile(0.9, time), 100*Median(power))
	require.LessOrEqual(t, Median(ownTime), 0.015)
	table, err := ClockTable(other[:len(other)-1])
	require.NoError(t, err)
	require.Less(t, table.PowerError, 1e-9, "each clock was measured once")
	_, known := table.Time(own.Least)
	require.False(t, known, "the lowest clock was not in the table")
	b, known := table.Power(other[3].Clock)
	require.True(t, known)
	require.InDelta(t, a40[3][2], b.Value, 1e-9)
	require.Greater(t, Median(time), 0.05)
	require.Greater(t, Median(power), 0.1)
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
	_, err = ClockTable(rows[:4])
	require.ErrorIs(t, err, ErrTooFew)
	_, err = ClockTable(rows[:20])
	require.ErrorContains(t, err, "want one from the least clock", "a table without the top clock")
	_, err = Clocks(append(rows, ClockRow{1.2, 1, 1}))
	require.ErrorContains(t, err, "row 41: found time 1 and power 1 at clock 1.2")
}
