// Package site has the verbs of the files that people write, of clusters and profiles above all: cluster,
// profiles, lint, check and schema.
package site

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"orrery/cmd/orrery/internal/cli"
	"orrery/cmd/orrery/internal/logfile"
	"orrery/cmd/orrery/internal/settings"
	"orrery/hwmodel/catalogue"
	"orrery/internal/doc"
	"orrery/internal/spelling"
	"orrery/profiles"
	"orrery/profiles/nodelist"
	"orrery/traces"
	"orrery/traces/importer"
	"orrery/traces/importer/gpucluster"
)

// Verbs are the verbs of sites and of the files that people write.
func Verbs(app *cli.App) []*cobra.Command {
	return []*cobra.Command{clusterCommand(app), profilesCommand(app), lintCommand(app), checkCommand(app), schemaCommand(app)}
}

func clusterCommand(app *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "cluster",
		Short: "Make a cluster file of lists of nodes, draw one, and look hardware up",
		Long: `Make a cluster file, which says what a site is, of lists of nodes that others have
written. docs/CLUSTER-FORMAT.md describes cluster files.

Exit codes: 0 done, 1 failed, 2 usage, 3 bad input.`,
		Example: `  orrery cluster import nodes.csv --out cluster.yaml
  orrery cluster import nodes.csv --name openb --quiet`,
	}
	cmd.AddCommand(clusterImportCommand(app), clusterDiffCommand(app), clusterDrawCommand(app), clusterCatalogueCommand(app))
	return cmd
}

// clusterImport holds the flags of cluster import.
type clusterImport struct {
	app          *cli.App
	out, name    string
	quiet, force bool
}

func clusterImportCommand(app *cli.App) *cobra.Command {
	v := &clusterImport{app: app}
	cmd := &cobra.Command{
		Use:   "import FILE...",
		Short: "Turn lists of nodes into a cluster file",
		Long: `Read lists of nodes, plain or compressed, and write one cluster file with node types,
groups, partitions where they are known, and one vCluster at home on all nodes. "-"
reads standard input. Several lists are one cluster; the matrix of nvidia-smi topo -m
goes to the nodes of the others with as many GPUs, or is a node by itself.

The format is found by content; names of files do not matter:

` + nodelist.Formats() + `
and the tables of nodes that orrery import reads (openb, alibaba-spot-nodes,
pai-machines, philly-machines) or that a trace has. A bundle of orrery-agent also has
the memory, power limits and NVLinks of GPUs, and fingerprints of nodes.

Of a running Slurm:

  sinfo -N -o '%N|%c|%m|%G|%f|%P|%t' | orrery cluster import - --out cluster.yaml
  scontrol show node -o | orrery cluster import - --out cluster.yaml

What is assumed, and what the lists do not say and is left at its default, is said on
stderr and in comments of the file. docs/CLUSTER-FORMAT.md has more.

Exit codes: 0 written, 1 failed, 2 usage, 3 a list that cannot be read.`,
		Example: `  orrery cluster import nodes.csv --out openb.yaml
  orrery cluster import nodes.csv --name openb --quiet`,
		Args: cobra.MinimumNArgs(1),
		RunE: v.run,
	}
	f := cmd.Flags()
	f.StringVar(&v.out, "out", "", "write the cluster file to `FILE` instead of stdout")
	f.StringVar(&v.name, "name", "", "`NAME` of the cluster; else that of the file")
	f.BoolVarP(&v.quiet, "quiet", "q", false, "do not say what is assumed")
	cli.ForceFlag(cmd, &v.force)
	return cmd
}

func (v *clusterImport) run(cmd *cobra.Command, args []string) error {
	for _, path := range args {
		if err := cli.Apart(path, v.out); v.out != "" && err != nil {
			return err
		}
	}
	if err := cli.MayWrite("--out", v.out, v.force); err != nil {
		return err
	}
	t := logfile.NewTrace(args)
	defer t.Close()
	if err := logfile.SpoolInput(cmd.Context(), v.app, t); err != nil {
		return cli.BadInput(err)
	}
	lists, err := nodeLists(t)
	if err != nil {
		return cli.BadInput(logfile.Missing(t.Absent(), err))
	}
	if v.name == "" && v.out != "" {
		v.name = strings.TrimSuffix(filepath.Base(v.out), filepath.Ext(v.out))
	}
	r, err := nodelist.Cluster(v.name, lists)
	if err != nil {
		return cli.BadInput(err)
	}
	if !v.quiet {
		v.say(r, lists)
	}
	return v.app.Create(v.out, func(w io.Writer) error {
		_, err := w.Write(r.YAML("made by 'orrery cluster import'"))
		return err
	})
}

// say tells what is assumed, and how much was read.
func (v *clusterImport) say(r *nodelist.Result, lists []nodelist.List) {
	for _, note := range r.Notes {
		v.app.Say("%s", note)
	}
	nodes := 0
	for _, l := range lists {
		nodes += len(l.Nodes)
	}
	v.app.Say("%d nodes of %d types", nodes, len(r.Cluster.NodeTypes))
}

// mostList bounds a list of nodes in bytes: a hundred thousand nodes of scontrol are less than half as much.
const mostList = 256 << 20

// nodeLists reads the files, those that tell by their content by themselves, the others as what an
// import reads.
func nodeLists(t *logfile.Trace) ([]nodelist.List, error) {
	var lists []nodelist.List
	for i, path := range t.Paths() {
		list, known, err := textList(t.Names[i], path)
		if err != nil {
			return nil, err
		}
		if !known {
			if list, err = tableList(t.Names[i], path); err != nil {
				return nil, err
			}
		}
		lists = append(lists, list)
	}
	return lists, nil
}

// tableList reads a table of nodes.
func tableList(name, path string) (nodelist.List, error) {
	src, opened, err := importer.OpenAny([]string{path}, importer.Options{NoCache: true})
	if err != nil {
		var data *traces.DataError
		if errors.As(err, &data) {
			data.Mend += "; orrery cluster import --help describes the lists of nodes"
		}
		return nodelist.List{}, err
	}
	nodes, events := src.Nodes(), src.Events()
	var assumed []traces.Assumption
	if opened.Report != nil {
		assumed = opened.Report.Assumed
	}
	if err := src.Close(); err != nil {
		return nodelist.List{}, err
	}
	if len(nodes) == 0 {
		return nodelist.List{}, &traces.DataError{File: name, Found: "a trace without a table of nodes", Expected: "a list of nodes", Mend: "orrery cluster import --help lists what is read"}
	}
	list := nodelist.Rows(name, nodes, assumed, gpucluster.GPUMemory)
	return list, list.Inventories(events)
}

// textList reads a list that is told by its content, if this is one.
func textList(name, path string) (list nodelist.List, known bool, err error) {
	if st, err := os.Stat(path); err != nil || st.IsDir() {
		return list, false, err // a bundle
	}
	text, err := importer.Text(name, path, mostList)
	if err != nil {
		return list, false, err
	}
	return nodelist.Read(name, text)
}

func clusterDiffCommand(app *cli.App) *cobra.Command {
	var print *cli.Printer
	cmd := &cobra.Command{
		Use:   "diff A B",
		Short: "Show where two cluster files differ",
		Long: `Print the keys in which two cluster files differ: + is in B only, - in A only, ~ is
another value. Defaults count as what they are. Entries of a list are paired by their
names. For a key of which the calibration of B tells, its range, what it rests on and
where that is from stand beside it. Names of the files and remarks are no difference.

Exit codes: 0 printed, differences or none, 2 usage or not valid, 3 no such file.`,
		Example: `  orrery cluster diff mine.yaml month
  orrery cluster diff month month-power -o json`,
		Args: cobra.ExactArgs(2),
		RunE: func(_ *cobra.Command, args []string) error {
			a, err := settings.LoadCluster("", args[0])
			if err != nil {
				return err
			}
			b, err := settings.LoadCluster("", args[1])
			if err != nil {
				return err
			}
			return print.Table(diffTable(a, b))
		},
	}
	print = app.PrintFlag(cmd)
	return cmd
}

func diffTable(a, b *profiles.Cluster) *doc.Table {
	t := doc.New("sign", "key", "before", "after", "range", "n", "of", "from")
	source := map[string]*profiles.Calibrated{}
	for i := range b.Calibration {
		source[b.Calibration[i].Key] = &b.Calibration[i]
	}
	for _, d := range profiles.ClusterDiff(a, b) {
		if c := source[d.Key]; c != nil {
			t.Row(d.Sign(), d.Key, d.Before, d.After, c.Low+" to "+c.High, c.N, c.Of, c.From)
			continue
		}
		t.Row(d.Sign(), d.Key, d.Before, d.After, "", doc.Cell{}, "", "")
	}
	return t
}

func clusterCatalogueCommand(app *cli.App) *cobra.Command {
	var print *cli.Printer
	cmd := &cobra.Command{
		Use:   "catalogue [NAME]",
		Short: "List what is known of GPUs, nodes and classes of work, with sources",
		Long: `List the GPUs and the kinds of nodes of which figures are known: memory, bandwidth,
peaks, links, power; and classes of work, with their throughput by GPU and under caps on
power. A cluster file takes them by "from" of a node type or a class. With NAME, each figure of one of them with its range, with what it
rests on (measured, published, data sheet), where it is from and what speaks against it.
What is not known is not listed. docs/HARDWARE.md has more.

Exit codes: 0 printed, 2 usage.`,
		Example: `  orrery cluster catalogue
  orrery cluster catalogue h100-sxm
  orrery cluster catalogue dgx-h100 -o json`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: cli.FirstWordOrFile(catalogue.Names()...),
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				if print.JSON() {
					return print.Document(catalogue.All())
				}
				return print.Table(partsTable(catalogue.All()))
			}
			p, found := catalogue.Find(args[0])
			if !found {
				return cli.Usagef("there is no %q in the catalogue%s: see orrery cluster catalogue", args[0], spelling.Hint(args[0], catalogue.Names()))
			}
			if print.JSON() {
				return print.Document(p)
			}
			return print.Section(title(&p), figuresTable(&p))
		},
	}
	print = app.PrintFlag(cmd)
	return cmd
}

// title of a part, with the model of the GPUs of a node.
func title(p *catalogue.Part) string {
	if p.GPU == "" {
		return p.Title
	}
	return p.Title + " (GPUs: " + p.GPU + ")"
}

// inShort are the figures that the list of all parts has.
var inShort = []string{catalogue.GPUs, catalogue.Memory, catalogue.Bandwidth, catalogue.FP64, catalogue.FP16, catalogue.FP8, catalogue.Link, catalogue.PowerLimit, catalogue.Nameplate, catalogue.IdlePower, catalogue.BusyPower}

// partsTable is a table of all parts; an empty cell is not known.
func partsTable(parts []catalogue.Part) *doc.Table {
	t := doc.New(append([]string{"name", "what"}, inShort...)...)
	for i := range parts {
		row := []any{parts[i].Name, title(&parts[i])}
		for _, name := range inShort {
			f, known := parts[i].Figure(name)
			if !known {
				row = append(row, doc.Cell{})
				continue
			}
			row = append(row, doc.Quantity(plain(f.Value), f.Value))
		}
		t.Row(row...)
	}
	return t
}

// figuresTable has all that is known of a part.
func figuresTable(p *catalogue.Part) *doc.Table {
	t := doc.New("figure", "unit", "value", "from", "to", "basis", "source", "doubt").Optional("from", "to")
	for _, f := range p.Figures {
		from, to := doc.Cell{}, doc.Cell{}
		if f.Low < f.High {
			from, to = doc.Quantity(plain(f.Low), f.Low), doc.Quantity(plain(f.High), f.High)
		}
		t.Row(f.Name, f.Unit, doc.Quantity(plain(f.Value), f.Value), from, to, string(f.Basis), f.Source, f.Doubt)
	}
	return t
}

// plain writes a figure as it is given.
func plain(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) }
