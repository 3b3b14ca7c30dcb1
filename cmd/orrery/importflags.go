package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"orrery/internal/spelling"
	"orrery/traces/importer"
	"orrery/traces/importer/columns"
)

// importFlags say what raw files do not say themselves.
type importFlags struct {
	zone    string
	service string
	table   string
	columns []string
	list    string // FILE of columns
	set     []string
	null    []string
}

func (i *importFlags) register(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&i.zone, "time-zone", "", "`ZONE` of times that name none: UTC, or an IANA name such as Europe/Berlin")
	f.StringVar(&i.service, "service", "", "`NAME` of the service whose load is read, where the file has none")
	f.StringVar(&i.table, "table", "", "read separated values into `TABLE` by --column: jobs, nodes, tenants, events, prices, load or telemetry")
	f.StringArrayVar(&i.columns, "column", nil, "`NAME=SOURCE:UNIT`: the column SOURCE of the file, in UNIT, is NAME of the table; may be given several times")
	f.StringVar(&i.list, "columns", "", "`FILE` of such columns, one on each line, before those of --column; lines that begin with set and null as well")
	f.StringArrayVar(&i.set, "set", nil, "`NAME=VALUE:UNIT`: the same value in every row; may be given several times")
	f.StringArrayVar(&i.null, "null", nil, "`WORD` that means there is no value, beside the empty one, NaN, NULL, None, N/A; may be given several times")
	completeFlag(cmd, "table", cobra.FixedCompletions([]string{"jobs", "nodes", "tenants", "events", "prices", "load", "telemetry"}, cobra.ShellCompDirectiveNoFileComp))
}

// options are those of the importer.
func (i *importFlags) options() (o importer.Options, err error) {
	o.Service = i.service
	if i.zone != "" {
		if o.Zone, err = zoneOf(i.zone); err != nil {
			return o, err
		}
	}
	if err := i.read(); err != nil {
		return o, err
	}
	if i.table == "" {
		if len(i.columns)+len(i.set)+len(i.null) > 0 {
			return o, usagef("--column, --columns, --set and --null are of separated values: say with --table TABLE what a row is")
		}
		return o, nil
	}
	if o.Columns, err = columns.Parse(i.table, i.columns, i.set, i.null); err != nil {
		return o, usagef("%w", err)
	}
	return o, nil
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

// read adds the lines of --columns.
func (i *importFlags) read() error {
	if i.list == "" {
		return nil
	}
	text, err := readText(i.list)
	if err != nil {
		return input(err)
	}
	var named, set, null []string
	for n, line := range strings.Split(string(text), "\n") {
		line = strings.TrimSpace(line)
		word, rest, _ := strings.Cut(line, " ")
		switch {
		case line == "" || line[0] == '#':
		case word == "set":
			set = append(set, strings.TrimSpace(rest))
		case word == "null":
			null = append(null, strings.TrimSpace(rest))
		case word == "table":
			if i.table = strings.TrimSpace(rest); i.table == "" {
				return usagef("%s:%d: table without a name", i.list, n+1)
			}
		case strings.Contains(line, "="):
			named = append(named, line)
		default:
			return usagef("%s", fmt.Sprintf("%s:%d: found %q, want NAME=SOURCE:UNIT, table NAME, set NAME=VALUE:UNIT, null WORD or a comment that begins with #", i.list, n+1, line))
		}
	}
	i.columns, i.set, i.null = append(named, i.columns...), append(set, i.set...), append(null, i.null...)
	return nil
}
