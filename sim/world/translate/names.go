package translate

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"orrery/scheduler/model"
	"orrery/traces"
	"orrery/traces/hostlist"
)

// column is what the texts of one column mean at a site.
type column struct {
	read    func(text string) (meaning int32, err error) // nil for a column that is not read
	meaning []int32                                      // by index of the text, unread until it is first used
}

const (
	unread int32 = -1 << 31
	noName int32 = -1 // a name that counts as none
	// nowhere is the meaning of what no node of the site can meet: jobs that ask for it can
	// never run.
	nowhere int32 = -1 << 30
	// firstOf and below are the ids, counted down, of the first known name in a list.
	firstOf int32 = -1 << 20
)

// unknownText is the error of a text that means nothing here.
type unknownText struct{ found, expected, mend string }

func (u *unknownText) Error() string { return u.found }

// setReaders sets how each column is read. Columns of names mean a dense id, others
// a value or a row of a table of the translator. Names of what the site has none
// of mean nothing, and a single vCluster takes the jobs of all. A name that is not among
// those which the site has is of jobs that can never run: they are no reason to refuse all
// others.
func (t *Site) setReaders() {
	named := func(c traces.TextColumn, n int, name func(int) string) {
		ignore := n == 0 && c != traces.TextGPUType || c == traces.TextTenant && t.rows.IgnoreUnknownTenants
		ids := map[string]int32{}
		for i := range n {
			ids[name(i)] = int32(i)
		}
		t.columns[c].read = func(text string) (int32, error) {
			switch {
			case n == 0:
				return -1, nil
			case n == 1 && c == traces.TextVCluster:
				return 0, nil
			}
			if id, ok := ids[text]; ok {
				return id, nil
			}
			if c == traces.TextPartition {
				for name := range strings.SplitSeq(text, ",") {
					if id, ok := ids[name]; ok && name != text {
						return firstOf - id, nil
					}
				}
			}
			if ignore {
				return noName, nil
			}
			if c == traces.TextGPUType { // no node has such GPUs: the job can never run
				return oneOf - t.anyOf(nil), nil
			}
			t.lacks(c.String(), text)
			return nowhere, nil
		}
	}
	s := t.site
	named(traces.TextVCluster, len(s.VClusters), func(i int) string { return s.VClusters[i].Name })
	named(traces.TextTenant, len(s.Tenants), func(i int) string { return s.Tenants[i].Name })
	named(traces.TextQOS, len(s.QOS), func(i int) string { return s.QOS[i].Name })
	named(traces.TextPartition, len(s.Partitions), func(i int) string { return s.Partitions[i].Name })
	named(traces.TextReservation, len(s.Reservations), func(i int) string { return s.Reservations[i].Name })
	named(traces.TextGPUType, len(t.rows.GPUTypes), func(i int) string { return t.rows.GPUTypes[i] })

	spelled := func(c traces.TextColumn, words ...string) {
		t.columns[c].read = func(text string) (int32, error) {
			if i := slices.Index(words, strings.ReplaceAll(strings.ToLower(text), "_", "-")); i >= 0 {
				return int32(i), nil
			}
			return 0, &unknownText{strconv.Quote(text), list(words), "correct the row"}
		}
	}
	spelled(traces.TextKind, model.Bounded.String(), model.Service.String(), model.Reactive.String(), model.Session.String())
	spelled(traces.TextTopology, model.Tight.String(), model.Spread.String(), model.Any.String())
	spelled(traces.TextCheckpoint, model.CheckpointAuto.String(), model.CheckpointManual.String(), model.CheckpointNone.String())
	spelled(traces.TextRequeue, model.RequeueNever.String(), model.RequeueOnNodeFailure.String(), model.RequeueAlways.String())
	if !t.rows.NoFeatures {
		t.columns[traces.TextFeatures].read = t.readFeatures
	}
	if !t.rows.NoNodeNames {
		t.columns[traces.TextNodeInclude].read = t.readIncluded
		t.columns[traces.TextNodeExclude].read = t.readExcluded
	}
	t.columns[traces.TextMounts].read = t.readMounts
	t.columns[traces.TextExitState].read = readExit
	t.columns[traces.TextGPUTypes].read = t.readGPUTypes
}

// list shows at most twelve names.
func list(names []string) string {
	if len(names) == 0 {
		return "none, for the site has none"
	}
	const most = 12
	if len(names) > most {
		return strings.Join(names[:most], ", ") + fmt.Sprintf(" and %d more", len(names)-most)
	}
	return strings.Join(names, ", ")
}

// meaning is the meaning of the text in column c of row i, or missing.
func (t *Site) meaning(b *traces.Batch, i int, c traces.TextColumn, missing int32) (int32, error) {
	k := b.Attr.Text[c][i]
	if k < 0 {
		return missing, nil
	}
	v := &t.columns[c]
	if int(k) < len(v.meaning) && v.meaning[k] != unread {
		return v.meaning[k], nil
	}
	return t.readText(b, i, c)
}

// readText reads the text in column c of row i.
func (t *Site) readText(b *traces.Batch, i int, c traces.TextColumn) (int32, error) {
	k, v := b.Attr.Text[c][i], &t.columns[c]
	for int(k) >= len(v.meaning) {
		v.meaning = append(v.meaning, unread)
	}
	m, err := v.read(b.Attr.Texts.Of(c)[k])
	if err != nil {
		var u *unknownText
		if !errors.As(err, &u) {
			return 0, err
		}
		return 0, t.wrong(b, i, c.String(), u.found, u.expected, u.mend)
	}
	v.meaning[k] = m
	return m, nil
}

func (t *Site) wrong(b *traces.Batch, i int, column, found, expected, mend string) error {
	return &traces.DataError{
		File: t.rows.File, Row: int64(b.First) + int64(i) + 1, Column: column,
		Found: found, Expected: expected, Mend: mend,
	}
}

func number(n int64) string { return strconv.FormatInt(n, 10) }

// textColumns are the columns of text that are read, in the order in which errors in
// several are reported.
var textColumns = [...]traces.TextColumn{
	traces.TextVCluster, traces.TextTenant, traces.TextQOS, traces.TextPartition, traces.TextReservation, traces.TextKind,
	traces.TextTopology, traces.TextCheckpoint, traces.TextRequeue, traces.TextMounts, traces.TextGPUType, traces.TextFeatures,
	traces.TextNodeInclude, traces.TextNodeExclude, traces.TextExitState, traces.TextGPUTypes,
}

// meansNothing are the meanings in a row that states nothing, but for those that Rows.Unstated
// has.
var meansNothing = func() (m [traces.TextColumns]int32) {
	for c := range m {
		m[c] = -1
	}
	m[traces.TextVCluster] = 0
	m[traces.TextKind] = int32(model.Bounded)
	m[traces.TextTopology] = int32(model.Tight)
	m[traces.TextExitState] = int32(model.Completed)
	return m
}()

// filled is which columns of text of a batch hold anything: most traces leave most of
// them empty throughout.
type filled struct {
	attr    *traces.Attributes
	first   model.JobID
	rows    int
	columns []traces.TextColumn // of textColumns
	names   bool                // account, task group or DAG
}

// fill finds out which columns of b are filled, if it is another batch than before. A source that
// has met no text in a column so far has none in the batch either.
func (t *Site) fill(b *traces.Batch) {
	h := &t.filled
	if h.attr == b.Attr && h.first == b.First && h.rows == b.Attr.Len() {
		return
	}
	texts := b.Attr.Texts
	*h = filled{attr: b.Attr, first: b.First, rows: b.Attr.Len(), columns: h.columns[:0]}
	if texts == nil {
		return
	}
	for _, c := range textColumns {
		if t.columns[c].read != nil && len(texts.Of(c)) > 0 {
			h.columns = append(h.columns, c)
		}
	}
	h.names = len(texts.Of(traces.TextAccount))+len(texts.Of(traces.TextGroup))+len(texts.Of(traces.TextDAG)) > 0
}

// texts takes over what row i states in words.
func (t *Site) texts(b *traces.Batch, i int, a *model.Allocation, r *rowState) error {
	t.fill(b)
	stated, attr := t.silent, b.Attr
	for _, c := range t.filled.columns {
		k, m := attr.Text[c][i], unread
		if k < 0 {
			continue
		}
		if known := t.columns[c].meaning; int(k) < len(known) {
			m = known[k]
		}
		if m == unread {
			var err error
			if m, err = t.readText(b, i, c); err != nil {
				return err
			}
		}
		r.routed = r.routed || c == traces.TextVCluster
		switch {
		case m == nowhere:
			t.neverRuns(r)
			continue
		case m == noName:
			r.met.Add(RuleUnknownName)
		case m <= firstOf && c == traces.TextPartition:
			r.met.Add(RuleFirstPartition)
			m = firstOf - m
		}
		stated[c] = m
	}
	a.VCluster = model.VClusterID(stated[traces.TextVCluster])
	a.Tenant = model.TenantID(stated[traces.TextTenant])
	a.QOS = model.QOSID(stated[traces.TextQOS])
	a.Partition = model.PartitionID(stated[traces.TextPartition])
	a.Reservation = model.ReservationID(stated[traces.TextReservation])
	a.Kind = model.Kind(stated[traces.TextKind])
	a.Topology = model.Topology(stated[traces.TextTopology])
	a.Checkpoint = model.Checkpoint(stated[traces.TextCheckpoint])
	a.Requeue = model.Requeue(stated[traces.TextRequeue])
	if m := stated[traces.TextMounts]; m >= 0 {
		a.DataReady = t.hot[m]
	}
	if r.gpuType = stated[traces.TextGPUType]; r.gpuType == -1 && stated[traces.TextGPUTypes] >= 0 {
		r.gpuType = oneOf - stated[traces.TextGPUTypes]
	}
	r.features = stated[traces.TextFeatures]
	if r.features >= 0 {
		t.weigh(&t.feature[r.features], a, r)
	}
	if include := stated[traces.TextNodeInclude]; !r.met.Has(RuleNotInCluster) {
		r.include = include
	}
	if r.exclude = stated[traces.TextNodeExclude]; r.exclude >= 0 && t.missing[r.exclude] {
		r.met.Add(RuleUnknownName)
	}
	r.outcome = model.JobState(stated[traces.TextExitState])
	if r.gpuMemory = max(attr.GPUMem[i], 0); t.memory { // else it is not known how much there is
		r.memory = max(attr.MemPerNode[i], 0)
	}
	if t.filled.names {
		a.Account, a.TaskGroup, a.DAG = attr.Text[traces.TextAccount][i], attr.Text[traces.TextGroup][i], attr.Text[traces.TextDAG][i]
	}
	return nil
}

// readGPUTypes reads models of GPUs, apart by |, of which any will do. A model that the
// site does not have adds nothing; a job that asks for such alone can never run.
func (t *Site) readGPUTypes(text string) (int32, error) {
	if len(t.rows.GPUTypes) == 0 {
		return -1, nil
	}
	var types []int32
	for name := range strings.SplitSeq(text, "|") {
		if k := slices.Index(t.rows.GPUTypes, name); k >= 0 {
			types = append(types, int32(k))
		}
	}
	return t.anyOf(types), nil
}

// anyOf is the place of a list of GPU types.
func (t *Site) anyOf(types []int32) int32 {
	t.types = append(t.types, types)
	return int32(len(t.types) - 1)
}

// readIncluded reads names of nodes like n[001-004,7],m1, all of which a job must have: it
// can never run if one is not there.
func (t *Site) readIncluded(text string) (int32, error) {
	names, ok := understood(text)
	if !ok {
		t.lacks("node_include", strconv.Quote(text)+" (not understood)")
		return nowhere, nil
	}
	set := model.NewNodeSet(len(t.site.Nodes))
	for _, name := range names {
		n := t.nodeOf(name)
		if n < 0 {
			t.lacks("node_include", name)
			return nowhere, nil
		}
		set.Add(n)
	}
	return t.nodesAre(set, false), nil
}

// readExcluded reads names of nodes that a job must not have. It has none that are not there.
func (t *Site) readExcluded(text string) (int32, error) {
	names, ok := understood(text)
	if !ok {
		t.lacks("node_exclude", strconv.Quote(text))
		return nowhere, nil
	}
	set, missing := model.NewNodeSet(len(t.site.Nodes)), false
	for _, name := range names {
		if n := t.nodeOf(name); n >= 0 {
			set.Add(n)
		} else {
			missing = true
		}
	}
	return t.nodesAre(set, missing), nil
}

// nodesAre is the place of a list of nodes, some of whose names may be missing.
func (t *Site) nodesAre(set model.NodeSet, missing bool) int32 {
	t.nodes, t.missing = append(t.nodes, set), append(t.missing, missing)
	return int32(len(t.nodes) - 1)
}

// nodeOf is the node of a name, -1 for none.
func (t *Site) nodeOf(name string) model.NodeID {
	if t.node == nil {
		t.node = make(map[string]model.NodeID, len(t.site.Nodes))
		for i := range t.site.Nodes {
			t.node[t.site.Nodes[i].Name] = model.NodeID(i)
		}
	}
	if n, ok := t.node[name]; ok {
		return n
	}
	return -1
}

// weigh settles what of the features of a row depends on its size.
func (t *Site) weigh(set *featureSet, a *model.Allocation, r *rowState) {
	switch most := max(a.NodesMin, a.NodesMax); {
	case most < set.need:
		t.lacks("counts", set.text)
		t.neverRuns(r)
	case most > 1 && set.approximate:
		r.met.Add(RuleFeaturesApproximate)
	}
}

// neverRuns gives a row no nodes at all.
func (t *Site) neverRuns(r *rowState) {
	if t.noNodes < 0 {
		t.noNodes = t.nodesAre(model.NewNodeSet(len(t.site.Nodes)), false)
	}
	r.include = t.noNodes
	r.met.Add(RuleNotInCluster)
}

// readMounts reads bytes by tier; what is ready is the part on the tier hot.
func (t *Site) readMounts(text string) (int32, error) {
	var tiers map[string]int64
	if err := json.Unmarshal([]byte(text), &tiers); err != nil {
		return 0, &unknownText{strconv.Quote(text), "a JSON object of bytes by storage tier", "correct the row"}
	}
	all, cold := int64(0), int64(0)
	//detlint:ordered a sum of integers does not depend on the order
	for tier, n := range tiers {
		all = model.Plus(all, max(n, 0))
		if tier != "hot" {
			cold = model.Plus(cold, max(n, 0))
		}
	}
	ready := model.One
	if all > 0 {
		ready = model.Ratio(max(tiers["hot"], 0), all)
	}
	t.hot, t.cold = append(t.hot, ready), append(t.cold, cold)
	return int32(len(t.hot) - 1), nil
}

// Outcome is how row i ended in the log, COMPLETED where it does not say. err is a
// *traces.DataError.
func (t *Site) Outcome(b *traces.Batch, i int) (model.JobState, error) {
	if b.Attr == nil || b.Attr.Len() == 0 {
		return model.Completed, nil
	}
	m, err := t.meaning(b, i, traces.TextExitState, int32(model.Completed))
	return model.JobState(m), err
}

// readExit reads how a job ended where the trace was taken. Only its own
// failure, its walltime and its owner are causes that would return in a replay;
// whatever else ended it counts as an end by itself.
func readExit(text string) (int32, error) {
	switch word := strings.ToUpper(text); {
	case word == "FAILED", word == "OUT_OF_MEMORY", word == "DEADLINE":
		return int32(model.Failed), nil
	case word == "TIMEOUT":
		return int32(model.Timeout), nil
	case strings.HasPrefix(word, "CANCELLED"):
		return int32(model.Cancelled), nil
	}
	return int32(model.Completed), nil
}

// nodesNamed lists the names of a list like n[001-004,7],m1.
func nodesNamed(text string) ([]string, error) {
	return hostlist.ExpandList(text, ", ", mostNamed)
}

// understood is nodesNamed where a text that is no list is counted with its row, and no error.
func understood(text string) (names []string, ok bool) {
	names, err := nodesNamed(text)
	return names, err == nil
}

// mostNamed is how many names the nodes of one job may have.
const mostNamed = 1 << 20
