// Package naive_test holds the naive implementation of package site, a second scheduler and a second
// quorum written from docs/SCHEDULING.md in the plainest way, and the tests that compare
// the two: on drawn sites, on whole logs, and in the situations that such draws have found.
package naive_test

import (
	"fmt"

	"orrery/scheduler/model"
	"orrery/scheduler/quota"
	"orrery/scheduler/site"
)

// seconds is the instant s seconds after the epoch.
func seconds(s int64) model.Time { return model.Time(s * int64(model.Second)) }

// alike is a site of n nodes that do not differ, with one vCluster.
func alike(n int, p site.Policy) site.Config {
	st := &model.Site{
		Groups: []model.Group{{Name: "g"}}, Fingerprints: 1,
		Constraints: []model.Constraint{{GPUType: -1}}, VClusters: []model.VCluster{{Name: "all"}},
	}
	for i := range n {
		st.Nodes = append(st.Nodes, model.Node{Name: fmt.Sprint("n", i), Home: -1, GPUType: -1, Topology: -1})
	}
	return site.Config{Site: st, Policies: []site.Policy{p}, Quota: quota.Config{Nodes: int32(n), GPUs: int64(n)}}
}
