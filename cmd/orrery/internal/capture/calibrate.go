package capture

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"orrery/capture/archive"
	"orrery/capture/calibrate"
	"orrery/capture/sensor"
	"orrery/cmd/orrery/internal/cli"
	"orrery/cmd/orrery/internal/settings"
	"orrery/hwmodel"
	"orrery/hwmodel/fit"
	"orrery/internal/disk"
	"orrery/profiles"
	"orrery/reports/calibration"
	"orrery/scheduler/model"
	"orrery/traces"
)

// calibrateVerb holds the flags of calibrate.
type calibrateVerb struct {
	app          *cli.App
	print        *cli.Printer
	cluster, out string
	jobs, report string
	sensor       string
	meters       []string
	meterZone    string
	meterStart   string
	failures     bool
	force        bool
}

func calibrateCommand(app *cli.App) *cobra.Command {
	v := &calibrateVerb{app: app}
	cmd := &cobra.Command{
		Use:   "calibrate BUNDLE|DIR… --cluster FILE --out FILE",
		Short: "Put what was measured of a site into its cluster file",
		Long: `Fit what telemetry and jobs say of the hardware of a site, and write its cluster file
with the figures in it: what GPUs draw idle and held, and at work by class of jobs;
what nodes draw as wholes; speed by GPU and by number of nodes, under limits on power
and at locked clocks, from jobs that did the same work in several ways; bandwidth and
size of checkpoints; failures and repairs.
Everything else in the file stays as it is, remarks too.

Each figure has a range, and stands under "calibration" of the file with what it rests
on: bundles, rows, days, how far measurements usually are from it, where it holds. What
the data cannot carry is refused, with what is missing, and its key stays as it was.
'orrery cluster diff' shows what moved.

Jobs come from --jobs, or from the one bundle that has any. Nodes are told by their
names; a node type of the file that has telemetry of none of its nodes is not fitted.
Readings of NVML are within about 6 % of a meter, unknown in sign, and ranges say so;
--sensor takes gain and offset that 'orrery capture sensor --meter … -o json' has found,
for GPUs of the same generation.

--meter NODE=FILE names what a meter at a node has written, in any format that capture
sensor takes, once for each. It gives what the node draws, and beats the sensor of the
node itself; how far that is from it is printed. A meter that does not follow the GPUs
of its node is refused.

Failures are printed and put into the file only with --failures: replays of a trace
with failures of its own would meet both.

Exit codes: 0 written, 1 failed, 2 usage or a cluster file that is not valid, 3 bad
input, 5 nothing could be fitted and nothing was written.`,
		Example: `  orrery calibrate cap --cluster cap/site.yaml --out calibrated.yaml
  orrery calibrate cap --cluster cap/site.yaml --out calibrated.yaml --report --force
  orrery calibrate cap --cluster cap/site.yaml --out metered.yaml --meter new-1=node.csv`,
		Args: cobra.MinimumNArgs(1),
		RunE: v.run,
	}
	f := cmd.Flags()
	f.StringVar(&v.cluster, "cluster", "", "cluster `FILE` to begin with (required)")
	f.StringVar(&v.out, "out", "", "cluster `FILE` to write (required)")
	f.StringVar(&v.jobs, "jobs", "", "`TRACE` of the jobs, with ids as in the cgroups; else the bundle that has jobs")
	f.StringVar(&v.report, "report", "", "write a page with each fit and what it rests on into `DIR`")
	f.Lookup("report").NoOptDefVal = "calibration"
	f.StringVar(&v.sensor, "sensor", "", "correct readings of GPUs by `FILE`, which capture sensor has written with -o json")
	f.StringArrayVar(&v.meters, "meter", nil, "what a meter at a node has written, as `NODE=FILE`; once for each")
	f.StringVar(&v.meterZone, "meter-zone", "UTC", "`ZONE` of local times of meters, as Europe/London or +01:00")
	f.StringVar(&v.meterStart, "meter-start", "", "`FILE` with the instant of the first reading of a meter whose clock begins at 0, µs since 1970")
	f.BoolVar(&v.failures, "failures", false, "put failures and repairs into the file too")
	cli.ForceFlag(cmd, &v.force)
	v.print = app.PrintFlag(cmd)
	return cmd
}

func (v *calibrateVerb) run(_ *cobra.Command, args []string) (err error) {
	if v.cluster == "" || v.out == "" {
		return cli.Usagef("want --cluster FILE to begin with and --out FILE to write")
	}
	if err := cli.Apart(v.cluster, v.out); err != nil {
		return err
	}
	if err := cli.MayWrite("--out", v.out, v.force); err != nil {
		return err
	}
	if v.report != "" {
		if err := cli.MayHold("--report", v.report, "report.html", v.force); err != nil {
			return err
		}
	}
	c, err := settings.LoadCluster("--cluster", v.cluster)
	if err != nil {
		return err
	}
	text, err := v.text()
	if err != nil {
		return err
	}
	src, done, err := v.source(args, c)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, done()) }()
	names := strings.Join(args, " ")
	found, err := calibrate.Of(src)
	if err != nil {
		return cli.BadInput(inFile(err, names))
	}
	out, outcomes, err := found.Into(calibrate.Merge{File: v.cluster, Text: text, Cluster: c, Bundles: names, Failures: v.failures})
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(outcomes, func(o calibrate.Outcome) bool { return o.Applied }) {
		if err := v.print.Table(calibration.Table(outcomes)); err != nil {
			return err
		}
		v.counts(found)
		return cli.Coded(cli.ExitEvidence, errors.New("nothing could be fitted, and nothing was written: the table says what is missing"))
	}
	if err := disk.WriteFile(v.out, out); err != nil {
		return err
	}
	if v.report != "" {
		if err := calibration.Write(v.report, c.Name, outcomes, found.Counts, v.app.Made()); err != nil {
			return err
		}
	}
	v.counts(found)
	return v.print.Table(calibration.Table(outcomes))
}

// counts says what was read, and what was passed over.
func (v *calibrateVerb) counts(found *calibrate.Result) {
	for _, n := range found.Counts {
		if n.N > 0 {
			v.app.Say("%s: %d", n.What, n.N)
		}
	}
}

// text is that of the cluster file. What it names by paths must be there from the folder of
// the file that is written.
func (v *calibrateVerb) text() ([]byte, error) {
	if slices.Contains(profiles.ClusterNames(), v.cluster) {
		return nil, cli.Usagef("--cluster %s is part of the program: write it into a file first, by orrery profiles show %s > FILE", v.cluster, v.cluster)
	}
	text, err := os.ReadFile(v.cluster)
	if err != nil {
		return nil, err
	}
	c, err := profiles.ParseCluster(v.cluster, text)
	if err != nil {
		return nil, cli.Coded(cli.ExitUsage, err)
	}
	for i := range c.VClusters {
		name := c.VClusters[i].Profile.Name
		if strings.ContainsAny(name, `./\`) && !filepath.IsAbs(name) && filepath.Dir(v.out) != filepath.Dir(v.cluster) {
			return nil, cli.Usagef("--out %s: the cluster file names the profile %s from its folder: write into %s", cli.Quoted(v.out), cli.Quoted(name), filepath.Dir(v.cluster))
		}
	}
	return text, nil
}

// source is what the bundles have of the nodes of the cluster.
func (v *calibrateVerb) source(args []string, c *profiles.Cluster) (src calibrate.Source, done func() error, err error) {
	done = func() error { return nil }
	site, err := c.Resolve()
	if err != nil {
		return src, done, cli.Coded(cli.ExitUsage, err)
	}
	set, err := bundles(args)
	if err != nil {
		return src, done, err
	}
	src = calibrate.Source{Telemetry: set.Telemetry, Events: set.Events}
	types := map[string]int{}
	for i := range c.NodeTypes {
		t := &c.NodeTypes[i]
		gpu := cmp.Or(t.GPUModel, t.GPU)
		src.Types = append(src.Types, calibrate.NodeType{Name: t.Name, GPU: gpu, GPUs: t.GPUs})
	}
	for i := range site.Nodes {
		name := site.Nodes[i].Name
		types[name] = slices.IndexFunc(c.NodeTypes, func(t profiles.NodeType) bool {
			return t.Name == site.NodeTypes[i] || site.NodeTypes[i] == "" && len(c.NodeTypes) == 1
		})
		src.Nodes = append(src.Nodes, name)
	}
	if src.SensorOf, err = sensorOf(v.sensor, models(c, set.Nodes, types)); err != nil {
		return src, done, err
	}
	src.TypeOf = func(node string) int {
		if t, ok := types[node]; ok {
			return t
		}
		return -1
	}
	if src.Meters, err = v.readMeters(src.TypeOf); err != nil {
		return src, done, err
	}
	for i := range c.Workloads {
		src.Classes = append(src.Classes, c.Workloads[i].Name)
	}
	src.ClassOf = classOf(c)
	path, err := v.jobsOf(set)
	if err != nil || path == "" {
		return src, done, err
	}
	b, err := traces.Open(path)
	if err != nil {
		return src, done, cli.BadInput(err)
	}
	src.Jobs, src.Epoch = b.Rows, b.Meta().Epoch
	if !slices.Contains(set.WithJobs, path) { // its events count as well
		for _, e := range b.Events() {
			e.Time = src.Epoch.Add(model.Duration(e.Time))
			src.Events = append(src.Events, e)
		}
		slices.SortStableFunc(src.Events, func(a, b traces.Event) int { return cmp.Compare(a.Time, b.Time) })
	}
	return src, b.Close, nil
}

// readMeters are the series of the meters that --meter names.
func (v *calibrateVerb) readMeters(typeOf func(node string) int) (out []calibrate.Meter, err error) {
	if len(v.meters) == 0 {
		if v.meterStart != "" {
			return nil, cli.Usagef("--meter-start: there is no --meter")
		}
		return nil, nil
	}
	o, err := meterOptions(v.meterZone, v.meterStart)
	if err != nil {
		return nil, err
	}
	for _, text := range v.meters {
		node, path, ok := strings.Cut(text, "=")
		switch {
		case !ok || node == "" || path == "":
			return nil, cli.Usagef("--meter %s: want NODE=FILE, the node that the meter is at and what it has written", cli.Quoted(text))
		case typeOf(node) < 0:
			return nil, cli.Usagef("--meter %s: the cluster file has no node %s", cli.Quoted(text), cli.Quoted(node))
		case slices.ContainsFunc(out, func(m calibrate.Meter) bool { return m.Node == node }):
			return nil, cli.Usagef("--meter %s: the node %s has another meter", cli.Quoted(text), cli.Quoted(node))
		}
		series, err := readMeter(v.app, path, o)
		if err != nil {
			return nil, err
		}
		out = append(out, calibrate.Meter{Node: node, Name: path, Times: series.Times, Watts: series.Watts})
	}
	return out, nil
}

// models are those of the GPUs of each node type, as the bundles name them, else as the file does.
func models(c *profiles.Cluster, nodes []traces.Node, types map[string]int) []string {
	out := make([]string, len(c.NodeTypes))
	for i := range c.NodeTypes {
		out[i] = cmp.Or(c.NodeTypes[i].GPUModel, c.NodeTypes[i].GPU)
	}
	for _, n := range nodes {
		if t, known := types[n.Name]; known && t >= 0 && n.GPUModel != "" {
			out[t] = n.GPUModel
		}
	}
	return out
}

// jobsOf is the trace of the jobs, "" for none.
func (v *calibrateVerb) jobsOf(set *archive.Set) (string, error) {
	switch with := set.WithJobs; {
	case v.jobs != "" || len(with) == 0:
		return v.jobs, nil
	case len(with) == 1:
		return with[0], nil
	default:
		return "", cli.Usagef("%d bundles have jobs, such as %s and %s: name one by --jobs", len(with), cli.Quoted(with[0]), cli.Quoted(with[1]))
	}
}

// classOf tells the class of work of a job, as a replay would.
func classOf(c *profiles.Cluster) func(*traces.Job) int {
	rules := c.WorkClasses()
	return func(j *traces.Job) int {
		gpus := int64(j.GPUsTotal.V)
		if !j.GPUsTotal.OK {
			gpus = int64(j.GPUsPerNode.V) * int64(max(j.NodesMin.V, 1))
		}
		texts := j.Texts()
		return rules.Of(func(column string) string {
			switch c := traces.TextColumnOf(column); {
			case column == "name":
				return j.Name
			case column == "user":
				return j.User
			case c < traces.TextColumns:
				return texts[c]
			}
			return ""
		}, gpus)
	}
}

// usualWindow is the longest window of a reading of power that is published, and usualPeriod the
// longest time between two: what is not known of a GPU is no worse.
const (
	usualWindow = model.Second
	usualPeriod = 100 * model.Millisecond
)

// found is what capture sensor says of a column.
type found struct {
	Column     string   `json:"column"`
	Generation *string  `json:"generation"`
	Gain       *float64 `json:"gain"`
	Offset     *float64 `json:"offset_w"`
	OffsetLow  *float64 `json:"offset_low_w"` // nil where it was found at one level alone, or the file is older
	OffsetHigh *float64 `json:"offset_high_w"`
}

// sensorOf gives what is known of the sensors of the GPUs of each model. Telemetry has what
// nvidia-smi calls power.draw.
func sensorOf(path string, gpus []string) (func(int) fit.Sensor, error) {
	out := make([]fit.Sensor, len(gpus))
	kinds := make([]sensor.Kind, len(gpus))
	for i, gpu := range gpus {
		k := sensor.KindOf("power", gpu, "")
		kinds[i] = k
		out[i] = fit.Unmetered(cmp.Or(micros(k.Period), usualPeriod), cmp.Or(micros(k.Window), usualWindow))
	}
	if path != "" {
		f, err := readSensor(path)
		if err != nil {
			return nil, err
		}
		if f.Generation == nil {
			return nil, cli.Usagef("--sensor %s: it does not say which GPU was measured: name it by 'orrery capture sensor --gpu MODEL'", cli.Quoted(path))
		}
		met := false
		for i := range out {
			if *f.Generation != kinds[i].Generation {
				continue
			}
			met = true
			// The meter was on one card. Others of its kind are as far from it as cards are from one.
			out[i].Gain = hwmodel.Band{Value: *f.Gain, Low: *f.Gain * (1 - sensor.CardBand), High: *f.Gain * (1 + sensor.CardBand)}
			out[i].Offset = f.offset()
			if err := out[i].Validate(); err != nil {
				return nil, cli.Usagef("--sensor %s: %w", cli.Quoted(path), err)
			}
		}
		if !met {
			return nil, cli.Usagef("--sensor %s: it is of the generation %s, and no node type has GPUs of it", cli.Quoted(path), *f.Generation)
		}
	}
	return func(typ int) fit.Sensor { return out[typ] }, nil
}

// offset is that with its range; without one it stands alone, and ranges have the gain's.
func (f *found) offset() hwmodel.Band {
	if f.OffsetLow == nil || f.OffsetHigh == nil {
		return hwmodel.Band{Value: *f.Offset, Low: *f.Offset, High: *f.Offset}
	}
	return hwmodel.Band{Value: *f.Offset, Low: *f.OffsetLow, High: *f.OffsetHigh}
}

func micros(seconds float64) model.Duration {
	return model.Duration(math.Round(seconds * float64(model.Second)))
}

// readSensor reads what capture sensor has written: of the column that telemetry has.
func readSensor(path string) (*found, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, cli.BadInput(err)
	}
	var all []found
	if err := json.Unmarshal(text, &all); err != nil {
		return nil, cli.BadInput(fmt.Errorf("%s: found no list of columns, want what 'orrery capture sensor … -o json' prints: %w", cli.Quoted(path), err))
	}
	at := slices.IndexFunc(all, func(f found) bool { return f.Column == "power.draw" || f.Column == "power" })
	if at < 0 {
		return nil, cli.BadInput(fmt.Errorf("%s: found no column power.draw, which is what telemetry has, among %d", cli.Quoted(path), len(all)))
	}
	f := &all[at]
	if f.Gain == nil || f.Offset == nil {
		return nil, cli.BadInput(fmt.Errorf("%s: found no gain and offset of %s: measure it beside a meter, by orrery capture sensor --meter", cli.Quoted(path), f.Column))
	}
	return f, nil
}
