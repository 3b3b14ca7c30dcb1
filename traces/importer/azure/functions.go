package azure

import (
	"strconv"

	"orrery/scheduler/model"
	"orrery/traces"
	"orrery/traces/importer/format"
)

// Functions2021 is the format of the invocations of functions of 2021: app,func,end_timestamp,duration,
// in seconds from the start of the trace. A row is one request, which came at its end less
// its duration; the duration is its work. Rows are in order of their start.
//
// Source: https://github.com/Azure/AzurePublicDataset, AzureFunctionsInvocationTrace2021.
var Functions2021 = format.Spec{
	Format:   format.Format{Name: "azure-functions-2021", Version: 1, What: "invocations of Azure Functions of 2021 (app,func,end_timestamp,duration)"},
	Layout:   format.Layout{Comma: ',', Columns: []string{"app", "func", "end_timestamp", "duration"}},
	Relative: true,
	Row: func(_ *format.Table, c *format.Cells, s *format.Sink) error {
		end, work := c.Instant(2, model.Second), c.Span(3, model.Second)
		l := traces.Load{Service: c.Text(1), Time: end.Add(-work), Arrivals: traces.Some(1.0), Work: traces.Some(work)}
		if c.Err != nil {
			return c.Err
		}
		return s.Load(c.Place(""), &l, "")
	},
}.Build()

// Functions2019 is the format of the invocations of functions of 2019: one row for each function with a column for each
// minute of a day, 1 to 1440, each cell being a sample of the load of the function. Which day it
// is stands in the name of the file alone, so that the epoch is not known. With the file of
// durations given along with it, the average of a function is the work of its requests.
//
// Source: https://github.com/Azure/AzurePublicDataset, AzureFunctionsDataset2019.
var Functions2019 = &format.Format{
	Name: "azure-functions-2019", Version: 1, Files: 2, What: "invocations of Azure Functions of 2019 by minute, together with their durations or without them",
	Sniff: func(h format.Head) format.Match {
		m := format.HeaderMatch(h, ',', invocationColumns...)
		if m.Err != nil && isDurations(h) {
			return format.Match{Percent: 100}
		}
		return m
	},
	Scan: scanFunctions,
}

var (
	invocationColumns = []string{"HashOwner", "HashApp", "HashFunction", "Trigger", "1"}
	durationColumns   = []string{"HashOwner", "HashApp", "HashFunction", "Average", "Count", "percentile_Average_50"}
)

func isDurations(h format.Head) bool {
	return format.HeaderMatch(h, ',', durationColumns...).Err == nil
}

func scanFunctions(f *format.Format, files []format.File, _ format.Options) (format.Scanned, error) {
	var counts *format.File
	work := map[string]model.Duration{}
	for i := range files {
		if !isDurations(files[i].Head) {
			if counts != nil {
				return nil, &traces.DataError{File: files[i].Name, Found: "a second file of invocations", Expected: "one, which is a day, and one of durations", Mend: "import each day for itself"}
			}
			counts = &files[i]
			continue
		}
		err := format.Rows(files[i], ',', durationColumns, func(r *format.Row) error {
			c := format.CellsOf(r)
			if d := c.OptSpan(3, model.Millisecond); d.OK {
				work[c.Text(0)+c.Text(1)+c.Text(2)] = d.V
			}
			return c.Err
		})
		if err != nil {
			return nil, err
		}
	}
	if counts == nil {
		return nil, &traces.DataError{File: files[0].Name, Found: "durations of functions and no invocations", Expected: "invocations as well", Mend: "give invocations_per_function along with it"}
	}
	l := &format.Log{Format: f, Files: files, Relative: true}
	l.Read = func(s *format.Sink) error {
		return format.Rows(*counts, ',', invocationColumns, func(r *format.Row) error { return minutes(format.CellsOf(r), work, s) })
	}
	return l.Scan()
}

// isMinute says whether a column is that of a minute.
func isMinute(name string) (minute int64, ok bool) {
	minute, err := strconv.ParseInt(name, 10, 32)
	return minute, err == nil && minute >= 1 && minute <= 1440
}

// wholeMinutes says what of a row cannot be read.
func wholeMinutes(c *format.Cells) error {
	for i, name := range c.Header {
		if _, ok := isMinute(name); !ok {
			continue
		}
		if c.Uses(i); c.Empty(i) {
			continue
		}
		if _, err := c.Int(i); err != nil {
			return err
		}
	}
	return c.Err
}

// minutes are the samples of one function.
func minutes(c *format.Cells, work map[string]model.Duration, s *format.Sink) error {
	d, known := work[c.Text(0)+c.Text(1)+c.Text(2)]
	function := c.Text(2)
	if err := wholeMinutes(c); err != nil { // all of a row, or none
		return err
	}
	for i, name := range c.Header {
		minute, ok := isMinute(name)
		if !ok || c.Empty(i) {
			continue
		}
		n, err := c.Int(i)
		if err != nil {
			return err
		}
		l := traces.Load{Service: function, Time: model.Time(model.Duration(minute-1) * model.Minute), Width: model.Minute, Arrivals: traces.Some(float64(n)),
			Work: traces.Opt[model.Duration]{V: d, OK: known && n > 0}}
		if c.Err != nil {
			return c.Err
		}
		if err := s.Load(c.Place(""), &l, ""); err != nil {
			return err
		}
	}
	return c.Err
}
