package rundata

import (
	"fmt"
	"strconv"
	"strings"
)

// NodeMap knows the units of each node and where runs of equal nodes end.
type NodeMap struct {
	units  []int32 // of each node
	runEnd []int32 // last node of the run of equal nodes that node i is in
}

// NewNodeMap is that of nodes with so many units each.
func NewNodeMap(units []int32) NodeMap {
	m := NodeMap{units: units, runEnd: make([]int32, len(units))}
	for i := len(units) - 1; i >= 0; i-- {
		m.runEnd[i] = int32(i)
		if i+1 < len(units) && units[i] == units[i+1] {
			m.runEnd[i] = m.runEnd[i+1]
		}
	}
	return m
}

// Each calls fn for every maximal range of nodes in the texts of an attempt on
// which the same number of units was held. Shares is empty when whole nodes
// were.
func (m NodeMap) Each(nodes, shares string, fn func(lo, hi, units int32) error) error {
	held := shareRun{rest: shares}
	for nodes != "" {
		var part string
		part, nodes, _ = strings.Cut(nodes, ",")
		lo, hi, err := parseRange(part)
		if err != nil {
			return err
		}
		if int(hi) >= len(m.units) {
			return fmt.Errorf("node %d is not among the %d nodes of the cluster", hi, len(m.units))
		}
		for lo <= hi {
			end, units := min(hi, m.runEnd[lo]), m.units[lo]
			if shares != "" {
				if end, units, err = held.next(lo, hi); err != nil {
					return err
				}
			}
			if err := fn(lo, end, units); err != nil {
				return err
			}
			lo = end + 1
		}
	}
	return nil
}

func parseRange(s string) (lo, hi int32, err error) {
	a, b, dash := strings.Cut(s, "-")
	l, err := strconv.ParseInt(a, 10, 32)
	h := l
	if err == nil && dash {
		h, err = strconv.ParseInt(b, 10, 32)
	}
	if err != nil || l < 0 || h < l {
		return 0, 0, fmt.Errorf("node range %q is not like 3 or 0-3", s)
	}
	return int32(l), int32(h), nil
}

// shareRun reads a run-length text like "4x3,1" piece by piece.
type shareRun struct {
	rest  string
	units int32
	left  int32
}

// next returns the last node from lo to at most hi that holds what lo holds.
func (s *shareRun) next(lo, hi int32) (end, units int32, err error) {
	if s.left == 0 {
		var part string
		part, s.rest, _ = strings.Cut(s.rest, ",")
		u, n, times := strings.Cut(part, "x")
		v, err := strconv.ParseInt(u, 10, 32)
		k := int64(1)
		if err == nil && times {
			k, err = strconv.ParseInt(n, 10, 32)
		}
		if err != nil || v < 0 || k < 1 {
			return 0, 0, fmt.Errorf("share %q is not like 4 or 4x3, or there are more nodes than shares", part)
		}
		s.units, s.left = int32(v), int32(k)
	}
	end = min(hi, lo+s.left-1)
	s.left -= end - lo + 1
	return end, s.units, nil
}
