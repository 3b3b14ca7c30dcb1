package nodelist

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"
	"strings"

	"orrery/traces"
)

// texts is a text with commas, or a list of texts: Slurm's JSON has had both.
type texts string

// UnmarshalJSON implements json.Unmarshaler.
func (t *texts) UnmarshalJSON(b []byte) error {
	if bytes.HasPrefix(b, []byte("[")) {
		var list []string
		if err := json.Unmarshal(b, &list); err != nil {
			return err
		}
		*t = texts(strings.Join(list, ","))
		return nil
	}
	return json.Unmarshal(b, (*string)(t))
}

// unmarshal reads JSON; what is wrong is told by line.
func (l *List) unmarshal(text []byte, to any) error {
	err := json.Unmarshal(text, to)
	if err == nil {
		return nil
	}
	e := &traces.DataError{File: l.File, Found: err.Error(), Expected: "JSON of " + l.Format, Mend: "make the file again"}
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	offset := int64(-1)
	switch {
	case errors.As(err, &syntax):
		offset = syntax.Offset
	case errors.As(err, &kind):
		offset = kind.Offset
		e.Column, e.Found, e.Expected = kind.Field, kind.Value, kind.Type.String()
	}
	if offset >= 0 {
		e.Line = int64(1 + bytes.Count(text[:min(offset, int64(len(text)))], []byte("\n")))
	}
	return e
}

// readNodesJSON reads the nodes of slurmctld, one each.
func readNodesJSON(l *List, text []byte) error {
	var of struct {
		Nodes []struct {
			Name       string `json:"name"`
			CPUs       *int64 `json:"cpus"`
			RealMemory *int64 `json:"real_memory"`
			Gres       string `json:"gres"`
			Features   texts  `json:"features"`
			Partitions texts  `json:"partitions"`
			State      texts  `json:"state"`
			Flags      texts  `json:"state_flags"`
		} `json:"nodes"`
	}
	if err := l.unmarshal(text, &of); err != nil {
		return err
	}
	for i, n := range of.Nodes {
		if n.CPUs == nil || n.RealMemory == nil {
			return &traces.DataError{File: l.File, Row: int64(i + 1), Found: "a node " + strconv.Quote(n.Name) + " without cpus or real_memory", Expected: "both", Mend: "make the list again"}
		}
		if _, again := l.index[n.Name]; again {
			return &traces.DataError{File: l.File, Row: int64(i + 1), Found: "node " + n.Name + " a second time", Expected: "each node once", Mend: "make the list again"}
		}
		if err := l.slurmNode(0, n.Name, strconv.FormatInt(*n.CPUs, 10), strconv.FormatInt(*n.RealMemory, 10), n.Gres, string(n.Features), string(n.Partitions), string(n.State+","+n.Flags)); err != nil {
			return err
		}
	}
	return nil
}

// span is what the nodes of a line of sinfo have, from the least to the most.
type span struct {
	Minimum int64 `json:"minimum"`
	Maximum int64 `json:"maximum"`
}

// readSinfoJSON reads lines of sinfo, each of nodes of one partition in one state.
func readSinfoJSON(l *List, text []byte) error {
	var of struct {
		Sinfo []struct {
			Node struct {
				State texts `json:"state"`
			} `json:"node"`
			Nodes struct {
				Nodes []string `json:"nodes"`
			} `json:"nodes"`
			CPUs      span `json:"cpus"`
			Memory    span `json:"memory"`
			Features  struct{ Total texts }
			Gres      struct{ Total string }
			Partition struct{ Name string }
		} `json:"sinfo"`
	}
	if err := l.unmarshal(text, &of); err != nil {
		return err
	}
	for i, s := range of.Sinfo {
		if len(s.Nodes.Nodes) == 0 {
			continue // a partition without nodes
		}
		if s.CPUs.Minimum != s.CPUs.Maximum || s.Memory.Minimum != s.Memory.Maximum {
			return &traces.DataError{File: l.File, Row: int64(i + 1), Found: "nodes of " + strconv.FormatInt(s.CPUs.Minimum, 10) + " to " + strconv.FormatInt(s.CPUs.Maximum, 10) + " CPUs",
				Expected: "nodes that are alike", Mend: "make the list with sinfo -N --json, which gives each node by itself"}
		}
		names, err := l.names(0, strings.Join(s.Nodes.Nodes, ","))
		if err != nil {
			return err
		}
		for _, name := range names {
			if err := l.slurmNode(0, name, strconv.FormatInt(s.CPUs.Minimum, 10), strconv.FormatInt(s.Memory.Minimum, 10), s.Gres.Total, string(s.Features.Total), s.Partition.Name, string(s.Node.State)); err != nil {
				return err
			}
		}
	}
	return nil
}
