package plot

import (
	"bytes"
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/plot/vg"
	"pgregory.net/rapid"

	_ "orrery/internal/fixedseed"
)

// sampleDrawn is a day in which the cap goes and the price doubles at noon.
func sampleDrawn() []Drawn {
	var out []Drawn
	for i := range 24 * 12 {
		d := Drawn{StartUS: int64(i) * 300 * secondUS, WidthUS: 300 * secondUS, Low: 800e3, Value: 900e3 + float64(i%7)*20e3, High: 1.1e6, Price: 0.2, Priced: true}
		d.Most = d.Value
		if i > 6*12 {
			d.Supply, d.Supplied = 1.3e6*math.Sin(float64(i-6*12)/(12*12)*math.Pi), i < 18*12
		}
		if d.Capped = i < 12*12; d.Capped {
			d.Cap = 1e6
		} else {
			d.Price = 0.4
		}
		out = append(out, d)
	}
	return out
}

func sampleCluster(groups, nodes int) *ClusterPlan {
	p := &ClusterPlan{Name: "sample", Kinds: []NodeKind{
		{Name: "h100x8", GPUs: 8, GPU: "H100", Islands: [][]int{{0, 1, 2, 3}, {4, 5, 6, 7}}, Idle: 2200, Busy: 7100}, {Name: "cpu", Idle: 200, Busy: 700}, {Name: "old", GPUs: 2},
	}}
	for i := range groups {
		p.Groups = append(p.Groups, NodeGroup{fmt.Sprintf("g%d", i), []NodeRun{{nodes, i % 3, "ml"}, {3, 1, ""}}})
	}
	return p
}

func hardwareFigures() []*Figure {
	clock := Clock{EpochUS: 828_000_000 * secondUS, Known: true}
	steps := []TimeStep{{"kept", 100, true, "100 h"}, {"type", -30, false, "-30 h"}, {"cap", 5, false, "+5 h"}, {"held", 75, true, "75 h"}}
	one, several, small := Cluster(sampleCluster(70, 70)), Cluster(sampleCluster(3, 4000)), Cluster(sampleCluster(3, 5))
	several.Name, small.Name = "cluster-large", "cluster-small"
	return []*Figure{
		PowerOverTime(sampleDrawn(), "EUR", clock, ShownUntil(0, 20*hourUS, 24*hourUS)),
		PowerPair([2]string{"A: a", "B: b"}, [2][]Drawn{sampleDrawn(), sampleDrawn()[:40]}, clock, Shown{}),
		EnergyByGroup([]EnergyRow{{"ml", 90, 100, 120, "100 kWh"}, {}, {"tenant a", 1, 2, 3, "2 kWh"}}),
		RunTime(steps), one, several, small,
	}
}

func TestFiguresOfHardware(t *testing.T) {
	checkFigures(t, hardwareFigures(), hardwareFigures())
	for _, f := range hardwareFigures() {
		require.NoError(t, f.WriteNarrowSVG(&bytes.Buffer{}), f.Name)
	}
}

// Nothing to draw is drawn as nothing.
func TestFiguresOfNoHardware(t *testing.T) {
	for _, f := range []*Figure{
		PowerOverTime(nil, "EUR", Clock{}, Shown{}), PowerOverTime([]Drawn{{WidthUS: 1}}, "", Clock{}, Shown{}),
		PowerPair([2]string{}, [2][]Drawn{}, Clock{}, Shown{}), EnergyByGroup(nil), EnergyByGroup([]EnergyRow{{Name: "a"}}), RunTime(nil), Cluster(&ClusterPlan{}),
	} {
		require.NoError(t, f.WriteSVG(&bytes.Buffer{}), f.Name)
		require.NoError(t, f.WriteNarrowSVG(&bytes.Buffer{}), f.Name)
		require.NoError(t, f.WritePNG(&bytes.Buffer{}), f.Name)
	}
}

// A note says what the picture shows: whether the cap was kept, and the price where it is one.
func TestNotesOfPower(t *testing.T) {
	all := sampleDrawn()
	require.Contains(t, PowerOverTime(all, "EUR", Clock{}, Shown{}).Note, "marks at the foot: more than the cap")
	for i := range all {
		all[i].Cap, all[i].Price = 2e6, 0.2
	}
	require.Equal(t, "mean 0.96 MW, most 1.02 MW, never more than the cap; all at 0.20 EUR/kWh", PowerOverTime(all, "EUR", Clock{}, Shown{}).Note)
	for i := range all {
		all[i].Capped, all[i].Priced = false, false
	}
	require.Equal(t, "mean 960 kW, most 1,020 kW", PowerOverTime(all, "EUR", Clock{}, Shown{}).Note)
}

// A supply is on the axis as far as that does not flatten what is drawn.
func TestSupplyOnTheAxis(t *testing.T) {
	for supply, want := range map[float64]float64{0: 10, 15: 15, 20: 20, 500: 20} {
		s := powerSums([]Drawn{{WidthUS: 1, Value: 8, Most: 8, High: 10, Supply: supply, Supplied: true}, {StartUS: 1, WidthUS: 1, Most: 8}})
		require.InDelta(t, want, s.axis(), 0)
		require.Len(t, s.supplyEntries(s.axis()), 1)
		require.Equal(t, supply > want, s.supplyEntries(s.axis())[0].text != "supply (mean)")
	}
	none := powerSums([]Drawn{{WidthUS: 1, High: 10}})
	require.Empty(t, none.supplyEntries(10))
	joined := joinDrawn([]Drawn{{WidthUS: 3, Supply: 10, Supplied: true}, {StartUS: 3, WidthUS: 1, Supply: 2, Supplied: true}, {StartUS: 4, WidthUS: 9}})
	require.True(t, joined.Supplied)
	require.InDelta(t, 8, joined.Supply, 1e-12)
}

// Joining stretches changes neither the energy nor the most.
func TestJoinedDrawnKeepsTheEnergy(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var all []Drawn
		at, most := int64(0), 0.0
		energy := func(list []Drawn) (sum float64) {
			for _, d := range list {
				sum += d.Value * float64(d.WidthUS)
			}
			return sum
		}
		for range rapid.IntRange(1, 50).Draw(t, "stretches") {
			d := Drawn{StartUS: at, WidthUS: rapid.Int64Range(1, 1e9).Draw(t, "width"), Value: rapid.Float64Range(0, 1e7).Draw(t, "value")}
			d.Most = d.Value
			at, most, all = at+d.WidthUS, max(most, d.Most), append(all, d)
		}
		n := rapid.IntRange(1, 60).Draw(t, "points")
		joined := reduceDrawn(all, n)
		require.LessOrEqual(t, len(joined), max(n, 1))
		require.InEpsilon(t, energy(all)+1, energy(joined)+1, 1e-9)
		require.InDelta(t, most, powerSums(joined).most, 0)
	})
}

// Power that is not stated is said, and not taken for 0.
func TestPlanOfUnknownPower(t *testing.T) {
	require.Equal(t, "24 nodes with 50 GPUs; they draw 13.8 kW idle and 45.3 kW at work without the 5 that do not state it; a cell is a node, a dot a GPU", Cluster(sampleCluster(3, 5)).Note)
	p := sampleCluster(1, 5)
	p.Kinds[0].Idle, p.Kinds[0].Busy, p.Kinds[1].Idle, p.Kinds[1].Busy = 0, 0, 0, 0
	require.Equal(t, "8 nodes with 40 GPUs; a cell is a node, a dot a GPU", Cluster(p).Note)
	require.Equal(t, []string{"old", "2 GPUs", "power not stated"}, p.Kinds[2].says())
}

// Hundreds of homes, groups and kinds do not make the picture larger than a page.
func TestPlanOfManyHomes(t *testing.T) {
	p := &ClusterPlan{Name: "many"}
	for i := range 200 {
		p.Kinds = append(p.Kinds, NodeKind{Name: fmt.Sprint("kind", i)})
		g := NodeGroup{Name: fmt.Sprint("group", i)}
		for j := range 300 {
			g.Runs = append(g.Runs, NodeRun{2, (i + j) % (i + 1), fmt.Sprint("home", j)})
		}
		p.Groups = append(p.Groups, g)
	}
	f := Cluster(p)
	require.Contains(t, f.Note, "120,000 nodes")
	require.Contains(t, f.Note, "too many homes to tell them apart")
	require.Contains(t, f.Note, "a cell is 20 nodes")
	require.Less(t, float64(f.height), 20_000.0)
}

// Boxes lie within the figure and beside each other, every node has its cell, and no plan is
// larger than a page.
func TestLayoutOfAPlan(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := &ClusterPlan{Name: "any"}
		for i := range rapid.IntRange(1, 40).Draw(t, "kinds") {
			p.Kinds = append(p.Kinds, NodeKind{Name: fmt.Sprint("kind", i), GPUs: rapid.IntRange(0, 16).Draw(t, "gpus")})
		}
		all := 0
		for i := range rapid.IntRange(1, 300).Draw(t, "groups") {
			g := NodeGroup{Name: fmt.Sprint("group", i)}
			for range rapid.IntRange(1, 3).Draw(t, "runs") {
				g.Runs = append(g.Runs, NodeRun{rapid.IntRange(1, 400).Draw(t, "nodes"), rapid.IntRange(0, len(p.Kinds)-1).Draw(t, "kind"), rapid.SampledFrom([]string{"", "ml", "hpc"}).Draw(t, "home")})
				all += g.Runs[len(g.Runs)-1].Nodes
			}
			p.Groups = append(p.Groups, g)
		}
		few := p.fewKinds()
		require.LessOrEqual(t, len(few.Kinds), mostKinds)
		groups := joinGroups(few.Groups)
		require.LessOrEqual(t, len(groups), mostBoxes)
		have := 0
		for _, g := range groups {
			for _, r := range g.Runs {
				have += r.Nodes
			}
		}
		require.Equal(t, all, have, "no node is lost")
		d := clusterDrawing{kinds: few.Kinds, groups: groups, per: 1 + all/mostCells}
		d.cell = cellSize(all / d.per)
		for _, width := range []float64{float64(figureWidth - 2*margin), float64(narrowWidth - 2*margin)} {
			l := d.layout(vg.Length(width))
			for i, b := range l.boxes {
				require.LessOrEqual(t, float64(b.x+b.w), width+0.01)
				require.LessOrEqual(t, float64(b.y+b.h), float64(l.kinds))
				for _, o := range l.boxes[:i] {
					require.True(t, b.x >= o.x+o.w || o.x >= b.x+b.w || b.y >= o.y+o.h || o.y >= b.y+b.h, "two boxes on one place")
				}
			}
		}
	})
}
