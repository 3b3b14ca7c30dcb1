package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	recordings "orrery/capture/recorded"
	"orrery/reports/table"
	"orrery/scheduler/model"
	"orrery/traces"
)

// convertVerb holds the flags of capture convert.
type convertVerb struct {
	m     *Main
	print *printer
	from  string
	node  string
	label string
	at    string
	zone  string
	out   string
	force bool
}

func (m *Main) captureConvertCommand() *cobra.Command {
	v := &convertVerb{m: m}
	var names []string
	var list strings.Builder
	for _, f := range recordings.Formats {
		names = append(names, f.Name)
		fmt.Fprintf(&list, "  %-11s %s\n", f.Name, f.Doc)
	}
	cmd := &cobra.Command{
		Use:   "convert FILE… --from FORMAT --out OUT.trace",
		Short: "Make a bundle of what other programs have measured",
		Long: `Read what other programs have measured of GPUs, and write it as a bundle of
telemetry. A FILE that is - is standard input. Formats:

` + list.String() + `
A value that a program says it does not know is null; what is no value is refused.
Of two rows of one GPU at one instant the first stays, and the other is counted.

Exit codes: 0 written, 1 failed, 2 usage, 3 bad input.`,
		Example: `  orrery capture convert gpus.csv --from smi-csv --node gpu7 --out gpu7.trace
  orrery capture convert gpus.csv --from smi-csv --node gpu7 --time-zone Europe/Zurich --out gpu7.trace --force`,
		Args: cobra.MinimumNArgs(1),
		RunE: v.run,
	}
	f := cmd.Flags()
	f.Var(choice{word: &v.from, of: names, what: "format"}, "from", "`FORMAT` of the files (required)")
	f.StringVar(&v.node, "node", "", "`NAME` of the node, where the files have none")
	f.StringVar(&v.label, "node-label", "", "`LABEL` of metrics that names the node; by default Hostname, else instance without its port")
	f.StringVar(&v.at, "at", "", "`TIME` of what has none, as 2026-07-03T22:11:09Z")
	f.StringVar(&v.zone, "time-zone", "UTC", "`ZONE` of times without one")
	f.StringVar(&v.out, "out", "", "bundle `OUT` to write: NAME.trace (required)")
	forceFlag(cmd, &v.force)
	v.print = m.printFlag(cmd)
	completeWith(cmd, "from", names...)
	return cmd
}

func (v *convertVerb) run(_ *cobra.Command, args []string) error {
	at := slices.IndexFunc(recordings.Formats, func(f struct {
		Name, Doc string
		Parse     recordings.Parser
	}) bool {
		return f.Name == v.from
	})
	if at < 0 {
		return usagef("no format named: give --from FORMAT")
	}
	if err := checkTraceName(v.out); err != nil {
		return err
	}
	if err := mayWrite("--out", v.out, v.force); err != nil {
		return err
	}
	if v.label != "" && v.from != "prometheus" && v.from != "exposition" {
		return usagef("--node-label: %s has no labels", v.from)
	}
	o := recordings.Options{Node: v.node, Label: v.label}
	var err error
	if o.Zone, err = time.LoadLocation(v.zone); err != nil {
		return usagef("--time-zone %s: no such zone", v.zone)
	}
	if v.at != "" {
		instant, err := time.Parse(time.RFC3339, v.at)
		if err != nil {
			return usagef("--at %s: want a time like 2026-07-03T22:11:09Z", v.at)
		}
		o.At = model.Time(instant.UnixMicro())
	}
	var rows []traces.Telemetry
	for _, path := range args {
		text, err := v.read(path)
		if err != nil {
			return input(err)
		}
		more, err := recordings.Formats[at].Parse(text, o)
		var data *traces.DataError
		if errors.As(err, &data) && data.File == "" {
			data.File = path
		}
		if err != nil {
			return input(err)
		}
		rows = append(rows, more...)
	}
	return v.write(rows)
}

func (v *convertVerb) read(path string) ([]byte, error) {
	from := v.m.Stdin
	if path != "-" {
		f, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		defer f.Close() // only read
		from = f
	}
	text, err := io.ReadAll(io.LimitReader(from, mostRecording+1))
	if err == nil && len(text) > mostRecording {
		return nil, fmt.Errorf("%s: it holds more than %d bytes, want at most so many: convert it in parts and merge them", path, mostRecording)
	}
	return text, err
}

// mostRecording is how large a file of another program may be, which is read whole.
const mostRecording = 256 << 20

// write sorts the rows by time and puts them into the bundle.
func (v *convertVerb) write(rows []traces.Telemetry) (err error) {
	if len(rows) == 0 {
		return input(errors.New("found no measurement of a GPU or a node in the files"))
	}
	slices.SortStableFunc(rows, func(a, b traces.Telemetry) int { return int(min(max(a.Time-b.Time, -1), 1)) })
	epoch := rows[0].Time - rows[0].Time%model.Time(model.Second)
	w, err := traces.NewWriter(v.out, traces.Meta{Source: "converted from " + v.from, Epoch: epoch, EpochKnown: true, TimeZone: v.zone})
	if err != nil {
		return err
	}
	defer w.Abort()
	type series struct {
		node string
		gpu  traces.Opt[int32]
	}
	last := map[series]model.Time{}
	kept, twice := int64(0), int64(0)
	for i := range rows {
		t := &rows[i]
		if t.Node == "" {
			return usagef("the files name no node: give --node NAME")
		}
		if was, known := last[series{t.Node, t.GPU}]; known && was == t.Time {
			twice++
			continue
		}
		last[series{t.Node, t.GPU}] = t.Time
		t.Time = model.Time(t.Time.Sub(epoch))
		if err := w.WriteTelemetry(t); err != nil {
			return err
		}
		kept++
	}
	hash, err := w.Close()
	if err != nil {
		return err
	}
	t := table.New("bundle", "rows", "rows twice", "series", "content hash")
	t.Row(v.out, kept, twice, int64(len(last)), hash)
	return v.print.table(t)
}
