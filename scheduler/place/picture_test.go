package place

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/scheduler/model"
)

// site reads a picture of nodes: groups are apart, a letter is an idle node of
// that fingerprint, ? one of unknown fingerprint and - one that is held. joined
// names adjacent groups.
func picture(nodes string, joined ...[2]int32) *Free {
	site := &model.Site{Fingerprints: 26}
	var held []model.NodeWord
	for g, group := range strings.Fields(nodes) {
		site.Groups = append(site.Groups, model.Group{})
		for _, c := range group {
			n := model.Node{Group: int32(g), Fingerprint: c - 'a', Topology: -1}
			switch c {
			case '?':
				n.Fingerprint = -1
			case '-':
				n.Fingerprint = 0
				held = with(held, model.NodeID(len(site.Nodes)), model.NodeID(len(site.Nodes)))
			}
			site.Nodes = append(site.Nodes, n)
		}
	}
	for _, j := range joined {
		site.Groups[j[0]].Adjacent = append(site.Groups[j[0]].Adjacent, j[1])
	}
	f := NewSpace(site).NewFree()
	f.Take(&model.Placement{Words: held})
	return f
}

// chosen is the picture with # for the nodes that q gets.
func (f *Free) chosen(nodes string, q Query) string {
	var p model.Placement
	q.Class = f.sp.Class(nil)
	if !f.Select(&q, &p) {
		return "no room"
	}
	at := 0
	return strings.Map(func(c rune) rune {
		if c == ' ' {
			return c
		}
		if at++; slices.Contains(wholeNodes(&p), at-1) {
			return '#'
		}
		return c
	}, nodes)
}

const (
	tight  = model.Tight
	spread = model.Spread
	lowest = model.Any
)

// TestPictures shows what is selected, and in which respects the mode that
// looks at conformance first goes wrong where the documented one does not.
func TestPictures(t *testing.T) {
	for _, c := range []struct {
		name             string
		nodes            string
		joined           [][2]int32 // adjacent groups
		q                Query
		documented       string
		conformanceFirst string
	}{
		// One fingerprint everywhere must not make the topology void.
		{name: "tight: the group that fits best", nodes: "aaaa -aaa --aa", q: Query{Nodes: 3, Topology: tight},
			documented: "aaaa -### --aa", conformanceFirst: "###a -aaa --aa"},
		{name: "spread: a node of each group", nodes: "aaaa aaaa aaaa", q: Query{Nodes: 3, Topology: spread},
			documented: "#aaa #aaa #aaa", conformanceFirst: "###a aaaa aaaa"},
		{name: "any: the lowest ids", nodes: "-a aaa aaaa", q: Query{Nodes: 5, Topology: lowest},
			documented: "-# ### #aaa", conformanceFirst: "-# ### #aaa"},
		{name: "any: fingerprints do not matter", nodes: "ab abb", q: Query{Nodes: 3, Topology: lowest},
			documented: "## #bb", conformanceFirst: "a# a##"},

		// Spread must use all that uneven groups have.
		{name: "spread: 1 and 9", nodes: "a aaaaaaaaa", q: Query{Nodes: 6, Topology: spread},
			documented: "# #####aaaa", conformanceFirst: "# #####aaaa"},
		{name: "spread: 1 and 9, two fingerprints", nodes: "a aaaabbbbb", q: Query{Nodes: 6, Topology: spread},
			documented: "# #####bbbb", conformanceFirst: "no room"},
		{name: "spread: 4, 1 and 3", nodes: "aaaa b bbb", q: Query{Nodes: 6, Topology: spread},
			documented: "###a # ##b", conformanceFirst: "no room"},

		// Several groups: most free first, the rest where it fits best.
		{name: "tight: fullest first, best fit last", nodes: "aaaa --aa -aaa aaaa", q: Query{Nodes: 10, Topology: tight},
			documented: "#### --## -aaa ####", conformanceFirst: "#### --## -### #aaa"},
		{name: "tight: one fingerprint before all", nodes: "aab bbb", q: Query{Nodes: 3, Topology: tight},
			documented: "aab ###", conformanceFirst: "aa# ##b"},
		{name: "tight: fewer groups before less waste", nodes: "ab ab aaa", q: Query{Nodes: 2, Topology: tight},
			documented: "ab ab ##a", conformanceFirst: "#b #b aaa"},
		{name: "tight: least left of a fingerprint", nodes: "aaa bb", q: Query{Nodes: 2, Topology: tight},
			documented: "aaa ##", conformanceFirst: "##a bb"},
		{name: "tight: all fingerprints if none holds it", nodes: "ab abc", q: Query{Nodes: 3, Topology: tight},
			documented: "ab ###", conformanceFirst: "ab ###"},

		// Ties end in an index.
		{name: "tie of groups", nodes: "aa aa", q: Query{Nodes: 1, Topology: tight}, documented: "#a aa", conformanceFirst: "#a aa"},
		{name: "tie of fingerprints", nodes: "bb aa", q: Query{Nodes: 2, Topology: tight}, documented: "bb ##", conformanceFirst: "bb ##"},
		{name: "tie broken by nearness", nodes: "aa bb ab", joined: [][2]int32{{2, 0}}, q: Query{Nodes: 4, Topology: tight},
			documented: "## bb ##", conformanceFirst: "## bb ##"},
		{name: "nearness after count", nodes: "aac bba -b -ca", joined: [][2]int32{{0, 2}}, q: Query{Nodes: 5, Topology: tight},
			documented: "### bba -b -##", conformanceFirst: "### #ba -# -ca"},

		// Fingerprints that are not known.
		{name: "unknown: alone", nodes: "aa ??", q: Query{Nodes: 1, Topology: tight}, documented: "aa #?", conformanceFirst: "#a ??"},
		{name: "unknown: a known one of one first", nodes: "? a?", q: Query{Nodes: 1, Topology: tight}, documented: "? #?", conformanceFirst: "# a?"},
		{name: "unknown: not alike", nodes: "a? aa ??", q: Query{Nodes: 2, Topology: tight}, documented: "a? ## ??", conformanceFirst: "#? #a ??"},
		{name: "sensitive", nodes: "ab ab ???", q: Query{Nodes: 2, Sensitive: true}, documented: "#b #b ???", conformanceFirst: "ab ab ##?"},
		{name: "sensitive waits", nodes: "ab ??", q: Query{Nodes: 2, Sensitive: true}, documented: "no room", conformanceFirst: "ab ##"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := picture(c.nodes, c.joined...)
			require.Equal(t, c.documented, f.chosen(c.nodes, c.q))
			c.q.ConformanceFirst = true
			require.Equal(t, c.conformanceFirst, f.chosen(c.nodes, c.q), "conformance first")
		})
	}
}

// TestPick shows GPUs of a node with islands 01 23 45 67 and NUMA domains 0123
// 4567; 1 is free.
func TestPick(t *testing.T) {
	topology := pairs(8)
	l := linksOf(&topology)
	read := func(s string) uint64 {
		m := uint64(0)
		for i, c := range strings.ReplaceAll(s, " ", "") {
			if c != '0' {
				m |= 1 << i
			}
		}
		return m
	}
	for _, c := range []struct {
		name, free string
		n          int32
		want       string
	}{
		{"all alike: the lowest", "11 11 11 11", 1, "10 00 00 00"},
		{"an island", "01 11 11 11", 2, "00 11 00 00"},
		{"the island that is left over", "11 11 01 11", 1, "00 00 01 00"},
		{"a domain", "11 10 11 11", 3, "11 10 00 00"},
		{"the domain that holds it", "10 01 11 10", 3, "00 00 11 10"},
		{"over domains: the lowest", "11 11 11 11", 5, "11 11 10 00"},
	} {
		require.Equal(t, read(c.want), l.pick(read(c.free), c.n), c.name)
	}
	flat := links{}
	require.Equal(t, read("01 01 10 00"), flat.pick(read("01 01 11 11"), 3), "GPUs that are all alike")
}

// TestOverlap: observers of one log may hold the same node twice; nothing is
// given to two, and nothing is lost.
func TestOverlap(t *testing.T) {
	site := &model.Site{}
	for range 3 {
		site.Nodes = append(site.Nodes, model.Node{GPUs: 4, Topology: -1, Fingerprint: -1})
	}
	sp := NewSpace(site)
	committed, own, all := sp.NewFree(), sp.NewFree(), sp.Class(nil)
	whole := &model.Placement{Words: []model.NodeWord{{Word: 0, Mask: 0b011}}}
	share := &model.Placement{Shares: []model.NodeShare{{Node: 1, Units: 2, GPUs: 0b0011}}}

	own.Take(whole) // proposed
	committed.Take(share)
	own.Take(share) // another's, granted first
	require.EqualValues(t, 1, own.Count(all))
	own.GiveWhere(whole, committed) // refused
	require.EqualValues(t, 2, own.Count(all), "node 1 is shared")
	require.EqualValues(t, 3, own.CountShares(all, Share{GPUs: 2}))
	require.EqualValues(t, 2, own.CountShares(all, Share{GPUs: 3}))

	own.GiveWhere(share, committed)
	require.False(t, own.Has(1), "it is still held")
	own.SetAvailable(1, false)
	own.Give(share)
	own.Give(share)
	require.False(t, own.Has(1), "free, but out of service")
	own.SetAvailable(1, true)
	require.EqualValues(t, 3, own.Count(all))

	own.SetAvailable(0, false)
	own.Take(whole)
	own.SetAvailable(0, true)
	require.False(t, own.Has(0), "back in service, but held")
}

// TestCopyOfShares: a copy of a site with shared nodes forgets them again when
// it becomes a copy of one without.
func TestCopyOfShares(t *testing.T) {
	sp := NewSpace(&model.Site{Nodes: []model.Node{{GPUs: 4, Topology: -1, Fingerprint: -1}}})
	all, shared, bare, c := sp.Class(nil), sp.NewFree(), sp.NewFree(), sp.NewFree()
	shared.Take(&model.Placement{Shares: []model.NodeShare{{Node: 0, Units: 3, GPUs: 0b0111}}})
	c.CopyFrom(shared)
	require.Zero(t, c.CountShares(all, Share{GPUs: 2}))
	c.CopyFrom(bare)
	require.EqualValues(t, 1, c.CountShares(all, Share{GPUs: 4}))
	require.EqualValues(t, 1, c.Count(all))
}
