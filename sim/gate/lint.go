package gate

import (
	"fmt"
	"slices"

	"orrery/profiles"
	"orrery/sim/stat"
)

// Check says what is wrong with a gate file beyond what the file alone shows, without a
// replay: metrics that there are not, and bounds that are not in their units. It is a
// *profiles.Error, nil where nothing is found.
func Check(g *profiles.Gate) error {
	if err := checkNames(g); err != nil {
		return err
	}
	return checkAmounts(g)
}

// Remarks says what of a valid gate file has no effect, or one that may surprise.
func Remarks(g *profiles.Gate) []profiles.Problem {
	var out []profiles.Problem
	used := usedRuns(g)
	for i := range g.Runs {
		if !slices.Contains(used, g.Runs[i].Name) {
			out = append(out, g.Note(fmt.Sprintf("runs[%d]", i), "no check is about the run %s: it is replayed for nothing", g.Runs[i].Name))
		}
	}
	for i := range g.Runs {
		if at := fmt.Sprintf("runs[%d].windows", i); g.Sets(at) && len(pairedMeasures(g, g.Runs[i].Name)) == 0 {
			out = append(out, g.Note(at, "no paired check is about the run: its windows have no effect"))
		}
	}
	least := stat.Defaults().MinWindows
	for i := range g.Paired {
		if n := windowsOf(g, &g.Paired[i]); n < least {
			out = append(out, g.Note(fmt.Sprintf("%s[%d]", Paired, i), "the run has %d windows and %d are the least: the evidence will never suffice; give the run more windows", n, least))
		}
	}
	return out
}

// usedRuns are the runs that checks are about, or hold others against.
func usedRuns(g *profiles.Gate) (out []string) {
	for i := range g.Exact {
		out = append(out, g.Exact[i].Run)
	}
	for i := range g.Banded {
		out = append(out, g.Banded[i].Run)
	}
	for i := range g.Paired {
		out = append(out, g.Paired[i].Run, g.Paired[i].Against)
	}
	for i := range g.Counted {
		out = append(out, g.Counted[i].Run)
	}
	for i := range g.Bound {
		out = append(out, g.Bound[i].Run)
	}
	for i := range g.Balance {
		out = append(out, g.Balance[i].Run)
	}
	for i := range g.Steady {
		out = append(out, g.Steady[i].Run)
	}
	for i := range g.Thrash {
		out = append(out, g.Thrash[i].Run)
	}
	return out
}

// windowsOf is how many windows a run has: seeds of streams of jobs have their own.
// Where the seeds of a trace are replicas any number will do, which is told by most.
func windowsOf(g *profiles.Gate, p *profiles.GatePaired) int {
	const most = 1 << 20
	i := slices.IndexFunc(g.Runs, func(r profiles.GateRun) bool { return r.Name == p.Run })
	if i < 0 {
		return 0
	}
	r := &g.Runs[i]
	switch {
	case r.Trace == "":
		return r.Parts() * max(len(r.Seeds), 1)
	case p.Reading != "random" && len(r.Seeds) != 1:
		return most
	}
	return r.Parts()
}
