package plan

import (
	"fmt"
	"slices"

	"orrery/traces"
)

// unstated lists what a site divides among jobs and rows do not ask for: such a job is reckoned with
// what the cluster file says, or with nothing, which makes the site look larger than it is. A
// job that states no power is reckoned with that of its nodes, and is not listed.
func (p *Site) unstated(info traces.Info) (out []Ignored) {
	if info.Filled == nil {
		return nil // a file that others wrote has no statistics
	}
	rows := &p.World.Rows
	for _, x := range [...]struct {
		column, doc string
		matters     bool
	}{
		{"cpus_per_node", fmt.Sprintf("the row does not say how many processors its job needs: %d of each node, by job_cpus of the cluster file", rows.CPUs), p.Core.Site.Amounts},
		{"mem_per_node", fmt.Sprintf("the row does not say how much memory its job needs: %d B of each node, by job_memory of the cluster file", rows.Memory), p.Core.Site.Amounts},
		{"io_demand", "the row does not say what storage bandwidth its job needs: it counts as none against storage_bandwidth", p.Core.Site.Bandwidth > 0},
		{"mounts", "the row does not say what input its job stages: what its class of work says, else nothing", p.World.Storage != nil && p.World.Storage.Stage > 0},
	} {
		silent := info.Rows
		if i := slices.IndexFunc(info.Filled, func(f traces.Filled) bool { return f.Column == x.column }); i >= 0 {
			silent -= info.Filled[i].Rows
		}
		if x.matters && silent > 0 {
			out = append(out, Ignored{Rule: "unstated-" + x.column, Doc: "kept: " + x.doc, Count: silent})
		}
	}
	return out
}
