package capture

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	recordings "orrery/capture/recorded"
	"orrery/cmd/orrery/internal/cli"
	"orrery/cmd/orrery/internal/logfile"
	"orrery/internal/doc"
	"orrery/scheduler/model"
	"orrery/traces"
)

// convertVerb holds the flags of capture convert.
type convertVerb struct {
	app   *cli.App
	print *cli.Printer
	from  string
	files []string
	node  string
	label string
	at    string
	zone  string
	out   string
	force bool
	bad   traces.Unreadable
	none  bool
}

func captureConvertCommand(app *cli.App) *cobra.Command {
	v := &convertVerb{app: app}
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
A value that a program says it does not know, or that its quantity cannot have, is
null. What is left out is said on stderr, by name, and stands in the bundle ('orrery
trace info'). Of two rows of one GPU at one instant the first stays, and the other is
counted.

Exit codes: 0 written, 1 failed, 2 usage, 3 bad input.`,
		Example: `  orrery capture convert gpus.csv --from smi-csv --node gpu7 --out gpu7.trace
  orrery capture convert gpus.csv --from smi-csv --node gpu7 --time-zone Europe/Zurich --out gpu7.trace --force`,
		Args: cobra.MinimumNArgs(1),
		RunE: v.run,
	}
	f := cmd.Flags()
	f.Var(cli.Choice{Word: &v.from, Of: names, What: "format"}, "from", "`FORMAT` of the files (required)")
	f.StringVar(&v.node, "node", "", "`NAME` of the node, where the files have none")
	f.StringVar(&v.label, "node-label", "", "`LABEL` of metrics that names the node; by default Hostname, else instance without its port")
	f.StringVar(&v.at, "at", "", "`TIME` of what has none, as 2026-07-03T22:11:09Z")
	f.StringVar(&v.zone, "time-zone", "UTC", "`ZONE` of times without one")
	f.StringVar(&v.out, "out", "", "bundle `OUT` to write: NAME.trace (required)")
	f.Var(&v.bad.Limit, "bad-rows", traces.BadRowsUsage)
	f.BoolVar(&v.none, "strict", false, "refuse a file of which a line cannot be read")
	cli.ForceFlag(cmd, &v.force)
	v.print = app.PrintFlag(cmd)
	cli.CompleteWith(cmd, "from", names...)
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
		return cli.Usagef("no format named: give --from FORMAT")
	}
	if err := logfile.CheckTraceName(v.out); err != nil {
		return err
	}
	if err := cli.MayWrite("--out", v.out, v.force); err != nil {
		return err
	}
	if v.label != "" && v.from != "prometheus" && v.from != "exposition" {
		return cli.Usagef("--node-label: %s has no labels", v.from)
	}
	account := &recordings.Account{}
	o := recordings.Options{Node: v.node, Label: v.label, Account: account}
	var err error
	if o.Zone, err = time.LoadLocation(v.zone); err != nil {
		return cli.Usagef("--time-zone %s: no such zone", v.zone)
	}
	if v.at != "" {
		instant, err := time.Parse(time.RFC3339, v.at)
		if err != nil {
			return cli.Usagef("--at %s: want a time like 2026-07-03T22:11:09Z", v.at)
		}
		o.At = traces.Some(model.Time(instant.UnixMicro()))
	}
	v.files = args
	if v.none {
		v.bad.Limit = traces.NoBadRows
	}
	var rows []traces.Telemetry
	for _, path := range args {
		o.Unread = func(e *traces.DataError) error {
			e.File = path
			return v.bad.Add(e)
		}
		text, err := v.read(path, v.from != "prometheus" && v.from != "amd-smi")
		if err != nil {
			return cli.BadInput(err)
		}
		more, err := recordings.Formats[at].Parse(text, o)
		var data *traces.DataError
		if errors.As(err, &data) && data.File == "" {
			data.File = path
		}
		if err != nil {
			return cli.BadInput(err)
		}
		rows = append(rows, more...)
	}
	if rows, err = v.named(rows); err != nil {
		return cli.BadInput(err)
	}
	if err := v.bad.Check(account.Lines); err != nil {
		return cli.BadInput(err)
	}
	return v.write(rows, account)
}

// named leaves out rows without a node where others name one: files that name none beside files that do.
func (v *convertVerb) named(rows []traces.Telemetry) ([]traces.Telemetry, error) {
	nameless := func(t traces.Telemetry) bool { return t.Node == "" }
	if !slices.ContainsFunc(rows, func(t traces.Telemetry) bool { return !nameless(t) }) {
		return rows, nil
	}
	for i := range rows {
		if !nameless(rows[i]) {
			continue
		}
		e := &traces.DataError{Row: int64(i + 1), Found: "no name of a node", Expected: "one, as the other files have", Mend: "give --node NAME for those without"}
		if err := v.bad.Add(e); err != nil {
			return nil, err
		}
	}
	return slices.DeleteFunc(rows, nameless), nil
}

// Bounds of a file of another program, which is read whole. The JSON of a format is one value, and takes several times its room
// while it is read; of a text no line is long.
const (
	mostRecording = 256 << 20
	mostJSON      = 64 << 20
	mostLine      = 1 << 20
)

func (v *convertVerb) read(path string, lines bool) ([]byte, error) {
	from, size := v.app.Stdin, int64(0)
	if path != "-" {
		f, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		defer f.Close() // only read
		from = f
		if info, err := f.Stat(); err == nil && info.Mode().IsRegular() {
			size = info.Size()
		}
	}
	most, parts := int64(mostRecording), "convert it in parts and merge them"
	if !lines {
		most, parts = mostJSON, "ask for a shorter time at once, and give all the files together"
	}
	if size > most {
		return nil, tooLarge(path, most, parts)
	}
	text, err := readBounded(from, size, most, lines)
	switch {
	case errors.Is(err, errLongLine):
		return nil, &traces.DataError{File: path, Row: 1 + int64(bytes.Count(text, []byte("\n"))), Found: fmt.Sprintf("a line longer than %d bytes", mostLine), Expected: "lines that end", Mend: "name the format of the file with --from"}
	case err == nil && int64(len(text)) > most:
		return nil, tooLarge(path, most, parts)
	}
	return text, err
}

func tooLarge(path string, most int64, mend string) error {
	return fmt.Errorf("%s: it holds more than %d bytes, want at most so many: %s", path, most, mend)
}

var errLongLine = errors.New("a line is too long")

// readBounded reads up to most bytes and one, in a room of the size that is expected; with lines, none of them may be long, which is
// found before more of it is held.
func readBounded(from io.Reader, size, most int64, lines bool) ([]byte, error) {
	text := bytes.NewBuffer(make([]byte, 0, size+bytes.MinRead))
	from = io.LimitReader(from, most+1)
	for begin := 0; ; { // of the line that is read
		n, err := io.CopyN(text, from, mostLine)
		if end := bytes.LastIndexByte(text.Bytes()[text.Len()-int(n):], '\n'); end >= 0 {
			begin = text.Len() - int(n) + end + 1
		}
		switch {
		case lines && text.Len()-begin > mostLine:
			return text.Bytes(), errLongLine
		case errors.Is(err, io.EOF):
			return text.Bytes(), nil
		case err != nil:
			return nil, err
		}
	}
}

// write sorts the rows by time and puts them into the bundle.
func (v *convertVerb) write(rows []traces.Telemetry, account *recordings.Account) (err error) {
	if len(rows) == 0 {
		v.tell(account)
		return cli.BadInput(errors.New("found no measurement of a GPU or a node in the files"))
	}
	slices.SortStableFunc(rows, func(a, b traces.Telemetry) int { return int(min(max(a.Time-b.Time, -1), 1)) })
	read := int64(len(rows))
	rows, series := firsts(rows)
	epoch := rows[0].Time - rows[0].Time%model.Time(model.Second)
	report, err := json.Marshal(v.report(read, int64(len(rows)), account))
	if err != nil {
		return err
	}
	w, err := traces.NewWriter(v.out, traces.Meta{Source: "converted from " + v.from, Epoch: epoch, EpochKnown: true, TimeZone: v.zone, Import: string(report)})
	if err != nil {
		return err
	}
	defer w.Abort()
	for i := range rows {
		t := &rows[i]
		if t.Node == "" {
			return cli.Usagef("the files name no node: give --node NAME")
		}
		t.Time = model.Time(t.Time.Sub(epoch))
		if err := w.WriteTelemetry(t); err != nil {
			return err
		}
	}
	hash, err := w.Close()
	if err != nil {
		return err
	}
	t := doc.New("bundle", "rows", "rows twice", "series", "content hash")
	t.Row(v.out, int64(len(rows)), read-int64(len(rows)), series, hash)
	v.tell(account)
	return v.print.Table(t)
}

// firsts keeps the first of several rows of one GPU at one instant, and counts the GPUs.
func firsts(rows []traces.Telemetry) (kept []traces.Telemetry, series int64) {
	type place struct {
		node string
		gpu  traces.Opt[int32]
	}
	last := map[place]model.Time{}
	for i := range rows {
		of := place{rows[i].Node, rows[i].GPU}
		if was, known := last[of]; known && was == rows[i].Time {
			continue
		}
		last[of] = rows[i].Time
		kept = append(kept, rows[i])
	}
	return kept, int64(len(last))
}

// report is the account that the bundle has of itself.
func (v *convertVerb) report(read, kept int64, account *recordings.Account) traces.Report {
	r := traces.Report{File: strings.Join(v.files, " "), Format: v.from, Importer: "capture convert", Read: read + v.bad.Count(), Kept: kept}
	if n := v.bad.Count(); n > 0 {
		r.Dropped = append(r.Dropped, traces.Rule{Rule: traces.RuleUnreadable, Count: n})
	}
	if read > kept {
		r.Dropped = append(r.Dropped, traces.Rule{Rule: "second row of one GPU at one instant", Count: read - kept})
	}
	for _, c := range account.Left {
		r.Repaired = append(r.Repaired, traces.Rule{Rule: "left out " + c.Rule, Count: c.Count, Example: c.Example})
	}
	r.Repaired = append(r.Repaired, account.Noted...)
	return r
}

// tell says what was left out, and what can be read in two ways.
func (v *convertVerb) tell(account *recordings.Account) {
	if n := v.bad.Count(); n > 0 {
		v.app.Say("Left out lines that cannot be read: %d of %d", n, account.Lines)
	}
	for _, c := range account.Left {
		v.app.Say("Left out %s: %d%s", c.Rule, c.Count, first(c.Example))
	}
	for _, c := range account.Noted {
		v.app.Say("Read by a rule, %s: %d%s", c.Rule, c.Count, first(c.Example))
	}
}

func first(example string) string {
	if example == "" {
		return ""
	}
	return ", the first " + example
}
