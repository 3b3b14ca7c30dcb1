package search

import (
	"cmp"
	"slices"

	"orrery/internal/libm"
	"orrery/scheduler/model/draw"
)

// nsga is NSGA-II: a population that keeps what no other dominates and, among
// equals, what stands alone; offspring by simulated binary crossover and
// polynomial mutation in the unit chart. (Deb, Pratap, Agarwal, Meyarivan: A
// fast and elitist multiobjective genetic algorithm: NSGA-II, 2002; crossover
// of Deb and Agrawal: Simulated binary crossover for continuous search space,
// 1995; constraints of Deb, 2000, through the order of scores.)
type nsga struct {
	config  *Config
	size    int // of a batch
	least   int // of the population
	initial [][]float64

	// The population, the oldest first.
	unit   [][]float64
	scores []Score
	rank   []int     // front of each member
	alone  []float64 // crowding distance of each member
}

// Numbers of NSGA-II: the size of a batch, of the first design and of the
// population, which grows with the trials; the chances of crossover and of
// mutations, the latter a multiple of one coordinate; how close children stay to
// their parents and mutants to what they were. The authors' study has 100 in the
// population, one mutation and exponents of 20 for tens of thousands of trials.
// Ours are dear and few: with 100 trials a population of 32 has seen three
// generations and is no better than random search.
const (
	nsgaBatch         = 8
	nsgaFirst         = 16
	nsgaPopulation    = 8
	nsgaGrowth        = 32 // trials for each further member
	crossoverChance   = 0.9
	crossoverExponent = 2
	mutationChance    = 2.0
	mutationExponent  = 5
	transferChance    = 0.1 // of a mutation of our own, for weights
)

func newNSGA(c *Config) (method, error) {
	if err := sobolReaches(c); err != nil {
		return nil, err
	}
	g := &nsga{config: c, size: cmp.Or(c.Batch, nsgaBatch), least: nsgaPopulation}
	n := max(nsgaFirst, len(c.Start))
	n = (n + g.size - 1) / g.size * g.size
	points, err := Sample(c.Space, "sobol", n-len(c.Start), c.Seed)
	if err != nil {
		return nil, err
	}
	g.initial = append(append(g.initial, c.Start...), points...)
	return g, nil
}

func (g *nsga) batch() int { return g.size }

// learn keeps the best of parents and children. (Deb et al., section III-C.)
func (g *nsga) learn(first int, values [][]float64, scores []Score) {
	population := max(g.least, (first+len(values))/nsgaGrowth)
	for i, v := range values {
		g.unit = append(g.unit, g.config.Space.coordinates(v, unitOf))
		g.scores = append(g.scores, scores[i])
	}
	var kept []int
	for _, front := range fronts(g.scores) {
		room := population - len(kept)
		if room == 0 {
			break
		}
		if len(front) > room {
			distance := crowding(g.scores, front)
			order := descending(distance)[:room]
			slices.Sort(order)
			for i, o := range order {
				order[i] = front[o]
			}
			front = order
		}
		kept = append(kept, front...)
	}
	slices.Sort(kept)
	var unit [][]float64
	var left []Score
	for _, i := range kept {
		unit, left = append(unit, g.unit[i]), append(left, g.scores[i])
	}
	g.unit, g.scores = unit, left
	g.judge()
}

// judge ranks the population.
func (g *nsga) judge() {
	g.rank, g.alone = make([]int, len(g.unit)), make([]float64, len(g.unit))
	for r, front := range fronts(g.scores) {
		distance := crowding(g.scores, front)
		for i, member := range front {
			g.rank[member], g.alone[member] = r, distance[i]
		}
	}
}

func (g *nsga) propose(first, n int) [][]float64 {
	if first < len(g.initial) {
		return g.initial[first : first+n]
	}
	var values, seen [][]float64
	seen = append(seen, g.unit...)
	for i := range n {
		d := g.config.draws("child", first+i)
		var child []float64
		// A child that exists already would be evaluated in vain.
		for range 8 {
			child = g.config.Space.canonical(g.child(d))
			if !slices.ContainsFunc(seen, func(u []float64) bool { return slices.Equal(u, child) }) {
				break
			}
		}
		seen = append(seen, child)
		values = append(values, g.config.Space.FromUnit(child))
	}
	return values
}

// child is one of the two that a pair of parents would have.
func (g *nsga) child(d *draw.Source) []float64 {
	a, b := g.unit[g.tournament(d)], g.unit[g.tournament(d)]
	child := slices.Clone(a)
	cross, mutation := d.Bool(crossoverChance), min(mutationChance/float64(len(child)), 1)
	at := 0
	for i := range g.config.Space {
		p := &g.config.Space[i]
		for range p.dim() {
			if cross && d.Bool(0.5) {
				if p.Kind == Choice {
					child[at] = b[at]
				} else {
					child[at] = crossed(a[at], b[at], d)
				}
			}
			if d.Bool(mutation) {
				if p.Kind == Choice {
					child[at] = d.Float64()
				} else {
					child[at] = mutated(child[at], d)
				}
			}
			at++
		}
		if p.Kind == Simplex && d.Bool(transferChance) {
			p.transfer(child[at-p.dim():at], d)
		}
	}
	return child
}

// transfer moves weight from one part of a simplex to another, as often as not
// all of it: coordinates alone would reach a weight of 0 only by many small
// steps in many of them.
func (p *Parameter) transfer(u []float64, d *draw.Source) {
	for j := range u {
		u[j] = spread * quantile(u[j])
	}
	w := weightsOf(u, p.floor())
	from, to := int(d.IntN(int64(len(w)))), int(d.IntN(int64(len(w)-1)))
	if to >= from {
		to++
	}
	share := d.Float64()
	if d.Bool(0.5) {
		share = 1
	}
	w[from], w[to] = (1-share)*w[from], w[to]+share*w[from]
	for j, z := range logRatios(w, p.floor()) {
		u[j] = unitOf(z)
	}
}

// tournament picks the better of two members: of the better front, then the
// one more alone, then the older.
func (g *nsga) tournament(d *draw.Source) int {
	i, j := int(d.IntN(int64(len(g.unit)))), int(d.IntN(int64(len(g.unit))))
	i, j = min(i, j), max(i, j)
	if g.rank[j] < g.rank[i] || g.rank[j] == g.rank[i] && g.alone[j] > g.alone[i] {
		return j
	}
	return i
}

// crossed is one child of simulated binary crossover: it lies about the parent
// a as far as the parents lie apart; one beyond a face is put on it, where optima
// often are.
func crossed(a, b float64, d *draw.Source) float64 {
	u := d.Open()
	beta := libm.Pow(2*u, 1.0/(crossoverExponent+1))
	if u > 0.5 {
		beta = libm.Pow(1/(2*(1-u)), 1.0/(crossoverExponent+1))
	}
	return min(max(0.5*((1+beta)*a+(1-beta)*b), 0), 1)
}

// mutated is a polynomial mutation that stays within the faces. (Deb and
// Goyal: A combined genetic adaptive search for engineering design, 1996, in
// the bounded form of the program of Deb et al., 2002.)
func mutated(x float64, d *draw.Source) float64 {
	const power = mutationExponent + 1
	u := d.Open()
	if u < 0.5 {
		return max(0, x+libm.Pow(2*u+(1-2*u)*libm.Pow(1-x, power), 1.0/power)-1)
	}
	return min(1, x+1-libm.Pow(2*(1-u)+(2*u-1)*libm.Pow(x, power), 1.0/power))
}
