package plan

import (
	"slices"

	"orrery/profiles"
	"orrery/scheduler/model"
	"orrery/sim/hosting"
	"orrery/sim/scaling"
)

// servicesOf are the services of a cluster file on a trace, whose load table has the demands
// that are recorded. Their jobs have the numbers -1, -2 and so on.
func servicesOf(list []profiles.Service, res *profiles.Site, src Tables) ([]hosting.Config, error) {
	var out []hosting.Config
	for i := range list {
		s := &list[i]
		c := hosting.Config{Name: s.Name, Scaling: s.Scaling(), Start: model.Time(s.Start), Length: s.Demand.Length, Nodes: s.Nodes, Min: s.Min, Max: s.Max}
		wrong := func(err error) error { return usagef("services[%d] (%s): %v", i, s.Name, err) }
		if s.Demand.Shape == "recorded" {
			if info := src.Info(); info.Of("load") == 0 {
				return nil, usagef("services[%d] (%s): its demand is that of the load table, which this trace does not have: give the demand a shape", i, s.Name)
			}
			d, first, err := scaling.Recorded(c.Scaling, src.Load())
			if err == nil {
				d, err = scaling.Part(c.Scaling, d)
			}
			if err != nil {
				return nil, wrong(err)
			}
			c.Recorded, c.Start, c.Length = d, first.Add(s.Demand.From), model.Duration(d.End)
		}
		if err := scaling.Check(c.Scaling); err != nil {
			return nil, wrong(err)
		}
		a := &c.Job
		a.ID, a.Class, a.Scaled = -1-int64(i), s.Class, true
		a.NodesMin, a.NodesMax = s.Nodes*int32(s.Min), s.Nodes*int32(s.Max)
		a.GPUs, a.CPUs, a.Memory = s.GPUs, s.CPUs, int64(s.Memory)
		a.VCluster = max(0, model.VClusterID(slices.IndexFunc(res.VClusters, func(v model.VCluster) bool { return v.Name == s.VCluster })))
		a.Tenant = model.TenantID(slices.IndexFunc(res.Tenants, func(t model.Tenant) bool { return t.Name == s.Tenant }))
		a.QOS = model.QOSID(slices.IndexFunc(res.QOS, func(q model.QOS) bool { return q.Name == s.QOS }))
		if s.Tenant != "" && a.Tenant < 0 {
			return nil, usagef("services[%d] (%s): found the tenant %s, which is none of the site", i, s.Name, s.Tenant)
		}
		if a.QOS >= 0 && res.QOS[a.QOS].Class >= 0 {
			a.Class = res.QOS[a.QOS].Class
		}
		out = append(out, c)
	}
	return out, nil
}

// CutsLoad is a service whose demand is a part of the load table, counted from its first
// sample; "" for none.
func (prep *Prepared) CutsLoad() (name string) {
	if prep.file == nil {
		return ""
	}
	for i := range prep.file.cluster.Services {
		if s := &prep.file.cluster.Services[i]; s.Demand.Shape == "recorded" && (s.Demand.From > 0 || s.Demand.Length > 0) {
			return s.Name
		}
	}
	return ""
}
