package capture

import (
	"path/filepath"

	"github.com/spf13/cobra"

	"orrery/capture/sample"
	"orrery/cmd/orrery/internal/cli"
	"orrery/internal/disk"
	"orrery/internal/doc"
	"orrery/traces"
)

// sampleVerb holds the flags of capture sample.
type sampleVerb struct {
	app   *cli.App
	print *cli.Printer
	out   string
	seed  uint64
	force bool
}

func captureSampleCommand(app *cli.App) *cobra.Command {
	v := &sampleVerb{app: app}
	cmd := &cobra.Command{
		Use:   "sample --out DIR",
		Short: "Make the capture of a small site, to try what follows without a GPU",
		Long: `Make the capture of a site of six nodes with four GPUs each for three days, as
orrery-agent and 'orrery capture slurm' would write it: capture.trace with jobs, nodes
and telemetry. It comes from a model with known figures; nothing in it was measured.
Beside it stand site.yaml, the cluster file of somebody who has measured nothing yet,
and weights.yaml, an experiment on the calibrated site. What follows:

  orrery calibrate DIR --cluster DIR/site.yaml --out DIR/calibrated.yaml --report
  orrery sweep DIR/weights.yaml --out study --report

The same seed gives the same bytes.

Exit codes: 0 written, 1 failed, 2 usage.`,
		Example: `  orrery capture sample --out cap --force
  orrery capture sample --out another --seed 7`,
		Args: cobra.NoArgs,
		RunE: v.run,
	}
	f := cmd.Flags()
	f.StringVar(&v.out, "out", "", "`DIR` to write into, which is made where it is missing (required)")
	f.Uint64Var(&v.seed, "seed", 1, "`N` that draws follow from")
	cli.ForceFlag(cmd, &v.force)
	v.print = app.PrintFlag(cmd)
	return cmd
}

// sampleTrace is the bundle in the folder.
const sampleTrace = "capture.trace"

func (v *sampleVerb) run(*cobra.Command, []string) error {
	if v.out == "" {
		return cli.Usagef("no folder named: give --out DIR")
	}
	for _, name := range append([]string{sampleTrace}, sample.FileNames...) {
		if err := cli.MayWrite("--out", filepath.Join(v.out, name), v.force); err != nil {
			return err
		}
	}
	if err := disk.Folder(v.out); err != nil {
		return err
	}
	c := sample.Make(&sample.Small, v.seed)
	rows, err := v.write(c)
	if err != nil {
		return err
	}
	for _, name := range sample.FileNames {
		if err := disk.WriteFile(filepath.Join(v.out, name), sample.File(name)); err != nil {
			return err
		}
	}
	v.app.Say("Nothing was measured: this capture comes from a model of a site.")
	t := doc.New("nodes", "jobs", "rows of telemetry", "bundle")
	t.Key("rows of telemetry", "rows")
	t.Row(len(c.Nodes), len(c.Jobs), rows, filepath.Join(v.out, sampleTrace))
	return v.print.Table(t)
}

// write writes the bundle, whole or not at all.
func (v *sampleVerb) write(c *sample.Capture) (rows int64, err error) {
	w, err := traces.NewWriter(filepath.Join(v.out, sampleTrace), c.Meta)
	if err != nil {
		return 0, err
	}
	defer w.Abort()
	for i := range c.Jobs {
		if err := w.WriteJob(&c.Jobs[i]); err != nil {
			return 0, err
		}
	}
	for _, n := range c.Nodes {
		if err := w.WriteNode(n); err != nil {
			return 0, err
		}
	}
	for _, e := range c.Events() {
		if err := w.WriteEvent(e); err != nil {
			return 0, err
		}
	}
	if err := c.Telemetry(func(t *traces.Telemetry) error { rows++; return w.WriteTelemetry(t) }); err != nil {
		return 0, err
	}
	_, err = w.Close()
	return rows, err
}
