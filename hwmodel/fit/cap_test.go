package fit

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/hwmodel"
	"orrery/scheduler/model/draw"
	"orrery/tools/refdata"
)

// cappedRow is a row of the traces of Zeus with what wrong models know: the limit of the card.
type cappedRow struct {
	CapRow
	ofLimit float64 // cap ÷ highest limit
	network string
}

// zeus are the rows of one type of GPU. A configuration is relative to its highest limit, and
// left out where that was not measured.
func zeus(t *testing.T, gpu string) (out []cappedRow) {
	t.Helper()
	s := openSheet(t, refdata.Path(t, "traces", "telemetry", "zeus-nsdi23", "summary_power_"+gpu+".csv"))
	type top struct{ time, power float64 }
	highest := 0.0
	for _, row := range s.rows {
		highest = max(highest, s.number(row, "power_limit"))
	}
	configuration := func(row []string) string { return strings.Join(row[:4], ",") }
	tops := map[string]top{}
	for _, row := range s.rows {
		if s.number(row, "power_limit") == highest {
			tops[configuration(row)] = top{s.number(row, "time_per_epoch"), s.number(row, "average_power")}
		}
	}
	for _, row := range s.rows {
		if u, has := tops[configuration(row)]; has && s.number(row, "power_limit") < highest {
			limit := s.number(row, "power_limit")
			out = append(out, cappedRow{CapRow{limit / u.power, u.time / s.number(row, "time_per_epoch")}, limit / highest, s.text(row, "network")})
		}
	}
	return out
}

func plain(rows []cappedRow) (out []CapRow) {
	for _, r := range rows {
		out = append(out, r.CapRow)
	}
	return out
}

// capDistance are the median and p90 of distances over rows where the cap binds and is not
// deep, in points of the speed without a cap.
func capDistance(rows []cappedRow, speed func(cappedRow) float64) (median, p90 float64) {
	var errs []float64
	for _, r := range rows {
		if r.X >= hwmodel.DeepCap && r.X < 1 {
			errs = append(errs, 100*math.Abs(speed(r)-r.Speed))
		}
	}
	return Median(errs), Quantile(0.9, errs)
}

func speedOf(t *testing.T, c hwmodel.CapResponse) func(cappedRow) float64 {
	return func(r cappedRow) float64 {
		b, known := c.Speed(r.X)
		require.True(t, known, "x = %v", r.X)
		return b.Value
	}
}

// TestCapsOfAnotherCard: a response fitted on A40 predicts V100 where the cap binds. No effect
// and a cap as a part of the card's limit miss the bars. One factor for all caps is as near as
// the bar and no nearer, since binding caps there are much alike.
func TestCapsOfAnotherCard(t *testing.T) {
	const medianBar, p90Bar = 3.5, 11.0
	v100, a40 := zeus(t, "v100"), zeus(t, "a40")
	form, err := Caps(plain(a40))
	require.NoError(t, err)
	median, p90 := capDistance(v100, speedOf(t, form))
	noEffectMedian, noEffectP90 := capDistance(v100, func(cappedRow) float64 { return 1 })
	t.Logf("V100 from A40: %.1f median, %.1f p90 points by %+v; no effect %.1f, %.1f", median, p90, form, noEffectMedian, noEffectP90)
	require.LessOrEqual(t, median, medianBar)
	require.LessOrEqual(t, p90, p90Bar)
	require.LessOrEqual(t, median, noEffectMedian/2)

	var binding []float64
	limited := make([]CapRow, len(a40))
	for i, r := range a40 {
		limited[i] = CapRow{r.ofLimit, r.Speed}
		if r.X >= hwmodel.DeepCap && r.X < 1 {
			binding = append(binding, r.Speed)
		}
	}
	byLimit, err := Caps(limited)
	require.NoError(t, err)
	factor := Median(binding)
	for name, wrong := range map[string]func(cappedRow) float64{
		"no effect": func(cappedRow) float64 { return 1 },
		"cap ÷ limit": func(r cappedRow) float64 {
			b, known := byLimit.Speed(r.ofLimit)
			require.True(t, known)
			return b.Value
		},
	} {
		m, p := capDistance(v100, wrong)
		t.Logf("%s: %.1f median, %.1f p90", name, m, p)
		require.True(t, m > medianBar || p > p90Bar, "%s: %.1f median, %.1f p90", name, m, p)
	}
	m, p := capDistance(v100, func(cappedRow) float64 { return factor })
	t.Logf("one factor %.3f: %.1f median, %.1f p90", factor, m, p)
	require.Less(t, median, 0.95*m)
	own, err := Caps(plain(v100))
	require.NoError(t, err)
	m, p = capDistance(a40, speedOf(t, own))
	t.Logf("A40 from V100: %.1f median, %.1f p90 points by %+v", m, p, own)
	require.LessOrEqual(t, m, medianBar, "outliers at short epochs are in the p90")
}

// TestDeepCaps: below 0.6 of the draw the band of another card holds most rows, and a band as
// narrow as above does not. Below the least measured x there is no answer.
func TestDeepCaps(t *testing.T) {
	v100, a40 := zeus(t, "v100"), zeus(t, "a40")
	for _, c := range []struct {
		name        string
		from, other []cappedRow
	}{{"A40 from V100", v100, a40}, {"V100 from A40", a40, v100}} {
		form, err := Caps(plain(c.from))
		require.NoError(t, err)
		narrow := form
		narrow.DeepError = narrow.Error
		held, heldNarrow, n, refused := 0, 0, 0, 0
		for _, r := range c.other {
			if r.X >= hwmodel.DeepCap {
				continue
			}
			b, known := form.Speed(r.X)
			if !known {
				refused++
				continue
			}
			n++
			if r.Speed >= b.Low && r.Speed <= b.High {
				held++
			}
			if b, _ := narrow.Speed(r.X); r.Speed >= b.Low && r.Speed <= b.High {
				heldNarrow++
			}
		}
		t.Logf("%s: %d of %d deep rows in the band, %d in the narrow one, %d refused; %+v", c.name, held, n, heldNarrow, refused, form)
		require.GreaterOrEqual(t, float64(held), 0.9*float64(n))
		require.Less(t, float64(heldNarrow), 0.9*float64(n))
		_, known := form.Speed(form.Floor * 0.999)
		require.False(t, known)
	}
}

// TestCapsOfAnotherNetwork: on one type of GPU the formula and the table predict a network that
// was left out. No effect misses the bars.
func TestCapsOfAnotherNetwork(t *testing.T) {
	fits := map[string]func([]CapRow) (hwmodel.CapResponse, error){
		"formula": Caps, "table": CapTable,
		"no effect": func([]CapRow) (hwmodel.CapResponse, error) { return hwmodel.CapResponse{Knee: 0.5}, nil },
	}
	for _, c := range []struct {
		gpu         string
		median, p90 float64
	}{{"v100", 3, 9}, {"a40", 5, 20}} {
		rows := zeus(t, c.gpu)
		networks := map[string]bool{}
		for _, r := range rows {
			networks[r.network] = true
		}
		require.Greater(t, len(networks), 3)
		for name, fitted := range fits {
			var errs []float64
			for left := range networks {
				form, err := fitted(plain(slices.DeleteFunc(slices.Clone(rows), func(r cappedRow) bool { return r.network == left })))
				require.NoError(t, err)
				for _, r := range rows {
					if r.network == left && r.X >= hwmodel.DeepCap && r.X < 1 {
						errs = append(errs, 100*math.Abs(speedOf(t, form)(r)-r.Speed))
					}
				}
			}
			m, p := Median(errs), Quantile(0.9, errs)
			t.Logf("%s, network left out, %s: %.1f median, %.1f p90 points", c.gpu, name, m, p)
			require.Equal(t, name != "no effect", m <= c.median && p <= c.p90)
		}
	}
}

// TestPlantedCaps: a known response is found again, in noise and with rows that are wild.
func TestPlantedCaps(t *testing.T) {
	for _, want := range []hwmodel.CapResponse{{Knee: 1.1, Steepness: 0.9}, {Knee: 0.9, Steepness: 3}} {
		var rows []CapRow
		for i := range 300 {
			x := 0.4 + float64(i%100)/100
			b, _ := want.Speed(x)
			s := draw.New(1, draw.StreamOf("caps"), uint64(i), 0)
			speed := b.Value + 0.01*s.Normal()
			if i%20 == 7 {
				speed = 0.2
			}
			rows = append(rows, CapRow{x, speed})
		}
		got, err := Caps(rows)
		require.NoError(t, err)
		require.InDelta(t, want.Knee, got.Knee, 0.05)
		require.InDelta(t, want.Steepness, got.Steepness, 0.25)
		require.InDelta(t, 0.4, got.Floor, 1e-9)
	}
	rows := make([]CapRow, 30)
	for i := range rows {
		rows[i] = CapRow{0.7 + float64(i)/50, 0.9}
	}
	form, err := Caps(rows)
	require.NoError(t, err)
	require.InDelta(t, 0.7, form.Floor, 1e-9)
	require.InDelta(t, 0.6, shallow(t, rows).Floor, 1e-9, "a few deep rows are no ground for deep answers")
	for _, c := range []struct {
		rows []CapRow
		says string
	}{{rows[:10], "found 10, want at least 20"}, {append(slices.Clone(rows), CapRow{math.NaN(), 1}), "row 30: found speed 1 at cap ÷ draw NaN"},
		{append(slices.Clone(rows), CapRow{1, 0}), "row 30: found speed 0"}} {
		_, err := Caps(c.rows)
		require.ErrorContains(t, err, c.says)
		_, err = CapTable(c.rows)
		require.ErrorContains(t, err, c.says)
	}
}

// shallow is fitted with two rows below 0.6.
func shallow(t *testing.T, rows []CapRow) hwmodel.CapResponse {
	form, err := Caps(append(slices.Clone(rows), CapRow{0.5, 0.6}, CapRow{0.52, 0.6}))
	require.NoError(t, err)
	return form
}
