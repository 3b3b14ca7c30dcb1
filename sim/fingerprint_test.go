package sim

import (
	"os"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/scheduler/model"
)

// What the fingerprint covers is what docs/DETERMINISM.md says that it covers:
// every field of a fact and of a proposal is changed alone, and seen or not.
func TestFingerprintCoversWhatIsDocumented(t *testing.T) {
	fact := func(now model.Time, f model.Fact) string {
		var r run
		r.Fact(now, &f)
		return r.print.String()
	}
	proposal := func(now model.Time, p model.Proposal) string {
		var r run
		r.Proposed(now, &p)
		return r.print.String()
	}
	require.NotEqual(t, fact(1, model.Fact{}), fact(2, model.Fact{}))
	require.NotEqual(t, proposal(1, model.Proposal{}), proposal(2, model.Proposal{}))

	seen := func(zero any, print func(reflect.Value) string) (fields []string) {
		plain := reflect.ValueOf(zero)
		for i := range plain.NumField() {
			other := reflect.New(plain.Type()).Elem()
			other.Set(plain)
			switch f := other.Field(i); {
			case f.CanInt():
				f.SetInt(f.Int() + 1)
			case f.CanUint():
				f.SetUint(f.Uint() + 1)
			case f.Kind() == reflect.Bool:
				f.SetBool(true)
			default:
				continue // looked at by hand below
			}
			if print(other) != print(plain) {
				fields = append(fields, plain.Type().Field(i).Name)
			}
		}
		return fields
	}
	ofFact := func(v reflect.Value) string { return fact(1, v.Interface().(model.Fact)) }
	ofProposal := func(v reflect.Value) string { return proposal(1, v.Interface().(model.Proposal)) }
	require.Equal(t, []string{"Kind", "Reason", "Job"}, seen(model.Fact{Kind: model.FactEnded}, ofFact))
	require.Equal(t, []string{"Kind", "Reason", "Job", "Walltime"}, seen(model.Fact{Kind: model.FactSubmitted}, ofFact))
	require.Equal(t, []string{"Job"}, seen(model.Proposal{}, ofProposal))

	asked := func(r model.Request) string {
		return fact(1, model.Fact{Kind: model.FactSubmitted, Request: r})
	}
	require.NotEqual(t, asked(model.Request{}), asked(model.Request{Units: 1}))
	require.NotEqual(t, asked(model.Request{}), asked(model.Request{Nodes: 1}))

	on := func(p model.Placement) string { return proposal(1, model.Proposal{Placement: p}) }
	share := model.NodeShare{Node: 3, Units: 2, GPUs: 0b0011}
	other := share
	other.GPUs = 0b1100
	require.Equal(t, on(model.Placement{Shares: []model.NodeShare{share}}),
		on(model.Placement{Shares: []model.NodeShare{other}}), "which GPUs of a node")
	other = share
	other.Node++
	require.NotEqual(t, on(model.Placement{Shares: []model.NodeShare{share}}), on(model.Placement{Shares: []model.NodeShare{other}}))
	require.NotEqual(t, on(model.Placement{Words: []model.NodeWord{{Word: 0, Mask: 1}}}), on(model.Placement{Words: []model.NodeWord{{Word: 0, Mask: 2}}}))

	text, err := os.ReadFile("../docs/DETERMINISM.md")
	require.NoError(t, err)
	for _, row := range []string{
		"| of every fact | instant, kind, reason, job |",
		"| of a submission, also | walltime, units, nodes asked for |",
		"| of every proposal | instant, job, the nodes chosen and the units on each |",
	} {
		require.Contains(t, string(text), row)
	}
}
