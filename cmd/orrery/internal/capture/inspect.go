package capture

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"orrery/capture"
	"orrery/capture/archive"
	"orrery/capture/page"
	"orrery/capture/review"
	"orrery/cmd/orrery/internal/cli"
	"orrery/internal/disk"
	"orrery/internal/doc"
	"orrery/reports/table"
	"orrery/scheduler/model"
	"orrery/traces"
)

// inspectVerb holds the flags of capture inspect.
type inspectVerb struct {
	app    *cli.App
	print  *cli.Printer
	pages  string
	follow bool
	force  bool
	every  time.Duration
	parts  bool
}

func captureInspectCommand(app *cli.App) *cobra.Command {
	v := &inspectVerb{app: app}
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
	cli.ForceFlag(cmd, &v.force)
	v.print = app.PrintFlag(cmd)
	return cmd
}

func (v *inspectVerb) run(cmd *cobra.Command, args []string) error {
	if v.follow && v.parts {
		return cli.Usagef("--follow shows whole GPUs: give --instances without it")
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
		return cli.BadInput(err)
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
		if err := cli.MayHold("--page", v.pages, name, v.force); err != nil {
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
		v.app.Say("Left out when it was measured, %s: %d", c.Rule, c.Count)
	}
	for _, c := range s.LeftOut {
		v.app.Say("Left out of bundles, %s: %d%s", c.Rule, c.Count, first(c.Example))
	}
	if v.print.ForPrograms() {
		return v.print.Table(t)
	}
	for _, a := range sum.Alerts {
		fmt.Fprintf(v.app.Stderr, "%s %s %s: %s\n", instantText(a.Time), doc.Escaped(a.Subject, ""), doc.Escaped(a.Kind, ""), doc.Escaped(a.Text, ""))
	}
	if v.pages != "" {
		fmt.Fprintf(v.app.Stderr, "pages: %s\n", cli.Quoted(v.pages))
	}
	if n := len(sum.Instances); n > 0 && !v.parts {
		v.app.Say("%s of MIG: orrery capture inspect --instances", table.Counted(n, "GPU instance"))
	}
	return v.print.Table(t)
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
		v.app.Say("Left out of the rows of GPU instances, %s: %d%s", c.Rule, c.Count, first(c.Example))
	}
	return v.print.Table(t)
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

// follower shows agents at work until it is stopped.
type follower struct {
	*inspectVerb
	paths  []string
	before string                   // the bundles that were summed up
	shown  map[string]model.Time    // by node: the sample that was shown
	power  map[liveSeries][]float64 // the last ones that were shown, W; NaN for none
	told   bool                     // that there is nothing to show
	failed string                   // what could not be read, as it was said last
	set    *archive.Set
	sum    *review.Summary
}

type liveSeries struct {
	node string
	gpu  int32
}

// kept is how many samples the curve of power has.
const kept = 30

func (f *follower) run(ctx context.Context) error {
	f.shown, f.power = map[string]model.Time{}, map[liveSeries][]float64{}
	for {
		if err := f.look(time.Now()); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(f.every):
		}
	}
}

// look prints what is new.
func (f *follower) look(now time.Time) error {
	fresh, err := f.bundles()
	if err != nil && err.Error() != f.failed { // a bundle may have been removed meanwhile
		f.failed = err.Error()
		f.app.Say("not all could be read, looking again: %v", err)
	}
	if f.print.ForPrograms() {
		if fresh {
			return f.show(f.set, f.sum)
		}
		return nil
	}
	agents, _ := archive.Live(f.paths...) // what cannot be read was said above
	moved := f.keep(agents)
	if !f.told && f.sum == nil && len(agents) == 0 {
		f.told = true
		f.app.Say("no bundle and no agent at work yet; looking every %s", f.every)
	}
	terminal := f.app.Screen(f.app.Stdout).Terminal
	if terminal && (fresh || len(agents) > 0) {
		fmt.Fprint(f.app.Stdout, "\x1b[H\x1b[2J") // the screen anew
	}
	if f.sum != nil && (fresh || terminal && len(agents) > 0) {
		if err := f.show(f.set, f.sum); err != nil {
			return err
		}
	}
	if len(agents) == 0 || !moved && !terminal {
		return nil
	}
	return f.print.Section("live", f.table(agents, now))
}

// bundles sums up what is finished, when that is other than before.
func (f *follower) bundles() (fresh bool, err error) {
	found, err := archive.Find(f.paths...)
	if err != nil || strings.Join(found, "\n") == f.before {
		return false, err
	}
	set, err := captured(f.paths)
	if err != nil {
		return false, err
	}
	sum, err := review.Of(reviewSource(set))
	if err != nil {
		return false, err
	}
	f.before, f.set, f.sum = strings.Join(found, "\n"), set, sum
	return true, nil
}

// keep stores the power of samples that were not seen before, and says whether there are any.
func (f *follower) keep(agents []*capture.Live) (moved bool) {
	for _, a := range agents {
		if f.shown[a.Node] == a.At {
			continue
		}
		f.shown[a.Node], moved = a.At, true
		for i := range a.GPUs {
			g := &a.GPUs[i]
			of, w := liveSeries{a.Node, g.GPU}, math.NaN()
			if g.Power != nil && g.Silent == "" {
				w = *g.Power
			}
			list := append(f.power[of], w)
			f.power[of] = list[max(0, len(list)-kept):]
		}
	}
	return moved
}

// table is the last sample of each GPU.
func (f *follower) table(agents []*capture.Live, now time.Time) *doc.Table {
	t := doc.New("node", "gpu", "sampled (UTC)", "ago (s)", "utilisation (%)", "SM activity (%)", "power (W)", "power so far", "memory (GiB)",
		"temperature (°C)", "SM clock (MHz)", "held down", "processes", "remark")
	ascii := f.app.Screen(f.app.Stdout).ASCII
	for _, a := range agents {
		late := model.Time(now.UnixMicro()).Sub(a.At) > max(3*a.Interval, 5*model.Second)
		for i := range a.GPUs {
			g := &a.GPUs[i]
			remark := g.Silent
			if late {
				remark = "no sample since: the agent was stopped or killed, or cannot write"
			}
			var sampled, ago, memory, clock, held any
			if g.Time > 0 {
				sampled = time.UnixMicro(int64(g.Time)).UTC().Format(time.TimeOnly)
				ago = doc.Float(model.Time(now.UnixMicro()).Sub(g.Time).Seconds(), 1)
			}
			if g.MemUsed != nil {
				memory = doc.Float(float64(*g.MemUsed)/(1<<30), 1)
			}
			if g.SMClock != nil {
				clock = int64(*g.SMClock)
			}
			if g.Throttle != nil {
				held = map[bool]string{true: "yes", false: "no"}[*g.Throttle&review.Throttling != 0]
			}
			t.Row(a.Node, gpuCell(g.GPU), sampled, ago, liveCell(g.SMUtil, 100, 0), liveCell(g.SMActive, 100, 1), liveCell(g.Power, 1, 1),
				spark(f.power[liveSeries{a.Node, g.GPU}], ascii), memory, liveCell(g.Temperature, 1, 0), clock, held, int64(g.Processes), remark)
		}
	}
	return t
}

func liveCell(v *float64, by float64, digits int) any {
	if v == nil {
		return nil
	}
	return realCell(traces.Some(*v), by, digits)
}

// spark draws values as blocks between the smallest and the largest of them, with a blank for none.
func spark(values []float64, ascii bool) string {
	levels := []rune("▁▂▃▄▅▆▇█")
	if ascii {
		levels = []rune("_.-=+*#@")
	}
	low, high := math.Inf(1), math.Inf(-1)
	for _, v := range values {
		if !math.IsNaN(v) {
			low, high = min(low, v), max(high, v)
		}
	}
	var b strings.Builder
	for _, v := range values {
		switch {
		case math.IsNaN(v):
			b.WriteByte(' ')
		case high <= low:
			b.WriteRune(levels[0])
		default:
			b.WriteRune(levels[int(math.Round((v-low)/(high-low)*float64(len(levels)-1)))])
		}
	}
	return b.String()
}
