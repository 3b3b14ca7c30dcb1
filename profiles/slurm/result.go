package slurm

import (
	"fmt"

	"orrery/profiles"
	"orrery/scheduler/model"
)

// Defaults of slurm.conf(5) that differ from those of a profile.
const (
	defaultWindow     = model.Day
	defaultResolution = model.Minute
	defaultInterval   = 30 * model.Second
	defaultTests      = 500
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
	if c.share {
		c.cluster.Sharing = "gpus"
	}
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
	switch {
	case c.builtin, c.share:
		p.Backfill = "easy"
		if c.builtin {
			p.Backfill = "none"
		}
		p.BFWindow, p.BFResolution, p.BFInterval, p.BFMaxJobTest, p.BFMaxJobUser = 0, 0, 0, 0, 0
		return
	}
	p.Backfill = "conservative"
	or(&p.BFWindow, defaultWindow)
	or(&p.BFResolution, defaultResolution)
	or(&p.BFInterval, defaultInterval)
	or(&p.BFMaxJobTest, defaultTests)
	if p.BFResolution > p.BFWindow {
		p.BFResolution = p.BFWindow
		c.notes.revise("", Approximated, "at most bf_window", "schedulerparameters: bf_resolution")
	}
}

func or[T model.Duration | int32](to *T, x T) {
	if *to == 0 {
		*to = x
	}
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
		if steps > 1 {
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
