package main

import (
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	"strings"

	"orrery/profiles"
	"orrery/sim/plan"
	"orrery/traces"
)

// site is the cluster of a log as a site: dragonfly groups, fingerprints,
// tenants with shares and budgets, and a profile in which all nine factors count.
type site struct {
	group     int32  // nodes of a dragonfly group
	vclusters int32  // with an equal part of the nodes each; 0 for one with all
	cycle     string // of the profile
	month     bool   // the generated month on its own site instead
	cluster   string // file, or the name of one in the program
}

// What the rows and the site below have in common.
const (
	tenants     = 8
	gpusPerNode = 1
	budgetDays  = 4
)

// describe writes the cluster file of a cluster of so many nodes. Each group has
// nodes of two of three fingerprints. The tenants together may use two thirds
// of the site by their budgets, so some are beyond them.
func (s *site) describe(nodes int32) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "node_types: [{name: n, gpus: %d, gpu: g, cpus: 64, memory: 512GB, idle_power: 600W, busy_power: 2800W}]\n", gpusPerNode)
	b.WriteString("agents: {kill_grace: 0s, wipe: 0s, boot_delay: 0s}\ngroups:\n")
	for g, first := int32(0), int32(0); first < nodes; g, first = g+1, first+s.group {
		n := min(s.group, nodes-first)
		for half, size := range []int32{n - n/2, n / 2} {
			if size > 0 {
				fmt.Fprintf(&b, "  - {name: g%d, nodes: %d, fingerprint: fw-%d}\n", g, size, (g+int32(half))%3)
			}
		}
	}
	b.WriteString("tenants:\n")
	hours := int64(nodes) * gpusPerNode * 24 * budgetDays * 2 / 3 / tenants
	for t := range tenants {
		fmt.Fprintf(&b, "  - {name: t%d, fair_share: %.2f, burst: 1.5, gpu_hours: %d}\n", t, float64(t+1)/40, hours)
	}
	b.WriteString("vclusters:\n")
	for v := range max(s.vclusters, 1) {
		home := "all"
		if s.vclusters > 1 {
			home = fmt.Sprint(nodes / s.vclusters)
		}
		fmt.Fprintf(&b, "  - {name: v%d, home: %s, profile: {backfill: easy, cycle: %s, usage: {window: %dd}, weights: {"+
			"priority: 3, wait_time: 4, fair_share: 5, topology: 2, data_readiness: 1, backlog: 2, energy: 1, checkpoint: 1, conformance: 2}}}\n", v, home, s.cycle, budgetDays)
	}
	return []byte(b.String())
}

// trait is a number below n that hangs on the job, or its user, and on what it
// is for.
func trait(of any, what string, n uint64) uint64 {
	h := fnv.New64a()
	fmt.Fprint(h, what, " ", of)
	return h.Sum64() >> 8 % n
}

// dress gives a row what a plain log does not say.
func (s *site) dress(j *traces.Job) {
	procs := j.ProcsRequested.V
	if procs <= 0 {
		procs = j.ProcsAllocated.V
	}
	if !j.NodesMin.OK && procs > 0 {
		j.NodesMin = traces.Some(procs)
	}
	if s.vclusters > 1 {
		j.VCluster = fmt.Sprint("v", trait(j.ID, "vcluster", uint64(s.vclusters)))
	}
	j.Tenant = fmt.Sprint("t", trait(j.User, "tenant", tenants))
	j.Class = traces.Some(int32(trait(j.ID, "class", 10)))
	j.Topology = []string{"tight", "tight", "tight", "spread", "any"}[trait(j.ID, "topology", 5)]
	j.Checkpoint = []string{"auto", "manual", "none"}[trait(j.ID, "checkpoint", 3)]
	j.CkptBytes = traces.Some(int64(trait(j.ID, "bytes", 4)) << 36)
	j.Mounts = fmt.Sprintf(`{"hot":%d,"cold":%d}`, trait(j.ID, "hot", 4), trait(j.ID, "cold", 4))
}

// furnish writes the bundle of a plain log anew with what a site asks of its
// rows, and the cluster file beside it.
func (s *site) furnish(l *load, tmp string) error {
	plain, err := traces.Open(l.bundle)
	if err != nil {
		return err
	}
	defer plain.Close()
	path := filepath.Join(tmp, l.file()+"-site.parquet")
	w, err := traces.NewWriter(path, plain.Meta())
	if err != nil {
		return err
	}
	defer w.Abort()
	for j, err := range plain.Rows() {
		if err != nil {
			return err
		}
		s.dress(j)
		if err := w.WriteJob(j); err != nil {
			return err
		}
	}
	if _, err := w.Close(); err != nil {
		return err
	}
	l.bundle, s.cluster = path, filepath.Join(tmp, l.file()+".yaml")
	return os.WriteFile(s.cluster, s.describe(l.procs), 0o600)
}

// spec is the replay of a log on the site.
func (s *site) spec() (plan.Spec, error) {
	spec := plan.DefaultSpec()
	c, err := profiles.LoadCluster(s.cluster)
	if err == nil {
		spec.Site = c.JSON()
	}
	return spec, err
}
