package fit

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"orrery/hwmodel"
	"orrery/internal/libm"
)

// PowerRow is what a configuration of a kind of work, such as inference of a language model, draws on
// one GPU.
type PowerRow struct {
	Type int // of GPU, numbered from 0
	// Features are what the draw may depend on, as logarithms, such as those of the parameters on
	// a GPU and of the requests at a time. NaN is not known, which is a feature as well.
	Features    []float64
	Held, Limit float64 // W, of the type of GPU: the draw without work and the power limit
	Watts       float64 // measured; not read where it is asked for
}

// Powers predicts the draw of configurations that were not measured:
//
//	log((w - held) ÷ (limit - w)) = a + a_type + Σ b · feature + Σ c · (feature is not known)
//
// with a ridge on all but a. Its band is conformal: each configuration is left out in turn, and 90 %
// of the residuals lie within it.
type Powers struct {
	rows  []PowerRow
	types []int // ascending
	half  float64
}

const (
	leastPowerRows = 12
	powerRidge     = 1.0
	leastPart      = 0.02 // of limit - held that a draw is taken to lie from its ends at least, which the band adds
)

// NewPowers checks the rows and finds the width of bands. Rows are configurations, not runs:
// repeated runs of one are its mean.
func NewPowers(rows []PowerRow) (*Powers, error) {
	if len(rows) < leastPowerRows {
		return nil, fewer("draw of other configurations", len(rows), leastPowerRows, "configurations", "record runs of other sizes and numbers of requests")
	}
	p := &Powers{rows: rows}
	for i, r := range rows {
		if err := r.validate(len(rows[0].Features)); err != nil {
			return nil, fmt.Errorf("row %d: %w", i, err)
		}
		if !(r.Watts > 0) || !finite(r.Watts) {
			return nil, fmt.Errorf("row %d: found %v W, want a positive number", i, r.Watts)
		}
		p.types = append(p.types, r.Type)
	}
	slices.Sort(p.types)
	p.types = slices.Compact(p.types)
	var scores []float64
	for i, r := range rows {
		rest := slices.Delete(slices.Clone(rows), i, i+1)
		v, known := predictPower(rest, p.types, r)
		if !known {
			return nil, fmt.Errorf("row %d: found features that tell no parameters", i)
		}
		scores = append(scores, math.Abs(v-logit(r)))
	}
	p.half = conformal(scores)
	return p, nil
}

func (r *PowerRow) validate(features int) error {
	if r.Type < 0 || len(r.Features) != features || !(r.Held > 0) || !(r.Limit > r.Held) || !finite(r.Limit) {
		return fmt.Errorf("found type %d with %d features, %v W held and a limit of %v W, want a number from 0, %d features and a limit above the held draw",
			r.Type, len(r.Features), r.Held, r.Limit, features)
	}
	for i, x := range r.Features {
		if math.IsInf(x, 0) {
			return fmt.Errorf("feature %d: found %v, want a number or NaN", i, x)
		}
	}
	return nil
}

// Watts is the draw of a configuration with the band that holds it in 90 % of such cases. It is
// a refusal for a type of GPU of which no configuration was measured.
func (p *Powers) Watts(of PowerRow) (hwmodel.Band, error) {
	if err := of.validate(len(p.rows[0].Features)); err != nil {
		return hwmodel.Band{}, err
	}
	if !slices.Contains(p.types, of.Type) {
		return hwmodel.Band{}, &Refusal{What: "draw of a configuration", Found: "a type of GPU of which none was measured", Want: "a configuration on it", Obtain: "record one run on a GPU of the type"}
	}
	v, known := predictPower(p.rows, p.types, of)
	if !known {
		return hwmodel.Band{}, &Refusal{What: "draw of a configuration", Found: "features that tell no parameters", Want: "configurations that differ", Obtain: "record other configurations"}
	}
	at := func(v float64) float64 { return of.Held + (of.Limit-of.Held)/(1+libm.Exp(-v)) }
	ends := leastPart * (of.Limit - of.Held)
	return hwmodel.Band{Value: at(v), Low: max(0, at(v-p.half)-ends), High: at(v+p.half) + ends}, nil
}

// logit of a measured draw, which may lie beyond its ends by the error of the sensor.
func logit(r PowerRow) float64 {
	part := min(1-leastPart, max(leastPart, (r.Watts-r.Held)/(r.Limit-r.Held)))
	return math.Log(part / (1 - part))
}

func predictPower(rows []PowerRow, types []int, of PowerRow) (float64, bool) {
	k := 1 + len(types) + 2*len(of.Features)
	means := make([]float64, len(of.Features))
	for f := range means {
		n := 0.0
		for _, r := range rows {
			if x := r.Features[f]; !math.IsNaN(x) {
				means[f], n = means[f]+x, n+1
			}
		}
		means[f] /= max(1, n)
	}
	columns := func(r PowerRow) []float64 {
		x := make([]float64, k)
		x[0] = 1
		if i := slices.Index(types, r.Type); i >= 0 {
			x[1+i] = 1
		}
		for f, v := range r.Features {
			at := 1 + len(types) + 2*f
			if math.IsNaN(v) {
				x[at+1] = 1
			} else {
				x[at] = v - means[f]
			}
		}
		return x
	}
	normal, right := mat.NewSymDense(k, nil), mat.NewVecDense(k, nil)
	for i := 1; i < k; i++ {
		normal.SetSym(i, i, powerRidge)
	}
	for _, r := range rows {
		x, y := columns(r), logit(r)
		for i := range k {
			right.SetVec(i, right.AtVec(i)+x[i]*y)
			for j := i; j < k; j++ {
				normal.SetSym(i, j, normal.At(i, j)+x[i]*x[j])
			}
		}
	}
	var factor mat.Cholesky
	if !factor.Factorize(normal) {
		return 0, false
	}
	var weights mat.VecDense
	if err := factor.SolveVecTo(&weights, right); err != nil {
		return 0, false
	}
	sum := 0.0
	for i, x := range columns(of) {
		sum += x * weights.AtVec(i)
	}
	return sum, finite(sum)
}
