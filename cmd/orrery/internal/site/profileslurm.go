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
	var share, quiet, all, force bool
	cmd := &cobra.Command{
		Use:   "from-slurm --conf FILE",
		Short: "Make a cluster file of the files of Slurm",
		Long: `Read slurm.conf, and gres.conf, topology.conf and the accounts where they are
given, and write one cluster file that can be replayed as it is: nodes, groups,
partitions, accounts as tenants, qualities of service, the shares of all accounts
and users, and the profile (order multifactor, backfill: slurm with the options
of SchedulerParameters) inside. With preemption the backfilling is conservative,
with --share-gpus EASY.

Accounts come from 'sacctmgr dump', 'sacctmgr -P show assoc', 'sacctmgr -P show
qos', or a script of sacctmgr commands; --sacctmgr may be given several times.

What is lost that changes a replay most is said on stderr: options approximated
(how) or ignored (why). --all says of each option what became of it.
docs/CLUSTER-FORMAT.md has the list.

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
				sayNotes(app, r.Notes, all)
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
	f.BoolVar(&share, "share-gpus", false, "allocate GPUs of nodes, with EASY backfilling, instead of dividing nodes as Slurm does")
	f.BoolVar(&all, "all", false, "say of each option what became of it")
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

// mostNotes is how many notes are printed unless all are asked for.
const mostNotes = 10

// sayNotes says what became of the options: those that lost something one by one, all of them or what decides most.
func sayNotes(app *cli.App, notes []slurm.Note, all bool) {
	var plain []string
	count := map[slurm.Verdict]int{}
	for _, n := range notes {
		count[n.Verdict]++
		if n.Verdict == slurm.Understood && n.Text == "" {
			plain = append(plain, n.Key)
		}
	}
	told := notes
	if !all {
		told = slurm.Decisive(notes, mostNotes)
	}
	for _, n := range told {
		if n.Verdict == slurm.Understood && n.Text == "" {
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
	rest := ""
	if all {
		fmt.Fprintf(app.Stderr, "understood: %s\n", strings.Join(plain, ", "))
	} else if count[slurm.Approximated]+count[slurm.Ignored] > len(told) {
		rest = "; --all says what became of each"
	}
	fmt.Fprintf(app.Stderr, "%d kinds of options understood, %d approximated, %d ignored%s\n",
		count[slurm.Understood], count[slurm.Approximated], count[slurm.Ignored], rest)
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
