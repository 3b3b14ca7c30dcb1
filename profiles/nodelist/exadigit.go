package nodelist

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"orrery/profiles"
	"orrery/traces"
)

// A system file of ExaDigiT (RAPS) is YAML: under system, num_cdus cooling units of racks_per_cdu racks of nodes_per_rack nodes,
// less those of missing_racks, and of each node cpus_per_node sockets, cores_per_cpu where it is known, gpus_per_node; under
// power what their parts draw, in W. A node draws the sum over its GPUs, CPUs and NICs, its memory and its NVMe; losses of
// conversion, switches and cooling are no part of nodes.

func isExaDigiT(text []byte) bool {
	text = append([]byte("\n"), text...)
	return bytes.Contains(text, []byte("\nsystem:")) && bytes.Contains(text, []byte("nodes_per_rack:")) && bytes.Contains(text, []byte("gpus_per_node:"))
}

// system is what a file says, by the paths of its keys.
type system struct {
	l      *List
	values []profiles.Scalar
	err    error
}

func readExaDigiT(l *List, text []byte) error {
	values, err := profiles.Scalars(l.File, text)
	var wrong *profiles.Error
	if errors.As(err, &wrong) {
		p := wrong.Problems[0]
		return &traces.DataError{File: l.File, Line: int64(p.Line), Found: p.Text, Expected: "YAML of a system", Mend: "fetch the file again"}
	} else if err != nil {
		return err
	}
	s := &system{l: l, values: values}
	racks, per := s.whole("system.num_cdus")*s.whole("system.racks_per_cdu"), s.whole("system.nodes_per_rack")
	missing, down := s.list("system.missing_racks", racks), s.list("system.down_nodes", racks*per)
	n := Node{GPUs: s.whole("system.gpus_per_node")}
	sockets := s.whole("system.cpus_per_node")
	if _, known := s.find("system.cores_per_cpu"); known {
		n.CPUs = sockets * s.whole("system.cores_per_cpu")
	} else {
		l.note(fmt.Sprintf("the cores of the %d CPUs of a node are not known: the file has no cores_per_cpu", sockets))
	}
	s.power(&n, sockets)
	if s.err != nil {
		return s.err
	}
	if err := l.room(0, racks*per); err != nil {
		return err
	}
	l.note("racks and nodes are numbered from 0; a rack is a group; power is that of nodes alone, without losses of conversion, switches and cooling")
	for r := range racks {
		for k := range per {
			if slices.Contains(missing, r) {
				break
			}
			n.Name, n.Group = "n"+strconv.FormatInt(r*per+k, 10), "rack"+strconv.FormatInt(r, 10)
			n.Down = slices.Contains(down, r*per+k)
			l.Nodes = append(l.Nodes, n)
		}
	}
	return nil
}

// power adds up what a node draws, where the file has all its parts.
func (s *system) power(n *Node, sockets int64) {
	nics, known := s.find("system.nics_per_node")
	if _, has := s.find("power.power_gpu_idle"); !known || !has {
		return
	}
	count, err := strconv.ParseInt(nics.Text, 10, 16)
	if err != nil || count < 0 {
		s.wrong(nics, "a whole number")
		return
	}
	rest := s.watts("power.power_mem") + float64(float64(count)*s.watts("power.power_nic")) + s.watts("power.power_nvme")
	gpus, cpus := float64(n.GPUs), float64(sockets)
	n.Idle = int64(float64(gpus*s.watts("power.power_gpu_idle")) + float64(cpus*s.watts("power.power_cpu_idle")) + rest + 0.5)
	n.Busy = int64(float64(gpus*s.watts("power.power_gpu_max")) + float64(cpus*s.watts("power.power_cpu_max")) + rest + 0.5)
}

func (s *system) find(path string) (profiles.Scalar, bool) {
	i := slices.IndexFunc(s.values, func(v profiles.Scalar) bool { return v.Path == path })
	if i < 0 {
		return profiles.Scalar{Path: path}, false
	}
	return s.values[i], true
}

// wrong keeps the first error.
func (s *system) wrong(v profiles.Scalar, expected string) {
	if s.err == nil {
		found := strconv.Quote(excerpt(v.Text)) + " as " + v.Path
		if v.Line == 0 {
			found = "no " + v.Path
		}
		s.err = s.l.wrong(v.Line, found, expected, "correct the value")
	}
}

// whole is a number from 0 to a million.
func (s *system) whole(path string) int64 {
	v, _ := s.find(path)
	n, err := strconv.ParseInt(v.Text, 10, 64)
	if err != nil || n < 0 || n > 1_000_000 {
		s.wrong(v, "a whole number from 0 to 1,000,000")
		return 0
	}
	return n
}

// watts is a number from 0 to ten million.
func (s *system) watts(path string) float64 {
	v, _ := s.find(path)
	x, err := strconv.ParseFloat(v.Text, 64)
	if err != nil || !(x >= 0 && x <= 1e7) {
		s.wrong(v, "a number of watts")
		return 0
	}
	return x
}

// list are the numbers of a list, each below most.
func (s *system) list(path string, most int64) (out []int64) {
	for _, v := range s.values {
		if rest, ok := strings.CutPrefix(v.Path, path+"["); !ok || strings.Trim(rest, "0123456789]") != "" {
			continue
		}
		n, err := strconv.ParseInt(v.Text, 10, 64)
		if err != nil || n < 0 || n >= most {
			s.wrong(v, fmt.Sprintf("a number from 0 to %d", most-1))
			return nil
		}
		out = append(out, n)
	}
	return out
}
