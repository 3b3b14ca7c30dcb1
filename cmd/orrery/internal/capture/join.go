package capture

import (
	"errors"

	"github.com/spf13/cobra"

	"orrery/capture/archive"
	"orrery/capture/join"
	"orrery/cmd/orrery/internal/cli"
	"orrery/cmd/orrery/internal/logfile"
	"orrery/internal/doc"
	"orrery/traces"
)

// joinVerb holds the flags of capture join.
type joinVerb struct {
	app   *cli.App
	print *cli.Printer
	jobs  string
	out   string
	force bool
}

func captureJoinCommand(app *cli.App) *cobra.Command {
	v := &joinVerb{app: app}
	cmd := &cobra.Command{
		Use:   "join BUNDLE|DIR… --jobs TRACE --out OUT.trace",
		Short: "Give jobs the power, utilisation and I/O that were measured",
		Long: `Copy the trace of jobs and fill the columns power (W) and io_demand (B/s), and in
extra the power of the GPUs alone and the means of utilisation and SM activity, with
what was measured of the GPUs and nodes that each job ran on. The column power is of
whole nodes, which is what a replay reckons with: it is filled where all nodes of a job
were measured as such and it was alone on them. A sample belongs to the jobs whose ids the cgroups of its
processes name, of several attempts to the one that ran then; without any, to the
only job that is recorded on the node at that time. Where jobs share a GPU its time
and power are split equally, and extra says which part of the time that was. Time
without a measurement counts with the mean of the rest, never as 0. What becomes of
the samples is printed.

Exit codes: 0 written, 1 failed, 2 usage, 3 bad input.`,
		Example: `  orrery capture join telemetry --jobs month.trace --out measured.trace
  orrery capture join telemetry --jobs month.trace --out measured.trace --force -o json`,
		Args: cobra.MinimumNArgs(1),
		RunE: v.run,
	}
	f := cmd.Flags()
	f.StringVar(&v.jobs, "jobs", "", "`TRACE` of the jobs, with ids as in the cgroups (required)")
	f.StringVar(&v.out, "out", "", "trace `OUT` to write: NAME.trace (required)")
	cli.ForceFlag(cmd, &v.force)
	v.print = app.PrintFlag(cmd)
	return cmd
}

func (v *joinVerb) run(_ *cobra.Command, args []string) (err error) {
	if v.jobs == "" {
		return cli.Usagef("no jobs named: give --jobs TRACE")
	}
	if err := logfile.CheckTraceName(v.out); err != nil {
		return err
	}
	if err := cli.Apart(v.jobs, v.out); err != nil {
		return err
	}
	if err := cli.MayWrite("--out", v.out, v.force); err != nil {
		return err
	}
	set, err := captured(args)
	if err != nil {
		return err
	}
	b, err := traces.Open(v.jobs)
	if err != nil {
		return cli.BadInput(err)
	}
	defer func() { err = errors.Join(err, b.Close()) }()
	j, err := join.New(b.Meta().Epoch, b.Rows(), set.Events)
	if err != nil {
		return cli.BadInput(err)
	}
	for t, err := range set.Telemetry() {
		if err == nil {
			err = j.Row(t)
		}
		if err != nil {
			return cli.BadInput(err)
		}
	}
	if err := v.copy(b, j); err != nil {
		return err
	}
	return v.show(set, j)
}

// copy writes the trace with the jobs changed.
func (v *joinVerb) copy(b *traces.Bundle, j *join.Joiner) error {
	meta := b.Meta()
	w, err := traces.NewWriter(v.out, meta)
	if err != nil {
		return err
	}
	defer w.Abort()
	rows := map[int64]int{} // with each id so far: attempts of a job share one
	for job, err := range b.Rows() {
		if err != nil {
			return cli.BadInput(err)
		}
		row := *job
		m := j.Job(job.ID, rows[job.ID])
		rows[job.ID]++
		if m != nil {
			if err := m.Apply(&row); err != nil {
				return cli.BadInput(err)
			}
		}
		if err := w.WriteJob(&row); err != nil {
			return err
		}
	}
	if err := sideTables(b, w); err != nil {
		return err
	}
	_, err = w.Close()
	return err
}

// sideTables copies all tables but the jobs.
func sideTables(b *traces.Bundle, w *traces.Writer) error {
	for d, err := range b.Deps() {
		if err == nil {
			err = w.WriteDep(*d)
		}
		if err != nil {
			return err
		}
	}
	for _, n := range b.Nodes() {
		if err := w.WriteNode(n); err != nil {
			return err
		}
	}
	for _, t := range b.Tenants() {
		if err := w.WriteTenant(t); err != nil {
			return err
		}
	}
	for _, e := range b.Events() {
		if err := w.WriteEvent(e); err != nil {
			return err
		}
	}
	for _, p := range b.Prices() {
		if err := w.WritePrice(p); err != nil {
			return err
		}
	}
	for l, err := range b.Load() {
		if err == nil {
			err = w.WriteLoad(l)
		}
		if err != nil {
			return err
		}
	}
	for t, err := range b.Telemetry() {
		if err == nil {
			err = w.WriteTelemetry(t)
		}
		if err != nil {
			return err
		}
	}
	for i, err := range b.Instances() {
		if err == nil {
			err = w.WriteInstance(i)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (v *joinVerb) show(set *archive.Set, j *join.Joiner) error {
	found, a := j.Found(), j.Account
	t := doc.New("what", "samples")
	t.Row("of a job by its processes", a.ByProcess)
	t.Row("of several jobs on one GPU, split equally", a.Shared)
	t.Row("of the only job recorded on the node", a.ByNode)
	t.Row("ambiguous: several jobs recorded on the node, of none", a.Ambiguous)
	t.Row("of no job", a.Idle)
	t.Row("all, without quantiles of windows", a.Rows)
	t.Row("of nodes as a whole, of the only job there", a.OfNodes)
	t.Row("jobs measured", found.Jobs)
	t.Row("jobs with the power of their whole nodes (power)", found.NodePower)
	t.Row("jobs with the power of their GPUs alone (measured_gpu_power in extra)", found.GPUPower)
	t.Row("jobs with a GPU whose power is not known", found.NoGPUPower)
	t.Row("with processes of a job that ran at another time", a.OtherTime)
	t.Row("ids of processes that no job has", a.UnknownJobs)
	t.Row("differences of energy counters that power cannot explain", a.Doubts)
	for _, c := range set.LeftOut {
		t.Row("values left out, "+c.Rule, c.Count)
	}
	t.Row("bundles", int64(set.Bundles()))
	if found.GPUPower > found.NodePower {
		v.app.Say("The power of whole nodes was not measured for %d of %d jobs, or they shared nodes: their column power is left as it was, and a replay reckons with the power of node types.", found.Jobs-found.NodePower, found.Jobs)
	}
	return v.print.Table(t)
}
