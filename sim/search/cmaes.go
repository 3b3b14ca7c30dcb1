package search

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"orrery/internal/libm"
	"orrery/scheduler/model/draw"
)

// cma is the covariance matrix adaptation evolution strategy with active
// (negative) recombination weights, in the notation of Hansen: The CMA Evolution
// Strategy: A Tutorial, arXiv 1604.00772, and restarts with a doubled
// population as of Auger and Hansen: A restart CMA evolution strategy with
// increasing population size, 2005. It works in the real chart of the space.
// It ranks results only, so constraints take part through the order of scores.
type cma struct {
	config *Config
	n      int
	coarse []float64 // least standard deviation of each coordinate
	lambda int
	run    int // restarts so far

	strategy

	// The state: mean, step size, covariance, its square root and its inverse
	// square root, the two paths, generations of this run.
	mean          []float64
	sigma         float64
	cov           *mat.SymDense
	root, inverse *mat.Dense
	pc, ps        []float64
	generation    int
	lasting       []Score // the best of each generation, for the flatness test

	points [][]float64 // of the batch in work
}

// strategy holds the constants that follow from dimension and population
// (tutorial, table 1).
type strategy struct {
	weights              []float64 // of ranks; they sum to 1 where positive
	mu                   int
	muEff                float64
	cc, cs, c1, cmu, dmp float64
	chi                  float64 // expected length of a standard normal vector
	sum                  float64 // of all weights
}

// cmaStep is the first standard deviation, in units of a box.
const cmaStep = 0.3

func newCMA(c *Config) (method, error) {
	if err := c.single(); err != nil {
		return nil, err
	}
	n := c.Space.Dim()
	m := &cma{config: c, n: n, lambda: c.Batch}
	if m.lambda == 0 {
		m.lambda = 4 + int(3*math.Log(float64(n)))
	}
	m.lambda = max(m.lambda, 4)
	if len(c.Start) > m.lambda {
		return nil, fmt.Errorf("search: %d starting points for the first batch of cmaes, which has %d trials: give fewer, or a larger batch", len(c.Start), m.lambda)
	}
	for i := range c.Space {
		p := &c.Space[i]
		for range p.dim() {
			least := 0.0
			if p.steps() > 0 {
				// A third of a step: neighbours stay within reach.
				least = 1 / (3 * p.steps())
			}
			m.coarse = append(m.coarse, least)
		}
	}
	mean := slices.Repeat([]float64{0.5}, n)
	if len(c.Start) > 0 {
		mean = c.Space.toReal(c.Start[0])
	}
	m.begin(mean)
	return m, nil
}

// begin starts a run at a mean.
func (m *cma) begin(mean []float64) {
	m.strategy = newStrategy(m.n, m.lambda)
	m.mean, m.sigma, m.generation = mean, cmaStep, 0
	m.pc, m.ps = make([]float64, m.n), make([]float64, m.n)
	m.lasting = nil
	m.cov = mat.NewSymDense(m.n, nil)
	for i := range m.n {
		m.cov.SetSym(i, i, 1)
	}
	m.factor()
}

func newStrategy(dim, lambda int) strategy {
	n, l := float64(dim), float64(lambda)
	s := strategy{weights: make([]float64, lambda), mu: lambda / 2}
	var plus, plus2, minus, minus2 float64
	for i := range s.weights {
		w := math.Log((l+1)/2) - math.Log(float64(i+1))
		s.weights[i] = w
		if i < s.mu {
			plus, plus2 = plus+w, plus2+w*w
		} else {
			minus, minus2 = minus+w, minus2+w*w
		}
	}
	s.muEff = plus * plus / plus2
	muMinus := minus * minus / minus2
	s.cc = (4 + s.muEff/n) / (n + 4 + 2*s.muEff/n)
	s.cs = (s.muEff + 2) / (n + s.muEff + 5)
	s.dmp = 1 + 2*max(0, math.Sqrt((s.muEff-1)/(n+1))-1) + s.cs
	s.c1 = 2 / ((n+1.3)*(n+1.3) + s.muEff)
	s.cmu = min(1-s.c1, 2*(0.25+s.muEff+1/s.muEff-2)/((n+2)*(n+2)+s.muEff))
	s.chi = math.Sqrt(n) * (1 - 1/(4*n) + 1/(21*n*n))
	bound := min(1+s.c1/s.cmu, 1+2*muMinus/(muMinus+2), (1-s.c1-s.cmu)/(n*s.cmu))
	var negative float64
	for _, w := range s.weights {
		negative += max(0, -w)
	}
	for i, w := range s.weights {
		if w >= 0 {
			s.weights[i] = w / plus
		} else {
			s.weights[i] = w * bound / negative
		}
	}
	s.sum = floats.Sum(s.weights)
	return s
}

func (m *cma) batch() int                   { return m.lambda }
func (m *cma) first() bool                  { return m.run == 0 && m.generation == 0 }
func (m *cma) draws(trial int) *draw.Source { return m.config.draws("step", trial) }

// propose samples the generation; the starting points lead the first one.
func (m *cma) propose(first, n int) [][]float64 {
	m.points = make([][]float64, n)
	values := make([][]float64, n)
	z := make([]float64, m.n)
	for i := range n {
		if m.first() && i < len(m.config.Start) {
			m.points[i] = m.config.Space.toReal(m.config.Start[i])
			values[i] = m.config.Start[i]
			continue
		}
		d := m.draws(first + i)
		for j := range z {
			z[j] = d.Normal()
		}
		x := product(m.root, z)
		floats.Scale(m.sigma, x)
		floats.Add(x, m.mean)
		m.points[i] = x
		values[i] = m.config.Space.fromReal(x)
	}
	return values
}

// learn updates the distribution (tutorial, figure 6). A batch that was cut
// short teaches nothing: it is the last.
func (m *cma) learn(first int, _ [][]float64, scores []Score) {
	if len(scores) < m.lambda {
		return
	}
	rank := make([]int, len(scores))
	for i := range rank {
		rank[i] = i
	}
	slices.SortStableFunc(rank, func(a, b int) int { return better(&scores[a], &scores[b]) })
	steps := make([][]float64, len(scores))
	for i, j := range rank {
		steps[i] = slices.Clone(m.points[j])
		floats.Sub(steps[i], m.mean)
		floats.Scale(1/m.sigma, steps[i])
		if m.first() {
			m.shorten(steps[i])
		}
	}
	m.generation++
	move := make([]float64, m.n)
	for i := range m.mu {
		floats.AddScaled(move, m.weights[i], steps[i])
	}
	floats.AddScaled(m.mean, m.sigma, move)
	m.adaptPaths(move)
	m.adaptCovariance(steps)
	m.sigma *= libm.Exp(min(1, m.cs/m.dmp*(floats.Norm(m.ps, 2)/m.chi-1)))
	m.limit()
	m.normalise()
	m.factor()
	m.lasting = append(m.lasting, scores[rank[0]])
	if m.exhausted() {
		m.restart(first + len(scores))
	}
}

// shorten brings a step that was not drawn, but given as a starting point, to
// a likely length. (Hansen: Injecting external solutions into CMA-ES, 2011.)
func (m *cma) shorten(step []float64) {
	n := float64(m.n)
	longest := math.Sqrt(n) + 2*n/(n+2)
	if l := floats.Norm(step, 2); l > longest {
		floats.Scale(longest/l, step)
	}
}

func (m *cma) adaptPaths(move []float64) {
	floats.Scale(1-m.cs, m.ps)
	floats.AddScaled(m.ps, math.Sqrt(m.cs*(2-m.cs)*m.muEff), product(m.inverse, move))
	floats.Scale(1-m.cc, m.pc)
	if m.steady() {
		floats.AddScaled(m.pc, math.Sqrt(m.cc*(2-m.cc)*m.muEff), move)
	}
}

// steady is the tutorial's h_σ: the step size path is not longer than chance
// explains. The first generations are allowed less.
func (m *cma) steady() bool {
	settled := math.Sqrt(1 - libm.Pow(1-m.cs, 2*float64(m.generation)))
	return floats.Norm(m.ps, 2)/settled < (1.4+2/float64(m.n+1))*m.chi
}

func (m *cma) adaptCovariance(steps [][]float64) {
	lost := 0.0
	if !m.steady() {
		lost = m.cc * (2 - m.cc)
	}
	m.cov.ScaleSym(1+m.c1*lost-m.c1-m.cmu*m.sum, m.cov)
	m.cov.SymRankOne(m.cov, m.c1, mat.NewVecDense(m.n, m.pc))
	for i, w := range m.weights {
		if w < 0 {
			l := floats.Norm(product(m.inverse, steps[i]), 2)
			w *= float64(m.n) / max(l*l, 1e-12)
		}
		m.cov.SymRankOne(m.cov, m.cmu*w, mat.NewVecDense(m.n, steps[i]))
	}
}

// limit keeps each coordinate's deviation between a third of a step, for whole
// numbers and choices, and the whole box. It scales rows and columns alike, so
// the matrix stays positive definite.
func (m *cma) limit() {
	for j := range m.n {
		deviation := m.sigma * math.Sqrt(m.cov.At(j, j))
		var scale float64
		switch {
		case deviation < m.coarse[j]:
			scale = m.coarse[j] / deviation
		case deviation > 1:
			scale = 1 / deviation
		default:
			continue
		}
		for i := range m.n {
			s := scale
			if i == j {
				s *= scale
			}
			m.cov.SetSym(i, j, m.cov.At(i, j)*s)
		}
	}
}

// normalise moves a common factor from the covariance to the step size before
// either leaves the range of floating point, as it may when limits hold for
// long. The distribution stays what it is.
func (m *cma) normalise() {
	largest := 0.0
	for j := range m.n {
		largest = max(largest, m.cov.At(j, j))
	}
	if largest > 1e-8 && largest < 1e8 {
		return
	}
	m.cov.ScaleSym(1/largest, m.cov)
	floats.Scale(1/math.Sqrt(largest), m.pc)
	m.sigma *= math.Sqrt(largest)
}

// factor takes the square root of the covariance and its inverse.
func (m *cma) factor() {
	var eigen mat.EigenSym
	if !eigen.Factorize(m.cov, true) {
		panic("search: the covariance of CMA-ES has no eigenvalues")
	}
	var vectors mat.Dense
	eigen.VectorsTo(&vectors)
	m.root, m.inverse = mat.NewDense(m.n, m.n, nil), mat.NewDense(m.n, m.n, nil)
	for k, value := range eigen.Values(nil) {
		length := math.Sqrt(max(value, 1e-20))
		v := vectors.ColView(k)
		m.root.RankOne(m.root, length, v, v)
		m.inverse.RankOne(m.inverse, 1/length, v, v)
	}
}

// exhausted says whether the run has nothing more to find: it has shrunk to a
// millionth of the box, is degenerate, or has seen one best value for long.
func (m *cma) exhausted() bool {
	widest, low, high := 0.0, math.Inf(1), 0.0
	for j := range m.n {
		d := m.cov.At(j, j)
		widest, low, high = max(widest, m.sigma*math.Sqrt(d)), min(low, d), max(high, d)
	}
	if widest < 1e-6 || high > 1e14*low {
		return true
	}
	span := 10 + (30*m.n+m.lambda-1)/m.lambda
	if len(m.lasting) < span {
		return false
	}
	recent := m.lasting[len(m.lasting)-span:]
	return !slices.ContainsFunc(recent, func(s Score) bool { return better(&s, &recent[0]) != 0 })
}

// restart begins anew at a random place with twice the population.
func (m *cma) restart(next int) {
	m.run++
	m.lambda *= 2
	d := m.config.draws("restart", next)
	u := make([]float64, m.n)
	for j := range u {
		u[j] = d.Open()
	}
	m.begin(m.config.Space.toReal(m.config.Space.FromUnit(u)))
}

// product is a matrix times a vector.
func product(a *mat.Dense, x []float64) []float64 {
	y := make([]float64, len(x))
	mat.NewVecDense(len(y), y).MulVec(a, mat.NewVecDense(len(x), x))
	return y
}
