package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestRetiredWords keeps declared names to the terms of the field.
func TestRetiredWords(t *testing.T) {
	fail(t, theRepository(t).retiredNames(keptNames), "a reader who knows Slurm or Kubernetes needs no private dictionary")
}

func TestRetiredWordsFire(t *testing.T) {
	r := inMemory(t, map[string]string{
		"a/siteceiling.go": `package a
import crew "fmt"
type laneState struct{ growers int }
func (s *laneState) OutOfTurn(who int) (doomed bool) {
	for twin := range 3 {
		_ = twin
	}
	luckOf := crew.Sprint
	_ = luckOf
	return false
}
const Plane, beaten, nearest, asked, claim = 1, 2, 3, 4, 5 // nobody, a twin
var near, ASK = 1, 2
`,
		"bell/a_test.go":        "package bell\nfunc TestTwoTwins() {}\n",
		"scheduler/site/a.go":   "package site\nvar claim, claims int\n",
		"c/a.go":                "package c\nvar GPULane, swiftly int\n",
		"sim/b/a.go":            "package b\nvar lane, kept int\n",
		"sim/search/a.go":       "package search\nfunc Ask() {}\n",
		"tools/detlint/room.go": "package detlint\n",
	})
	var names []string
	for _, f := range r.retiredNames([]keptName{{"sim/search/", "Ask", ""}, {"sim/search/", "Tell", ""}}) {
		assert.Equal(t, "words", f.Rule)
		names = append(names, f.String())
	}
	say := func(place, name, word, terms string) string {
		return place + ": [words] the name " + name + ` has the retired word "` + word + `": say ` + terms
	}
	bound := "index by score upper bound, or MaxLimits for limits"
	naive := "reference or naive implementation"
	assert.ElementsMatch(t, []string{
		say("a/siteceiling.go", "siteceiling", "siteceiling", bound),
		say("a/siteceiling.go:2:8", "crew", "crew", "workers or worker pool"),
		say("a/siteceiling.go:3:6", "laneState", "lane", "queueState or vclusterState"),
		say("a/siteceiling.go:3:24", "growers", "growers", "underProvisioned, scalingUp or lendable"),
		say("a/siteceiling.go:4:21", "OutOfTurn", "out of turn", "restored, usage seeded or pass requested"),
		say("a/siteceiling.go:4:31", "who", "who", "user, tenant or job: jobs and nodes are things"),
		say("a/siteceiling.go:4:41", "doomed", "doomed", "unsatisfiable"),
		say("a/siteceiling.go:5:6", "twin", "twin", naive),
		say("a/siteceiling.go:8:2", "luckOf", "luck", "fault injection in a world, noise in statistics"),
		say("a/siteceiling.go:13:5", "near", "near", "contenders"),
		say("a/siteceiling.go:13:11", "ASK", "ask", "request, requestSize"),
		say("bell/a_test.go", "bell", "bell", "broadcast, or fenced"),
		say("bell/a_test.go:2:6", "TestTwoTwins", "twins", naive),
		say("scheduler/site/a.go:2:5", "claim", "claim", "held nodes, fair-share cache, factSeq, lastFact, unsatisfiable, accountsStableAt, size index, prune, requestPass"),
		say("c/a.go:2:5", "GPULane", "lane", "queueState or vclusterState"),
		say("sim/b/a.go:2:5", "lane", "lane", "queueState or vclusterState"),
		say("tools/detlint/room.go", "room", "room", "package rule, package table, import rules"),
		"sim/search/: [words] nothing declares Tell: remove it from the kept names",
	}, names)
}
