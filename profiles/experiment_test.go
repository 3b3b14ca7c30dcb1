package profiles

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/scheduler/model"
)

const sampled = `
name: e
traces: [a.trace, sample]
plain_cluster: {nodes: 64}
windows: [{count: 2, length: 7d}, {name: last, begin: 20d, length: 3d, lead: 5d}]
jitter: {seeds: [3, 4]}
profiles: [default]
design: halton
points: 7
settings:
  - {path: weights, parts: [wait_time, energy]}
  - {path: depth, from: 1, to: 100, log: true}
  - {path: backfill, values: [easy, 3]}
objectives: [{metric: wait_p95}]
constraints: [{metric: wait_max, at_most: 10d}, {metric: utilisation, at_least: 0.5}]
`

func TestExperiment(t *testing.T) {
	e, err := ParseExperiment("x.yaml", []byte(sampled))
	require.NoError(t, err)
	require.EqualValues(t, 64, e.Plain.Nodes)
	require.Equal(t, []string{"easy", "3"}, e.Settings[2].Values, "values are texts, whatever they look like")
	require.Zero(t, e.Windows[0].Lead)
	require.Equal(t, 5*model.Day, e.Windows[1].Lead)
	require.Equal(t, 30*model.Day, e.Windows[1].Follow)
	require.Equal(t, Amount{Number: 0.5}, *e.Constraints[1].AtLeast)
	require.True(t, e.Sampled())

	back, err := ParseExperiment("y.yaml", e.YAML())
	require.NoError(t, err, string(e.YAML()))
	require.Equal(t, string(e.YAML()), string(back.YAML()))
	require.Equal(t, string(e.FullJSON()), string(back.FullJSON()))
	require.ErrorContains(t, e.Wrong("settings[1].path", "it is wrong"), "x.yaml:12:12: settings[1].path: it is wrong")
}

func TestExperimentRefuses(t *testing.T) {
	for text, says := range map[string]string{
		"":                          "names no trace",
		"traces: [a]\nsetting: []":  "x.yaml:2:1: setting: there is no such key (did you mean settings?)",
		"traces: [a]\ndesign: grid": "x.yaml:2:9",
		"traces: [a]\npoints: 5":    "points: does not apply with design: cartesian",
		"traces: [a]\ncluster: c\nplain_cluster: {nodes: 5}":                                 "plain_cluster: is there beside cluster",
		"traces: [a]\nwindows: [{name: w}]":                                                  "has no key length",
		"traces: [a]\nwindows: [{count: 2, length: 1d, begin: 1h}]":                          "is there beside count",
		"traces: [a]\nwindows: [{name: w, length: 1d}, {name: w, length: 2d}]":               "a second time",
		"traces: [a]\njitter: {by: 0s, seeds: [1]}":                                          "which moves nothing",
		"traces: [a]\njitter: {seeds: [-1]}":                                                 "want 0 or more",
		"traces: [a]\njitter: {as_logged: false}":                                            "nothing is left to replay",
		"traces: [a]\nsettings: [{values: [1]}]":                                             "has no key path",
		"traces: [a]\nsettings: [{path: depth}]":                                             "has no values",
		"traces: [a]\nsettings: [{path: depth, from: 1, to: 2}]":                             "give values, or design: sobol",
		"traces: [a]\ndesign: sobol\nsettings: [{path: depth, from: 1}]":                     "want from and to together",
		"traces: [a]\ndesign: sobol\nsettings: [{path: depth, from: 1, to: 5, values: [1]}]": "want one of",
		"traces: [a]\ndesign: sobol\nsettings: [{path: depth, parts: [wait_time]}]":          "want path: weights",
		"traces: [a]\nsettings: [{path: depth, values: [1], log: true}]":                     "without from and to",
		"traces: [a]\nsettings: [{path: depth, values: [1, 1]}]":                             "twice",
		"traces: [a]\nsettings: [{path: depth, values: [1]}, {path: depth, values: [2]}]":    "settings[0] varies already",
		"traces: [a]\ndesign: listed":                                                        "no point is",
		"traces: [a]\ndesign: listed\nlisted: [{set: [depth]}]":                              "want PATH=VALUE",
		"traces: [a]\nobjectives: [{direction: maximise}]":                                   "has no key metric",
		"traces: [a]\nconstraints: [{at_most: 5}]":                                           "has no key metric",
		"traces: [a]\nconstraints: [{metric: wait_max}]":                                     "want one of at_most and at_least",
		"traces: [a]\nconstraints: [{metric: wait_max, group: x, at_most: 1}]":               "group: needs by: vcluster",
		"traces: [a]\nconstraints: [{metric: wait_max, by: tenant, at_most: 1}]":             "has no key group: name the tenant",
		"traces: [a]\nobjectives: [{metric: wait_max, by: class, group: 1, window: all}]":    "measured over the steady window alone",
		"traces: [a]\nobjectives: [{metric: wait_max of class 1}]":                           "x.yaml:2:23: objectives[0].metric: found \"wait_max of class 1\", want one word",
		"traces: [a]\nname: a b":                                                             "x.yaml:2:7",
	} {
		_, err := ParseExperiment("x.yaml", []byte(text))
		require.ErrorContains(t, err, says, text)
		var all *Error
		require.True(t, errors.As(err, &all))
	}
	_, err := LoadExperiment("no.yaml")
	require.ErrorContains(t, err, "there is no experiment file")
}

func TestExperimentNamesNothingTwice(t *testing.T) {
	_, err := ParseExperiment("e.yaml", []byte("traces: [a.trace, ./a.trace]\njitter: {seeds: [1, 2, 1]}\n"))
	require.ErrorContains(t, err, "e.yaml:1:19")
	require.ErrorContains(t, err, "which is traces[0] already, want each trace once: leave one out")
	require.ErrorContains(t, err, "e.yaml:2:24")
	require.ErrorContains(t, err, "found 1, which is seeds[0] already, want each seed once: leave one out")
}

func TestJoined(t *testing.T) {
	at := func(key string, line int) Problem { return Problem{File: "a", Key: key, Line: line} }
	err := Joined(&Error{[]Problem{at("b[1].c", 5), at("d", 9)}}, nil, errors.New("none"), &Error{[]Problem{at("b[1]", 5), at("b[10]", 1), at("d.e", 9), at("d", 9), {File: "0", Key: "d"}}})
	var all *Error
	require.ErrorAs(t, err, &all)
	require.Equal(t, []Problem{at("b[10]", 1), at("b[1].c", 5), at("d", 9), {File: "0", Key: "d"}}, all.Problems)
	require.NoError(t, Joined(nil, errors.New("none")))
}
