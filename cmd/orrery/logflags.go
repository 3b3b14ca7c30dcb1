package main

import (
	"strconv"

	"github.com/spf13/cobra"

	"orrery/traces"
	"orrery/traces/importer"
)

// logFlags say of raw logs what they do not say themselves, and how many of their rows may be unreadable. Every verb that reads
// a raw log has them.
type logFlags struct {
	zone    string
	bad     traces.BadRows
	arrival string
	xz      int64 // bytes
}

// arrivalSequence is the one word of --arrival.
const arrivalSequence = "sequence"

// logFlags adds the flags to a verb that opens its traces by openTrace.
func (m *Main) logFlags(cmd *cobra.Command) { m.logs.register(cmd) }

func (l *logFlags) register(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&l.zone, "time-zone", "", "`ZONE` of times that name none: UTC, or an IANA name such as Europe/Berlin")
	f.Var(&l.bad, "bad-rows", traces.BadRowsUsage)
	f.StringVar(&l.arrival, "arrival", "", "`ORDER` in which jobs of a list without times come: sequence, one a second as they are listed")
	l.xz = importer.DefaultXZDictionary
	f.Var(sizeValue(&l.xz), "xz-dictionary", "largest dictionary of xz data that is unpacked, 4GiB at most: so much memory is taken")
	grouped(f, groupLogs, "time-zone", "bad-rows", "arrival", "xz-dictionary")
	completeFlag(cmd, "arrival", cobra.FixedCompletions([]string{arrivalSequence}, cobra.ShellCompDirectiveNoFileComp))
}

// options are those of the importer.
func (l *logFlags) options() (o importer.Options, err error) {
	if l.zone != "" {
		if o.Zone, err = zoneOf(l.zone); err != nil {
			return o, err
		}
	}
	if l.arrival != "" && l.arrival != arrivalSequence {
		return o, usagef("--arrival %s: want %s", l.arrival, arrivalSequence)
	}
	o.BadRows, o.Sequence, o.XZDictionary = l.bad, l.arrival != "", l.xz
	return o, nil
}

// given are the flags as another process takes them.
func (l *logFlags) given() (args []string) {
	if l.zone != "" {
		args = append(args, "--time-zone", l.zone)
	}
	if l.bad != (traces.BadRows{}) {
		args = append(args, "--bad-rows", l.bad.String())
	}
	if l.xz != 0 && l.xz != importer.DefaultXZDictionary {
		args = append(args, "--xz-dictionary", strconv.FormatInt(l.xz, 10))
	}
	if l.arrival != "" {
		args = append(args, "--arrival", l.arrival)
	}
	return args
}
