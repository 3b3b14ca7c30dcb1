package plot

import (
	"fmt"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Supply is the size of a service over one stretch of time.
type Supply struct {
	StartUS, WidthUS int64   // µs since the beginning
	Need             float64 // smallest size that meets the goal
	Ready            float64 // mean number of replicas that served
	Held             float64 // mean number of those that cost
	Missed           float64 // share of the requests that were late or lost, 0 to 1
}

func (s Supply) span() (fromUS, toUS int64) { return s.StartUS, s.StartUS + s.WidthUS }

// SupplyRow is one policy of a figure.
type SupplyRow struct {
	Name     string
	Supplies []Supply
	Limit    float64 // share that may be missed
}

const supplyRow = 104 * pt

// SupplyOverDemand draws the sizes that policies gave a service over what it needed, one
// below the other on the same axes. Where the goal was missed the foot of a row is marked.
// Cost is linear in the stretches, of which at most 600 are drawn.
func SupplyOverDemand(name string, rows []SupplyRow, clock Clock) *Figure {
	return supplies(name, supplyWords{
		title: "Supply over demand", of: "policies", unit: "replicas", note: "replicas; each row is one policy under the same demand, of the first seed",
		need: "needed to meet the goal", ready: "ready", held: "held (also starting and draining)", missed: "goal missed",
	}, rows, clock)
}

// UnitsOverDemand draws the compute units of the machines on nodes, one node below the other,
// over what they needed. Where too much CPU time was done late the foot of a row is marked. note says
// what a row is.
func UnitsOverDemand(name string, rows []SupplyRow, note string, clock Clock) *Figure {
	return supplies(name, supplyWords{
		title: "Supply over demand of nodes", of: "rows", unit: "units", note: "compute units; " + note,
		need: "needed by the machines there", ready: "that they have", held: "reserved", missed: "more than 1 % of the CPU time done late",
	}, rows, clock)
}

// Pressures draws the capacity pressure (Need) and the logical one (Ready) of nodes, and the
// migrations that begin (Held), one policy below the other. Where one failed (Missed) the foot
// of a row is marked.
func Pressures(name string, rows []SupplyRow, clock Clock) *Figure {
	return supplies(name, supplyWords{
		title: "Pressure and migrations", of: "policies", unit: "units or migrations",
		note: "compute units of all nodes, and migrations in a step; each row is one policy under the same demand, of the first seed",
		need: "capacity pressure: asked for and not there", ready: "logical pressure: reserved above the watermarks", held: "migrations begun", missed: "a migration failed",
	}, rows, clock)
}

// supplyWords are what a figure of supplies says.
type supplyWords struct{ title, of, unit, note, need, ready, held, missed string }

// supplies draws rows of supplies one below the other.
func supplies(name string, say supplyWords, rows []SupplyRow, clock Clock) *Figure {
	f := &Figure{
		Name: name, Title: say.title, height: 70*pt + vg.Length(len(rows))*supplyRow, narrow: 70*pt + vg.Length(len(rows))*0.8*supplyRow,
		legend: []entry{
			{text: say.need, color: alpha(Muted, 90), area: true}, {text: say.ready, color: Blue}, {text: say.held, color: Sky},
			{text: say.missed, color: Vermilion, area: true},
		},
		Note: say.note,
	}
	reduced := make([]SupplyRow, len(rows))
	most := 1.0
	for i, r := range rows {
		reduced[i] = SupplyRow{r.Name, reduceSupplies(r.Supplies, stateColumns), r.Limit}
		most = max(most, highest(reduced[i].Supplies))
	}
	f.more = ", " + Count(int64(len(rows))) + " " + say.of
	for _, r := range rows {
		f.more += fmt.Sprintf("; %s: up to %s %s", r.Name, short(highest(r.Supplies)), say.unit)
	}
	f.body = func(c draw.Canvas) { drawSupplies(c, reduced, clock, most) }
	return f
}

func highest(all []Supply) (most float64) {
	for _, s := range all {
		most = max(most, s.Need, s.Ready, s.Held)
	}
	return most
}

// reduceSupplies joins neighbours so that at most n remain: the most that was needed, and
// means of the rest.
func reduceSupplies(in []Supply, n int) []Supply {
	per := (len(in) + n - 1) / n
	if per <= 1 {
		return in
	}
	var out []Supply
	for group := range slices.Chunk(in, per) {
		sum := Supply{StartUS: group[0].StartUS}
		for _, s := range group {
			w := float64(s.WidthUS)
			sum.WidthUS += s.WidthUS
			sum.Need = max(sum.Need, s.Need)
			sum.Ready += s.Ready * w
			sum.Held += s.Held * w
			sum.Missed += s.Missed * w
		}
		w := float64(sum.WidthUS)
		sum.Ready, sum.Held, sum.Missed = sum.Ready/w, sum.Held/w, sum.Missed/w
		out = append(out, sum)
	}
	return out
}

func drawSupplies(c draw.Canvas, rows []SupplyRow, clock Clock, most float64) {
	end := 1.0
	for _, r := range rows {
		if n := len(r.Supplies); n > 0 {
			end = max(end, float64(r.Supplies[n-1].StartUS+r.Supplies[n-1].WidthUS)/secondUS)
		}
	}
	table := make([][]*plot.Plot, len(rows))
	for i, r := range rows {
		label, ticker := "", unlabelled(clock.ticker(few(c, labelsWanted)))
		if i == len(rows)-1 {
			label, ticker = clock.label(end), clock.ticker(few(c, labelsWanted))
		}
		p := newPlot(draw.Crop(c, 0, 0, 0, -(c.Max.Y-c.Min.Y)+supplyRow), label, r.Name)
		p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = 0, end, 0, most*1.05
		p.X.Tick.Marker, p.Y.Tick.Marker = ticker, linearTicks(3, true)
		p.Add(grid{x: true, y: true},
			steps[Supply]{r.Supplies, func(s Supply) float64 { return s.Need }, alpha(Muted, 90), nil, 0},
			steps[Supply]{r.Supplies, func(s Supply) float64 { return s.Held }, nil, Sky, 0.8 * pt},
			steps[Supply]{r.Supplies, func(s Supply) float64 { return s.Ready }, nil, Blue, 1.3 * pt},
			missedMarks{r.Supplies, r.Limit},
		)
		if i == len(rows)-1 {
			spaceLabels(p, c.Max.X-c.Min.X)
		}
		table[i] = []*plot.Plot{p}
	}
	for i, canvases := range plot.Align(table, draw.Tiles{Rows: len(rows), Cols: 1, PadY: 6 * pt}, c) {
		table[i][0].Draw(canvases[0])
	}
}

// missedMarks mark the stretches in which more was missed than may be.
type missedMarks struct {
	all   []Supply
	limit float64
}

func (m missedMarks) Plot(c draw.Canvas, p *plot.Plot) {
	tx, _ := p.Transforms(&c)
	const high = 4 * pt
	for _, s := range m.all {
		if s.Missed <= m.limit {
			continue
		}
		left := tx(float64(s.StartUS) / secondUS)
		right := max(tx(float64(s.StartUS+s.WidthUS)/secondUS), left+0.8*pt)
		c.FillPolygon(Vermilion, []vg.Point{{X: left, Y: c.Min.Y}, {X: right, Y: c.Min.Y}, {X: right, Y: c.Min.Y + high}, {X: left, Y: c.Min.Y + high}})
	}
}

// Pareto draws policies over what they miss and what they cost: TradeOff with the words of a
// comparison in which nothing is recommended. Those on the front have the standing Chosen, one
// that knows the demand is a Reference.
func Pareto(name string, x, y Measure, all []Candidate) *Figure {
	f := TradeOff(name, x, y, all, false)
	f.Note = "means over the seeds; " + betterCorner(x, y)
	f.legend = []entry{
		{text: "no other policy is better in both", color: standings[Chosen].color, mark: marks[Chosen]}, {text: "another one is", color: standings[Baseline].color, mark: marks[Baseline]},
	}
	if slices.ContainsFunc(all, func(c Candidate) bool { return c.Standing == Reference }) {
		f.legend = append(f.legend, entry{text: "knows the demand ahead: a reference", color: standings[Reference].color, mark: marks[Reference]})
	}
	for _, c := range all {
		f.more += fmt.Sprintf("; %s: %s and %s", c.Name, x.Say(c.At[0]), y.Say(c.At[1]))
	}
	return f
}
