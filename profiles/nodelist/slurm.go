package nodelist

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"orrery/profiles"
	"orrery/traces"
	"orrery/traces/hostlist"
)

// text of a value that is not there, as Slurm prints it.
func absent(s string) bool { return s == "" || s == "(null)" || s == "N/A" || s == "n/a" }

// lines of a text with their numbers from 1, without those that are blank.
func lines(text []byte, fn func(number int64, line string) error) error {
	for i, line := range strings.Split(string(text), "\n") {
		if strings.TrimSpace(line) == "" {
			continue
		}
		if err := fn(int64(i+1), strings.TrimRight(line, "\r")); err != nil {
			return err
		}
	}
	return nil
}

func isScontrol(text []byte) bool { return bytes.HasPrefix(bytes.TrimSpace(text), []byte("NodeName=")) }

// scontrolKeys are those that are read. Other values may hold blanks: what is no such key is
// passed over, and the first of a key counts, since remarks stand last.
var scontrolKeys = []string{"NodeName", "CPUTot", "RealMemory", "Gres", "AvailableFeatures", "Partitions", "State"}

// readScontrol reads nodes that begin with NodeName= at the beginning of a line.
func readScontrol(l *List, text []byte) error {
	var values map[string]string
	var begin int64
	finish := func() error {
		if values == nil {
			return nil
		}
		for _, key := range []string{"CPUTot", "RealMemory", "State"} {
			if _, ok := values[key]; !ok {
				return l.wrong(begin, "node "+values["NodeName"]+" without "+key, "NodeName, CPUTot, RealMemory and State", "make the list again if it was cut short")
			}
		}
		return l.slurmNode(begin, values["NodeName"], values["CPUTot"], values["RealMemory"], values["Gres"], values["AvailableFeatures"], values["Partitions"], values["State"])
	}
	err := lines(text, func(number int64, line string) error {
		if strings.HasPrefix(line, "NodeName=") {
			if err := finish(); err != nil {
				return err
			}
			values, begin = map[string]string{}, number
		} else if line[0] != ' ' && line[0] != '\t' {
			return l.wrong(number, strconv.Quote(excerpt(line)), "NodeName= at the beginning of a node, or its indented lines", "")
		}
		for word := range strings.FieldsSeq(line) {
			key, value, ok := strings.Cut(word, "=")
			if _, again := values[key]; ok && !again && slices.Contains(scontrolKeys, key) {
				values[key] = value
			}
			if key == "Reason" || key == "Comment" || key == "Extra" {
				break // of which the rest of the line is a remark
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return finish()
}

func excerpt(s string) string { return s[:min(len(s), 60)] }

// sinfoColumns are the names that sinfo prints above its columns, by what they hold.
var sinfoColumns = [][]string{
	{"NODELIST", "HOSTNAMES", "NODE", "NODEHOST"}, {"CPUS", "CPUS(A/I/O/T)"}, {"MEMORY"}, {"GRES"},
	{"AVAIL_FEATURES", "AVAIL_FE", "FEATURES"}, {"PARTITION"}, {"STATE", "STATECOMPACT", "STATELONG"},
}

// sinfoHeader finds the line with the names of columns, behind the date of -l, and what divides
// it: a bar, or "" for blanks.
func sinfoHeader(text []byte) (number int, names []string, bar bool) {
	head := strings.SplitN(string(text[:min(len(text), 1<<12)]), "\n", 4)
	for i, line := range head[:min(len(head), 3)] {
		bar = strings.Contains(line, "|")
		names = fieldsOf(line, bar)
		if len(names) > 0 && slices.ContainsFunc(names, func(n string) bool { return slices.Contains(sinfoColumns[0][:2], n) }) {
			return i + 1, names, bar
		}
	}
	return 0, nil, false
}

func fieldsOf(line string, bar bool) []string {
	if !bar {
		return strings.Fields(line)
	}
	out := strings.Split(strings.TrimRight(line, "\r"), "|")
	for i := range out {
		out[i] = strings.TrimSpace(out[i])
	}
	return out
}

func isSinfo(text []byte) bool {
	number, _, _ := sinfoHeader(text)
	return number > 0
}

// readSinfo reads a table with names above its columns.
func readSinfo(l *List, text []byte) error {
	header, names, bar := sinfoHeader(text)
	at := make([]int, len(sinfoColumns))
	for i, known := range sinfoColumns {
		at[i] = slices.IndexFunc(names, func(n string) bool { return slices.Contains(known, n) })
	}
	remark := names[len(names)-1] == "REASON" && !bar // it has blanks
	return lines(text, func(number int64, line string) error {
		if number <= int64(header) {
			return nil
		}
		fields := fieldsOf(line, bar)
		if len(fields) != len(names) && (!remark || len(fields) < len(names)) {
			return l.wrong(number, fmt.Sprintf("%d fields", len(fields)), fmt.Sprintf("%d, as there are names of columns on line %d", len(names), header), "make the list with bars between columns, as sinfo -N -o '%N|%c|%m|%G|%f|%P|%t' does, if values hold blanks")
		}
		value := make([]string, len(at))
		for i, k := range at {
			if k >= 0 {
				value[i] = fields[k]
			}
		}
		if i := strings.LastIndexByte(value[1], '/'); i >= 0 {
			value[1] = value[1][i+1:] // allocated, idle, other, total
		}
		nodes, err := l.names(number, value[0])
		if err != nil {
			return err
		}
		for _, name := range nodes {
			if err := l.slurmNode(number, name, value[1], value[2], value[3], value[4], strings.TrimSuffix(value[5], "*"), value[6]); err != nil {
				return err
			}
		}
		return nil
	})
}

// names are the nodes of a host list.
func (l *List) names(line int64, list string) ([]string, error) {
	var out []string
	for _, term := range hostlist.Terms(list, ",") {
		names, err := hostlist.Expand(term, profiles.MaxNodes-l.named)
		if err != nil {
			return nil, &traces.DataError{File: l.File, Line: line, Found: "the names " + strconv.Quote(excerpt(term)), Expected: "names like n[001-256]", Mend: "make the list again", Cause: err}
		}
		l.named += len(names)
		out = append(out, names...)
	}
	if out == nil {
		return nil, l.wrong(line, "no name of a node", "one, or names like n[001-256]", "")
	}
	return out, nil
}

// slurmNode is a node of Slurm by its texts; "" is what the list does not say. A node that is
// there already is of one more partition.
func (l *List) slurmNode(line int64, name, cpus, memory, gres, features, partitions, state string) error {
	n := Node{Name: name, Line: line}
	states := strings.ToUpper(state)
	if strings.Contains(states, "FUTURE") || strings.HasPrefix(states, "FUTR") {
		l.note("nodes in the state FUTURE are left out")
		return nil
	}
	for _, word := range []string{"DOWN", "DRAIN", "DRNG", "FAIL"} {
		n.Down = n.Down || strings.Contains(states, word)
	}
	mib := int64(0)
	if err := l.number(line, "CPUs of node "+name, cpus, &n.CPUs); err != nil {
		return err
	}
	if err := l.number(line, "MiB of memory of node "+name, memory, &mib); err != nil {
		return err
	}
	n.Memory = mib << 20
	if err := l.gres(&n, gres); err != nil {
		return err
	}
	if !absent(features) {
		n.Features = features
	}
	for p := range strings.SplitSeq(partitions, ",") {
		if !absent(p) && plain(p) != "" && !slices.Contains(n.Partitions, plain(p)) {
			n.Partitions = append(n.Partitions, plain(p))
		}
	}
	at, again := l.index[name]
	if !again {
		if l.index == nil {
			l.index = map[string]int{}
		}
		l.index[name] = len(l.Nodes)
		l.Nodes = append(l.Nodes, n)
		return nil
	}
	first := &l.Nodes[at]
	if n.CPUs != first.CPUs || n.Memory != first.Memory || n.GPU != first.GPU || n.GPUs != first.GPUs || n.Features != first.Features {
		return l.wrong(line, "node "+name+" again, with other CPUs, memory, GRES or features", "the same in each partition", "")
	}
	for _, p := range n.Partitions {
		if !slices.Contains(first.Partitions, p) {
			first.Partitions = append(first.Partitions, p)
		}
	}
	return nil
}

// number reads a count that may be absent.
func (l *List) number(line int64, of, text string, to *int64) error {
	if absent(text) {
		return nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 || n > 1<<30 {
		return l.wrong(line, strconv.Quote(excerpt(text))+" as "+of, "a whole number from 0 to 2^30", "correct the value; sinfo -N gives each node by itself")
	}
	*to = n
	return nil
}

// gres reads gpu:a100:4(S:0-1),gpu:2,nvme:1.
func (l *List) gres(n *Node, text string) error {
	if absent(text) {
		return nil
	}
	for _, term := range hostlist.Terms(text, ",") {
		term, _, _ = strings.Cut(term, "(")
		parts := strings.Split(term, ":")
		if parts[0] != "gpu" {
			l.note("GRES other than GPUs are left out")
			continue
		}
		model, count := "", "1"
		switch last := parts[len(parts)-1]; {
		case len(parts) > 3:
			count = ""
		case len(parts) == 3:
			model, count = parts[1], last
		case len(parts) == 2 && strings.Trim(last, "0123456789") == "":
			count = last
		case len(parts) == 2:
			model = last
		}
		k, err := strconv.ParseInt(count, 10, 32)
		if err != nil || k < 0 {
			return l.wrong(n.Line, "the GRES "+strconv.Quote(excerpt(term))+" of node "+n.Name, "gpu:NUMBER or gpu:MODEL:NUMBER", "correct the value")
		}
		if k > 0 && n.GPUs > 0 && model != n.GPU {
			l.note("GPUs of several models on one node count as those of the first")
		} else if k > 0 {
			n.GPU = model
		}
		n.GPUs += k
	}
	return nil
}

// room says whether so many nodes may stand in a cluster file.
func (l *List) room(line, nodes int64) error {
	if nodes < 1 || nodes > profiles.MaxNodes {
		return l.wrong(line, fmt.Sprintf("%d nodes", nodes), fmt.Sprintf("1 to %d", profiles.MaxNodes), "correct the numbers")
	}
	return nil
}

// note adds an assumption, once.
func (l *List) note(text string) {
	if !slices.Contains(l.Assumed, text) {
		l.Assumed = append(l.Assumed, text)
	}
}
