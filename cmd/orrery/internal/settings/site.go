package settings

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"orrery/cmd/orrery/internal/cli"
	"orrery/cmd/orrery/internal/logfile"
	"orrery/internal/spelling"
	"orrery/profiles"
	"orrery/sim/experiment"
	"orrery/sim/plan"
	"orrery/traces/transform"
)

// siteFlags are the flags that make a replay that of a site.
type siteFlags struct {
	File     string
	profiles []string
	routing  profiles.Routing
	Agents   string            // path of a file of the section agents, "" for what the cluster file says
	runtime  string            // recorded or modelled, "" for what the file says
	Read     *profiles.Cluster // with its places in the file
}

// located tells an error about the cluster file by the lines of the file.
func (f *siteFlags) located(err error) error {
	var wrong *profiles.Error
	if f.Read == nil || !errors.As(err, &wrong) {
		return err
	}
	return &plan.UsageError{Text: f.Read.Locate(wrong).Error()}
}

func (s *Flags) registerSite() {
	s.Set.StringVar(&s.Site.File, "cluster", "", "cluster file `FILE`: nodes, vClusters with their profiles, tenants, events")
	s.Set.StringArrayVar(&s.Site.profiles, "profile", nil, "schedule by the profile `[VCLUSTER=]NAME` (a name or a file), in all vClusters or in one; may be given several times")
	s.Set.Var(cli.Choice{Word: &s.Site.runtime, Of: []string{"recorded", "modelled"}, What: "run time"}, "runtime", "how long jobs run: as their rows say, or by the hardware that they get relative to that of their record (runtime of the cluster file)")
	s.Site.routing.Column = "none"
	s.Set.Var(routingValue(&s.Site.routing), "vcluster-of", "where jobs go whose rows name no vCluster: by another column (partition=batch:hpc,debug:small,*:hpc; without values these are names of vClusters), or all=NAME")
}

// routingColumns are the columns that may say in which vCluster a job is.
var routingColumns = []string{"user", "account", "tenant", "qos", "partition", "group", "kind"}

// routingValue reads COLUMN, COLUMN=VALUE:VCLUSTER,… or all=VCLUSTER.
func routingValue(to *profiles.Routing) *cli.Parsed {
	return cli.NewParsed("", "COLUMN[=VALUE:VCLUSTER,...]", func(s string) error {
		column, routes, given := strings.Cut(s, "=")
		r := profiles.Routing{Column: column}
		switch {
		case column == "all" && routes != "":
			*to = profiles.Routing{Column: "none", Otherwise: routes}
			return nil
		case !slices.Contains(routingColumns, column):
			return fmt.Errorf("unknown column%s: want %s, or all=VCLUSTER", spelling.Hint(column, routingColumns), cli.OneOf(routingColumns))
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
	})

}

// routes gives the cluster the routing of --vcluster-of.
func (f *siteFlags) routes(c *profiles.Cluster) error {
	names := VClusterNames(c)
	_, to := f.routing.Routes()
	if f.routing.Otherwise != "" {
		to = append(to, f.routing.Otherwise)
	}
	for _, name := range to {
		if !slices.Contains(names, name) {
			return cli.Usagef("--vcluster-of: the cluster has no vCluster %s%s: want %s", name, spelling.Hint(name, names), cli.OneOf(names))
		}
	}
	c.Routing = f.routing
	return nil
}

// enterSite puts the site into the spec, when the flags ask for one. The plain
// flags for the size of the cluster describe it where there is no cluster file.
func (s *Flags) enterSite(spec *plan.Spec, t *logfile.Trace) error {
	f := &s.Site
	routed := s.Set.Changed("vcluster-of")
	if f.File == "" && len(f.profiles) == 0 {
		if f.runtime == "modelled" {
			return cli.Usagef("--runtime modelled goes with --cluster: a cluster of equal processors has no hardware to model")
		}
		if routed {
			return cli.Usagef("--vcluster-of goes with --cluster: it is the cluster file that has vClusters")
		}
		return nil
	}
	c, err := s.clusterFile(spec, t)
	if err != nil {
		return err
	}
	if err := Override(c, f.profiles); err != nil {
		return err
	}
	if routed {
		if err := f.routes(c); err != nil {
			return err
		}
	}
	if f.runtime != "" {
		if c, err = c.WithRuntime(f.runtime); err != nil {
			return cli.Coded(cli.ExitUsage, err)
		}
	}
	if f.Agents != "" {
		if c, err = withAgents(c, f.Agents); err != nil {
			return err
		}
	}
	f.Read = c
	// What the plain flags have at their defaults, the site says itself.
	for _, name := range []string{"order", "backfill", "event-order", "cycle", "phase", "quorum-latency", "quorum-jitter"} {
		if s.Set.Changed(name) {
			return cli.Usagef("--%s goes without --cluster and --profile: the profile says it, or the cluster file does", name)
		}
	}
	spec.Site, spec.Cluster = c.JSON(), plan.ClusterSpec{}
	spec.Order, spec.Backfill, spec.EventOrder, spec.Depth, spec.Cycle, spec.Phase = "", "", "", 0, 0, 0
	return nil
}

// clusterFile reads --cluster, or makes a site of equal nodes from the flags and
// the trace.
func (s *Flags) clusterFile(spec *plan.Spec, t *logfile.Trace) (*profiles.Cluster, error) {
	if s.Site.File != "" {
		for _, name := range []string{"procs", "nodes", "cores-per-node", "gpus-per-node", "exclusive"} {
			if s.Set.Changed(name) {
				return nil, cli.Usagef("--%s and --cluster: the cluster file says how large the cluster is", name)
			}
		}
		return LoadCluster("--cluster", s.Site.File)
	}
	size, err := spec.Cluster.Resolve(t.About, t.Nodes())
	if err != nil {
		return nil, err
	}
	if max(size.CoresPerNode, 1) > 1 && !size.Exclusive && size.GPUsPerNode == 0 {
		return nil, cli.Usagef("--profile on nodes of %d cores: a site allocates whole nodes; give --exclusive, --gpus-per-node, or a cluster file", size.CoresPerNode)
	}
	return profiles.ParseCluster("", []byte(size.File(false))) // errors name keys, for there is no file
}

// LoadCluster reads the cluster file that a flag names.
func LoadCluster(flag, path string) (*profiles.Cluster, error) {
	c, err := profiles.LoadCluster(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, cli.NoFile(flag+" "+path, path, "a cluster file", profiles.ClusterNames()...)
	}
	if err != nil {
		return nil, cli.OtherContent(path, cli.Coded(cli.ExitUsage, err), "a cluster file", cli.ExitUsage, cli.Written...)
	}
	return c, nil
}

// Override replaces the profiles that flags name: first that of all vClusters,
// then those of single ones.
func Override(c *profiles.Cluster, flags []string) error {
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
			return cli.Usagef("--profile %q names no profile: want one of %s, or the path of a file", flag, cli.OneOf(profiles.Names()))
		}
		if before, twice := given[name]; twice {
			return cli.Usagef("--profile %s: %s is given the profile %s already: give each one", flag, cmp.Or(name, "every vCluster"), before)
		}
		if given[name] = profile; one && !slices.ContainsFunc(c.VClusters, func(v profiles.VCluster) bool { return v.Name == name }) {
			return cli.Usagef("--profile %s: the cluster has no vCluster %s%s: want %s", flag, name, spelling.Hint(name, VClusterNames(c)), cli.OneOf(VClusterNames(c)))
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
			return cli.Coded(cli.ExitUsage, err)
		case errors.Is(err, fs.ErrNotExist):
			return cli.NoFile("--profile "+profile, profile, "one of "+cli.OneOf(profiles.Names())+", or the path of a file", profiles.Names()...)
		case err != nil:
			return cli.Usagef("--profile %s: %v", profile, err)
		}
	}
	return nil
}

// VClusterNames are the vClusters of a cluster, in its order.
func VClusterNames(c *profiles.Cluster) []string {
	var names []string
	for i := range c.VClusters {
		names = append(names, c.VClusters[i].Name)
	}
	return names
}

// BesideFiles are the files that a gate file names, relative to its folder.
type BesideFiles struct {
	Dir    string
	Opener *logfile.Opener // of traces
}

// Trace implements gate.Files.
func (b *BesideFiles) Trace(ctx context.Context, path string) (*transform.Set, error) {
	return b.Opener.Open(ctx, cli.Beside(b.Dir, path))
}

// Cluster implements gate.Files.
func (b *BesideFiles) Cluster(path string, use []string) (*profiles.Cluster, error) {
	if !slices.Contains(profiles.ClusterNames(), path) {
		path = cli.Beside(b.Dir, path)
	}
	c, err := profiles.LoadCluster(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, cli.NoFile(path, path, "a cluster file", profiles.ClusterNames()...)
	}
	if err != nil {
		return nil, err
	}
	var flags []string
	for _, u := range use {
		vcluster, name, one := strings.Cut(u, "=")
		if !one {
			vcluster, name = "", u
		}
		if !slices.Contains(profiles.Names(), name) {
			name = cli.Beside(b.Dir, name)
		}
		if one {
			name = vcluster + "=" + name
		}
		flags = append(flags, name)
	}
	return c, Override(c, flags)
}

// Scenario implements gate.Files.
func (b *BesideFiles) Scenario(path string) (*profiles.Scenario, error) {
	s, err := profiles.LoadScenario(cli.Beside(b.Dir, path))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("there is no file %s: want a scenario, by its path from the folder of this file, or %s", cli.Beside(b.Dir, path), profiles.NoScenario)
	}
	return s, err
}

// AllFaults adds to what is wrong with an experiment file by itself what is wrong
// with what it names, as far as that shows without reading a trace.
func AllFaults(err error, e *profiles.Experiment, dir string) error {
	if e == nil { // not even YAML
		return err
	}
	looks := []error{err}
	for i, name := range e.Traces {
		if name == cli.SampleLog {
			continue
		}
		if _, missing := os.Stat(cli.Beside(dir, name)); errors.Is(missing, fs.ErrNotExist) {
			looks = append(looks, e.Wrong(fmt.Sprintf("traces[%d]", i), "%s: there is no such file%s: check the path", cli.Beside(dir, name), cli.Meant(cli.Beside(dir, name), cli.SampleLog)))
		}
	}
	return profiles.Joined(append(looks, experiment.Check(e, dir))...)
}

// withAgents is a cluster with the section agents of another file.
func withAgents(c *profiles.Cluster, path string) (*profiles.Cluster, error) {
	with, err := c.LoadAgents(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, cli.NoFile("--agents "+path, path, "a file with a section agents, as cluster files have it")
	}
	if err != nil {
		return nil, cli.Coded(cli.ExitUsage, err)
	}
	return with, nil
}
