package capture

import (
	"fmt"

	"github.com/spf13/cobra"

	"orrery/capture/archive"
	"orrery/cmd/orrery/internal/cli"
	"orrery/cmd/orrery/internal/formats"
	"orrery/cmd/orrery/internal/logfile"
	"orrery/internal/doc"
	"orrery/traces"
)

// captureTo holds the flags of verbs that make one bundle of several.
type captureTo struct {
	app   *cli.App
	print *cli.Printer
	out   string
	key   string
	force bool
}

func captureMergeCommand(app *cli.App) *cobra.Command {
	v := &captureTo{app: app}
	cmd := &cobra.Command{
		Use:   "merge BUNDLE|DIR… --out OUT.trace",
		Short: "Make one bundle of several, of one node or of many",
		Long: `Merge the bundles, and those in the folders, into OUT: rows and events by time, and
each node once. Of two rows of one GPU, or of one GPU instance of MIG, at one instant
the first stays, and the other is counted, as are values that cannot be, which are left out. Memory does not grow with
the rows.

Exit codes: 0 written, 1 failed, 2 usage, 3 bad input.`,
		Example: `  orrery capture merge telemetry --out all.trace
  orrery capture merge telemetry --out again.trace --force -o json`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			return v.write(args, "merged from telemetry bundles", func(*archive.Set) (archive.Edit, error) {
				return archive.Edit{}, nil
			})
		},
	}
	v.flags(cmd)
	return cmd
}

func captureAnonymiseCommand(app *cli.App) *cobra.Command {
	v := &captureTo{app: app}
	cmd := &cobra.Command{
		Use:   "anonymise BUNDLE|DIR… --out OUT.trace",
		Short: "Make one bundle that names no node, user, job or serial number",
		Long: `Merge the bundles into OUT and take out what tells a site: nodes become n0001,
n0002, …; jobs, containers and fingerprints become digests under a key, so that
equal ones stay equal; processes lose their names; of the inventory stay models,
sizes, versions and links. Times, and everything that was measured, stay.

Bundles that were made with the same key name equal things equally. Keep it, or
throw it away: with it the numbers of jobs can be found again by trying all.

Exit codes: 0 written, 1 failed, 2 usage, 3 bad input.`,
		Example: `  orrery capture anonymise telemetry --key-file key --out anonymous.trace
  orrery capture anonymise telemetry --key-file key --out anonymous.trace --force`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			return v.write(args, "anonymised telemetry", func(s *archive.Set) (archive.Edit, error) {
				key, err := v.readKey()
				if err != nil {
					return archive.Edit{}, err
				}
				return archive.NewHidden(key).Apply(s), nil
			})
		},
	}
	v.flags(cmd)
	cmd.Flags().StringVar(&v.key, "key-file", "", "`FILE` whose content is the key, 16 bytes at least (required)")
	return cmd
}

func (v *captureTo) flags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&v.out, "out", "", "bundle `OUT` to write: NAME.trace (required)")
	cli.ForceFlag(cmd, &v.force)
	v.print = v.app.PrintFlag(cmd)
}

func (v *captureTo) readKey() ([]byte, error) {
	if v.key == "" {
		return nil, cli.Usagef("no key named: give --key-file FILE, 'head -c 32 /dev/urandom >key' makes one")
	}
	key, err := cli.ReadText(v.key)
	if err != nil {
		return nil, cli.BadInput(err)
	}
	if len(key) < 16 {
		return nil, cli.Usagef("--key-file %s: it holds %d bytes, want 16 at least", v.key, len(key))
	}
	return key, nil
}

// write makes the bundle, with edits that edit gives.
func (v *captureTo) write(args []string, source string, edit func(*archive.Set) (archive.Edit, error)) error {
	if err := logfile.CheckTraceName(v.out); err != nil {
		return err
	}
	for _, in := range args {
		if cli.Same(in, v.out) {
			return cli.Usagef("--out %s: this is what is read", v.out)
		}
	}
	if err := cli.MayWrite("--out", v.out, v.force); err != nil {
		return err
	}
	s, err := captured(args)
	if err != nil {
		return err
	}
	changes, err := edit(s)
	if err != nil {
		return err
	}
	done, err := s.Write(v.out, traces.Meta{Source: source}, changes)
	if err != nil {
		return formats.ReadError(err)
	}
	if s.Changed > 0 && !v.print.ForPrograms() {
		fmt.Fprintf(v.app.Stderr, "bundles differ in what they say of a node %d times; the last one stands\n", s.Changed)
	}
	for _, c := range s.LeftOut {
		v.app.Say("Left out of the rows, %s: %d%s", c.Rule, c.Count, first(c.Example))
	}
	for _, c := range s.LeftOutMIG {
		v.app.Say("Left out of the rows of GPU instances, %s: %d%s", c.Rule, c.Count, first(c.Example))
	}
	t := doc.New("bundle", "bundles read", "rows", "rows of GPU instances", "rows twice", "nodes", "events", "content hash")
	t.Key("rows of GPU instances", "instance_rows")
	t.Row(v.out, int64(s.Sampled()), done.Rows, done.Instances, done.Doubled, int64(len(s.Nodes)), int64(len(s.Events)), done.Hash)
	return v.print.Table(t)
}
