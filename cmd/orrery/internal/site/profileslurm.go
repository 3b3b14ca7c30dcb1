package site

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"orrery/cmd/orrery/internal/cli"
	"orrery/profiles"
	"orrery/profiles/slurm"
)

func fromSlurmCommand(app *cli.App) *cobra.Command {
	var files slurmFiles
	var out string
	var share, quiet, force bool
	cmd := &cobra.Command{
		Use:   "from-slurm --conf FILE",
		Short: "Make a cluster file of the files of Slurm",
		Long: `Read slurm.conf, and gres.conf, topology.conf and the accounts where they are
given, and write one cluster file that can be replayed as it is: nodes, groups,
partitions, accounts as tenants, qualities of service, and the profile (order
multifactor, conservative backfilling with bf_*) inside.

Accounts come from 'sacctmgr dump', 'sacctmgr -P show assoc', 'sacctmgr -P show
qos', or a script of sacctmgr commands; --sacctmgr may be given several times.

What became of each option is said on stderr: understood, approximated (how) or
ignored (why). docs/CLUSTER-FORMAT.md has the list.

Exit codes: 0 written, 1 failed, 2 usage or a file that is not valid, 3 no such
file.`,
		Example: `  orrery profiles from-slurm --conf slurm.conf --out site.yaml
  orrery profiles from-slurm --conf slurm.conf --share-gpus --quiet`,
		Args:              cobra.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(*cobra.Command, []string) error {
			if files.conf == "" {
				return cli.Usagef("--conf is missing: name the slurm.conf")
			}
			if err := cli.MayWrite("--out", out, force); err != nil {
				return err
			}
			r, err := files.convert(share)
			if err != nil {
				return err
			}
			if !quiet {
				sayNotes(app, r.Notes)
				sayIdle(app, &r.Cluster)
			}
			return app.Create(out, func(w io.Writer) error {
				_, err := fmt.Fprintf(w, "# made by 'orrery profiles from-slurm'\n%s", r.Cluster.BriefYAML())
				return err
			})
		},
	}
	f := cmd.Flags()
	f.StringVar(&files.conf, "conf", "", "slurm.conf `FILE`")
	f.StringVar(&files.gres, "gres", "", "gres.conf `FILE`")
	f.StringVar(&files.topology, "topology", "", "topology.conf `FILE`")
	f.StringArrayVar(&files.accounts, "sacctmgr", nil, "what sacctmgr printed, `FILE`; may be given several times")
	f.BoolVar(&share, "share-gpus", false, "allocate GPUs of nodes, with EASY backfilling, instead of whole nodes")
	f.BoolVar(&quiet, "quiet", false, "do not say what became of the options")
	cli.ForceFlag(cmd, &force)
	f.StringVar(&out, "out", "", "write the cluster file to `FILE` instead of stdout")
	return cmd
}

// slurmFiles are the paths of the files of Slurm, "" for those that are not
// given.
type slurmFiles struct {
	conf, gres, topology string
	accounts             []string
}

// convert reads the files.
func (x *slurmFiles) convert(share bool) (*slurm.Result, error) {
	in := slurm.Input{ShareGPUs: share, Accounts: make([]slurm.Source, len(x.accounts))}
	to, paths := []*slurm.Source{&in.Conf, &in.Gres, &in.Topology}, append([]string{x.conf, x.gres, x.topology}, x.accounts...)
	for i := range in.Accounts {
		to = append(to, &in.Accounts[i])
	}
	for i, path := range paths {
		if path == "" {
			continue
		}
		f, err := os.Open(path)
		if err != nil {
			if errors.Is(err, fs.ErrNotExist) {
				kinds := []string{"a slurm.conf", "a gres.conf", "a topology.conf", "what sacctmgr printed"}
				err = cli.NoFile(path, path, kinds[min(i, len(kinds)-1)])
			}
			return nil, err
		}
		defer f.Close() // read only
		*to[i] = slurm.Source{Name: path, Reader: f}
	}
	r, err := slurm.Convert(in)
	if err != nil {
		return nil, cli.Coded(cli.ExitUsage, err)
	}
	return r, nil
}

// sayIdle says how much of the weights acts on nothing.
func sayIdle(app *cli.App, c *profiles.Cluster) {
	site, err := c.Resolve()
	if err != nil { // it has been resolved before
		return
	}
	for i := range c.VClusters {
		if text := c.IdleWeights(i, site); text != "" {
			app.Say("%s", text)
		}
	}
}

// sayNotes says what became of the options, those that lost something one by
// one.
func sayNotes(app *cli.App, notes []slurm.Note) {
	var plain []string
	count := map[slurm.Verdict]int{}
	for _, n := range notes {
		count[n.Verdict]++
		if n.Verdict == slurm.Understood && n.Text == "" {
			plain = append(plain, n.Key)
			continue
		}
		where := n.File
		if n.Line > 0 {
			where = fmt.Sprintf("%s:%d", n.File, n.Line)
		}
		times := ""
		if n.Count > 1 {
			times = fmt.Sprintf(" (%d times)", n.Count)
		}
		fmt.Fprintf(app.Stderr, "%s: %s: %s=%s%s: %s\n", where, n.Verdict, n.Key, n.Value, times, n.Text)
	}
	fmt.Fprintf(app.Stderr, "understood: %s\n", strings.Join(plain, ", "))
	fmt.Fprintf(app.Stderr, "%d kinds of options understood, %d approximated, %d ignored\n",
		count[slurm.Understood], count[slurm.Approximated], count[slurm.Ignored])
}

func toSlurmCommand(app *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:   "to-slurm PROFILE",
		Short: "Print the lines of slurm.conf that express a profile",
		Long: `Print the lines of slurm.conf that express a profile of the order multifactor.
What Slurm has no option for stands in remarks. 'orrery profiles from-slurm'
reads the lines back.

Exit codes: 0 printed, 2 usage, not valid, or another order, 3 no such file.`,
		Example: `  orrery profiles to-slurm multifactor.yaml
  orrery profiles to-slurm ./multifactor.yaml`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: profileNames,
		RunE: func(_ *cobra.Command, args []string) error {
			p, err := loadProfile(args[0])
			if err != nil {
				return err
			}
			text, left, err := slurm.Lines(&p)
			if err != nil {
				return cli.Coded(cli.ExitUsage, err)
			}
			for _, key := range left {
				text += "# not expressed: " + key + "\n"
			}
			_, err = io.WriteString(app.Stdout, text)
			return err
		},
	}
}
