package profiles

import (
	"fmt"
	"math/big"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"orrery/scheduler/model"
)

// Remarks says what of a valid profile has no effect or one that may surprise,
// in the order of the file.
func (p *Profile) Remarks() []Problem {
	all := problems{src: p.src}
	note := func(key, format string, args ...any) { all.add(join(p.base, key), format, args...) }
	if p.Order == "score" {
		p.remarkWeights(note)
	}
	if p.Order == "multifactor" {
		m := p.Multifactor
		if m.Age == 0 && m.FairShare == 0 && m.JobSize == 0 && m.Partition == 0 && m.QOS == 0 && m.Assoc == 0 && m.TRES == (TRES{}) {
			note("multifactor", "all its weights are 0: what jobs state of themselves alone orders them")
		}
	}
	const deep = 1000
	if p.Backfill == "conservative" && p.Depth > deep {
		note("depth", "%d blocked jobs hold reservations: every pass plans them all, and tuning guides advise 10 to 50", p.Depth)
	}
	if p.Backfill == "conservative" && p.Depth == 0 && p.BFMaxJobTest == 0 {
		note("backfill", "every blocked job holds a reservation: on long queues a pass is slow, and depth: 20 is nearly as good")
	}
	if p.Preemption.Enabled && p.Preemption.NearCompletion >= model.Hour {
		note("preemption.near_completion", "work with %s left is spared: few victims remain where jobs are short", formatSpan(p.Preemption.NearCompletion))
	}
	return all.sorted()
}

func (p *Profile) remarkWeights(note func(key, format string, args ...any)) {
	sum := new(big.Rat)
	for _, w := range p.Weights.Vector() {
		sum.Add(sum, decimal(w))
	}
	if p.Mode == "documented" && sum.Cmp(big.NewRat(1, 1)) != 0 {
		text := strings.TrimRight(strings.TrimRight(sum.FloatString(6), "0"), ".")
		note("weights", "their sum is %s: they are divided by it", text)
	}
	if p.MinScore == nil {
		for _, w := range []struct {
			key   string
			value float64
		}{{"backlog", p.Weights.Backlog}, {"energy", p.Weights.Energy}} {
			if w.value > 0 && (w.key != "energy" || p.Energy != "expected") {
				note("weights."+w.key, "the factor is equal for all jobs of a pass: without min_score it changes no order, unless a tenant is over its budget")
			}
		}
	}
	if p.MinScore != nil && *p.MinScore > 100 {
		note("min_score", "%g is above what scores reach: no job will ever start", *p.MinScore)
	}
}

// Remarks says what of a valid cluster file has no effect or one that may
// surprise, in the order of the file.
func (c *Cluster) Remarks() []Problem {
	all := problems{src: c.src}
	lends, shares := false, new(big.Rat)
	for _, v := range c.VClusters {
		lends = lends || v.Lend && v.MaxLent > 0
	}
	for i, v := range c.VClusters {
		path := fmt.Sprintf("vclusters[%d]", i)
		if p := v.Profile.Inline; p != nil {
			all.list = append(all.list, p.Remarks()...)
			if v.Lend && len(c.VClusters) > 1 && len(v.Home) > 0 && !p.Preemption.Enabled {
				all.add(path+".lend", "it lends, but its profile does not preempt: what it lends comes back only when the borrower ends")
			}
		}
		if v.Borrow && !lends && all.src.has(path+".borrow") {
			all.add(path+".borrow", "nobody lends")
		}
	}
	for _, t := range c.Tenants {
		shares.Add(shares, decimal(t.FairShare))
	}
	if shares.Cmp(big.NewRat(1, 1)) > 0 {
		all.add("tenants", "their fair shares sum to %s of the site: not all can reach theirs", shares.FloatString(2))
	}
	for i, t := range c.NodeTypes {
		used := slices.ContainsFunc(c.Groups, func(g Group) bool { return g.Type == t.Name || g.Type == "" })
		if !used && len(c.Groups) > 0 {
			all.add(fmt.Sprintf("node_types[%d]", i), "no group has nodes of the type %s", t.Name)
		}
		if c.PowerCap > 0 && t.BusyPower == 0 {
			all.add(fmt.Sprintf("node_types[%d]", i), "nodes of the type %s draw nothing, so power_cap does not bound them: give busy_power", t.Name)
		}
	}
	return all.sorted()
}

// sorted is everything noted, in the order of the file.
func (p *problems) sorted() []Problem {
	if p.err() == nil {
		return nil
	}
	return p.list
}

// Lint reads a file of either kind and says what is wrong or remarkable about
// it. kind is profile or cluster. err is an *Error where the file is not valid,
// or says why it cannot be read; remarks are made of valid files alone.
func Lint(path string) (kind string, remarks []Problem, err error) {
	if slices.Contains(Names(), path) {
		p, err := Load(path)
		return "profile", p.Remarks(), err
	}
	text, err := read(path)
	if err != nil {
		return "", nil, err
	}
	if !isCluster(text) {
		p, err := Parse(path, text)
		return "profile", p.Remarks(), err
	}
	c, err := ParseCluster(path, text)
	if err == nil {
		err = c.Inline(filepath.Dir(path))
	}
	if err == nil && len(c.Groups) > 0 {
		_, err = c.Resolve()
	}
	if err != nil {
		return "cluster", nil, err
	}
	return "cluster", c.Remarks(), nil
}

// isCluster guesses the kind of a file by its keys.
func isCluster(text []byte) bool {
	root, problem := guarded("", text)
	if problem != nil || root == nil {
		return false
	}
	d := decoder{problems: problems{src: &source{at: map[string]place{}}}}
	pairs, _ := d.pairs(root, "")
	balance := 0
	for _, pair := range pairs {
		key, _ := word(pair.Key)
		if _, ok := findField(fieldsOf(reflect.TypeFor[Cluster]()), key); ok {
			balance++
		}
		if _, ok := findField(fieldsOf(reflect.TypeFor[Profile]()), key); ok {
			balance--
		}
	}
	return balance > 0
}
