package profiles

import (
	"fmt"
	"math"
	"reflect"
	"slices"

	"orrery/hwmodel"
	"orrery/scheduler/model"
)

// Communication is how a class of work uses the links between network groups.
type Communication struct {
	Share     *float64 `yaml:"share" zero:"unknown" default:"unknown" min:"0" max:"1" unit:"of a step" doc:"that waits for communication on a placement over several groups, while no other job uses their uplinks"`
	Low       *float64 `yaml:"low" zero:"share" default:"share" min:"0" max:"1" unit:"of a step" doc:"10 % of jobs lie below"`
	High      *float64 `yaml:"high" zero:"share" default:"share" min:"0" max:"1" unit:"of a step" doc:"10 % of jobs lie above"`
	Bandwidth Rate     `yaml:"bandwidth" zero:"unknown" default:"unknown" min:"1B/s" max:"1TB/s" unit:"rate" doc:"at which one GPU, or a node without GPUs, then sends out of its group"`
}

// check notes what is wrong with a block.
func (x *Communication) check(k *checker, at string) {
	switch {
	case x.Share != nil && x.Bandwidth == 0:
		k.add(at, "has a share and no bandwidth: say what one GPU sends out of its group while it communicates, for example bandwidth: 25GB/s")
	case x.Share == nil && (x.Bandwidth > 0 || x.Low != nil || x.High != nil):
		k.add(at, "has no share: say which part of a step waits for communication, for example share: 0.3; 0 is none")
	}
	if x.Share == nil {
		return
	}
	if x.Low != nil && *x.Low > *x.Share {
		k.add(at+".low", "found %g, want at most the share, %g", *x.Low, *x.Share)
	}
	if x.High != nil && *x.High < *x.Share {
		k.add(at+".high", "found %g, want at least the share, %g", *x.High, *x.Share)
	}
}

// model is the block in the words of package hwmodel.
func (x *Communication) model() hwmodel.Communication {
	if x.Share == nil {
		return hwmodel.Communication{}
	}
	f := hwmodel.Factor{Low: model.FixedOf(*x.Share), Value: model.FixedOf(*x.Share), High: model.FixedOf(*x.Share)}
	if x.Low != nil {
		f.Low = model.FixedOf(*x.Low)
	}
	if x.High != nil {
		f.High = model.FixedOf(*x.High)
	}
	return hwmodel.Communication{Share: f, Bandwidth: int64(x.Bandwidth)}
}

// checkUplinks notes groups with several uplinks: a group of several kinds of nodes has one.
func (c *Cluster) checkUplinks(k *checker) {
	first := map[string]int{}
	for i := range c.Groups {
		g := &c.Groups[i]
		if g.Uplink == 0 {
			continue
		}
		j, twice := first[g.Name]
		if !twice {
			first[g.Name] = i
			continue
		}
		if other := c.Groups[j].Uplink; other != g.Uplink {
			k.add(fmt.Sprintf("groups[%d].uplink", i), "found %s, and groups[%d], which is of %s too, has %s: a group has one link to the rest of the network, of all its nodes: give it once",
				formatSize(reflect.ValueOf(g.Uplink)), j, g.Name, formatSize(reflect.ValueOf(other)))
		}
	}
}

// network enters what the uplinks of groups carry, none where the file states none.
func (r *resolver) network(m *hwmodel.Model) {
	c := r.c
	if c.GroupUplink == 0 && !slices.ContainsFunc(c.Groups, func(g Group) bool { return g.Uplink > 0 }) {
		return
	}
	m.Uplinks = make([]int64, len(r.site.Groups))
	for i := range m.Uplinks {
		m.Uplinks[i] = int64(c.GroupUplink)
	}
	for i := range c.Groups {
		if g := &c.Groups[i]; g.Uplink > 0 {
			m.Uplinks[r.groups[g.Name]] = int64(g.Uplink)
		}
	}
	r.checkLoads(m)
}

// checkLoads notes classes of work of which all nodes of a group would send more than a sum
// of loads holds.
func (r *resolver) checkLoads(m *hwmodel.Model) {
	senders := make([]int64, len(m.Uplinks))
	for i := range r.site.Nodes {
		n := &r.site.Nodes[i]
		senders[n.Group] += int64(max(n.GPUs, 1))
	}
	most := max(1, slices.Max(senders))
	for i := range m.Classes {
		if b := m.Classes[i].Network.Bandwidth; b > math.MaxInt64/most {
			r.problems.add(fmt.Sprintf("workloads[%d].communication.bandwidth", i), "found %s, at which the %d GPUs of the largest group send more than 9.2 EB/s: give a lower bandwidth",
				formatSize(reflect.ValueOf(r.c.Workloads[i].Communication.Bandwidth)), most)
		}
	}
}

// remarkNetwork looks at uplinks that no class of work uses, and at the contrary.
func (c *Cluster) remarkNetwork(all *problems) {
	uplink := ""
	if c.GroupUplink > 0 {
		uplink = "group_uplink"
	}
	for i := range c.Groups {
		if uplink == "" && c.Groups[i].Uplink > 0 {
			uplink = fmt.Sprintf("groups[%d].uplink", i)
		}
	}
	i := slices.IndexFunc(c.Workloads, func(w Workload) bool { return w.Communication.Share != nil })
	switch {
	case uplink != "" && c.Runtime != "modelled":
		all.add(uplink, "run times are recorded, so no job is slowed by others on it: give runtime: modelled, or leave it out")
	case uplink != "" && i < 0:
		all.add(uplink, "no class of work says how it communicates, so no job is slowed by others on it: give one of workloads a block communication")
	case uplink == "" && i >= 0 && c.Runtime == "modelled":
		all.add(fmt.Sprintf("workloads[%d].communication", i), "no group states an uplink, so no job is slowed by others: give group_uplink, or uplink of groups")
	}
}
