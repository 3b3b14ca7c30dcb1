package site

import (
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"orrery/cmd/orrery/internal/cli"
	"orrery/cmd/orrery/internal/logfile"
	"orrery/cmd/orrery/internal/settings"
	"orrery/internal/doc"
	"orrery/profiles"
	"orrery/reports/plot"
	"orrery/scheduler/model"
	"orrery/traces"
	"orrery/traces/importer"
)

// clusterDraw holds the flags of cluster draw.
type clusterDraw struct {
	app      *cli.App
	print    *cli.Printer
	out, log string
	force    bool
}

func clusterDrawCommand(app *cli.App) *cobra.Command {
	v := &clusterDraw{app: app}
	cmd := &cobra.Command{
		Use:   "draw FILE",
		Short: "Draw a cluster file: groups, nodes, GPUs, homes and power",
		Long: `Draw the nodes of a cluster file: a box for each network group, in it the nodes by kind
and home, a cell for each node, a dot for each GPU where there is room; below, one node of
each kind with the islands of its GPUs and what it draws idle and at work. Of thousands of
groups those alike share a box.

With --out the picture goes to a file, SVG or PNG by its name; without it the same is
printed as a table. A file without groups takes the nodes of --log.

Exit codes: 0 drawn, 1 failed, 2 usage or a file that is not valid, 3 a log that cannot be
read.`,
		Example: `  orrery cluster draw mine.yaml
  orrery cluster draw mine.yaml --out mine.svg`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: cli.FirstWordOrFile(profiles.ClusterNames()...),
		RunE:              v.run,
	}
	v.print = app.PrintFlag(cmd)
	f := cmd.Flags()
	f.StringVar(&v.out, "out", "", "draw into `FILE`, whose name ends in .svg or .png")
	f.StringVar(&v.log, "log", "", "take the nodes of this `LOG` where the file has no groups")
	cli.ForceFlag(cmd, &v.force)
	return cmd
}

func (v *clusterDraw) run(cmd *cobra.Command, args []string) error {
	ending := strings.ToLower(filepath.Ext(v.out))
	if v.out != "" && ending != ".svg" && ending != ".png" {
		return cli.Usagef("found --out %s, want a name that ends in .svg or .png", v.out)
	}
	for _, other := range []string{args[0], v.log} {
		if v.out == "" || other == "" {
			continue
		}
		if err := cli.Apart(other, v.out); err != nil {
			return err
		}
	}
	if err := cli.MayWrite("--out", v.out, v.force); err != nil {
		return err
	}
	c, err := settings.LoadCluster("FILE", args[0])
	if err != nil {
		return err
	}
	if c, err = v.completed(cmd, c); err != nil {
		return err
	}
	site, err := c.Resolve()
	if err != nil {
		return cli.Coded(cli.ExitUsage, err)
	}
	p := planOf(c, site)
	if v.out == "" {
		return v.printPlan(p)
	}
	return v.app.Create(v.out, func(w io.Writer) error {
		if ending == ".png" {
			return plot.Cluster(p).WritePNG(w)
		}
		return plot.Cluster(p).WriteSVG(w)
	})
}

// completed is c with the nodes of the log where it has no groups.
func (v *clusterDraw) completed(cmd *cobra.Command, c *profiles.Cluster) (*profiles.Cluster, error) {
	switch {
	case len(c.Groups) > 0 && v.log != "":
		return nil, cli.Usagef("--log %s: the cluster file has groups, whose nodes are drawn; leave --log out", v.log)
	case len(c.Groups) > 0:
		return c, nil
	case v.log == "":
		return nil, cli.Usagef("the cluster file has no groups: its nodes are those of a log with a table of nodes; name it with --log")
	}
	t := logfile.NewTrace([]string{v.log})
	defer t.Close()
	if err := logfile.SpoolInput(cmd.Context(), v.app, t); err != nil {
		return nil, cli.BadInput(err)
	}
	nodes, err := nodesOf(t.Names[0], t.Paths()[0])
	if err != nil {
		return nil, cli.BadInput(logfile.Missing(t.Absent(), err))
	}
	rows := make([]profiles.NodeRow, len(nodes))
	for i, n := range nodes {
		rows[i] = profiles.NodeRow{
			Name: n.Name, Group: n.Group, Type: n.Type, GPUModel: n.GPUModel, GPUs: n.GPUs, CPUs: n.CPUs,
			Memory: n.Memory, Fingerprint: n.Fingerprint, VCluster: n.VCluster, Up: n.Up,
		}
	}
	return c.WithNodes(v.log+", table nodes", rows), nil
}

// nodesOf is the table of nodes of a log.
func nodesOf(name, path string) ([]traces.Node, error) {
	src, _, err := importer.OpenAny([]string{path}, importer.Options{NoCache: true})
	if err != nil {
		return nil, err
	}
	nodes := src.Nodes()
	if err := src.Close(); err != nil {
		return nil, err
	}
	if len(nodes) == 0 {
		return nil, &traces.DataError{File: name, Found: "a log without a table of nodes", Expected: "one with nodes", Mend: "give the cluster file groups, or name another log"}
	}
	return nodes, nil
}

// planOf is what is drawn of a site.
func planOf(c *profiles.Cluster, site *profiles.Site) *plot.ClusterPlan {
	p := &plot.ClusterPlan{Name: c.Name, Groups: make([]plot.NodeGroup, len(site.Groups))}
	for i := range site.Groups {
		p.Groups[i].Name = site.Groups[i].Name
	}
	type place struct {
		group int32
		kind  int
		home  model.VClusterID
	}
	kinds, runs := map[nodeKind]int{}, map[place]int{} // of their places in p
	for i := range site.Nodes {
		n := &site.Nodes[i]
		kind, known := kinds[kindKey(n)]
		if !known {
			kind = len(p.Kinds)
			kinds[kindKey(n)], p.Kinds = kind, append(p.Kinds, kindOf(c, site, n))
		}
		g := &p.Groups[n.Group]
		at, known := runs[place{n.Group, kind, n.Home}]
		if !known {
			at = len(g.Runs)
			runs[place{n.Group, kind, n.Home}] = at
			g.Runs = append(g.Runs, plot.NodeRun{Kind: kind})
			if n.Home >= 0 {
				g.Runs[at].Home = site.VClusters[n.Home].Name
			}
		}
		g.Runs[at].Nodes++
	}
	p.Groups = slices.DeleteFunc(p.Groups, func(g plot.NodeGroup) bool { return len(g.Runs) == 0 })
	return p
}

// nodeKind is what is drawn of a node beside its place.
type nodeKind struct {
	gpu, gpus, cpus, topology int32
	memory, idle, busy        int64
}

func kindKey(n *model.Node) nodeKind {
	return nodeKind{n.GPUType, n.GPUs, n.CPUs, n.Topology, n.Memory, n.IdlePower, n.BusyPower}
}

// kindOf describes the kind of a node: by the name of its node type where one alone is like
// it, else by what it has.
func kindOf(c *profiles.Cluster, site *profiles.Site, n *model.Node) plot.NodeKind {
	k := plot.NodeKind{GPUs: int(n.GPUs), Idle: n.IdlePower, Busy: n.BusyPower}
	if n.GPUType >= 0 {
		k.GPU = site.GPUTypes[n.GPUType]
	}
	if n.Topology >= 0 {
		k.Islands = islandsOf(site.Topologies[n.Topology].Bandwidth)
	}
	var named []string
	for i := range c.NodeTypes {
		t := &c.NodeTypes[i]
		if t.GPUs == n.GPUs && t.CPUs == n.CPUs && int64(t.Memory) == n.Memory && int64(t.IdlePower) == n.IdlePower && int64(t.BusyPower) == n.BusyPower {
			named = append(named, t.Name)
		}
	}
	switch {
	case len(named) == 1:
		k.Name = named[0]
	case n.GPUs > 0:
		k.Name = strings.TrimSpace(fmt.Sprintf("%d %s", n.GPUs, k.GPU)) + " GPUs, " + strconv.Itoa(int(n.CPUs)) + " CPUs"
	case n.CPUs > 0:
		k.Name = strconv.Itoa(int(n.CPUs)) + " CPUs"
	default:
		k.Name = "nodes"
	}
	return k
}

// islandsOf are the GPUs that are joined by the fastest links of a node; nil where all are
// alike.
func islandsOf(bandwidth [][]int64) [][]int {
	most := int64(0)
	for i, row := range bandwidth {
		for j, b := range row {
			if i != j {
				most = max(most, b)
			}
		}
	}
	var out [][]int
	placed := make([]bool, len(bandwidth))
	for i := range bandwidth {
		if placed[i] {
			continue
		}
		island := []int{i}
		placed[i] = true
		for k := 0; k < len(island); k++ { // it grows
			for j, b := range bandwidth[island[k]] {
				if !placed[j] && b == most && most > 0 {
					placed[j] = true
					island = append(island, j)
				}
			}
		}
		out = append(out, island)
	}
	return out
}

// printPlan prints what the picture shows.
func (v *clusterDraw) printPlan(p *plot.ClusterPlan) error {
	kinds := doc.New("kind", "nodes", "GPUs", "GPU", "islands", "idle (W)", "at work (W)")
	groups := doc.New("group", "kind", "home", "nodes", "GPUs", "idle (W)", "at work (W)")
	nodes := make([]int, len(p.Kinds))
	number := func(n int64) doc.Cell { return doc.Quantity(plot.Count(n), n) }
	watts := func(n int, w int64) doc.Cell {
		if w == 0 {
			return doc.Cell{}
		}
		return number(int64(n) * w)
	}
	word := func(s string) doc.Cell {
		if s == "" {
			return doc.Cell{}
		}
		return doc.Cell{Text: s, JSON: s}
	}
	for _, g := range p.Groups {
		for _, r := range g.Runs {
			k := &p.Kinds[r.Kind]
			nodes[r.Kind] += r.Nodes
			groups.Row(g.Name, k.Name, word(r.Home), number(int64(r.Nodes)), number(int64(r.Nodes*k.GPUs)), watts(r.Nodes, k.Idle), watts(r.Nodes, k.Busy))
		}
	}
	for i := range p.Kinds {
		k := &p.Kinds[i]
		var islands []string
		for _, gpus := range k.Islands {
			islands = append(islands, strings.Trim(fmt.Sprint(gpus), "[]"))
		}
		kinds.Row(k.Name, number(int64(nodes[i])), number(int64(k.GPUs)), word(k.GPU), word(strings.Join(islands, " | ")), watts(1, k.Idle), watts(1, k.Busy))
	}
	if v.print.JSON() {
		return v.print.Document(p)
	}
	if err := v.print.Table(groups); err != nil {
		return err
	}
	return v.print.Section("One node of each kind", kinds)
}
