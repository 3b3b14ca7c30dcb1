package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"orrery/internal/spelling"
	"orrery/profiles"
	"orrery/traces/importer"
	"orrery/traces/importer/columns"
)

// importFlags say what raw files do not say themselves.
type importFlags struct {
	logFlags
	service string
	table   string
	columns []string
	list    string // FILE of columns
	set     []string
	null    []string
}

func (i *importFlags) register(cmd *cobra.Command) {
	i.logFlags.register(cmd)
	f := cmd.Flags()
	f.StringVar(&i.service, "service", "", "`NAME` of the service whose load is read, where the file has none")
	f.StringVar(&i.table, "table", "", "read separated values into `TABLE` by --column: jobs, nodes, tenants, events, prices, load, telemetry or mig")
	f.StringArrayVar(&i.columns, "column", nil, "`NAME=SOURCE:UNIT`: the column SOURCE of the file, in UNIT, is NAME of the table; may be given several times")
	f.StringVar(&i.list, "columns", "", "`FILE` in YAML that says the same, with time_zone and service; --column and --set add to it")
	f.StringArrayVar(&i.set, "set", nil, "`NAME=VALUE:UNIT`: the same value in every row; may be given several times")
	f.StringArrayVar(&i.null, "null", nil, "`WORD` that means there is no value, beside the empty one, NaN, NULL, None, N/A; may be given several times")
	grouped(f, groupLogs, "service", "table", "column", "columns", "set", "null")
	completeFlag(cmd, "table", cobra.FixedCompletions([]string{"jobs", "nodes", "tenants", "events", "prices", "load", "telemetry", "mig"}, cobra.ShellCompDirectiveNoFileComp))
}

// options are those of the importer.
func (i *importFlags) options() (o importer.Options, err error) {
	var file *profiles.Mapping
	if i.list != "" {
		file, err = profiles.LoadMapping(i.list)
		if errors.Is(err, fs.ErrNotExist) {
			return o, noFile(i.list, i.list, "a file of columns")
		}
		if err != nil {
			return o, wrongFile(err)
		}
		i.table, i.zone, i.service = cmp.Or(i.table, file.Table), cmp.Or(i.zone, file.TimeZone), cmp.Or(i.service, file.Service)
	}
	if o, err = i.logFlags.options(); err != nil {
		return o, err
	}
	o.Service = i.service
	if i.table == "" {
		if len(i.columns)+len(i.set)+len(i.null) > 0 {
			return o, usagef("--column, --set and --null are of separated values: say with --table TABLE what a row is")
		}
		return o, nil
	}
	o.Columns, err = i.mapping(file)
	return o, err
}

// mapping is what the file, nil for none, and the flags say of the columns.
func (i *importFlags) mapping(file *profiles.Mapping) (*columns.Mapping, error) {
	var all []columns.Column
	var flags []string // of each that is not of the file
	null := i.null
	if file != nil {
		for k, c := range file.Columns {
			all = append(all, columns.Column{Name: c.Name, From: c.From, Constant: file.Constant(k), Value: c.Value, Unit: c.Unit})
		}
		null = append(slices.Clone(file.Nulls), null...)
	}
	ofFile := len(all)
	for _, given := range []struct {
		flag     string
		texts    []string
		constant bool
	}{{"--column", i.columns, false}, {"--set", i.set, true}} {
		for _, text := range given.texts {
			c, err := columns.Parse(i.table, text, given.constant)
			if err != nil {
				return nil, usagef("%s %s: %w", given.flag, text, err)
			}
			all, flags = append(all, c), append(flags, given.flag+" "+text)
		}
	}
	m, err := columns.New(i.table, all, null)
	var wrong *columns.ColumnError
	switch {
	case err == nil:
		return m, nil
	case errors.As(err, &wrong) && wrong.Index < ofFile:
		return nil, wrongFile(file.Wrong(fmt.Sprintf("columns[%d].%s", wrong.Index, wrong.Key), "%v", err))
	case errors.As(err, &wrong) && wrong.Key == "unit":
		return nil, usagef("%s: %w, written behind a colon", flags[wrong.Index-ofFile], err)
	case errors.As(err, &wrong):
		return nil, usagef("%s: %w", flags[wrong.Index-ofFile], err)
	case file != nil && len(flags) == 0:
		return nil, wrongFile(file.Wrong("columns", "%v", err))
	}
	return nil, usagef("%w; --column NAME=SOURCE:UNIT and --set NAME=VALUE:UNIT say it", err)
}

// zoneOf is a time zone by its name. Its rules are those in the program, so that an
// import is the same on every computer.
func zoneOf(name string) (*time.Location, error) {
	if name == "Local" {
		return nil, usagef("--time-zone Local: name the zone, so that the import is the same on another computer")
	}
	zone, err := time.LoadLocation(name)
	if err != nil {
		return nil, usagef("--time-zone %s%s: no such zone; want UTC or an IANA name such as Europe/Berlin or US/Pacific", name,
			spelling.Hint(name, []string{"UTC", "Europe/Berlin", "Europe/London", "Europe/Paris", "US/Pacific", "US/Eastern", "US/Central", "US/Mountain", "Asia/Shanghai", "Asia/Tokyo"}))
	}
	return zone, nil
}
