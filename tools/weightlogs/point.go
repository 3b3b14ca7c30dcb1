package main

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"orrery/profiles"
	"orrery/sim/plan"
	"orrery/sim/search"
	"orrery/sim/task"
	"orrery/tools/internal/logfile"
	"orrery/traces"
)

// vcluster is the name of the only vCluster.
const vcluster = "default"

// allWeights are those of a profile that orders by score.
var allWeights = []string{"priority", "wait_time", "fair_share", "topology", "data_readiness", "backlog", "energy", "checkpoint", "conformance"}

// Bounds of reference_wait in seconds, 5 minutes to 7 days, and the ways to backfill, as
// orrery tune has them.
const shortest, longest = 300, 604800

var backfills = []string{"easy", "conservative"}

// spaceOf is what orrery tune searches of the profile "default" by default, with the
// weights that are named; backfill is searched where none is given.
func spaceOf(weights []string, backfill string) (search.Space, error) {
	if len(weights) == 0 {
		weights = allWeights
	}
	for _, w := range weights {
		if !slices.Contains(allWeights, w) {
			return nil, fmt.Errorf("-weights: there is no weight %q: use %s", w, strings.Join(allWeights, ", "))
		}
	}
	s := search.Space{
		{Name: "weights", Kind: search.Simplex, Parts: weights},
		{Name: "reference_wait", Kind: search.Real, Low: shortest, High: longest, Log: true},
	}
	if backfill == "" {
		s = append(s, search.Parameter{Name: "backfill", Kind: search.Choice, Choices: backfills})
	}
	return s, s.Validate()
}

// log is a log in memory and the site on which it is replayed.
type log struct {
	name    string
	runner  *task.Runner
	base    plan.Spec // bound to the log, with the site
	cluster *profiles.Cluster
}

// openLog reads PATH or PATH=PROCS. The profile is to backfill so where it is given.
func openLog(text, backfill string) (*log, error) {
	path, procs, known := strings.Cut(text, "=")
	l := &log{name: strings.SplitN(filepath.Base(path), ".", 2)[0], runner: task.NewRunner(nil)}
	set, err := logfile.Read(path)
	if err != nil {
		return nil, err
	}
	rows, err := l.runner.Add(set)
	if err != nil {
		return nil, err
	}
	tables, err := rows.Open()
	if err != nil {
		return nil, err
	}
	defer tables.Close()
	l.base = plan.DefaultSpec()
	if known {
		n, err := strconv.ParseInt(procs, 10, 32)
		if err != nil {
			return nil, fmt.Errorf("%s: found %q, want a number of processors", text, procs)
		}
		l.base.Cluster.Procs = int32(n)
	}
	if err := l.site(tables, backfill); err != nil {
		return nil, err
	}
	l.base, err = l.base.Bind(tables)
	return l, err
}

// site makes the cluster one of equal nodes under the profile "default".
func (l *log) site(tables traces.Source, backfill string) error {
	size, err := l.base.Cluster.Resolve(tables.Info(), nil)
	if err != nil {
		return err
	}
	c, err := profiles.ParseCluster("", []byte(size.File(false)))
	if err != nil {
		return err
	}
	p := profiles.Default()
	p.Backfill = cmp.Or(backfill, p.Backfill)
	c.VClusters = []profiles.VCluster{profiles.NewVCluster(vcluster, profiles.Nodes{"all"})}
	c.VClusters[0].Profile = profiles.ProfileRef{Inline: &p}
	l.cluster, l.base.Cluster, l.base.Site = c, plan.ClusterSpec{}, c.JSON()
	l.base.Order, l.base.Backfill, l.base.EventOrder, l.base.WarmupJobs = "", "", "", plan.NoWarmup
	return nil
}

// at is the replay of a point. Weights have four digits and waits are whole minutes, as
// people would write them.
func (l *log) at(s search.Space, values []float64) (plan.Spec, error) {
	key := func(name string) string { return "vclusters." + vcluster + ".profile." + name }
	var all []profiles.Assignment
	for _, w := range allWeights {
		x := 0.0
		if i := slices.Index(s[0].Parts, w); i >= 0 {
			x = values[i]
		}
		all = append(all, profiles.Assignment{Path: key("weights." + w), Value: strconv.FormatFloat(x, 'f', 4, 64)})
	}
	rest := values[len(s[0].Parts):]
	all = append(all, profiles.Assignment{Path: key("reference_wait"), Value: fmt.Sprintf("%.0fm", rest[0]/60)})
	if len(rest) > 1 {
		all = append(all, profiles.Assignment{Path: key("backfill"), Value: backfills[int(rest[1])]})
	}
	c, _, err := l.cluster.WithApplying(all)
	if err != nil {
		return plan.Spec{}, err
	}
	spec := l.base
	spec.Site = c.JSON()
	return spec, nil
}
