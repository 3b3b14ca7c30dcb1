package fit

import (
	"fmt"
	"math"
	"slices"

	"orrery/hwmodel"
)

// CapRow is a measurement of a job under a power cap.
type CapRow struct {
	X     float64 // cap ÷ draw without a cap
	Speed float64 // relative to the speed without a cap
}

const (
	leastCapRows = 20
	leastDeep    = 5
	// noEffect is the x above which a cap cannot act, so that rows there tell the noise alone.
	noEffect = 1.3
	// betweenCards is the half-width below DeepCap with which the band of V100 holds nine in ten
	// rows of A40 (ml-energy/zeus). Rows of one type of GPU cannot tell it.
	betweenCards = 0.35
	errorPart    = 0.9 // of the rows lie within the band
	leastKnee    = 0.8
	mostKnee     = 1.8
)

// Caps fits the response of one type of GPU to power caps, by the least sum of distances over
// the rows where a cap can act. Rows from other types do not belong in it.
//
// The band holds 90 % of the rows from hwmodel.DeepCap on. Below hwmodel.DeepCap it holds 90 % of the rows there and
// is no narrower than what types of GPUs differ by. The least x that is answered is the least
// of the rows.
func Caps(rows []CapRow) (hwmodel.CapResponse, error) {
	var x, y, deepX, deepY []float64
	floor := math.Inf(1)
	for i, r := range rows {
		if !(r.X > 0) || !finite(r.X) || !(r.Speed > 0) || !finite(r.Speed) {
			return hwmodel.CapResponse{}, fmt.Errorf("row %d: found speed %v at cap ÷ draw %v, want positive numbers", i, r.Speed, r.X)
		}
		floor = min(floor, r.X)
		switch {
		case r.X < hwmodel.DeepCap:
			deepX, deepY = append(deepX, r.X), append(deepY, r.Speed)
		case r.X < noEffect:
			x, y = append(x, r.X), append(y, r.Speed)
		}
	}
	if len(x) < leastCapRows {
		return hwmodel.CapResponse{}, tooFew("rows with a cap from 0.6 to 1.3 of the draw", len(x), leastCapRows)
	}
	knee, lost := nearest(leastKnee, mostKnee, 0.01, slices.Concat(x, deepX), slices.Concat(y, deepY), func(knee, x float64) float64 { d := max(0, knee-x); return -d * d })
	out := hwmodel.CapResponse{Knee: knee, Steepness: min(20, max(0, lost.slope))}
	out.Floor = floor
	out.Error = Quantile(errorPart, capErrors(out, x, y))
	out.DeepError = max(out.Error, betweenCards)
	if len(deepX) >= leastDeep {
		out.DeepError = max(out.DeepError, Quantile(errorPart, capErrors(out, deepX, deepY)))
	} else {
		out.Floor = max(out.Floor, hwmodel.DeepCap)
	}
	out.Error, out.DeepError = min(1, out.Error), min(1, out.DeepError)
	return out, out.Validate()
}

// capErrors are the distances of a response from rows, in points of the speed without a cap.
func capErrors(c hwmodel.CapResponse, x, y []float64) []float64 {
	out := make([]float64, 0, len(x))
	for i := range x {
		if b, known := c.Speed(x[i]); known {
			out = append(out, math.Abs(b.Value-y[i]))
		}
	}
	return out
}

// CapTable is a response as a table in x: the median speed of the rows in each step of 0.1,
// never falling with x. It holds for the type of GPU of the rows alone.
func CapTable(rows []CapRow) (hwmodel.CapResponse, error) {
	form, err := Caps(rows)
	if err != nil {
		return form, err
	}
	const step = 0.1
	out := hwmodel.CapResponse{Error: form.Error, DeepError: form.DeepError}
	for at := step / 2; at < noEffect; at += step {
		var x, y []float64
		for _, r := range rows {
			if math.Abs(r.X-at) <= step/2 {
				x, y = append(x, r.X), append(y, r.Speed)
			}
		}
		if len(x) < leastDeep {
			continue
		}
		p := hwmodel.CapPoint{X: Median(x), Speed: min(1, Median(y))}
		if n := len(out.Table); n > 0 {
			p.Speed = max(p.Speed, out.Table[n-1].Speed)
			if p.X <= out.Table[n-1].X {
				continue
			}
		}
		out.Table = append(out.Table, p)
	}
	if len(out.Table) < 2 {
		return out, tooFew("steps of 0.1 in cap ÷ draw with 5 rows", len(out.Table), 2)
	}
	out.Floor = out.Table[0].X
	return out, out.Validate()
}
