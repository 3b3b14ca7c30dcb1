package profiles

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/scheduler/model"
)

// TestScenarioIsReadAsItIsWritten: its canonical form is read back to the same.
func TestScenarioIsReadAsItIsWritten(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", `{}`},
		{"description: what for\nevents: []\n", `{}`},
		{"events: [{time: 36h, kind: down, subject: [a, b]}]", `{"events":[{"time":"1d12h","kind":"down","subject":["a","b"]}]}`},
		{"events: [{kind: profile, profile: {order: sjf}}]", `{"events":[{"kind":"profile","profile":{"order":"sjf"}}]}`},
		{"events: [{time: 1d, kind: outage, value: 2h}]", `{"events":[{"time":"1d","kind":"outage","value":"2h"}]}`},
		{"events: [{time: 1d, kind: add, subject: rack, type: a, value: 8, vcluster: v}]", `{"events":[{"time":"1d","kind":"add","subject":"rack","value":"8","type":"a","vcluster":"v"}]}`},
		{"without: {jobs: [3, 4], users: [ann], tenants: [bio]}\nprefer: 0", `{"without":{"jobs":[3,4],"users":["ann"],"tenants":["bio"]},"prefer":0}`},
	} {
		s, err := ParseScenario("scenario.yaml", []byte(c.text))
		require.NoError(t, err, c.text)
		require.JSONEq(t, c.want, string(s.JSON()), c.text)
		again, err := ParseScenario("again", s.JSON())
		require.NoError(t, err, c.text)
		require.Equal(t, string(s.JSON()), string(again.JSON()))
		require.Equal(t, c.want == `{}`, s.Empty())
	}
}

// TestScenarioErrors name the key and its place.
func TestScenarioErrors(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"events: [{kind: broken}]", `x.yaml:1:17: events[0].kind: found "broken", want drain`},
		{"events:\n  - {kind: down, type: a}", "x.yaml:2:24: events[0].type: does not apply with kind: down: leave it out"},
		{"events:\n  - {time: 1d}", `x.yaml:2:5: events[0].kind: found "", want drain`},
		{"events: [{kind: outage}]", "is of kind outage and has no key value"},
		{"events: [{kind: outage, value: 3}]", `events[0].value: duration "3" has no unit`},
		{"events: [{kind: outage, value: 0s}]", "events[0].value: found 0s, want more than 0s"},
		{"events: [{kind: outage, value: -3h}]", "events[0].value: found -3h, want more than 0s"},
		{"events: [{kind: add, subject: a, type: b, value: 0}]", "found 0, want a number of nodes from 1 to 10000"},
		{"events: [{kind: add, subject: [a, b], type: b, value: 1}]", "events[0].subject: found 2 names, want one"},
		{"events: [{kind: profile, profile: {order: sideways}}]", "events[0].profile.order"},
		{"events: [{kind: profile}]", "is of kind profile and has no key profile"},
		{"events: [{kind: add, subject: a, type: b, value: 6000}, {kind: add, subject: c, type: b, value: 6000}]", "12000 nodes or more are added in all, want at most 10000"},
		{"events:\n" + strings.Repeat("  - {kind: price, value: 0}\n", 10_001), "found 10001 events, want at most 10000"},
		{"without: {jobs: [one]}", "without.jobs[0]"},
		{"prefer: soon", "prefer"},
		{"nodes: 3", "nodes"},
	} {
		_, err := ParseScenario("x.yaml", []byte(c.text))
		require.ErrorContains(t, err, c.want, c.text)
	}
	s, err := ParseScenario("x.yaml", []byte("events: [{kind: profile, profile: nosuch}]"))
	require.NoError(t, err)
	require.ErrorContains(t, s.Inline("."), `x.yaml:1:35: events[0].profile: there is no profile "nosuch"`)
}

const scenarioSite = `
node_types: [{name: a, gpu: H, gpus: 4, busy_power: 1kW}]
groups: [{name: g, nodes: 4, type: a}]
vclusters: [{name: one, home: g, profile: {order: fcfs}}, {name: two}]
tenants: [{name: bio, max_nodes: 2}]
events: [{time: 1d, kind: down, subject: g-1}]
`

// TestClusterUnderAScenario: the cluster has what the scenario changes up to an instant, behind its own.
func TestClusterUnderAScenario(t *testing.T) {
	c, err := ParseCluster("site.yaml", []byte(scenarioSite))
	require.NoError(t, err)
	require.NoError(t, c.Inline("."))
	s, err := ParseScenario("scenario.yaml", []byte(`events:
  - {time: 2d, kind: quota, subject: bio, limit: max_nodes, value: 3}
  - {time: 3d, kind: add, subject: rack, type: a, value: 2, vcluster: one}
  - {time: 4d, kind: profile, subject: two, profile: {order: sjf}}
  - {time: 5d, kind: outage, value: 1h}
`))
	require.NoError(t, err)
	for _, want := range []struct {
		until  model.Duration
		nodes  int
		events int
		two    string
	}{{0, 4, 1, "score"}, {2 * model.Day, 4, 2, "score"}, {3 * model.Day, 6, 2, "score"}, {5 * model.Day, 6, 2, "sjf"}} {
		got, err := c.Under(s, model.Time(want.until), true)
		require.NoError(t, err)
		site, err := got.Resolve()
		require.NoError(t, err)
		require.Len(t, site.Nodes, want.nodes)
		require.Len(t, site.Changes, want.events)
		require.Equal(t, want.two, got.VClusters[1].Profile.Inline.Order)
		require.Len(t, s.Added(model.Time(want.until)), want.nodes-4)
		if want.nodes == 6 {
			require.Equal(t, "rack-2", site.Nodes[5].Name)
			require.EqualValues(t, 0, site.Nodes[5].Home, "of the vCluster that it says")
		}
		plain, err := c.Under(s, model.Time(want.until), false)
		require.NoError(t, err)
		require.Equal(t, "score", plain.VClusters[1].Profile.Inline.Order)
	}
	site, err := c.Resolve()
	require.NoError(t, err)
	require.Len(t, site.Nodes, 4, "the cluster itself stays as it was")
}

// TestScenarioThatDoesNotFitTheCluster is told by its own place.
func TestScenarioThatDoesNotFitTheCluster(t *testing.T) {
	c, err := ParseCluster("site.yaml", []byte(scenarioSite))
	require.NoError(t, err)
	for _, x := range []struct{ event, want string }{
		{"{kind: down, subject: g-9}", "s.yaml:2:"},
		{"{kind: down, subject: g-9}", "events[0].subject: found \"g-9\""},
		{"{kind: quota, subject: art, limit: max_nodes, value: 2}", "events[0].subject: found \"art\", which is no tenant"},
		{"{kind: quota, subject: bio, limit: max_nodes, value: 0}", "events[0].value: found 0"},
		{"{kind: price, value: 7}", "events[0].value: found 7, want 0 to 1"},
		{"{kind: down}", "events[0]: is of kind down and has no key subject"},
		{"{kind: add, subject: g, type: a, value: 1}", "the cluster has a group g"},
		{"{kind: add, subject: h, type: z, value: 1}", "z"},
		{"{kind: add, subject: all, type: a, value: 1}", "found the name all"},
		{"{kind: add, subject: h, type: a, value: 1, vcluster: three}", "the cluster has no vCluster three"},
		{"{kind: profile, subject: three, profile: {order: sjf}}", `there is no vCluster "three"`},
	} {
		s, err := ParseScenario("s.yaml", []byte("events:\n  - "+x.event+"\n"))
		require.NoError(t, err, x.event)
		_, err = c.Under(s, 0, true)
		require.ErrorContains(t, err, x.want, x.event)
	}
}

// TestEventsOfACommandLine are those of a file.
func TestEventsOfACommandLine(t *testing.T) {
	e, err := ParseScenarioEvent("kind=down subject=a,b", 3*model.Day)
	require.NoError(t, err)
	s := &Scenario{Events: []ScenarioEvent{e}}
	require.NoError(t, s.Check())
	require.JSONEq(t, `{"events":[{"time":"3d","kind":"down","subject":["a","b"]}]}`, string(s.JSON()))
	e, err = ParseScenarioEvent("time=1d kind=profile profile=default", 3*model.Day)
	require.NoError(t, err)
	require.Equal(t, model.Day, e.Time)
	for _, text := range []string{"down", "kind=", "colour=red", "kind=sideways", "time=soon kind=down"} {
		_, err := ParseScenarioEvent(text, 0)
		require.Error(t, err, text)
	}
	e, err = ParseScenarioEvent("kind=outage", 0)
	require.NoError(t, err)
	s.Events[0] = e
	require.ErrorContains(t, s.Check(), "has no key value")
	require.True(t, strings.HasPrefix(s.Locate(&Error{[]Problem{{File: SpecScenario, Key: "events[2].value", Text: "bad"}}}, 2).Error(), "the event of kind outage at 0s: bad"))
}
