package commitlog

import (
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/scheduler/drive"
	"orrery/scheduler/model"
)

// Every field of every fact, proposal and pass, and of what they point at, changes the
// line: a new field that is not written fails here.
func TestEveryFieldIsWritten(t *testing.T) {
	of := func(e *Entry) string { return string(NewText(Names{}).Append(nil, e)) }
	for _, kind := range []model.FactKind{model.FactSubmitted, model.FactEnded, model.FactPrice, model.FactNode, model.FactUsageBegan} {
		everyFieldIsWritten(t, &Entry{What: Fact, Fact: model.Fact{Kind: kind}}, "Fact", of)
	}
	everyFieldIsWritten(t, &Entry{What: Proposal}, "Proposal", of)
	everyFieldIsWritten(t, &Entry{What: Promise}, "Promise", of)
	for _, field := range []string{"Now", "Count", "Due", "QuietUntil", "Again", "More"} {
		everyFieldIsWritten(t, &Entry{What: Pass}, field, of)
	}
	for _, field := range []string{"Now", "Count", "Round"} {
		everyFieldIsWritten(t, &Entry{What: Round}, field, of)
	}
}

func everyFieldIsWritten(t *testing.T, e *Entry, field string, of func(*Entry) string) {
	t.Helper()
	kind := e.Fact.Kind
	seen := map[string]string{of(e): "zeros"}
	note := func(path string) {
		line := of(e)
		require.NotContains(t, seen, line, "%s is written as %s", path, seen[line])
		require.Equal(t, 1, strings.Count(line, "\n"))
		seen[line] = path
	}
	v := reflect.ValueOf(e).Elem().FieldByName(field)
	n := uint64(0)
	if v.Kind() == reflect.Struct {
		filled(v, &n)
		e.Fact.Kind = kind
		note("filled")
	}
	eachLeaf(v, field, note)
}

// Lines are short where fields are at what rows have that say nothing, and things have
// their names.
func TestLines(t *testing.T) {
	plain := model.Constraint{GPUType: -1}
	usual := model.Allocation{
		Job: 2, ID: 3, Submit: model.Time(5 * model.Second), Eligible: model.Time(5 * model.Second), Walltime: 10 * model.Minute,
		NodesMin: 2, NodesMax: 2, Tenant: 0, User: -1, Account: -1, QOS: -1, Partition: -1, Reservation: -1, TaskGroup: -1, DAG: -1,
		Class: 5, Checkpoint: model.CheckpointNone, Requeue: model.RequeueOnNodeFailure, MaxRequeue: 3, DataReady: -1,
	}
	asked := model.Request{Layout: model.PerNode, Nodes: 2, PerNode: 1, Units: 2}
	two := model.Placement{Words: []model.NodeWord{{Word: 0, Mask: 3}}}
	parts := model.Placement{Shares: []model.NodeShare{{Node: 0, Units: 2, GPUs: 0b1100}, {Node: 2, Units: 3}}}
	text := NewText(Names{Jobs: []int64{1, 2, 3, 4}, Nodes: []string{"n1", "n2", "n3"}, VClusters: []string{"v", "w"}, Tenants: []string{"a"}})
	var out []byte
	for _, e := range []Entry{
		{What: Round, Now: model.Time(5 * model.Second), Round: drive.Stepped, Count: 2},
		{What: Fact, Now: model.Time(5 * model.Second), Fact: model.Fact{Kind: model.FactSubmitted, Job: 2, Ref: 2, Submit: model.Time(5 * model.Second), Walltime: 10 * model.Minute, Request: asked, Alloc: &usual, Constraint: &plain}},
		{What: Fact, Now: model.Time(5 * model.Second), Fact: model.Fact{Kind: model.FactNode, Node: 2, State: model.Down}},
		{What: Pass, Now: model.Time(5 * model.Second), Count: 1, Due: model.Never, QuietUntil: model.Time(10 * model.Minute)},
		{What: Proposal, Now: model.Time(5 * model.Second), Proposal: model.Proposal{Seq: 1, Job: 2, Ref: 2, Request: asked, Placement: two}},
		{What: Proposal, Now: model.Time(5 * model.Second), Proposal: model.Proposal{Kind: model.ProposePreempt, Seq: 2, Job: 3, Ref: 0, Victim: 2, Reason: model.ReasonPreempted, VCluster: 1}},
		{What: Round, Now: model.Time(5 * model.Second), Round: drive.Answered, Count: 1},
		{What: Fact, Now: model.Time(5 * model.Second), Fact: model.Fact{Kind: model.FactAssigned, Seq: 1, Job: 2, Ref: 2, Placement: &parts}},
		{What: Fact, Now: model.Time(5 * model.Second), Fact: model.Fact{Kind: model.FactPrice, Value: int64(model.FixedOf(0.2))}},
		{What: Fact, Now: model.Time(5 * model.Second), Fact: model.Fact{Kind: model.FactLimits, Limits: &model.Limits{MaxNodes: 2, FairShare: model.FixedOf(0.25)}}},
		{What: Pass, Now: model.Time(6 * model.Second), Due: model.Never, QuietUntil: model.Never},
	} {
		out = text.Append(out, &e)
	}
	require.Equal(t, strings.TrimPrefix(`
00:00:05 round stepped, 2 facts
  submitted job 3, in v, 2 nodes, walltime 00:10:00, tenant a
  node n3 DOWN
00:00:05 pass: 1 proposal, quiet until 00:10:00
  propose assign job 3 on n[1-2] (no. 1), in v
  propose preempt job 3 to start job 4 (ref 0) for PREEMPTED (no. 2), in w
00:00:05 round answered, 1 fact
  assigned job 3 on n1:gpu[2-3] n3:3 (no. 1)
  price 0.2
  limits of tenant a, most nodes 2, share 0.25
00:00:06 pass, quiet
`, "\n"), string(out))
}

func TestDecimal(t *testing.T) {
	for text, x := range map[string]model.Fixed{
		"0": 0, "1": model.One, "0.5": model.One / 2, "0.2": model.FixedOf(0.2), "12.34": model.FixedOf(12.34), "-1/2^32": -1,
		"0.0000000002": 1, "9223372036854775807/2^32": model.Fixed(1<<63 - 1),
	} {
		require.Equal(t, text, decimal(x))
	}
}
