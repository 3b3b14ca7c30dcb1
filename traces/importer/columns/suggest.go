package columns

import (
	"slices"
	"strconv"
	"strings"

	"orrery/traces/importer/format"
)

// guess is a column that names like these often are, and in which unit.
type guess struct {
	table, column string
	names         []string // in small letters, without blanks, _ and -
}

// guesses are tried in order; the first name that a file has counts.
var guesses = []guess{
	{"jobs", "submit", []string{"submit", "submittime", "submittimestamp", "submissiontime", "submitted", "submittedtime", "submittedat", "creationtime", "createtime", "createdat", "arrivaltime", "arrival", "queuedat", "timestamp", "time"}},
	{"jobs", "start", []string{"start", "starttime", "started", "startedat", "startingtime", "begin", "begintime"}},
	{"jobs", "end", []string{"end", "endtime", "ended", "endedat", "finishtime", "finish", "finishedat", "stoptime", "completiontime"}},
	{"jobs", "runtime", []string{"runtime", "duration", "elapsed", "exectime", "executiontime", "wallclock", "servicetime", "length"}},
	{"jobs", "walltime", []string{"walltime", "timelimit", "requestedtime", "reqtime", "limit"}},
	{"jobs", "id", []string{"id", "jobid", "jobnumber"}},
	{"jobs", "gpus_total", []string{"gpus", "numgpus", "numgpu", "gpunum", "gpucount", "ngpus", "gpurequest"}},
	{"jobs", "nodes_min", []string{"nodes", "numnodes", "nodenum", "nodecount", "nnodes"}},
	{"jobs", "procs_requested", []string{"procs", "cpus", "cores", "ncpus", "numcpus", "cpunum", "processors", "numcores"}},
	{"jobs", "user", []string{"user", "username", "userid", "owner", "uid"}},
	{"jobs", "account", []string{"account", "group", "project"}},
	{"jobs", "partition", []string{"partition", "queue", "cluster"}},
	{"load", "time", []string{"time", "timestamp", "datetime", "date", "period", "gmtcreate", "when", "ts"}},
	{"load", "arrivals", []string{"arrivals", "requests", "count", "qps", "rps", "rate", "invocations", "value"}},
	{"load", "concurrent", []string{"concurrent", "players", "sessions", "users", "connections"}},
	{"load", "service", []string{"service", "app", "application", "function", "func", "endpoint"}},
	{"prices", "time", []string{"time", "timestamp", "datetime", "date"}},
	{"prices", "price", []string{"price", "realprice", "eurmwh", "spotprice"}},
	{"prices", "carbon", []string{"carbonintensity", "carbon", "ci", "avgci"}},
}

// needs is what a table must have of a file for it to be suggested.
var needs = []struct {
	table  string
	all    []string
	either []string
}{
	{"jobs", []string{"submit"}, []string{"runtime", "end", "gpus_total", "nodes_min", "procs_requested"}},
	{"prices", []string{"time"}, []string{"price"}},
	{"load", []string{"time"}, []string{"arrivals", "concurrent"}},
}

// Suggest is how a table of separated values that no format knows may be read, "" when
// the file is none: a mapping to start from, with the units as far as they show.
func Suggest(h format.Head) string {
	lines := format.Lines(h)
	if len(lines) < 2 {
		return ""
	}
	for _, comma := range separators {
		names, err := format.Split(lines[0], comma)
		row, err2 := format.Split(lines[1], comma)
		if err != nil || err2 != nil || len(names) < 2 || len(row) != len(names) {
			continue
		}
		const how = "it resembles no known format; a table of comma-separated values is imported by naming its columns: orrery import FILE "
		for _, n := range needs {
			found := suggestions(n.table, names, row)
			if has(found, n.all, true) && has(found, n.either, false) {
				return how + "--table " + n.table + " " + strings.Join(flags(found), " ") + " (did you mean this? correct columns and units: where one is called UNIT, the file does not show it)"
			}
		}
		return how + "--table load --column time=NAME:text --column arrivals=NAME"
	}
	return ""
}

// mapped is a column of a table and what it may be in a file.
type mapped struct{ column, from, unit string }

func suggestions(table string, names, row []string) (out []mapped) {
	for _, g := range guesses {
		if g.table != table {
			continue
		}
		for _, want := range g.names {
			i := slices.IndexFunc(names, func(n string) bool { return plainName(n) == want })
			if i < 0 || slices.ContainsFunc(out, func(m mapped) bool { return m.from == strings.TrimSpace(names[i]) }) {
				continue
			}
			out = append(out, mapped{g.column, strings.TrimSpace(names[i]), unitGuess(g.column, strings.TrimSpace(row[i]))})
			break
		}
	}
	return out
}

func plainName(n string) string {
	return strings.NewReplacer("_", "", " ", "", "-", "").Replace(strings.ToLower(strings.TrimSpace(n)))
}

// unitGuess is the unit that a value shows: text is text, seconds since 1970 are large.
func unitGuess(column, value string) string {
	switch column {
	case "submit", "start", "end", "time":
		x, err := strconv.ParseFloat(value, 64)
		switch {
		case err != nil:
			return ":text"
		case x > 1e8 && x < 1e10:
			return ":unix-s"
		case x > 1e11 && x < 1e13:
			return ":unix-ms"
		}
		return ":UNIT"
	case "runtime", "walltime":
		if strings.Contains(value, ":") {
			return ":text"
		}
		return ":UNIT"
	case "price", "carbon":
		return ":UNIT"
	}
	return ""
}

func has(found []mapped, want []string, all bool) bool {
	n := 0
	for _, w := range want {
		if slices.ContainsFunc(found, func(m mapped) bool { return m.column == w }) {
			n++
		}
	}
	return all && n == len(want) || !all && n > 0
}

func flags(found []mapped) (out []string) {
	for _, m := range found {
		text := m.column + "=" + m.from + m.unit
		if strings.ContainsAny(text, " '\"$()") {
			text = "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
		}
		out = append(out, "--column "+text)
	}
	return out
}
