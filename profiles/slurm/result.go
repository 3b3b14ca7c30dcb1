package slurm

import (
	"fmt"
	"strings"

	"orrery/profiles"
	"orrery/scheduler/model"
)

// result puts together what was read.
func (c *converter) result() (*Result, error) {
	if len(c.nodes) == 0 {
		return nil, fmt.Errorf("%s: no NodeName gives a node: a cluster needs some", c.file)
	}
	c.file = c.main
	c.unused()
	c.types()
	c.adjacent()
	c.place()
	c.weigh()
	c.settle()
	c.tenants()
	c.qualities()
	c.cluster.Description = "made of the files of Slurm"
	c.cluster.VClusters = []profiles.VCluster{{
		Name: c.cluster.Name, Profile: profiles.ProfileRef{Inline: &c.profile}, Home: profiles.Nodes{"all"},
		Lend: true, Borrow: true, MaxLent: 0.2, Grace: model.Minute,
	}}
	// Reading it back finds everything that is wrong with it.
	again, err := profiles.ParseCluster("the cluster made of "+c.file, c.cluster.BriefYAML())
	if err == nil {
		_, err = again.Resolve()
	}
	if err != nil {
		return nil, err
	}
	return &Result{c.cluster, c.profile, c.notes.sorted()}, nil
}

// settle makes the profile whole: an order that does not use a key may not
// carry it.
func (c *converter) settle() {
	p, def := &c.profile, profiles.Default()
	p.Name = c.cluster.Name
	if c.multi {
		p.Order = "multifactor"
		if p.Multifactor.FairTree {
			p.Multifactor.Dampening = def.Multifactor.Dampening
		}
	} else {
		p.Multifactor, p.AccountingTick = def.Multifactor, def.AccountingTick
	}
	p.Preemption.Enabled = c.byQOS
	c.exits()
	if s := &p.Slurm; s.BFResolution > s.BFWindow {
		s.BFResolution = s.BFWindow
		c.notes.revise("", Approximated, "at most bf_window", strings.ToLower(ofScheduler)+"bf_resolution")
	}
	if c.inSlurm() {
		c.settleSlurm()
		c.cluster.Associations = c.associations()
	} else {
		c.settleOther()
	}
}

// associations are all accounts and users of the database, where a priority goes by them: a rank of the fair tree is among all.
func (c *converter) associations() []profiles.Association {
	if !c.multi {
		return nil
	}
	var out []profiles.Association
	for _, a := range c.tree.list {
		if a.Name == "root" {
			continue
		}
		one := profiles.Association{Account: a.Name, Shares: a.shares}
		if _, there := c.tree.index[a.parent]; there && a.parent != "root" {
			one.Parent = a.parent
		}
		out = append(out, one)
	}
	return append(out, c.tree.members...)
}

// tenants are the accounts that users run in. Each has its part of its
// account's, down from the root.
func (c *converter) tenants() {
	list := c.tree.list
	sums := map[string]int64{} // shares below each account
	below := map[string]bool{}
	for _, a := range list {
		if a.Name != "root" {
			sums[a.parent] += a.shares
			below[a.parent] = true
		}
	}
	for _, a := range list {
		if a.Name == "root" || a.users == 0 && below[a.Name] {
			continue
		}
		share, steps := 1.0, 0
		for x := a; x.Name != "root" && steps < len(list); steps++ {
			if all := sums[x.parent]; all > 0 {
				share = float64(share * (float64(x.shares) / float64(all)))
			} else {
				share = 0
			}
			if i, ok := c.tree.index[x.parent]; ok {
				x = list[i]
			} else {
				break
			}
		}
		if steps > 1 && !(c.multi && c.inSlurm()) {
			c.notes.add(Note{File: c.file, Key: "Account", Value: a.Name, Verdict: Approximated, Text: "accounts below others stand beside them, each with its part of the site"})
		}
		a.FairShare = share
		if !c.enforced {
			a.MaxNodes, a.MaxGPUs, a.MaxConcurrent = 0, 0, 0
		}
		c.cluster.Tenants = append(c.cluster.Tenants, a.Tenant)
	}
}

// qualities takes over the qualities of service; limits that Slurm does not
// enforce are left out.
func (c *converter) qualities() {
	depths := c.depths()
	for _, q := range c.qos {
		if !c.enforced {
			q.MaxGPUs, q.GroupGPUs, q.UserGPUs = 0, 0, 0
			q.MaxWall, q.MaxNodes, q.GroupNodes, q.GroupJobs, q.UserJobs, q.UserNodes, q.UserPending = 0, 0, 0, 0, 0, 0, 0
		}
		if c.byQOS {
			q.Class = int32(1 + depths[q.Name])
		}
		c.cluster.QOS = append(c.cluster.QOS, q)
	}
}

// depths are the lengths of the longest chains of those that each quality of
// service may preempt, at most 8.
func (c *converter) depths() map[string]int {
	const deepest = 8
	out := map[string]int{}
	for range deepest {
		for _, q := range c.qos {
			for _, other := range q.Preempts {
				out[q.Name] = min(deepest, max(out[q.Name], out[other]+1))
			}
		}
	}
	return out
}
