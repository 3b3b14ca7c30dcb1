package plot

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// measured is a reading of n steps, of which those from until to are missing.
func measured(name string, n, from, to int) Reading {
	r := Reading{Name: name, Values: make([]float64, n), Held: make([]bool, n)}
	for k := range n {
		r.Values[k] = 300 + 100*math.Sin(float64(k)/20)
		if k >= from && k < to {
			r.Values[k] = math.NaN()
		}
	}
	return r
}

func readingFigures() []*Figure {
	clock := Clock{Known: true}
	held := measured("GPU 0", 300, 0, 0)
	held.Held[20] = true
	many := []Reading{held}
	for range 15 {
		many = append(many, measured("GPU with a long name", 300, 100, 150))
	}
	return []*Figure{
		Readings("power", "Power drawn (W)", "W", 1_782_000_000*secondUS, 1_782_007_200*secondUS, many, clock),
		Readings("util", "Utilisation (%)", "%", 0, 0, []Reading{measured("GPU 0", 1, 0, 0)}, clock),
		Readings("none", "Nothing (W)", "W", 0, 10*secondUS, []Reading{measured("GPU 0", 10, 0, 10)}, clock),
	}
}

func TestReadings(t *testing.T) {
	checkFigures(t, readingFigures(), readingFigures())
	notes := []string{}
	for _, f := range readingFigures() {
		require.NoError(t, f.WriteNarrowSVG(&bytes.Buffer{}))
		notes = append(notes, f.Note)
	}
	require.Equal(t, []string{"from 200 to 400 W", "300 % throughout", "nothing was measured"}, notes)
}

// A curve is broken where values are missing, and goes on where they are only rare.
func TestReadingsBreakAtGaps(t *testing.T) {
	lines := func(r Reading) int {
		var b bytes.Buffer
		require.NoError(t, Readings("x", "X", "W", 0, 300*secondUS, []Reading{r}, Clock{Known: true}).WriteSVG(&b))
		return strings.Count(b.String(), "stroke:#0072B2")
	}
	rare := measured("GPU 0", 300, 0, 0)
	for k := range rare.Values {
		if k%30 != 0 {
			rare.Values[k] = math.NaN()
		}
	}
	whole := lines(measured("GPU 0", 300, 0, 0))
	require.Equal(t, whole+1, lines(measured("GPU 0", 300, 100, 150)))
	require.Equal(t, whole, lines(measured("GPU 0", 300, 100, 101)))
	require.Equal(t, whole, lines(rare))
}
