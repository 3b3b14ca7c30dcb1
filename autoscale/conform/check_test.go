package conform

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// file makes a file of cases.
func file(name string, cases ...string) []byte {
	return fmt.Appendf(nil, `{"schema": "autoscale-conformance/1", "name": %q, "system": "s", "note": "by hand", "count": %d, "cases": [%s]}`, name, len(cases), strings.Join(cases, ","))
}

const (
	upThenCool = `{"id": "a", "config": {"scale_up_threshold": 0.8, "scale_down_threshold": 0.2, "cooldown_s": 300, "min_nodes": 1, "max_nodes": 9}, "steps": [
		{"t": 0, "nodes": 4, "utilization": 0.8, "queue_depth": 0, "tenant_remaining": null, "expected_action": "up", "expected_count": 1},
		{"t": 299.5, "nodes": 5, "utilization": 0.8, "queue_depth": 0, "tenant_remaining": null, "expected_action": "none", "expected_count": 0},
		{"t": 300, "nodes": 5, "utilization": 0.1, "queue_depth": 0, "tenant_remaining": 0, "expected_action": "down", "expected_count": 1}]}`
	atQuota = `{"id": "b", "config": {"scale_up_threshold": 0.8, "scale_down_threshold": 0.2, "cooldown_s": 300, "min_nodes": 1, "max_nodes": 9}, "steps": [
		{"t": 0, "nodes": 4, "utilization": 0.9, "queue_depth": 0, "tenant_remaining": 0, "expected_action": "none", "expected_count": 0}]}`
	borrow = `{"id": "c", "lender_total": 30, "lender_idle": 9, "requested": 6, "max_borrow_pct": 0.2, "lending_enabled": true, "borrowing_enabled": true, "expected_granted": 6}`
	active = `{"id": "d", "active": true, "error": false, "current": 0, "min": null, "idle": null, "fallback_replicas": null, "last_active_age_s": null,
		"cooldown_s": 300, "created_age_s": 10, "initial_cooldown_s": 0, "paused": false, "expected_set_replicas": 1, "expected_last_active_refreshed": true}`
	replicas = `{"id": "e", "current": 2, "expected": 4, "resource": {"expected_utilization": 100, "expected_value": 100, "levels_milli_per_container": [[50, 50], [50, 50]],
		"name": "cpu", "pod_names": null, "requests_milli_per_container": [50, 50], "target_utilization": 50}, "tolerance_down": 0.1, "tolerance_up": 0.1}`
)

// A selector that cannot be read comes of a client in its place, and one that others have too
// does not: the one stated for the other is a failure.
func TestReasonsOfSelectors(t *testing.T) {
	row := func(reason string, override bool) string {
		return fmt.Sprintf(`{"id": "f", "action": "none", "conditions": [["AbleToScale", "True", "SucceededGetScale"], ["ScalingActive", "False", %q]], "cpu_current": 20, "cpu_target": 10,
			"error": "internal", "expected": 2, "levels_milli": [20, 20], "max": 9, "min": 1, "override_clients": %t, "requests_milli": [100, 100], "spec": 2, "status": 2}`, reason, override)
	}
	for _, x := range []struct {
		reason   string
		override bool
		passed   int
	}{{"InvalidSelector", true, 1}, {"AmbiguousSelector", false, 1}, {"AmbiguousSelector", true, 0}, {"InvalidSelector", false, 0}} {
		f, _ := Check("x.json", file("hpa-controller", row(x.reason, x.override)))
		require.Empty(t, f.Refused)
		require.Equal(t, []int{x.passed, 1 - x.passed}, []int{f.Passed, f.Failed}, x)
		if x.passed == 0 {
			require.Equal(t, "conditions", f.Failures[0].Field)
		}
	}
}

// Each case alone, all of them in another order, and under other names: the same passes.
func TestOrderAndNamesDoNotMatter(t *testing.T) {
	cases := []string{upThenCool, atQuota}
	f, ok := Check("x.json", file("lattice-autoscale-code", cases...))
	require.True(t, ok)
	require.Equal(t, File{Name: "x.json", System: "s", Cases: 2, Passed: 4, Failures: []Failure{}, Skips: []Skip{}, Refused: []Refusal{}}, f)
	slices.Reverse(cases)
	for i := range cases {
		cases[i] = strings.Replace(cases[i], `"id": "`, fmt.Sprintf(`"id": "other-%d-`, i), 1)
	}
	g, _ := Check("y.json", file("lattice-autoscale-code-more", cases...))
	f.Name = "y.json"
	require.Equal(t, f, g)
	for name, c := range map[string]string{"lattice-borrowing": borrow, "keda-activation": active, "hpa-replica-calc": replicas} {
		f, _ := Check("z.json", file(name, c))
		require.Equal(t, 1, f.Passed, "%+v", f)
	}
}

// An expectation that is altered is named by case, step and field.
func TestDifferencesAreNamed(t *testing.T) {
	for _, c := range []struct {
		name, text, from, to string
		want                 Failure
	}{
		{"lattice-autoscale-code", upThenCool, `"down"`, `"none"`, Failure{"a", at(2), "expected_action", "none", "down"}},
		{"lattice-autoscale-code", upThenCool, `"expected_count": 0`, `"expected_count": 2`, Failure{"a", at(1), "expected_count", int64(2), int64(0)}},
		{"lattice-borrowing", borrow, `granted": 6`, `granted": 5`, Failure{"c", nil, "expected_granted", int64(5), int64(6)}},
		{"keda-activation", active, `replicas": 1`, `replicas": null`, Failure{"d", nil, "expected_set_replicas", nil, int64(1)}},
		{"keda-activation", active, `refreshed": true`, `refreshed": false`, Failure{"d", nil, "expected_last_active_refreshed", false, true}},
		{"hpa-replica-calc", replicas, `"expected": 4`, `"expected": 3`, Failure{"e", nil, "expected", int64(3), int64(4)}},
	} {
		f, _ := Check("x.json", file(c.name, strings.Replace(c.text, c.from, c.to, 1)))
		require.Equal(t, 1, f.Failed)
		require.Equal(t, []Failure{c.want}, f.Failures)
	}
	f, _ := Check("x.json", file("lattice-autoscale-code", strings.ReplaceAll(upThenCool, `"expected_count": 1`, `"expected_count": 7`)))
	require.Equal(t, 2, f.Failed)
	require.Equal(t, []Failure{{"a", at(0), "expected_count", int64(7), int64(1)}}, f.Failures) // the first step alone
}

func at(step int) *int { return &step }

// What is not known, or not there, is refused by name; the other cases are still checked.
func TestRefusals(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"lattice-borrowing", strings.Replace(borrow, `"requested"`, `"asked"`, 1), `unknown field "asked"`},
		{"lattice-borrowing", strings.Replace(borrow, `, "expected_granted": 6`, ``, 1), `lacks field "expected_granted"`},
		{"lattice-autoscale-code", strings.Replace(upThenCool, `"t": 299.5, `, ``, 1), `lacks field "steps[1].t"`},
		{"lattice-autoscale-code", strings.Replace(upThenCool, `"cooldown_s": 300`, `"cooldown_s": "300"`, 1), `cannot unmarshal string`},
	} {
		f, _ := Check("x.json", file(c.name, c.text, map[string]string{"lattice-borrowing": borrow, "lattice-autoscale-code": atQuota}[c.name]))
		require.Len(t, f.Refused, 1)
		require.Contains(t, f.Refused[0].Reason, c.want)
		require.Equal(t, 1, f.Passed)
	}
	for text, want := range map[string]string{
		`{"schema": "autoscale-conformance/2", "name": "lattice-borrowing", "cases": [{}]}`: `unknown schema "autoscale-conformance/2"`,
		`{"schema": "autoscale-conformance/1", "name": "lattice", "cases": [{}]}`:           `unknown name "lattice"`,
		`{"schema": "autoscale-conformance/1", "name": "lattice-borrowing", "cases": []}`:   `no cases`,
		`[]`: `not a file of cases`,
		`{"schema": "autoscale-conformance/1", "name": "lattice-borrowing", "count": 1, "cases": [{"lender_total": 1}]}`: `no id`,
	} {
		f, ok := Check("x.json", []byte(text))
		require.True(t, ok)
		require.Len(t, f.Refused, 1)
		require.Contains(t, f.Refused[0].Reason, want)
	}
	_, ok := Check("index.json", []byte(`{"schema": "autoscale-conformance-index/1", "files": []}`))
	require.False(t, ok)
	f, _ := Check("x.json", []byte(strings.Replace(string(file("lattice-borrowing", borrow)), `"count": 1`, `"count": 2`, 1)))
	require.Equal(t, []Failure{{Field: "count", Want: 2, Got: 1}}, f.Failures)
	require.Equal(t, []int{1, 1}, []int{f.Passed, f.Failed})
}

// A check that is skipped has its reason, and counts neither as passed nor as failed.
func TestSkipsAreTold(t *testing.T) {
	type steps struct {
		ID string `json:"id"`
	}
	s := cases("x", func(_ *steps, t *tally) {
		t.check(0)
		t.skip("what came before is not recorded")
		t.check(2)
		expect(t, "size", 1, 2)
	})
	var f File
	f.checkCase(s, json.RawMessage(`{"id": "a"}`), 0)
	require.Equal(t, []Skip{{"a", 1, "what came before is not recorded"}}, f.Skips)
	require.Equal(t, []int{1, 1, 1}, []int{f.Passed, f.Failed, f.Skipped})
	require.Equal(t, at(2), f.Failures[0].Step)
}
