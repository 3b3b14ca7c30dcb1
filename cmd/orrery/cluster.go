package main

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"orrery/profiles/nodelist"
	"orrery/traces"
	"orrery/traces/importer"
	"orrery/traces/importer/gpucluster"
)

// siteVerbs are the verbs of sites and of the files that people write.
func siteVerbs(m *Main) []*cobra.Command {
	return []*cobra.Command{m.clusterCommand(), m.profilesCommand(), m.lintCommand(), m.checkCommand(), m.schemaCommand()}
}

func (m *Main) clusterCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "cluster",
		Short: "Make a cluster file of lists of nodes, draw one, and look hardware up",
		Long: `Make a cluster file, which says what a site is, of lists of nodes that others have
written. docs/CLUSTER-FORMAT.md describes cluster files.

Exit codes: 0 done, 1 failed, 2 usage, 3 bad input.`,
		Example: `  orrery cluster import nodes.csv --out cluster.yaml
  orrery cluster import nodes.csv --name openb --quiet`,
		Args: cobra.ArbitraryArgs,
		RunE: group,
	}
	cmd.AddCommand(m.clusterImportCommand(), m.clusterDiffCommand(), m.clusterDrawCommand(), m.clusterCatalogueCommand())
	return cmd
}

// clusterImport holds the flags of cluster import.
type clusterImport struct {
	m            *Main
	out, name    string
	quiet, force bool
}

func (m *Main) clusterImportCommand() *cobra.Command {
	v := &clusterImport{m: m}
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
		Args:              cobra.MinimumNArgs(1),
		ValidArgsFunction: anyFiles,
		RunE:              v.run,
	}
	f := cmd.Flags()
	f.StringVar(&v.out, "out", "", "write the cluster file to `FILE` instead of stdout")
	f.StringVar(&v.name, "name", "", "`NAME` of the cluster; else that of the file")
	f.BoolVarP(&v.quiet, "quiet", "q", false, "do not say what is assumed")
	forceFlag(cmd, &v.force)
	return cmd
}

func (v *clusterImport) run(cmd *cobra.Command, args []string) error {
	for _, path := range args {
		if err := apart(path, v.out); v.out != "" && err != nil {
			return err
		}
	}
	if err := mayWrite("--out", v.out, v.force); err != nil {
		return err
	}
	t := newTrace(args)
	defer t.close()
	if err := v.m.spoolInput(cmd.Context(), t); err != nil {
		return input(err)
	}
	lists, err := nodeLists(t)
	if err != nil {
		return input(missing(t.absent(), err))
	}
	if v.name == "" && v.out != "" {
		v.name = strings.TrimSuffix(filepath.Base(v.out), filepath.Ext(v.out))
	}
	r, err := nodelist.Cluster(v.name, lists)
	if err != nil {
		return input(err)
	}
	if !v.quiet {
		v.say(r, lists)
	}
	return v.m.create(v.out, func(w io.Writer) error {
		_, err := w.Write(r.YAML("made by 'orrery cluster import'"))
		return err
	})
}

// say tells what is assumed, and how much was read.
func (v *clusterImport) say(r *nodelist.Result, lists []nodelist.List) {
	for _, note := range r.Notes {
		v.m.say("%s", note)
	}
	nodes := 0
	for _, l := range lists {
		nodes += len(l.Nodes)
	}
	v.m.say("%d nodes of %d types", nodes, len(r.Cluster.NodeTypes))
}

// mostList bounds a list of nodes in bytes: a hundred thousand nodes of scontrol are less than half as much.
const mostList = 256 << 20

// nodeLists reads the files, those that tell by their content by themselves, the others as what an
// import reads.
func nodeLists(t *trace) ([]nodelist.List, error) {
	var lists []nodelist.List
	for i, path := range t.paths() {
		list, known, err := textList(t.names[i], path)
		if err != nil {
			return nil, err
		}
		if !known {
			if list, err = tableList(t.names[i], path); err != nil {
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
