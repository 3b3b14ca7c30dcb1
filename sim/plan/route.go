package plan

import (
	"slices"
	"strings"

	"orrery/profiles"
	"orrery/scheduler/model"
	"orrery/sim/world/translate"
	"orrery/traces"
)

// routeOf says where the rows of a trace go that name no vCluster; nil where there is
// one vCluster only. Rows that nothing is said of are refused: which vCluster takes them
// decides what is measured.
func routeOf(r *profiles.Routing, s *profiles.Site, info traces.Info) (*translate.Route, error) {
	if len(s.VClusters) < 2 {
		return nil, nil
	}
	var names []string
	ids := map[string]model.VClusterID{}
	for i := range s.VClusters {
		names = append(names, s.VClusters[i].Name)
		ids[s.VClusters[i].Name] = model.VClusterID(i)
	}
	if r.Empty() {
		if n := unrouted(info); n > 0 {
			return nil, usagef("the cluster file has %d vClusters (%s), and %d of %d rows of the trace name none: say where their jobs go, by another column with --vcluster-of partition=VALUE:%s,… "+
				"(or user, account, tenant, qos, group, kind), all to one with --vcluster-of all=%s, or by the key routing of the cluster file",
				len(names), strings.Join(names[:min(len(names), 12)], ", "), n, info.Rows, names[0], names[0])
		}
		return nil, nil
	}
	out := &translate.Route{Column: traces.TextColumnOf(r.Column), ByUser: r.Column == "user", To: ids, Otherwise: -1}
	if values, to := r.Routes(); len(values) > 0 {
		out.To = map[string]model.VClusterID{}
		for i, v := range values {
			out.To[v] = ids[to[i]]
		}
	}
	if r.Otherwise != "" {
		out.Otherwise = ids[r.Otherwise]
	}
	return out, nil
}

// unrouted counts the rows that name no vCluster, 0 where the trace does not say.
func unrouted(info traces.Info) int64 {
	if info.Filled == nil {
		return 0
	}
	i := slices.IndexFunc(info.Filled, func(f traces.Filled) bool { return f.Column == traces.TextVCluster.String() })
	if i < 0 {
		return info.Rows
	}
	return info.Rows - info.Filled[i].Rows
}
