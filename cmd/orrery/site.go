package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"orrery/internal/spelling"
	"orrery/profiles"
	"orrery/sim/plan"
)

// siteFlags are the flags that make a replay that of a site.
type siteFlags struct {
	file     string
	profiles []string
	routing  profiles.Routing
	runtime  string            // recorded or modelled, "" for what the file says
	agents   string            // path of a file of the section agents, "" for what the cluster file says
	read     *profiles.Cluster // with its places in the file
}

// located tells an error about the cluster file by the lines of the file.
func (f *siteFlags) located(err error) error {
	var wrong *profiles.Error
	if f.read == nil || !errors.As(err, &wrong) {
		return err
	}
	return &plan.UsageError{Text: f.read.Locate(wrong).Error()}
}

func (s *settings) registerSite() {
	s.flags.StringVar(&s.site.file, "cluster", "", "cluster file `FILE`: nodes, vClusters with their profiles, tenants, events")
	s.flags.StringArrayVar(&s.site.profiles, "profile", nil, "schedule by the profile `[VCLUSTER=]NAME` (a name or a file), in all vClusters or in one; may be given several times")
	s.flags.Var(choice{word: &s.site.runtime, of: []string{"recorded", "modelled"}, what: "run time"}, "runtime", "how long jobs run: as their rows say, or by the hardware that they get relative to that of their record (runtime of the cluster file)")
	s.site.routing.Column = "none"
	s.flags.Var(routingValue(&s.site.routing), "vcluster-of", "where jobs go whose rows name no vCluster: by another column (partition=batch:hpc,debug:small,*:hpc; without values these are names of vClusters), or all=NAME")
}

// routingColumns are the columns that may say in which vCluster a job is.
var routingColumns = []string{"user", "account", "tenant", "qos", "partition", "group", "kind"}

// routingValue reads COLUMN, COLUMN=VALUE:VCLUSTER,… or all=VCLUSTER.
func routingValue(to *profiles.Routing) *parsed {
	return &parsed{"", "COLUMN[=VALUE:VCLUSTER,...]", func(s string) error {
		column, routes, given := strings.Cut(s, "=")
		r := profiles.Routing{Column: column}
		switch {
		case column == "all" && routes != "":
			*to = profiles.Routing{Column: "none", Otherwise: routes}
			return nil
		case !slices.Contains(routingColumns, column):
			return fmt.Errorf("unknown column%s: want %s, or all=VCLUSTER", spelling.Hint(column, routingColumns), oneOf(routingColumns))
		case given && routes == "":
			return errors.New("want VALUE:VCLUSTER behind =, apart by commas")
		}
		for route := range strings.SplitSeq(routes, ",") {
			value, vcluster, ok := strings.Cut(route, ":")
			switch {
			case !given:
			case !ok || vcluster == "":
				return fmt.Errorf("found %q, want VALUE:VCLUSTER", route)
			case value == "*":
				r.Otherwise = vcluster
			default:
				r.To = append(r.To, value+"="+vcluster)
			}
		}
		*to = r
		return nil
	}}
}

// routes gives the cluster the routing of --vcluster-of.
func (f *siteFlags) routes(c *profiles.Cluster) error {
	names := vclusterNames(c)
	_, to := f.routing.Routes()
	if f.routing.Otherwise != "" {
		to = append(to, f.routing.Otherwise)
	}
	for _, name := range to {
		if !slices.Contains(names, name) {
			return usagef("--vcluster-of: the cluster has no vCluster %s%s: want %s", name, spelling.Hint(name, names), oneOf(names))
		}
	}
	c.Routing = f.routing
	return nil
}

// enterSite puts the site into the spec, when the flags ask for one. The plain
// flags for the size of the cluster describe it where there is no cluster file.
func (s *settings) enterSite(spec *plan.Spec, t *trace) error {
	f := &s.site
	routed := s.flags.Changed("vcluster-of")
	if f.file == "" && len(f.profiles) == 0 {
		if f.runtime == "modelled" {
			return usagef("--runtime modelled goes with --cluster: a cluster of equal processors has no hardware to model")
		}
		if routed {
			return usagef("--vcluster-of goes with --cluster: it is the cluster file that has vClusters")
		}
		return nil
	}
	c, err := s.clusterFile(spec, t)
	if err != nil {
		return err
	}
	if err := override(c, f.profiles); err != nil {
		return err
	}
	if routed {
		if err := f.routes(c); err != nil {
			return err
		}
	}
	if f.runtime != "" {
		if c, err = c.WithRuntime(f.runtime); err != nil {
			return &codedError{exitUsage, err}
		}
	}
	if f.agents != "" {
		if c, err = withAgents(c, f.agents); err != nil {
			return err
		}
	}
	f.read = c
	// What the plain flags have at their defaults, the site says itself.
	for _, name := range []string{"order", "backfill", "event-order", "cycle", "phase", "quorum-latency", "quorum-jitter"} {
		if s.flags.Changed(name) {
			return usagef("--%s goes without --cluster and --profile: the profile says it, or the cluster file does", name)
		}
	}
	spec.Site, spec.Cluster = c.JSON(), plan.ClusterSpec{}
	spec.Order, spec.Backfill, spec.EventOrder, spec.Depth, spec.Cycle, spec.Phase = "", "", "", 0, 0, 0
	return nil
}

// clusterFile reads --cluster, or makes a site of equal nodes from the flags and
// the trace.
func (s *settings) clusterFile(spec *plan.Spec, t *trace) (*profiles.Cluster, error) {
	if s.site.file != "" {
		for _, name := range []string{"procs", "nodes", "cores-per-node", "gpus-per-node", "exclusive"} {
			if s.flags.Changed(name) {
				return nil, usagef("--%s and --cluster: the cluster file says how large the cluster is", name)
			}
		}
		return loadCluster("--cluster", s.site.file)
	}
	size, err := spec.Cluster.Resolve(t.info, t.nodes)
	if err != nil {
		return nil, err
	}
	if max(size.CoresPerNode, 1) > 1 && !size.Exclusive && size.GPUsPerNode == 0 {
		return nil, usagef("--profile on nodes of %d cores: a site allocates whole nodes; give --exclusive, --gpus-per-node, or a cluster file", size.CoresPerNode)
	}
	return profiles.ParseCluster("", []byte(size.File(false))) // errors name keys, for there is no file
}

// loadCluster reads the cluster file that a flag names.
func loadCluster(flag, path string) (*profiles.Cluster, error) {
	c, err := profiles.LoadCluster(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, noFile(flag+" "+path, path, "a cluster file", profiles.ClusterNames()...)
	}
	if err != nil {
		return nil, otherContent(path, &codedError{exitUsage, err}, "a cluster file", exitUsage, written...)
	}
	return c, nil
}

// override replaces the profiles that flags name: first that of all vClusters,
// then those of single ones.
func override(c *profiles.Cluster, flags []string) error {
	if len(c.VClusters) == 0 && len(flags) > 0 {
		c.VClusters = []profiles.VCluster{profiles.NewVCluster("default", profiles.Nodes{"all"})}
	}
	given := map[string]string{} // by vCluster, "" for all
	for _, flag := range flags {
		name, profile, one := strings.Cut(flag, "=")
		if !one {
			name, profile = "", flag
		}
		if profile == "" {
			return usagef("--profile %q names no profile: want one of %s, or the path of a file", flag, oneOf(profiles.Names()))
		}
		if before, twice := given[name]; twice {
			return usagef("--profile %s: %s is given the profile %s already: give each one", flag, cmp.Or(name, "every vCluster"), before)
		}
		if given[name] = profile; one && !slices.ContainsFunc(c.VClusters, func(v profiles.VCluster) bool { return v.Name == name }) {
			return usagef("--profile %s: the cluster has no vCluster %s%s: want %s", flag, name, spelling.Hint(name, vclusterNames(c)), oneOf(vclusterNames(c)))
		}
	}
	for i := range c.VClusters {
		profile := cmp.Or(given[c.VClusters[i].Name], given[""])
		if profile == "" {
			continue
		}
		err := c.UseProfile(i, profile)
		var wrong *profiles.Error
		switch {
		case errors.As(err, &wrong): // it names the file
			return &codedError{exitUsage, err}
		case errors.Is(err, fs.ErrNotExist):
			return noFile("--profile "+profile, profile, "one of "+oneOf(profiles.Names())+", or the path of a file", profiles.Names()...)
		case err != nil:
			return usagef("--profile %s: %v", profile, err)
		}
	}
	return nil
}

func vclusterNames(c *profiles.Cluster) []string {
	var names []string
	for i := range c.VClusters {
		names = append(names, c.VClusters[i].Name)
	}
	return names
}

// withAgents is a cluster with the section agents of another file.
func withAgents(c *profiles.Cluster, path string) (*profiles.Cluster, error) {
	with, err := c.LoadAgents(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, noFile("--agents "+path, path, "a file with a section agents, as cluster files have it")
	}
	if err != nil {
		return nil, &codedError{exitUsage, err}
	}
	return with, nil
}
