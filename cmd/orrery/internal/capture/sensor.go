package capture

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"orrery/capture"
	"orrery/capture/meter"
	recordings "orrery/capture/recorded"
	"orrery/capture/sensor"
	"orrery/cmd/orrery/internal/cli"
	"orrery/scheduler/model"
	"orrery/traces"
	"orrery/traces/importer"
)

// sensorVerb holds the flags of capture sensor.
type sensorVerb struct {
	app        *cli.App
	print      *cli.Printer
	meter      string
	meterStart string
	meterZone  string
	load       string
	zone       string
	model      string
	driver     string
	bad        traces.Unreadable
}

func captureSensorCommand(app *cli.App) *cobra.Command {
	v := &sensorVerb{app: app}
	cmd := &cobra.Command{
		Use:   "sensor FILE|BUNDLE",
		Short: "Say what a GPU's reading of power is, and how far to trust it",
		Long: `Find how often the driver renews each reading of power, over which time it averages,
and with --meter its gain, its offset and how far energy by it is off. FILE is what
'nvidia-smi --query-gpu=timestamp,power.draw,power.draw.instant --format=csv -lms 5'
writes, plain or gzipped; BUNDLE holds samples of an agent (--mode debug). There is a
result for each column of power, and for the energy counter of a bundle.

--meter is a table of time and watts, a log of ptdaemon or of MLPerf, readings of IPMI or
Redfish as CSV, or the samples of an ElmorLabs PMD; it must measure what the GPU draws.
--load has the instants at which a load goes on and off. A window that the load does not
tell is called ambiguous and has its range. Without a meter the energy has the band of
cards, 6 % up and down. A load whose period is near the sensor's is warned of.
nvidia-smi writes local time: its zone is found by the meter or the load, or named.

docs/CALIBRATION.md says how it is found, and how well.

Exit codes: 0 done, 1 failed, 2 usage, 3 bad input.`,
		Example: `  orrery capture sensor smi.csv --meter watts.csv --load toggles.csv
  orrery capture sensor smi.csv -o json`,
		Args: cobra.ExactArgs(1),
		RunE: v.run,
	}
	f := cmd.Flags()
	f.StringVar(&v.meter, "meter", "", "series of a meter in `FILE`")
	f.StringVar(&v.meterStart, "meter-start", "", "`FILE` with the start of the meter's clock in µs since 1970, where the series has none")
	f.StringVar(&v.meterZone, "meter-zone", "UTC", "`ZONE` of the meter's times without one")
	f.StringVar(&v.load, "load", "", "instants in µs since 1970 at which the load toggles, first on, in `FILE`")
	f.StringVar(&v.zone, "zone", "", "`ZONE` of nvidia-smi's times, as Europe/London or +01:00; found by the meter or the load unless given")
	f.StringVar(&v.model, "gpu", "", "`NAME` of the GPU as nvidia-smi has it, where FILE does not say: what is published of its readings")
	f.StringVar(&v.driver, "driver", "", "`VERSION` of the driver, where FILE does not say")
	f.Var(&v.bad.Limit, "bad-rows", traces.BadRowsUsage)
	v.print = app.PrintFlag(cmd)
	return cmd
}

// sensed is one column of power of one GPU.
type sensed struct {
	node   string
	gpu    int32
	column string
	kind   sensor.Kind
	series sensor.Series
	taken  bool // to be preferred for energy
	zone   string
	result *sensor.Result
}

func (v *sensorVerb) run(_ *cobra.Command, args []string) error {
	var meterSeries sensor.Series
	var load []model.Time
	var err error
	switch {
	case v.meterStart != "" && v.meter == "":
		return cli.Usagef("--meter-start: there is no --meter")
	case v.meter != "":
		if meterSeries, err = v.readMeter(); err != nil {
			return err
		}
	}
	if v.load != "" {
		text, err := sensedText(v.load)
		if err != nil {
			return cli.BadInput(err)
		}
		if load, err = meter.Toggles(text); err != nil {
			return cli.BadInput(inFile(err, v.load))
		}
	}
	columns, err := v.readColumns(args[0], meterSeries, load)
	if err != nil {
		return err
	}
	var found []sensed
	var few []error
	for i := range columns {
		c := &columns[i]
		c.result, err = sensor.Analyse(&sensor.Input{Readings: c.series, Meter: meterSeries, Load: load, Kind: c.kind})
		switch {
		case err == nil:
			found = append(found, *c)
			continue
		case errors.Is(err, sensor.ErrTooFew):
			few = append(few, err)
			v.app.Say("Column %s of GPU %d is left out: %v.", c.column, c.gpu, err)
		default:
			return cli.BadInput(fmt.Errorf("%s: column %s of GPU %d: %w", cli.Quoted(args[0]), c.column, c.gpu, err))
		}
	}
	if len(found) == 0 {
		return cli.BadInput(fmt.Errorf("%s: %w", cli.Quoted(args[0]), few[0]))
	}
	prefer(found)
	return v.show(found, v.meter != "")
}

// readColumns are those with readings.
func (v *sensorVerb) readColumns(path string, meterSeries sensor.Series, load []model.Time) (columns []sensed, err error) {
	st, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, cli.BadInput(err)
	case st.IsDir() || traces.IsBundle(path):
		if v.zone != "" {
			return nil, cli.Usagef("--zone: the times of a bundle are UTC")
		}
		columns, err = v.ofBundle(path)
	default:
		columns, err = v.ofText(path, meterSeries, load)
	}
	if err != nil {
		return nil, err
	}
	columns = slices.DeleteFunc(columns, func(c sensed) bool {
		if len(c.series.Times) == 0 {
			v.app.Say("Column %s of GPU %d has no reading.", c.column, c.gpu)
		}
		return len(c.series.Times) == 0
	})
	if len(columns) == 0 {
		return nil, cli.BadInput(&traces.DataError{File: path, Found: "no reading of power", Expected: "readings in power.draw, power.draw.instant or power.draw.average, or samples of power in a bundle"})
	}
	asOthers(columns)
	return columns, nil
}

// ofGPU is how many of the columns, which are grouped by GPU, are of the first one's.
func ofGPU(columns []sensed) (n int) {
	for n < len(columns) && columns[n].node == columns[0].node && columns[n].gpu == columns[0].gpu {
		n++
	}
	return n
}

// asOthers gives a column of which it is not said what it is, and that repeats one of which it is, the kind of that one.
func asOthers(columns []sensed) {
	for len(columns) > 0 {
		n := ofGPU(columns)
		for k := range n {
			for o := 0; o < n && columns[k].kind.Reading == sensor.NotSaid; o++ {
				if columns[o].kind.Reading != sensor.NotSaid && sensor.Same(columns[k].series, columns[o].series) {
					columns[k].kind = columns[o].kind
				}
			}
		}
		columns = columns[n:]
	}
}

// prefer marks the column of each GPU that energy is to be taken from.
func prefer(columns []sensed) {
	for len(columns) > 0 {
		n := ofGPU(columns)
		var kinds []sensor.Kind
		for k := range n {
			kinds = append(kinds, columns[k].kind)
		}
		columns[sensor.Preferred(kinds)].taken = true
		columns = columns[n:]
	}
}

func (v *sensorVerb) ofText(path string, meterSeries sensor.Series, load []model.Time) ([]sensed, error) {
	text, err := sensedText(path)
	if err != nil {
		return nil, cli.BadInput(err)
	}
	account := &recordings.Account{}
	o := recordings.Options{Account: account, Unread: func(e *traces.DataError) error {
		e.File = path
		return v.bad.Add(e)
	}}
	if v.zone != "" {
		if o.Zone, err = meterZoneOf(v.zone); err != nil {
			return nil, cli.Usagef("--zone %s: no such zone, want one like Europe/London or +01:00", v.zone)
		}
	}
	list, err := recordings.SMIPower(text, o)
	if err != nil {
		return nil, cli.BadInput(inFile(err, path))
	}
	if err := v.bad.Check(account.Lines); err != nil {
		return nil, cli.BadInput(err)
	}
	for _, c := range account.Left {
		v.app.Say("Left out %s: %d%s", c.Rule, c.Count, first(c.Example))
	}
	if n := v.bad.Count(); n > 0 {
		v.app.Say("Left out lines that cannot be read: %d of %d", n, account.Lines)
	}
	var columns []sensed
	for _, s := range list {
		columns = append(columns, sensed{gpu: s.GPU, column: s.Column, kind: v.kindOf(s.Column, s.Model, s.Driver), series: sensor.Series{Times: s.Times, Watts: s.Watts}, zone: v.zone})
	}
	if v.zone == "" {
		v.findZone(columns, meterSeries, load)
	}
	return columns, nil
}

// kindOf is what a column is for a GPU and a driver, those that flags name before those of the file.
func (v *sensorVerb) kindOf(column, gpu, driver string) sensor.Kind {
	return sensor.KindOf(column, cmp.Or(v.model, gpu), cmp.Or(v.driver, driver))
}

// findZone moves the readings to UTC.
func (v *sensorVerb) findZone(columns []sensed, meterSeries sensor.Series, load []model.Time) {
	at := slices.IndexFunc(columns, func(c sensed) bool { return len(c.series.Times) > 0 })
	if at < 0 {
		return
	}
	shift, found := sensor.FindShift(columns[at].series, meterSeries, load)
	if !found {
		return
	}
	by, zone := shift.By, zoneText(shift.By)
	switch how := map[bool]string{true: "the meter", false: "the load"}[len(meterSeries.Times) > 0]; {
	case !shift.Sure:
		v.app.Say("Times of nvidia-smi are taken as %s, and others fit %s about as well: name theirs with --zone.", zone, how)
	case by != 0:
		v.app.Say("Times of nvidia-smi are %s: so they fit %s; --zone names another.", zone, how)
	}
	for i := range columns {
		columns[i].series, columns[i].zone = columns[i].series.Moved(by), zone
	}
}

func zoneText(by model.Duration) string {
	sign, minutes := "+", int64(by/model.Minute)
	if minutes < 0 {
		sign, minutes = "-", -minutes
	}
	return fmt.Sprintf("UTC%s%02d:%02d", sign, minutes/60, minutes%60)
}

// meterZoneOf reads the name of a zone, or its distance from UTC.
func meterZoneOf(text string) (*time.Location, error) {
	if t, err := time.Parse("-07:00", strings.TrimPrefix(text, "UTC")); err == nil {
		return t.Location(), nil
	}
	return time.LoadLocation(text)
}

// ofBundle are power and the energy counter of each GPU in bundles.
func (v *sensorVerb) ofBundle(path string) ([]sensed, error) {
	set, err := captured([]string{path})
	if err != nil {
		return nil, err
	}
	names, drivers := inventories(set.Events)
	type place struct {
		node string
		gpu  int32
	}
	power, counter := map[place]*sensor.Series{}, map[place]*sensor.Series{}
	var order []place
	windows := int64(0)
	for t, err := range set.Telemetry() {
		if err != nil {
			return nil, cli.BadInput(err)
		}
		if t.Stat != "" {
			windows++
			continue
		}
		if !t.GPU.OK {
			continue
		}
		of := place{t.Node, t.GPU.V}
		if power[of] == nil {
			order = append(order, of)
			power[of], counter[of] = &sensor.Series{}, &sensor.Series{}
		}
		if t.Power.OK {
			power[of].Add(t.Time, t.Power.V)
		}
		if t.Energy.OK {
			counter[of].Add(t.Time, float64(t.Energy.V)/1000)
		}
	}
	if len(order) == 0 {
		return nil, cli.BadInput(&traces.DataError{File: path, Found: fmt.Sprintf("no samples of a GPU, and %d rows of windows, in which a sensor's period cannot be seen", windows), Expected: "every sample", Mend: "record with orrery-agent --mode debug --interval 10ms"})
	}
	slices.SortStableFunc(order, func(a, b place) int { return cmp.Or(cmp.Compare(a.node, b.node), cmp.Compare(a.gpu, b.gpu)) })
	var columns []sensed
	for _, of := range order {
		kind := v.kindOf("power", names[capture.Subject(of.node, of.gpu)], drivers[of.node])
		columns = append(columns, sensed{node: of.node, gpu: of.gpu, column: "power", kind: kind, series: *power[of], zone: "UTC"})
		if by := sensor.OfCounter(*counter[of]); len(by.Times) > 0 {
			columns = append(columns, sensed{node: of.node, gpu: of.gpu, column: "energy", kind: sensor.CounterKind, series: by, zone: "UTC"})
		}
	}
	return columns, nil
}

// inventories are the models of GPUs by NODE/INDEX and the drivers by node.
func inventories(events []traces.Event) (names, drivers map[string]string) {
	names, drivers = map[string]string{}, map[string]string{}
	list, _ := capture.Inventories(events) // they say what is published of a reading, no more
	for _, r := range list {
		for _, g := range r.GPUs {
			names[capture.Subject(r.Node, g.Index)] = g.Name
		}
		drivers[r.Node] = r.Value(capture.FactDriver)
	}
	return names, drivers
}

func (v *sensorVerb) readMeter() (sensor.Series, error) {
	o, err := meterOptions(v.meterZone, v.meterStart)
	if err != nil {
		return sensor.Series{}, err
	}
	return readMeter(v.app, v.meter, o)
}

// meterOptions are what flags say of a meter's file.
func meterOptions(zone, start string) (o meter.Options, err error) {
	if o.Zone, err = meterZoneOf(zone); err != nil {
		return o, cli.Usagef("--meter-zone %s: no such zone, want one like Europe/London or +01:00", zone)
	}
	if start == "" {
		return o, nil
	}
	text, err := sensedText(start)
	if err != nil {
		return o, cli.BadInput(err)
	}
	word := strings.TrimSpace(string(text[:min(len(text), 64)]))
	at, err := strconv.ParseInt(word, 10, 64)
	if err != nil || at < 0 {
		return o, cli.BadInput(&traces.DataError{File: start, Line: 1, Found: strconv.Quote(word), Expected: "one instant in µs since 1970, as 1688840856595391"})
	}
	o.Start = traces.Some(model.Time(at))
	return o, nil
}

// readMeter is what a meter has written.
func readMeter(app *cli.App, path string, o meter.Options) (sensor.Series, error) {
	text, err := sensedText(path)
	if err != nil {
		return sensor.Series{}, cli.BadInput(err)
	}
	record, err := meter.Parse(text, o)
	if err != nil {
		return sensor.Series{}, cli.BadInput(inFile(err, path))
	}
	for _, c := range record.Left {
		app.Say("Left out of the meter, %s: %d%s", c.Rule, c.Count, first(c.Example))
	}
	return sensor.Series(record.Series), nil
}

// inFile names the file in a complaint about data.
func inFile(err error, path string) error {
	var data *traces.DataError
	if errors.As(err, &data) && data.File == "" {
		data.File = path
	}
	return err
}

// mostSensed bounds a file that is read whole: half an hour of a meter at 4.8 kHz.
const mostSensed = 160 << 20

// sensedText is what a file holds, decompressed where it is packed.
func sensedText(path string) ([]byte, error) { return importer.Text(path, path, mostSensed) }

// thousandth is a figure in s as ms.
func thousandth(s float64) float64 { return s * 1000 }

// ratio is how far one energy is from another, NaN where either is not known.
func ratio(of, to float64) float64 {
	if to == 0 {
		return math.NaN()
	}
	return of/to - 1
}
