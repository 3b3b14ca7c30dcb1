package main

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"orrery/capture/archive"
	"orrery/capture/page"
	"orrery/capture/review"
	"orrery/internal/disk"
	"orrery/internal/doc"
	"orrery/reports/table"
	"orrery/scheduler/model"
	"orrery/traces"
)

// inspectVerb holds the flags of capture inspect.
type inspectVerb struct {
	m      *Main
	print  *printer
	pages  string
	follow bool
	force  bool
	every  time.Duration
	parts  bool
}

func (m *Main) captureInspectCommand() *cobra.Command {
	v := &inspectVerb{m: m}
	cmd := &cobra.Command{
		Use:   "inspect BUNDLE|DIR…",
		Short: "Say what was measured of each GPU, what is missing and why",
		Long: `Sum up bundles of telemetry by GPU: rows, mean utilisation and SM activity (which
are different things), mean and peak power, energy (by the counter; by power is the time in
which power over time stands for it, doubted how often power cannot explain what the
counter says), peak memory and temperature, how long clocks were held down, and what is missing. Unaccounted is
time that neither rows nor a gap record covers: an agent leaves none.

--instances sums up GPU instances of MIG instead, which have rows of their own: each is a
part of the GPU of its index, whose row has what its instances have. Power and energy are
of whole GPUs alone.

--page writes for each node a page with figures, NODE.html, that opens without a
network. --follow shows the last sample of each GPU while agents write into the
folders, anew every --every, and the sums again whenever a bundle was finished, until
Ctrl-C. What it shows comes from a small file that an agent keeps beside its bundles.
With -o json or csv it prints the sums alone.

Exit codes: 0 done, 1 failed, 2 usage, 3 bad input, 130 interrupted.`,
		Example: `  orrery capture inspect telemetry
  orrery capture inspect telemetry --page pages
  orrery capture inspect telemetry --instances
  orrery capture inspect telemetry -o json`,
		Args: cobra.MinimumNArgs(1),
		RunE: v.run,
	}
	f := cmd.Flags()
	f.StringVar(&v.pages, "page", "", "write a page of figures for each node into `DIR`")
	f.BoolVar(&v.parts, "instances", false, "sum up GPU instances of MIG, in place of whole GPUs and nodes")
	f.BoolVar(&v.follow, "follow", false, "show the last samples of agents at work, and the sums when a bundle was finished")
	f.DurationVar(&v.every, "every", 2*time.Second, "with --follow, look every `DUR`")
	forceFlag(cmd, &v.force)
	v.print = m.printFlag(cmd)
	return cmd
}

func (v *inspectVerb) run(cmd *cobra.Command, args []string) error {
	if v.follow && v.parts {
		return usagef("--follow shows whole GPUs: give --instances without it")
	}
	if v.follow {
		return (&follower{inspectVerb: v, paths: args}).run(cmd.Context())
	}
	s, err := captured(args)
	if err != nil {
		return err
	}
	sum, err := review.Of(reviewSource(s))
	if err != nil {
		return input(err)
	}
	if err := v.draw(s, sum); err != nil {
		return err
	}
	if v.parts {
		return v.showParts(s, sum)
	}
	return v.show(s, sum)
}

func (v *inspectVerb) draw(s *archive.Set, sum *review.Summary) error {
	if v.pages == "" {
		return nil
	}
	if err := disk.Folder(v.pages); err != nil {
		return err
	}
	for _, n := range sum.Nodes {
		name := pageName(n.Name)
		if err := mayHold("--page", v.pages, name, v.force); err != nil {
			return err
		}
		var text bytes.Buffer
		if err := page.Write(&text, reviewSource(s), sum, n); err != nil {
			return err
		}
		if err := disk.WriteFile(filepath.Join(v.pages, name), text.Bytes()); err != nil {
			return err
		}
	}
	return nil
}

// pageName is the file of a node: a name that came with a bundle must not lead out of the folder.
func pageName(node string) string {
	return strings.Map(func(r rune) rune {
		if r == '/' || r == '\\' || r < ' ' {
			return '_'
		}
		return r
	}, strings.TrimLeft(node, ".")) + ".html"
}

func (v *inspectVerb) show(s *archive.Set, sum *review.Summary) error {
	t := doc.New("node", "gpu", "from (UTC)", "to (UTC)", "rows", "utilisation (%)", "SM activity (%)", "power (W)", "peak (W)", "energy (kWh)", "by power (s)", "no energy (s)", "doubted",
		"memory (GiB)", "temperature (°C)", "held down (%)", "missing", "reasons", "unaccounted (s)")
	for _, k := range [][2]string{{"from (UTC)", "from_us"}, {"to (UTC)", "to_us"}, {"utilisation (%)", "utilisation_percent"}, {"SM activity (%)", "sm_activity_percent"},
		{"power (W)", "power_w"}, {"peak (W)", "peak_w"}, {"energy (kWh)", "energy_kwh"}, {"memory (GiB)", "memory_gib"}, {"temperature (°C)", "temperature_c"},
		{"held down (%)", "held_down_percent"}, {"by power (s)", "energy_by_power_s"}, {"no energy (s)", "energy_unknown_s"}, {"doubted", "energy_counter_doubted"}, {"unaccounted (s)", "unaccounted_s"}} {
		t.Key(k[0], k[1])
	}
	for i := range sum.Series {
		one := &sum.Series[i]
		var gaps []string
		for _, g := range one.Gaps {
			gaps = append(gaps, fmt.Sprintf("%s %d", g.Reason, g.Samples))
		}
		var memory any
		if one.MemMax.OK {
			memory = doc.Float(float64(one.MemMax.V)/(1<<30), 1)
		}
		t.Row(one.Node, gpuCell(one.GPU), instantCell(one.First, one.Rows), instantCell(one.Last, one.Rows), one.Rows, realCell(one.SMUtil, 100, 1), realCell(one.SMActive, 100, 1),
			realCell(one.Power, 1, 1), realCell(one.PowerMax, 1, 0), realCell(kWh(one.Energy), 1, 4), doc.Float(one.ByPower, 1), doc.Float(one.NoEnergy, 1), one.Doubts.Sum(), memory, realCell(one.TempMax, 1, 0), realCell(one.Throttled, 100, 1),
			one.Missing, strings.Join(gaps, ", "), doc.Float(one.Unaccounted.Seconds(), 3))
	}
	for _, c := range sum.LeftOut {
		v.m.say("Left out when it was measured, %s: %d", c.Rule, c.Count)
	}
	for _, c := range s.LeftOut {
		v.m.say("Left out of bundles, %s: %d%s", c.Rule, c.Count, first(c.Example))
	}
	if v.print.forPrograms() {
		return v.print.table(t)
	}
	for _, a := range sum.Alerts {
		fmt.Fprintf(v.m.Stderr, "%s %s %s: %s\n", instantText(a.Time), doc.Escaped(a.Subject, ""), doc.Escaped(a.Kind, ""), doc.Escaped(a.Text, ""))
	}
	if v.pages != "" {
		fmt.Fprintf(v.m.Stderr, "pages: %s\n", quoted(v.pages))
	}
	if n := len(sum.Instances); n > 0 && !v.parts {
		v.m.say("%s of MIG: orrery capture inspect --instances", table.Counted(n, "GPU instance"))
	}
	return v.print.table(t)
}

// showParts prints the GPU instances.
func (v *inspectVerb) showParts(s *archive.Set, sum *review.Summary) error {
	t := doc.New("node", "gpu", "GPU instance", "profile", "uuid", "from (UTC)", "to (UTC)", "rows", "SM activity (%)", "tensor activity (%)", "bandwidth (%)", "memory (GiB)", "of (GiB)")
	for _, k := range [][2]string{{"GPU instance", "gpu_instance"}, {"from (UTC)", "from_us"}, {"to (UTC)", "to_us"}, {"SM activity (%)", "sm_activity_percent"}, {"tensor activity (%)", "tensor_activity_percent"},
		{"bandwidth (%)", "bandwidth_percent"}, {"memory (GiB)", "memory_gib"}, {"of (GiB)", "memory_total_gib"}} {
		t.Key(k[0], k[1])
	}
	gib := func(n traces.Opt[int64]) any {
		return realCell(traces.Opt[float64]{V: float64(n.V), OK: n.OK}, 1.0/(1<<30), 1)
	}
	for i := range sum.Instances {
		one := &sum.Instances[i]
		t.Row(one.Node, int64(one.GPU), int64(one.GPUInstance), one.Profile, one.UUID, instantCell(one.First, one.Rows), instantCell(one.Last, one.Rows), one.Rows,
			realCell(one.SMActive, 100, 1), realCell(one.TensorActive, 100, 1), realCell(one.DRAMActive, 100, 1), gib(one.MemMax), gib(one.MemTotal))
	}
	for _, c := range s.LeftOutMIG {
		v.m.say("Left out of the rows of GPU instances, %s: %d%s", c.Rule, c.Count, first(c.Example))
	}
	return v.print.table(t)
}

func gpuCell(gpu int32) any {
	if gpu < 0 {
		return nil
	}
	return int64(gpu)
}

func instantText(t model.Time) string {
	return time.UnixMicro(int64(t)).UTC().Format("2006-01-02 15:04:05")
}

func instantCell(t model.Time, rows int64) any {
	if rows == 0 {
		return nil
	}
	return doc.Quantity(instantText(t), int64(t))
}

func realCell(v traces.Opt[float64], by float64, digits int) any {
	if !v.OK {
		return nil
	}
	return doc.Float(v.V*by, digits)
}

func kWh(joules traces.Opt[float64]) traces.Opt[float64] {
	return traces.Opt[float64]{V: joules.V / 3.6e6, OK: joules.OK}
}
