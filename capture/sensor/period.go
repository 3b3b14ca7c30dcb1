package sensor

import (
	"fmt"
	"math"
	"slices"

	"orrery/scheduler/model"
)

// How a period is looked for.
const (
	leastChanges  = 8
	largestPeriod = 5.0      // s
	mostPerPeriod = 1.8      // readings: a period of fewer cannot be told from that of the readings
	enough        = 0.8      // of the best coherence
	blockSpan     = 20 * 1e6 // µs: clocks drift, so that coherence is found within blocks
	blockChanges  = 400      // of a block at most
	mostBlocks    = 12       // that are looked at, spread evenly
	finestPeriods = 40_000   // frequencies that are tried at most
	leastCohere   = 3.0      // times what instants without a period have
)

// periodic is what the instants at which the value changes say.
type periodic struct {
	period  float64 // s, NaN where none was found
	changes int
	stamps  []model.Time // first readings with a new value
	why     string       // no period was found
}

// findPeriod looks for the largest period in step with which the value changes. A count of changes would not do: in a steady state the
// value repeats.
func findPeriod(s Series, interval float64) periodic {
	p := periodic{period: math.NaN()}
	for i := 1; i < len(s.Watts); i++ {
		if s.Watts[i] != s.Watts[i-1] {
			p.stamps = append(p.stamps, s.Times[i])
		}
	}
	p.changes = len(p.stamps)
	if p.changes < leastChanges {
		p.why = fmt.Sprintf("the value changed %d times, too seldom to tell a period: record while the load changes", p.changes)
		return p
	}
	blocks := blocksOf(p.stamps)
	longest := 0.0
	for _, b := range blocks {
		longest = max(longest, b[len(b)-1])
	}
	low, high := 1/min(largestPeriod, longest/4), 1/(mostPerPeriod*interval)
	if share := float64(p.changes) / float64(len(s.Watts)-1); share > 1/mostPerPeriod || high <= low {
		p.why = fmt.Sprintf("%.0f %% of the readings, which are %s ms apart, are new values: the period is that or shorter; sample more often", 100*share, millis(interval))
		return p
	}
	step := max(0.1/longest, (high-low)/finestPeriods)
	top := scan(blocks, low, step, int((high-low)/step)+1)
	best := slices.Max(top)
	if best < leastCohere*chance(blocks) {
		p.why = fmt.Sprintf("the %d changes of the value follow no period", p.changes)
		return p
	}
	for i, c := range top {
		if c >= enough*best {
			p.period = 1 / climb(blocks, low+float64(i)*step, step)
			return p
		}
	}
	return p
}

// blocksOf are stretches of the stamps, in s from the first of each.
func blocksOf(stamps []model.Time) [][]float64 {
	var all [][]float64
	var block []float64
	var from model.Time
	for _, t := range stamps {
		if len(block) > 0 && (float64(t.Sub(from)) > blockSpan || len(block) == blockChanges) {
			all, block = append(all, block), nil
		}
		if len(block) == 0 {
			from = t
		}
		block = append(block, t.Sub(from).Seconds())
	}
	if len(block) > 0 {
		all = append(all, block)
	}
	var kept [][]float64
	for i, b := range all {
		if len(all) <= mostBlocks || i*mostBlocks/len(all) != (i-1)*mostBlocks/len(all) || i == 0 {
			if len(b) >= leastChanges || len(all) == 1 {
				kept = append(kept, b)
			}
		}
	}
	if len(kept) == 0 {
		kept = all[:1]
	}
	return kept
}

// coherence is how much in step with a frequency the instants are, 0 to 1: the length of the mean of exp(2πi f t), within blocks.
func coherence(blocks [][]float64, f float64) float64 {
	sum, n := 0.0, 0
	for _, b := range blocks {
		x, y := 0.0, 0.0
		for _, t := range b {
			s, c := math.Sincos(2 * math.Pi * f * t)
			x, y = x+c, y+s
		}
		sum += math.Hypot(x, y)
		n += len(b)
	}
	return sum / float64(n)
}

// scan is the coherence with n frequencies, each a step from the one before: every instant turns by the same angle from one to the next.
func scan(blocks [][]float64, f, step float64, n int) []float64 {
	out, all := make([]float64, n), 0
	for _, b := range blocks {
		x, y, turnX, turnY := make([]float64, len(b)), make([]float64, len(b)), make([]float64, len(b)), make([]float64, len(b))
		for i, t := range b {
			y[i], x[i] = math.Sincos(2 * math.Pi * f * t)
			turnY[i], turnX[i] = math.Sincos(2 * math.Pi * step * t)
		}
		for k := range out {
			sumX, sumY := 0.0, 0.0
			for i := range x {
				sumX, sumY = sumX+x[i], sumY+y[i]
				x[i], y[i] = float64(x[i]*turnX[i])-float64(y[i]*turnY[i]), float64(x[i]*turnY[i])+float64(y[i]*turnX[i])
			}
			out[k] += math.Hypot(sumX, sumY)
		}
		all += len(b)
	}
	for k := range out {
		out[k] /= float64(all)
	}
	return out
}

// chance is the coherence of as many instants without a period.
func chance(blocks [][]float64) float64 {
	sum, n := 0.0, 0
	for _, b := range blocks {
		sum += math.Sqrt(math.Pi / 4 * float64(len(b)))
		n += len(b)
	}
	return min(sum/float64(n), 0.3)
}

// climb goes to the top of the peak at whose foot a frequency is.
func climb(blocks [][]float64, f, step float64) float64 {
	at := coherence(blocks, f)
	for step > 1e-7*f {
		switch up, down := coherence(blocks, f+step), coherence(blocks, f-step); {
		case up > at && up >= down:
			f, at = f+step, up
		case down > at:
			f, at = f-step, down
		default:
			step /= 2
		}
	}
	return f
}

// update is a value that the driver has renewed, and when.
type update struct {
	at    model.Time
	watts float64
}

// phaseSpan is how long one phase of the grid stands for: the clock of the sensor drifts against that of the node.
const phaseSpan = 5 * model.Second

// updatesOf puts the renewals on their grid: a new value is seen up to an interval of the readings after it was renewed, and one that is
// equal to the one before is not seen at all. Without a period each reading is taken for one.
func updatesOf(s Series, p periodic, interval float64) []update {
	var out []update
	if math.IsNaN(p.period) {
		for i := range s.Times {
			out = append(out, update{s.Times[i], s.Watts[i]})
		}
		return out
	}
	stamp, i := 0, 0
	phase := 0.0
	for from := s.Times[0]; i < len(s.Times); from = from.Add(phaseSpan) {
		to := from.Add(phaseSpan)
		first := stamp
		for stamp < len(p.stamps) && p.stamps[stamp] < to {
			stamp++
		}
		if stamp-first >= leastChanges/2 || from == s.Times[0] {
			phase = phaseOf(p.stamps[first:stamp], from, p.period) - interval/2
		} else {
			phase -= math.Mod(phaseSpan.Seconds(), p.period) // as it was
		}
		out, i = slots(out, s, i, from, to, phase, p.period)
	}
	return out
}

// phaseOf is the mean place of the stamps in the period, in s from an instant.
func phaseOf(stamps []model.Time, from model.Time, period float64) float64 {
	x, y := 0.0, 0.0
	for _, t := range stamps {
		s, c := math.Sincos(2 * math.Pi * t.Sub(from).Seconds() / period)
		x, y = x+c, y+s
	}
	return math.Atan2(y, x) / (2 * math.Pi) * period
}

// slots adds an update for each period in which there are readings: the middle one is the surest to be of it.
func slots(out []update, s Series, i int, from, to model.Time, phase, period float64) ([]update, int) {
	for i < len(s.Times) && s.Times[i] < to {
		k := math.Floor((s.Times[i].Sub(from).Seconds() - phase) / period)
		first := i
		for i < len(s.Times) && s.Times[i] < to && math.Floor((s.Times[i].Sub(from).Seconds()-phase)/period) == k {
			i++
		}
		at := from.Add(model.Duration(math.Round((phase + k*period) * 1e6)))
		if n := len(out); n > 0 && at.Sub(out[n-1].at).Seconds() < period/2 {
			continue // the seam of two phases
		}
		out = append(out, update{at, s.Watts[(first+i)/2]})
	}
	return out, i
}
