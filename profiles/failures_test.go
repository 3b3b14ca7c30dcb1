package profiles

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/scheduler/model"
)

const typedSite = `node_types: [{name: a, gpus: 4, gpu: A, mtbf: 100d}, {name: b, gpus: 4, gpu: B}]
groups: [{name: g, nodes: 2, type: a}, {name: h, nodes: 2, type: b}, {name: g, nodes: 1, type: b}]
`

// TestFailuresAreResolved: each node has the mean of its type, and each shared part its nodes.
func TestFailuresAreResolved(t *testing.T) {
	c, err := ParseCluster("c.yaml", []byte(typedSite+`failures:
  mtbf: 266d
  law: weibull
  shape: 0.8
  repair: log-normal
  repair_median: 59m
  repair_sigma: 1.4
  shared:
    - {mtbf: 300d}
    - {of: nodes, nodes: [h, g-1], mtbf: 1000d, mttr: 2h, repair_sigma: 1}
    - {nodes: h, mtbf: 1d}
agents: {heartbeat: {down_after: 1m}, boot_failure: 0.1, boot_timeout: 10m, prologue_failure: 0.01, prologue_repair: 4h}
`))
	require.NoError(t, err)
	clusterRoundTrip(t, c)
	s, err := c.Resolve()
	require.NoError(t, err)
	day := model.Day
	require.Equal(t, []model.Duration{100 * day, 100 * day, 266 * day, 266 * day, 266 * day}, s.NodeMTBF)
	require.Equal(t, 30*model.Second, s.Agents.Heartbeat.DegradedAfter)
	type part struct {
		mtbf  model.Duration
		nodes []model.NodeID
	}
	var parts []part
	keys := map[uint64]bool{}
	for _, p := range s.SharedParts {
		keys[p.Key] = true
		parts = append(parts, part{p.MTBF, p.Nodes})
	}
	require.Equal(t, []part{{300 * day, []model.NodeID{0, 1, 4}}, {300 * day, []model.NodeID{2, 3}}, {1000 * day, []model.NodeID{0, 2, 3}}, {day, []model.NodeID{2, 3}}}, parts)
	require.Len(t, keys, len(parts))
}

// TestFailuresLeftOut: a file without the new keys has the spec that it had, and so has one
// that states their defaults.
func TestFailuresLeftOut(t *testing.T) {
	const groups = "groups: [{name: g, nodes: 4}]\n"
	for text, want := range map[string]string{
		"": `{"name":"c","groups":[{"name":"g","nodes":"4"}]}`,
		"failures: {mtbf: 30d, law: exponential, repair: exponential, shared: []}\nagents: {heartbeat: {down_after: at-once}, boot_failure: 0}": `{"name":"c","groups":[{"name":"g","nodes":"4"}],"failures":{"mtbf":"30d"}}`,
	} {
		c, err := ParseCluster("c", []byte(groups+text))
		require.NoError(t, err)
		require.Equal(t, want, string(c.JSON()))
		s, err := c.Resolve()
		require.NoError(t, err)
		require.Empty(t, s.SharedParts)
		require.Nil(t, s.NodeMTBF)
	}
}

// TestWrongFailures: what is wrong is told by line and column, with how to mend it.
func TestWrongFailures(t *testing.T) {
	for text, want := range map[string]string{
		"failures: {law: weibull}":                                                                "c.yaml:3:17: failures.law: does not apply with failures.mtbf: never: leave it out",
		"failures: {mtbf: 30d, shape: 2}":                                                         "failures.shape: does not apply with failures.law: exponential",
		"failures: {mtbf: 30d, law: weibul}":                                                      `failures.law: found "weibul" (did you mean weibull?), want exponential or weibull`,
		"failures: {mtbf: 30d, law: weibull, shape: 0}":                                           "failures.shape: found 0, want 0.3 to 10",
		"failures: {mtbf: 30d, repair: log-normal}":                                               "c.yaml:3:31: failures.repair: found log-normal, and there is no repair_sigma: give it, for example 1.4",
		"failures: {mtbf: 30d, repair_sigma: 1}":                                                  "failures.repair_sigma: does not apply with failures.repair: exponential",
		"failures: {mtbf: 30d, mttr: 4h, repair: log-normal, repair_sigma: 1, repair_median: 1h}": "failures.mttr: does not apply with failures.repair_median: 1h: leave it out",
		"failures: {mtbf: 30d, repair: log-normal, repair_sigma: 0}":                              "failures.repair_sigma: found 0, want none, or more than 0",
		"failures: {mtbf: 30d, repair: log-normal, repair_sigma: 1, repair_median: 0s}":           "failures.repair_median: found 0s, want none, or more than 0",
		"failures: {shared: [{mttr: 4h}]}":                                                        "c.yaml:3:21: failures.shared[0]: has no key mtbf: say how long",
		"failures: {shared: [{mtbf: 1s}]}":                                                        "failures.shared[0].mtbf: found 1s, want 1m or more",
		"failures: {shared: [{mtbf: 9d, of: rack}]}":                                              `failures.shared[0].of: found "rack", want group or nodes`,
		"failures: {shared: [{mtbf: 9d, nodes: x}]}":                                              `c.yaml:3:39: failures.shared[0].nodes: found "x": there is no group and no node x`,
		"failures: {shared: [" + strings.Repeat("{mtbf: 9d},", 257) + "]}":                        "failures.shared: found 257 entries, want at most 256",
		"agents: {heartbeat: {degraded_after: 30s}}":                                              "agents.heartbeat.degraded_after: does not apply with agents.heartbeat.down_after: at-once",
		"agents: {heartbeat: {down_after: 20s}}":                                                  "agents.heartbeat.degraded_after: found 30s, want at most down_after, 20s",
		"agents: {heartbeat: {down_after: 0s}}":                                                   "agents.heartbeat.down_after: found 0s, want at-once, or more than 0",
		"agents: {boot_failure: 0.1}":                                                             "c.yaml:3:24: agents.boot_failure: found 0.1, and there is no boot_timeout: say after how long",
		"agents: {boot_failure: 1, boot_timeout: 5m}":                                             "agents.boot_failure: found 1, want 0 to 0.9",
		"agents: {boot_timeout: 5m}":                                                              "agents.boot_timeout: does not apply with agents.boot_failure: 0",
		"agents: {prologue_failure: 0.1}":                                                         "agents.prologue_failure: found 0.1, and there is no prologue_repair",
	} {
		head := "\ngroups: [{name: g, nodes: 4}]\n"
		c, err := ParseCluster("c.yaml", []byte(head+text))
		if err == nil {
			_, err = c.Resolve()
		}
		require.ErrorContains(t, err, want, text)
	}
	c, err := ParseCluster("c.yaml", []byte("groups: [{name: g, nodes: 270000}]\nfailures: {shared: ["+strings.Repeat("{mtbf: 9d},", 256)+"]}"))
	require.NoError(t, err)
	_, err = c.Resolve()
	require.ErrorContains(t, err, "c.yaml:2:20: failures.shared: found 256 entries for a site of 270000 nodes, want at most 248")
	_, err = ParseCluster("c.yaml", []byte(typedSite))
	require.ErrorContains(t, err, "c.yaml:1:47: node_types[0].mtbf: does not apply with failures.mtbf: never")
}

// TestRemarkBoot: lint says where nodes boot and nothing says how long that takes.
func TestRemarkBoot(t *testing.T) {
	const remark = "agents: nodes come back 5m after a repair, and no boot_delay is given: that is an assumption, and no figure for nodes with GPUs is published"
	for text, want := range map[string][]string{
		"failures: {mtbf: 30d}":                           {remark},
		"failures: {shared: [{mtbf: 30d}]}":               {remark},
		"events: [{time: 1h, kind: up, subject: g}]":      {remark},
		"events: [{time: 1h, kind: down, subject: g}]":    nil,
		"failures: {mtbf: 30d}\nagents: {boot_delay: 5m}": nil,
		"agents: {kill_grace: 0s}":                        nil,
	} {
		_, got, err := lintText(t, "groups: [{name: g, nodes: 4}]\n"+text)
		require.NoError(t, err)
		require.Equal(t, want, got, text)
	}
}
