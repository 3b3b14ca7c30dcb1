package plot

import (
	"bytes"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestShownUntil(t *testing.T) {
	const day = 24 * hourUS
	for name, c := range map[string]struct{ first, last, end, want int64 }{
		"a long drain":             {0, 100 * day, 180 * day, 105 * day},
		"hardly any drain":         {0, 100 * day, 108 * day, 108 * day},
		"a batch":                  {0, hourUS, 30 * day, 30 * day},
		"all at once":              {7, 7, day, day},
		"a log that begins at day": {day, 101 * day, 200 * day, 106 * day},
	} {
		s := ShownUntil(c.first, c.last, c.end)
		require.Equal(t, c.want, s.ToUS, name)
		require.Equal(t, c.want < c.end, s.Folds(), name)
	}
	loads := sampleLoads()
	f := State(loads, "GPUs", Clock{}, Window{}, Shown{ToUS: loads[100].StartUS, endUS: loads[len(loads)-1].StartUS})
	require.Contains(t, f.Note, "of the drain are not drawn")
}

// No axis has a tick that says -0.
func TestTicksHaveNoNegativeZero(t *testing.T) {
	for _, span := range [][2]float64{{-0.3, 0.3}, {-1e-9, 1e-9}, {-11, 12}, {-0.04, 0.96}} {
		for _, tick := range niceTicks(span[0], span[1], 8) {
			if strings.Trim(tick.Label, "-0.") == "" {
				require.NotContains(t, tick.Label, "-")
			}
		}
	}
	require.Equal(t, "0.0 %", percent(-0.0001))
	require.Equal(t, "0.00", fixed(-0.001, 2))
}

// Values that differ look different, as far as three more digits do it.
func TestSeparatingDigits(t *testing.T) {
	m := Measure{Unit: "s"}.Separating([]float64{10644.2, 10690, 11000, math.NaN()})
	require.Equal(t, []string{"2.96 h", "2.97 h", "3.06 h"}, []string{m.Say(10644.2), m.Say(10690), m.Say(11000)})
	require.Zero(t, Measure{Unit: "s"}.Separating([]float64{3600, 36000}).digits)
	require.Equal(t, "67.32 %", Measure{Share: true}.Separating([]float64{0.67316, 0.67348}).Say(0.67316))
	require.Equal(t, mostDigits, Measure{}.Separating([]float64{1.5, math.Nextafter(1.5, 2)}).digits)
}

// The narrow form has no letters below eight points and nothing beyond its edges.
func TestNarrowFigures(t *testing.T) {
	size := regexp.MustCompile(`font-size:([0-9.]+)`)
	for _, f := range append(allFigures(t), studyFigures(t)...) {
		var b bytes.Buffer
		require.NoError(t, f.WriteNarrowSVG(&b), f.Name)
		require.Contains(t, b.String(), `viewBox="0 0 300 `, f.Name)
		for _, m := range size.FindAllStringSubmatch(b.String(), -1) {
			v, err := strconv.ParseFloat(m[1], 64)
			require.NoError(t, err)
			require.GreaterOrEqual(t, v, 7.0, f.Name)
		}
	}
}

// Shares of a whole stand on an axis from 0 to 100 %, whatever the noise.
func TestSharesReachAHundred(t *testing.T) {
	effects := []Effect{{Name: "a", Value: 0.3, Low: 0.1, High: 1.7, Influence: "active"}}
	require.Equal(t, 1.0, effectReach(effects, 4, Measure{Share: true}))
	f := Sensitivity("s", "wait", Measure{Name: "share", Share: true}, "Sobol", effects, 4)
	require.Contains(t, f.Note, "parts of noise")
	var b bytes.Buffer
	require.NoError(t, f.WriteSVG(&b))
	require.Contains(t, b.String(), ">100<")
}

// Spans that stand below each other are in one unit.
func TestOneUnitForAColumn(t *testing.T) {
	values := []float64{7.05 * 86400, 34.6 * 3600, 2.5 * 86400, 0, math.NaN()}
	m := Measure{Unit: "s"}.Separating(values)
	var says []string
	for _, v := range values {
		says = append(says, m.Say(v))
	}
	require.Equal(t, []string{"7.0 d", "1.4 d", "2.5 d", "0", "-"}, says)
}
